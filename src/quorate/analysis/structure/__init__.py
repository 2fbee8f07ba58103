"""Is there cluster structure? Tests on features and on labels."""
