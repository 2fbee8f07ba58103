"""Answers of the slow dense oracles on a generated ensemble, stored in `tests/data/generated.npz`.

They stand in for published ensembles and the answers of reference programs, which are not part of the repository.
`python tests/reference_answers.py` computes and stores them again.
"""

from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import baseline_oracles
import field_oracles
import oracles

PATH = Path(__file__).with_name("data") / "generated.npz"
KS = np.array([3, 6])
LINKS = ("average", "single", "complete")
LAST = 100  # of the heights are stored


def generated_labels(n_rows=180, n_members=6, seed=2015):
    """(n, members) labels: rows of four groups in the plane, assigned to the nearest of some random rows."""
    random = np.random.default_rng(seed)
    centers = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [5.0, 5.0]])
    points = centers[np.arange(n_rows) % 4] + random.normal(size=(n_rows, 2))
    columns = []
    for _ in range(n_members):
        chosen = points[random.choice(n_rows, random.integers(4, 13), replace=False)]
        nearest = np.argmin(((points[:, None] - chosen) ** 2).sum(axis=2), axis=1)
        columns.append(np.unique(nearest, return_inverse=True)[1])
    return np.stack(columns, axis=1)


def ncai(labels):
    """(members,) normalized crowd agreement index: the mean NMI (max) with the other members, over the largest."""
    members = labels.T
    agreement = [
        np.mean([normalized_mutual_info_score(a, b, average_method="max") for j, b in enumerate(members) if j != i])
        for i, a in enumerate(members)
    ]
    return np.array(agreement) / max(agreement)


def tree_answers(name, similarity, links=LINKS):
    """Return the last heights and the partitions of the hierarchies of a similarity.

    Merges at equal heights may be done in any order. Answers are marked as free of ties, and are compared, if they are
    the same for several orders of the rows.
    """
    answers = {}
    random = np.random.default_rng(0)
    orders = [random.permutation(len(similarity)) for _ in range(20)]
    for link in links:
        heights, partitions = _hierarchy(similarity, link)
        others = [_hierarchy(similarity[np.ix_(order, order)], link) for order in orders]
        same = [
            all(
                adjusted_rand_score(partitions[order, j], other[:, j]) == 1
                for order, (_, other) in zip(orders, others, strict=True)
            )
            for j in range(len(KS))
        ]
        answers[f"{name}_{link}_heights"] = heights
        answers[f"{name}_{link}_heights_tiefree"] = all(np.allclose(heights, other, atol=1e-9) for other, _ in others)
        answers[f"{name}_{link}_labels"] = partitions
        answers[f"{name}_{link}_labels_tiefree"] = np.array(same)
    return answers


def _hierarchy(similarity, link):
    """Return the last heights and the (n, ks) partitions of a hierarchy."""
    tree = linkage(squareform(1 - similarity, checks=False), link)
    return tree[-LAST:, 2], cut_tree(tree, KS)


def similarity_answers(name, similarity):
    """Return the first row of a similarity, its sum, and its range outside the diagonal."""
    others = similarity[~np.eye(len(similarity), dtype=bool)]
    summary = np.array([similarity.sum(), others.min(), others.max()])
    return {f"{name}_similarity_row0": similarity[0], f"{name}_similarity_summary": summary}


def first_row_kmeans(points, k):
    """Run plain k-means from centers that are farthest from each other, the first row among them."""
    centers = points[:1]
    while len(centers) < k:
        distances = ((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1)
        centers = np.vstack([centers, points[np.argmax(distances)]])
    labels = np.full(len(points), -1)
    while True:
        nearest = np.argmin(((points[:, None] - centers) ** 2).sum(axis=2), axis=1)
        if np.array_equal(nearest, labels):
            return labels
        labels = nearest
        centers = np.array([points[labels == c].mean(axis=0) for c in range(k)])


def cut_answers(name, graph, n_rows):
    """Return the eigenvalues, the inner products with the first row, and the partitions of a transfer cut."""
    values, _ = oracles.transfer_cut_embedding(graph, n_rows, 1)
    answers, columns = {f"{name}_eigenvalues": values[: KS.max()]}, []
    for k in KS:
        points = oracles.transfer_cut_embedding(graph, n_rows, k)[1]
        answers[f"{name}_gram_row0_k{k}"] = points @ points[0]
        columns.append(first_row_kmeans(points, k))
    return {**answers, f"{name}_first_row_labels": np.stack(columns, axis=1)}


def dense_answers(labels):
    """Return what the dense oracles compute of an ensemble."""
    n_rows, n_members = labels.shape
    equal, weights = np.ones(n_members), ncai(labels) ** 2
    membership, member = oracles.indicators(labels)
    certainty = field_oracles.certainty(labels)
    local = field_oracles.local_evidence(labels, equal)
    np.fill_diagonal(local, 1.0)
    links = oracles.jaccard(labels)
    np.fill_diagonal(links, 0.0)
    propagated = field_oracles.trajectories(links, np.ones(len(links)), 20)
    enhanced = field_oracles.enhanced_evidence(labels, equal, 20)
    weac = tree_answers("weac", oracles.evidence(labels, weights))
    singular = np.linalg.svd(membership / np.sqrt(membership.sum(axis=0)), compute_uv=False)
    answers = {
        "cols": np.arange(n_members),
        "ks": KS,
        "ncai": ncai(labels),
        **weac,
        **cut_answers("gp_mgla", oracles.bipartite_graph(labels, weights[member], 0.5), n_rows),
        "lwea_eci": certainty,
        **similarity_answers("lwea", local),
        **tree_answers("lwea", local, ["average"]),
        **cut_answers("lwgp", membership * certainty, n_rows),
        **cut_answers("usenc", membership, n_rows),
        "ecpcs_clusters_row0": propagated[0],
        **similarity_answers("ecpcs", enhanced),
        **tree_answers("ecpcs_hc", enhanced, ["average"]),
        "hbgf_singular_values": singular[:8],
    }
    for name, similarity in (
        ("eac", oracles.evidence(labels, equal)),
        ("cts", baseline_oracles.triples(labels, equal)),
        ("srs", baseline_oracles.simrank(labels, equal)),
    ):
        answers |= {**similarity_answers(name, similarity), **tree_answers(name, similarity)}
    return answers


if __name__ == "__main__":
    PATH.parent.mkdir(exist_ok=True)
    drawn = generated_labels()
    np.savez_compressed(PATH, labels=drawn.astype(np.int16), pool="generated", **dense_answers(drawn))
