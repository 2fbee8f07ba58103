"""The paper's baselines on patterns beside the plain dense way on all rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import fastcluster
import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import squareform

import quorate as qt
from benchmarks.data import letters, pen_digits
from benchmarks.measure import Result, faster, median_seconds, peak_memory, run_parts, seconds, share

GIGABYTE = 1e9
DECAY = 0.8
MADE = {"eac": qt.EAC, "wct": qt.WCT, "srs": qt.SRS}


def one_hot(labels: np.ndarray) -> sp.csr_array:
    """(n, n_clusters) indicator of each row's clusters."""
    blocks = []
    for column in labels.T:
        values, ids = np.unique(column, return_inverse=True)
        blocks.append(sp.csr_array((np.ones(len(ids)), (np.arange(len(ids)), ids)), shape=(len(ids), len(values))))
    return sp.csr_array(sp.hstack(blocks))


def dense_eac(labels: np.ndarray) -> np.ndarray:
    """(n, n) share of members that join two rows."""
    similarity = np.zeros((len(labels), len(labels)))
    for column in labels.T:
        similarity += (column[:, None] == column[None, :]) / labels.shape[1]
    return similarity


def dense_wct(labels: np.ndarray) -> np.ndarray:
    """(n, n) weighted connected triples, member by member."""
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
    """(n, n) SimRank, by sparse times dense products as fast as the plain iteration allows."""
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
    """Average-link heights the plain way: the n x n similarity, then fastcluster."""
    distance = DENSE[name](labels)
    np.subtract(1.0, distance, out=distance)
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(distance, checks=False)
    del distance
    return fastcluster.linkage(np.maximum(condensed, 0.0, out=condensed), "average", preserve_input=False)[:, 2]


def _fit_on_letters(name: str) -> Callable[[], object]:
    labels = letters(5)
    MADE[name](n_clusters=26).fit(labels[:500])
    return lambda: MADE[name](n_clusters=26).fit(labels)


def _dense_on_letters(name: str) -> Callable[[], object]:
    labels = letters(5)
    return lambda: dense_heights(name, labels)


def eac_fit() -> Callable[[], object]:
    """Return the EAC fit whose memory is measured, its kernels warm."""
    return _fit_on_letters("eac")


def wct_fit() -> Callable[[], object]:
    """Return the WCT fit whose memory is measured, its kernels warm."""
    return _fit_on_letters("wct")


def srs_fit() -> Callable[[], object]:
    """Return the SRS fit whose memory is measured, its kernels warm."""
    return _fit_on_letters("srs")


def eac_dense() -> Callable[[], object]:
    """Return the dense EAC whose memory is measured."""
    return _dense_on_letters("eac")


def wct_dense() -> Callable[[], object]:
    """Return the dense WCT whose memory is measured."""
    return _dense_on_letters("wct")


def srs_dense() -> Callable[[], object]:
    """Return the dense SRS whose memory is measured."""
    return _dense_on_letters("srs")


def against_the_dense_way() -> Iterator[Result]:
    """Compare average link on 20,000 rows and 5 members: time, heights, memory."""
    labels = letters(5)
    for name, bar in (("eac", 300), ("wct", 50), ("srs", 20)):
        found: list[np.ndarray] = []
        dense = seconds(lambda name=name, found=found: found.append(dense_heights(name, labels)))
        ours = median_seconds(lambda name=name: MADE[name](n_clusters=26).fit(labels))
        yield faster(f"{name.upper()} average, Letters x 5, against the dense way", ours, dense, bar)
        if name != "eac":  # whose heights are not unique: they tie massively
            heights = MADE[name](n_clusters=26).fit(labels).dendrogram_.to_scipy(rows=True)[:, 2]
            difference = float(np.abs(heights - found[0]).max())
            yield share(
                f"{name.upper()} average, Letters x 5, largest difference of heights", difference, 1.0, 1e-9, ""
            )
        here = "benchmarks.baselines"
        little, much = peak_memory(here, f"{name}_fit"), peak_memory(here, f"{name}_dense")
        yield faster(
            f"{name.upper()} average, Letters x 5, memory against the dense way",
            little / GIGABYTE,
            much / GIGABYTE,
            10,
            "GB",
        )


def hybrid_graph() -> Iterator[Result]:
    """Compare HBGF with GP-MGLA."""
    labels = letters(5)
    hbgf = median_seconds(lambda: qt.HBGF(n_clusters=26).fit(labels))
    gp_mgla = median_seconds(lambda: qt.GPMGLA(n_clusters=26).fit(labels))
    yield share("HBGF k=26, Letters x 5, against GP-MGLA", hbgf, gp_mgla, 2)


def almost_infeasible() -> Iterator[Result]:
    """Report the seconds of WCC and ECMC on 10,992 rows, which the paper calls almost infeasible."""
    labels = pen_digits(5)
    wcc = median_seconds(lambda: qt.WCC(n_clusters=10).fit(labels), 3)
    yield share("WCC k=10, Pen Digits x 5, seconds", wcc, 1.0, 60)
    ecmc = seconds(lambda: qt.ECMC(n_clusters=10).fit(labels))
    yield share("ECMC average, Pen Digits x 5, seconds", ecmc, 1.0, 600)


def run() -> list[Result]:
    """Run everything, printing as it goes."""
    return run_parts(against_the_dense_way, hybrid_graph, almost_infeasible)
