"""Base clusterers on features."""
