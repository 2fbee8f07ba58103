"""Numerical methods on patterns: linkage, transfer cut, k-means, eigensolver."""
