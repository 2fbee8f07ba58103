"""Edge weights from an ensemble: communities on LFR graphs, and the cost on a graph of 50,000,000 edges.

`python -m benchmarks.graphs lfr [FIRST_SEED]`: mean ARI with the planted communities of Leiden on the plain graph, of
Leiden on the graph weighted by `edge_evidence`, and of the consensus of the same members, on 20 LFR graphs of 1,000
nodes for each mixing. The members are 20 runs of Leiden at resolutions 0.5 to 3. As in ECG, no edge weighs less than
0.05. These choices were made on the graphs of seeds 100 to 104 (nine combinations of members and weights); the figures
in docs/how-to/graphs.md are of seeds 0 to 19.

`python -m benchmarks.graphs edges`: time and memory on random edges between 5,000,000 rows with 10 members.
"""

import resource
import sys
import time

import networkx as nx
import numpy as np
import scipy.sparse as sp
from scipy.stats import wilcoxon
from sklearn.metrics import adjusted_rand_score
from sknetwork.clustering import Leiden

import quorate as qt
from benchmarks.scale_data import label_matrix

N_GRAPHS = 20
MIXINGS = (0.3, 0.4, 0.5, 0.6)
RESOLUTIONS = np.linspace(0.5, 3, 20)
LEAST_WEIGHT = 0.05
N_ROWS, N_EDGES = 5_000_000, 50_000_000


def lfr_graph(mixing: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges (e, 2) and the community of each node."""
    graph = nx.LFR_benchmark_graph(
        1000, 3, 1.5, mixing, average_degree=15, max_degree=50, min_community=20, max_community=100, seed=seed
    )
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    communities = [frozenset(graph.nodes[node]["community"]) for node in range(len(graph))]
    number = {community: i for i, community in enumerate(dict.fromkeys(communities))}
    return np.array(graph.edges), np.array([number[community] for community in communities])


def leiden(edges: np.ndarray, weights: np.ndarray, n: int, seed: int, resolution: float = 1.0) -> np.ndarray:
    """Return the communities of a weighted graph."""
    half = sp.coo_array((weights, edges.T), shape=(n, n)).tocsr()
    return Leiden(resolution, shuffle_nodes=True, random_state=seed).fit_predict(sp.csr_matrix(half + half.T))


def compare(mixing: float, seed: int) -> tuple[float, float, float]:
    """Return the ARI of plain Leiden, of Leiden on weighted edges, and of the consensus of the members."""
    edges, truth = lfr_graph(mixing, seed)
    n, ones = len(truth), np.ones(len(edges))
    members = qt.Ensemble([leiden(edges, ones, n, i, resolution) for i, resolution in enumerate(RESOLUTIONS)])
    weights = LEAST_WEIGHT + (1 - LEAST_WEIGHT) * qt.edge_evidence(edges, members)
    labels = leiden(edges, ones, n, 0), leiden(edges, weights, n, 0), qt.consensus(members).labels
    return tuple(adjusted_rand_score(truth, found) for found in labels)


def lfr(first_seed: int) -> None:
    """Print one line per mixing: mean ARI, and how often the weighted graph is better and worse."""
    print("mixing  plain  weighted  consensus  better/worse of 20  p (Wilcoxon)")
    for mixing in MIXINGS:
        scores = np.array([compare(mixing, seed) for seed in range(first_seed, first_seed + N_GRAPHS)])
        gain = scores[:, 1] - scores[:, 0]
        p = wilcoxon(gain).pvalue if gain.any() else 1.0
        means = "  ".join(f"{mean:8.3f}" for mean in scores.mean(axis=0))
        print(f"{mixing:6.1f} {means}  {(gain > 0).sum():3d}/{(gain < 0).sum()}  {p:.1e}", flush=True)


def memory() -> float:
    """Return the largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def edges() -> None:
    """Print the time and the additional memory of weighing the edges."""
    members = qt.Ensemble(label_matrix(N_ROWS, np.uint8))
    pairs = np.random.default_rng(0).integers(0, N_ROWS, (N_EDGES, 2), dtype=np.int32)
    qt.edge_evidence(pairs[:1000], members)  # compiles
    before, start, cpu = memory(), time.perf_counter(), time.process_time()
    evidence = qt.edge_evidence(pairs, members)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"{N_EDGES:,} edges, {N_ROWS:,} rows, {members.n_members} members, {members.n_patterns:,} patterns")
    print(f"{seconds:.2f} s ({cpu:.2f} s of CPU), mean evidence {evidence.mean():.4f}")
    print(f"memory: {before:.2f} GB before, {memory():.2f} GB at most; the result has {evidence.nbytes / 1e9:.2f} GB")


if __name__ == "__main__":
    edges() if sys.argv[1:2] == ["edges"] else lfr(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
