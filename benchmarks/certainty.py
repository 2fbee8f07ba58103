"""Does certainty tell good clusters and rows from bad ones? Stability, confidence and margin against known classes.

    python -m benchmarks.certainty

Eight datasets with drawn pools, fifteen public pools, 20 members each, and 48 simulated ensembles with groups of uneven
size; the default method at the number of classes. Members of half of the simulated ensembles err independently, so that
nearly all rows are right; those of the other half share hard rows. "co-association" is the mean co-association of a row
with the other rows of its cluster, for comparison. Public sets are split by a hash of their names: one half decides,
the other confirms. Finished draws are kept in .cache/certainty; run again to go on after an interruption.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

import quorate as qt
from benchmarks.data import SHARED
from benchmarks.default import decides
from quorate._runtime.checkpoints import Store
from quorate._utils.array_types import Bools, Floats, Ints
from quorate.certainty import Groups
from quorate.row_similarity import covering_weight

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "certainty"
DATASETS = (
    "iris", "wine", "seeds", "breast_cancer", "yeast", "image_segmentation", "pen_digits", "letters",
)  # fmt: skip
N_MEMBERS = 20
DRAWS = 3  # from each public pool of 100 members
BAR = 0.6
SIMULATED = 24  # of each of the two kinds
INDEPENDENT, SHARED_ERRORS = "simulated, independent errors", "simulated, shared errors"
FEWEST = 4  # clusters: the ranks of fewer say little
BINS = 10
OF_CLUSTERS = ("stability", "mean confidence", "mean co-association")
OF_ROWS = ("confidence", "margin", "co-association")


def draws() -> Iterator[tuple[str, Any]]:
    """Yield the name of each draw and a function that returns its labels (n, M) and classes (n,)."""
    for path in sorted(SHARED.glob("lwea_*.npz")):
        for draw in range(DRAWS):
            yield f"{path.stem} {draw}", lambda path=path, draw=draw: _from_pool(path, draw)
    for name in DATASETS:
        yield f"{name} 0", lambda name=name: _drawn(name)
    for number in range(SIMULATED):
        yield f"{INDEPENDENT} {number}", lambda number=number: _simulated(number)
        yield f"{SHARED_ERRORS} {number}", lambda number=number: _with_hard_rows(number)


def _from_pool(path: Path, draw: int) -> tuple[Ints, Ints]:
    with np.load(path) as archive:
        labels, classes = archive["labels"], archive["truth"].ravel()
    members = np.random.default_rng(draw).permutation(labels.shape[1])[:N_MEMBERS]
    return labels[:, np.sort(members)], classes


def _drawn(name: str) -> tuple[Ints, Ints]:
    data = qt.datasets.load(name)
    pool = qt.features.draw_pool(data, N_MEMBERS, ("kmeans",), path=CACHE / f"{name}.sqlite", progress=False)
    return pool.labels, np.unique(np.asarray(data.classes), return_inverse=True)[1]


def _simulated(number: int) -> tuple[Ints, Ints]:
    """Return ten members of 3 to 9 groups of uneven size, some finer or coarser than the groups."""
    random = np.random.default_rng([161, number])
    k = int(random.integers(3, 10))
    classes = random.choice(k, 1500, p=random.dirichlet(np.full(k, 2.0)))
    noise = random.uniform(0.05, 0.3, k)  # groups differ in how well members know them
    members = []
    for _ in range(10):
        moved = np.where(random.random(1500) < noise[classes], random.integers(k, size=1500), classes)
        members.append(_finer_or_coarser(moved, k - 1, random))
    return np.stack(members, axis=1), classes


def _with_hard_rows(number: int) -> tuple[Ints, Ints]:
    """Return 20 members of 4 to 10 groups that tend to confuse the same rows, with the same other group."""
    random = np.random.default_rng([162, number])
    k = int(random.integers(4, 11))
    classes = random.choice(k, 1500, p=random.dirichlet(np.full(k, 2.0)))
    neighbor = (np.arange(k) + random.integers(1, k, k)) % k
    other = np.where(random.random(1500) < 0.7, neighbor[classes], random.integers(k, size=1500))
    confused = np.minimum(2 * random.beta(0.5, 1.5, 1500) * random.uniform(0.05, 0.9, k)[classes], 0.95)
    members = []
    for _ in range(20):
        labels = np.where(random.random(1500) < confused, other, classes)
        members.append(_finer_or_coarser(labels, int(random.integers(k)), random))
    return np.stack(members, axis=1), classes


def _finer_or_coarser(labels: Ints, merged: int, random: np.random.Generator) -> Ints:
    """Return labels as they are, or with groups cut into three at random, or with one group merged with the first."""
    kind = random.integers(3)
    if kind == 1:
        return np.asarray(labels * 3 + random.integers(3, size=len(labels)))
    return np.where(labels == merged, 0, labels) if kind == 2 else labels


def measure(labels: Ints, classes: Ints) -> dict[str, Any]:
    """Return, of one ensemble, how certainty ranks clusters by their purity and rows by error, and its calibration."""
    fitted = qt.consensus(labels, len(np.unique(classes))).estimator
    found, together = fitted.labels_, _coassociation(fitted)
    table = _contingency(found, classes)
    purity = table.max(axis=1) / table.sum(axis=1)
    confidence, mean = (np.bincount(found, weights=values) / np.bincount(found)
                        for values in (fitted.confidence_, together))  # fmt: skip
    ranks = {
        "stability": _spearman(np.array([cluster.stability for cluster in fitted.clusters_]), purity),
        "mean confidence": _spearman(confidence, purity),
        "mean co-association": _spearman(mean, purity),
    }
    wrong = _misassigned(table, found, classes)
    of_rows = {"confidence": fitted.confidence_, "margin": fitted.margin_, "co-association": together}
    place = np.minimum((fitted.confidence_ * BINS).astype(int), BINS - 1)
    sums = [np.bincount(place, weights=w, minlength=BINS) for w in (np.ones(len(found)), fitted.confidence_, ~wrong)]
    return {
        "clusters": len(purity),
        "wrong": float(wrong.mean()),
        **ranks,
        **{name: float(roc_auc_score(wrong, -values)) if wrong.any() else None for name, values in of_rows.items()},
        "calibration": np.stack(sums).tolist(),
        "of clusters": [[cluster.stability for cluster in fitted.clusters_], confidence.tolist(), purity.tolist()],
    }


def _coassociation(fitted: Any) -> Floats:
    """(n,) mean co-association of each row with the other rows of its cluster."""
    ens, weights = fitted.ensemble_, fitted.member_weights_
    groups = Groups.of(ens, weights, fitted.pattern_labels_)
    share = groups.histogram * (weights[ens.cluster_member] / weights.sum())
    rows = fitted.pattern_labels_
    total = np.array([share[rows[i], ids[ids >= 0]].sum() for i, ids in enumerate(ens.patterns)])
    total /= np.sqrt(covering_weight(ens.patterns, weights))
    return ((total - 1.0) / np.maximum(groups.sizes[rows] - 1.0, 1.0))[ens.row_pattern]


def _contingency(found: Ints, classes: Ints) -> Floats:
    """(clusters, classes) the rows they share."""
    codes = np.unique(classes, return_inverse=True)[1]
    n_classes = codes.max() + 1
    return np.bincount(found * n_classes + codes, minlength=(found.max() + 1) * n_classes).reshape(-1, n_classes)


def _misassigned(table: Floats, found: Ints, classes: Ints) -> Bools:
    """(n,) whether a row's class is not the one that the best pairing of clusters and classes gives its cluster."""
    clusters, paired = linear_sum_assignment(-table)
    class_of = np.full(len(table), -1)
    class_of[clusters] = paired
    return class_of[found] != np.unique(classes, return_inverse=True)[1]


def _spearman(values: Floats, purity: Floats) -> float | None:
    if len(values) < FEWEST or np.ptp(values) == 0 or np.ptp(purity) == 0:
        return None
    return float(spearmanr(values, purity).statistic)


def rows() -> dict[str, dict[str, Any]]:
    """Measure what is missing; return the figures of each dataset, the mean over its draws."""
    warnings.simplefilter("ignore", qt.QuorateWarning)
    found: dict[str, list[dict[str, Any]]] = {}
    with Store(CACHE / "draws.sqlite", {"task": "certainty", "members": N_MEMBERS, "version": 4}) as store:
        for name, read in draws():
            if name not in store:
                store.add(name, measure(*read()))
            found.setdefault(name.rpartition(" ")[0], []).append(store[name])
    return {name: _average(several) for name, several in found.items()}


def _average(several: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of the figures of several draws, and the sum of their calibration tables."""
    tables = {
        "calibration": np.sum([one["calibration"] for one in several], axis=0),
        "of clusters": np.concatenate([one["of clusters"] for one in several], axis=1),
    }
    return {key: _mean([one[key] for one in several]) for key in several[0] if key not in tables} | tables


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def table(measured: dict[str, dict[str, Any]] | None = None) -> str:
    """Return the figures as a table in Markdown, the means of all datasets last."""
    measured = rows() if measured is None else measured
    columns = ("clusters", "wrong", *OF_CLUSTERS, *OF_ROWS)
    titles = ("clusters", "rows misassigned", *(f"{name}: Spearman" for name in OF_CLUSTERS),
              *(f"{name}: AUC" for name in OF_ROWS))  # fmt: skip
    lines = ["| dataset | " + " | ".join(titles) + " |", "|---|" + "---:|" * len(columns)]
    total = {key: _mean([one[key] for one in measured.values()]) for key in columns}
    for name, one in {**measured, f"mean of {len(measured)}": total}.items():
        cells = [f"{one[key]:.0f}" if key == "clusters" else _shown(one[key]) for key in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def calibration(measured: dict[str, dict[str, Any]]) -> str:
    """Return a table: mean confidence and share of rows that are right, by ten bins of confidence."""
    lines = ["| rows | " + " | ".join(f"{i / BINS:.1f} to {(i + 1) / BINS:.1f}" for i in range(BINS)) + " |"]
    lines.append("|---|" + "---:|" * BINS)
    public = [name for name in measured if name not in (INDEPENDENT, SHARED_ERRORS)]
    for kind, names in {INDEPENDENT: [INDEPENDENT], SHARED_ERRORS: [SHARED_ERRORS], "public": public}.items():
        rows, predicted, right = sum(measured[name]["calibration"] for name in names)
        shown = [f"{p / n:.2f}: {r / n:.2f}" if n else "–" for n, p, r in zip(rows, predicted, right, strict=True)]
        lines.append(f"| {kind}, confidence: share right | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _of_half(measured: dict[str, dict[str, Any]], half: bool) -> list[dict[str, Any]]:
    """Return the figures of the public sets that decide, or of those that confirm."""
    public = {name: one for name, one in measured.items() if name not in (INDEPENDENT, SHARED_ERRORS)}
    return [one for name, one in public.items() if decides(name) is half]


def main() -> None:
    """Print the tables, and for each half of the public sets whether the bar is reached."""
    measured = rows()
    print(table(measured))
    print("\n" + calibration(measured))
    print()
    for half in (True, False):
        name, sets = "deciding" if half else "confirming", _of_half(measured, half)
        means = {key: _mean([one[key] for one in sets]) for key in (*OF_CLUSTERS, *OF_ROWS)}
        n_ranked = sum(one["stability"] is not None for one in sets)
        print(f"Public sets, {name} half: {len(sets)}, {n_ranked} of {FEWEST} clusters or more: "
              + ", ".join(f"{key} {value:.3f}" for key, value in means.items())
              + f" (bar {BAR} for stability: {'holds' if means['stability'] >= BAR else 'FAILS'})")  # fmt: skip
    simulated = [measured[name] for name in (INDEPENDENT, SHARED_ERRORS)]
    for name, sets in {"public": _of_half(measured, True) + _of_half(measured, False), "simulated": simulated}.items():
        stability, confidence, purity = np.concatenate([one["of clusters"] for one in sets], axis=1)
        print(f"All {len(purity):,} {name} clusters together: stability {spearmanr(stability, purity).statistic:.3f}, "
              f"mean confidence {spearmanr(confidence, purity).statistic:.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
