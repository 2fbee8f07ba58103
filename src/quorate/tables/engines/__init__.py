"""Engines for data frames: count patterns where the rows are, and join the answer back."""
