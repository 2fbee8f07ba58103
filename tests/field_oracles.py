"""Slow, dense, obvious versions of the later consensus functions, row by row."""

import numpy as np

import oracles


def certainty(labels, theta=0.4):
    """(n_c,) ECI of every cluster, by the entropies of the other members over its rows."""
    membership, _ = oracles.indicators(labels)
    found = []
    for rows in membership.T > 0:
        uncertainty = covered = 0.0
        for column in labels[rows].T:
            known = column[column >= 0]
            if len(known) == 0:
                continue
            share = np.unique(known, return_counts=True)[1] / len(known)
            uncertainty -= len(known) / rows.sum() * np.sum(share * np.log2(share))
            covered += len(known) / rows.sum()
        found.append(np.exp(-uncertainty / (theta * covered)))
    return np.array(found)


def local_evidence(labels, weights, theta=0.4):
    """(n, n) locally weighted co-association of rows; the diagonal is that of two equal rows."""
    membership, member = oracles.indicators(labels)
    weights = weights / weights.sum()
    total = membership * (weights[member] * certainty(labels, theta)) @ membership.T
    covering = (labels >= 0) @ weights
    scale = np.sqrt(np.outer(covering, covering))
    return np.divide(total, scale, out=np.zeros_like(scale), where=scale > 0)


def embedding(links, k):
    """Eigenvalues and (n, k) unit rows of the transfer cut of the bipartite graph of rows with these links."""
    return oracles.transfer_cut_embedding(links[:, links.sum(axis=0) > 0], len(links), k)


def cumulative_votes(labels, weights, adaptive):
    """(n, k0) votes of rows for the clusters of the member of largest entropy, member after member."""
    entropies = []
    for column in labels.T:
        share = np.unique(column[column >= 0], return_counts=True)[1] / max((column >= 0).sum(), 1)
        entropies.append(round(-float(np.sum(share * np.log(share))), 12))
    order = sorted(range(len(weights)), key=lambda j: (-entropies[j], j))
    first = labels[:, order[0]]
    votes = (first[:, None] == np.unique(first[first >= 0])).astype(float)
    reference = votes.copy()
    said = weights[order[0]] * votes.sum(axis=1)
    for j in order[1:]:
        if adaptive:
            reference = votes.copy()
        for value in np.unique(labels[:, j][labels[:, j] >= 0]):
            rows = labels[:, j] == value
            voted = rows & (reference.sum(axis=1) > 0)
            if voted.any():
                mean = reference[voted].mean(axis=0)
                for i in np.flatnonzero(rows):
                    said[i] += weights[j]
                    votes[i] += (mean - votes[i]) * weights[j] / said[i]
    return votes


def merging_loss(pair):
    """Information lost when two columns of a joint distribution become one: mass times Jensen-Shannon divergence."""
    mass = pair.sum(axis=0)
    if mass.min() == 0:
        return 0.0
    mixed = pair.sum(axis=1) / mass.sum()
    loss = 0.0
    for column, weight in zip(pair.T, mass, strict=True):
        p = column / weight
        inside = p > 0
        loss += weight * np.sum(p[inside] * np.log(p[inside] / mixed[inside]))
    return loss


def mixture_round(labels, weights, memberships):
    """Posteriors and log-likelihood of rows after one maximization and one expectation."""
    exponents = weights / weights.sum() * len(weights)
    shares = memberships.mean(axis=0)
    joint = np.tile(shares, (len(labels), 1))
    for column, exponent in zip(labels.T, exponents, strict=True):
        known = column >= 0
        for value in np.unique(column[known]):
            rows = column == value
            probability = memberships[rows].sum(axis=0) / memberships[known].sum(axis=0)
            joint[rows] *= np.maximum(probability, 1e-12) ** exponent
    return joint / joint.sum(axis=1, keepdims=True), float(np.log(joint.sum(axis=1)).sum())


def partition_losses(labels, weights, partitions, loss="vi", a=1.0, row_weights=None):
    """(partitions,) weighted mean over members of the generalized loss of each partition (rows of labels).

    a times what the partition separates and the member joins, 2 - a times the reverse, over the rows the member labels;
    conditional entropies in bits, or pairs of rows over n^2.
    """
    labels, partitions = np.asarray(labels, dtype=float), np.atleast_2d(partitions)
    rows = np.ones(len(labels)) if row_weights is None else np.asarray(row_weights, dtype=float)
    total = rows[~np.isnan(labels).all(axis=1)].sum()
    losses = np.zeros(len(partitions))
    for member, weight in zip(labels.T, weights / np.sum(weights), strict=True):
        clusters = [rows * (member == label) for label in np.unique(member[~np.isnan(member)])]
        for group in range(partitions.max() + 1 if clusters else 0):
            inside = partitions == group
            shared = np.stack([inside @ cluster for cluster in clusters], axis=1)
            sizes = np.array([cluster.sum() for cluster in clusters])
            labeled = shared.sum(axis=1, keepdims=True)
            if loss == "vi":
                logs = np.log2(np.where(shared > 0, shared, 1))
                split = shared * (np.log2(sizes) - logs)
                joined = shared * (np.log2(np.where(labeled > 0, labeled, 1)) - logs)
                parts = (a * split + (2 - a) * joined) / total
            else:
                parts = (a * shared * (sizes - shared) + (2 - a) * shared * (labeled - shared)) / total**2
            losses += weight * parts.sum(axis=1)
    return losses


def partitions(n):
    """(Bell(n), n) all partitions of n rows, as labels."""
    rows = [[0]]
    for _ in range(n - 1):
        rows = [[*row, label] for row in rows for label in range(max(row) + 2)]
    return np.array(rows)


def trajectories(links, weights, n_steps):
    """How alike walks from two nodes are, power by power."""
    transitions = links * weights
    degree = transitions.sum(axis=1, keepdims=True)
    transitions = np.divide(transitions, degree, out=np.zeros_like(transitions), where=degree > 0)
    power, total = np.eye(len(links)), np.zeros_like(links)
    for _ in range(n_steps):
        power = power @ transitions
        total += power @ power.T
    length = np.sqrt(np.outer(total.diagonal(), total.diagonal()))
    return np.divide(total, length, out=np.zeros_like(total), where=length > 0)


def enhanced_coassociation(labels, weights, n_steps):
    """(n, n) similarity of rows by that of their clusters, 1 for the same cluster."""
    membership, member = oracles.indicators(labels)
    links = oracles.jaccard(labels)
    np.fill_diagonal(links, 0)
    of_clusters = trajectories(links, np.ones(len(links)), n_steps)
    np.fill_diagonal(of_clusters, 1)
    of_clusters *= member[:, None] == member
    weights = weights / weights.sum()
    total = membership * weights[member] @ of_clusters @ membership.T
    covering = (labels >= 0) @ weights
    return total / np.sqrt(np.outer(covering, covering))
