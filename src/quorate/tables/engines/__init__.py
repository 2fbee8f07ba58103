"""Frame engines: count patterns and profile features where the rows are, and join the answer back to them."""
