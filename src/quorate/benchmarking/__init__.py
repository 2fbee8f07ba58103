"""Comparisons of consensus methods on pools of clusterings with known classes."""
