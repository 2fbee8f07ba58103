"""The paper's baselines on patterns compared with dense implementations on all rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import fastcluster
import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import squareform

import quorate as qt
from benchmarks.data import letters, pen_digits
from benchmarks.measure import Result, cost_of, faster, median_seconds, peak_memory, run_parts, seconds, share

GIGABYTE = 1e9
DECAY = 0.8
METHODS = {"eac": qt.EAC, "wct": qt.WCT, "srs": qt.SRS}


def one_hot(labels: np.ndarray) -> sp.csr_array:
    """Return the (n, n_clusters) indicator matrix of clusters."""
    blocks = []
    for column in labels.T:
        values, ids = np.unique(column, return_inverse=True)
        blocks.append(sp.csr_array((np.ones(len(ids)), (np.arange(len(ids)), ids)), shape=(len(ids), len(values))))
    return sp.csr_array(sp.hstack(blocks))


def dense_eac(labels: np.ndarray) -> np.ndarray:
    """Return the (n, n) share of members that group two rows."""
    similarity = np.zeros((len(labels), len(labels)))
    for column in labels.T:
        similarity += (column[:, None] == column[None, :]) / labels.shape[1]
    return similarity


def dense_wct(labels: np.ndarray) -> np.ndarray:
    """Return the (n, n) weighted connected triples, member by member."""
    rows = one_hot(labels)
    shared = (rows.T @ rows).toarray()
    sizes = np.diag(shared)
    links = shared / (sizes[:, None] + sizes - shared)
    np.fill_diagonal(links, 0.0)
    bounds = np.concatenate([[0], np.cumsum([len(np.unique(column)) for column in labels.T])])
    blocks = []
    for start, stop in itertools.pairwise(bounds):
        inside = links[start:stop]
        block = np.array([np.minimum(row, inside).sum(axis=1) for row in inside])
        np.fill_diagonal(block, 0.0)
        blocks.append(block)
    largest = max(block.max() for block in blocks)
    similarity = np.zeros((len(labels), len(labels)))
    for block, column in zip(blocks, labels.T, strict=True):
        block = DECAY * block / largest
        np.fill_diagonal(block, 1.0)
        _, ids = np.unique(column, return_inverse=True)
        similarity += block[np.ix_(ids, ids)] / labels.shape[1]
    return similarity


def dense_srs(labels: np.ndarray, n_iterations: int = 5) -> np.ndarray:
    """Return the (n, n) SimRank, by sparse times dense products."""
    rows = one_hot(labels)
    sizes = rows.sum(axis=0)
    similarity, clusters = np.eye(len(labels)), np.eye(rows.shape[1])
    for _ in range(n_iterations - 1):
        new = rows @ (rows @ clusters).T
        new *= DECAY / labels.shape[1] ** 2
        clusters = DECAY * (rows.T @ (rows.T @ similarity).T) / np.outer(sizes, sizes)
        similarity = new
        np.fill_diagonal(similarity, 1.0)
        np.fill_diagonal(clusters, 1.0)
    return similarity


DENSE = {"eac": dense_eac, "wct": dense_wct, "srs": dense_srs}


def dense_heights(name: str, labels: np.ndarray) -> np.ndarray:
    """Return the average-link heights of the dense implementation: the n x n similarity, then fastcluster."""
    distance = DENSE[name](labels)
    np.subtract(1.0, distance, out=distance)
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(distance, checks=False)
    del distance
    return fastcluster.linkage(np.maximum(condensed, 0.0, out=condensed), "average", preserve_input=False)[:, 2]


def _fit_on_letters(name: str) -> Callable[[], object]:
    labels = letters(5)
    METHODS[name](n_clusters=26).fit(labels[:500])
    return lambda: METHODS[name](n_clusters=26).fit(labels)


def _dense_on_letters(name: str) -> Callable[[], object]:
    labels = letters(5)
    return lambda: dense_heights(name, labels)


def eac_fit() -> Callable[[], object]:
    """Return the EAC fit, with compiled kernels."""
    return _fit_on_letters("eac")


def wct_fit() -> Callable[[], object]:
    """Return the WCT fit, with compiled kernels."""
    return _fit_on_letters("wct")


def srs_fit() -> Callable[[], object]:
    """Return the SRS fit, with compiled kernels."""
    return _fit_on_letters("srs")


def eac_dense() -> Callable[[], object]:
    """Return the dense EAC."""
    return _dense_on_letters("eac")


def wct_dense() -> Callable[[], object]:
    """Return the dense WCT."""
    return _dense_on_letters("wct")


def srs_dense() -> Callable[[], object]:
    """Return the dense SRS."""
    return _dense_on_letters("srs")


def against_dense() -> Iterator[Result]:
    """Compare average link on 20,000 rows and 5 members: time and memory; tests compare the heights."""
    labels, here = letters(5), "benchmarks.baselines"
    for name, bar in (("eac", 300), ("wct", 50), ("srs", 20)):
        dense = cost_of(here, f"{name}_dense")
        ours = median_seconds(lambda name=name: METHODS[name](n_clusters=26).fit(labels))
        yield faster(f"{name.upper()} average, Letters x 5, against dense", ours, dense.seconds, bar)
        memory = peak_memory(here, f"{name}_fit")
        yield faster(
            f"{name.upper()} average, Letters x 5, memory against dense",
            memory / GIGABYTE,
            dense.bytes / GIGABYTE,
            10,
            "GB",
        )


def hybrid_graph() -> Iterator[Result]:
    """Compare HBGF with GP-MGLA."""
    labels = letters(5)
    hbgf = median_seconds(lambda: qt.HBGF(n_clusters=26).fit(labels))
    gp_mgla = median_seconds(lambda: qt.GPMGLA(n_clusters=26).fit(labels))
    yield share("HBGF k=26, Letters x 5, against GP-MGLA", hbgf, gp_mgla, 2)


def slow_methods() -> Iterator[Result]:
    """Report the seconds of WCC and ECMC, which the paper calls almost infeasible on large datasets."""
    labels = pen_digits(5)
    wcc = median_seconds(lambda: qt.WCC(n_clusters=10).fit(labels), 3)
    yield share("WCC k=10, Pen Digits x 5, seconds", wcc, 1.0, 60)
    ecmc = seconds(lambda: qt.ECMC(n_clusters=10).fit(labels[:2000]))
    yield share("ECMC average, 2,000 rows of Pen Digits x 5, seconds", ecmc, 1.0, 60)


def run() -> Iterator[Result]:
    """Yield all results."""
    return run_parts(against_dense, hybrid_graph, slow_methods)
