"""Saved ensembles, methods and models: plain arrays in documented files."""
