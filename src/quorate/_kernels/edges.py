"""Co-association of the ends of edges."""

from quorate._kernels._jit import jit


@jit
def weight_edges(edges, row_pattern, patterns, weights, scale, evidence):
    """Write to evidence (e,) the weight of the members that join both ends of each edge (e, 2), times their scales."""
    for e in range(len(edges)):
        p, q = row_pattern[edges[e, 0]], row_pattern[edges[e, 1]]
        joined = 0.0
        # Equal cluster ids mean the same member and the same cluster.
        for j in range(patterns.shape[1]):
            if patterns[p, j] >= 0 and patterns[p, j] == patterns[q, j]:
                joined += weights[j]
        evidence[e] = min(joined * scale[p] * scale[q], 1.0)
