"""The columns of a table: their roles, the rules by which these are chosen, and messages about them."""
