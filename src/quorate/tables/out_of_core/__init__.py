"""Patterns that do not fit into memory."""
