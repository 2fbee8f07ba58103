"""Consensus functions, one file per method family."""
