"""The benchmark: consensus functions side by side on pools of clusterings with known classes, and what follows."""
