"""Adapters for the data structures of other tools."""
