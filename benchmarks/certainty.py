"""Does certainty tell good clusters and rows from bad ones? Stability, confidence and margin against known classes.

    python -m benchmarks.certainty

Eight datasets with drawn pools and fifteen public pools, 20 members each, GP-MGLA at the number of classes. Finished
draws are kept in .cache/certainty; run again to go on after an interruption.
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
from quorate._runtime.checkpoints import Store
from quorate._utils.array_types import Bools, Floats, Ints

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "certainty"
DATASETS = (
    "iris", "wine", "seeds", "breast_cancer", "yeast", "image_segmentation", "pen_digits", "letters",
)  # fmt: skip
N_MEMBERS = 20
DRAWS = 3  # from each public pool of 100 members
BAR = 0.45
FEWEST = 4  # clusters: the ranks of fewer say little
OF_CLUSTERS = ("stability", "mean confidence")
OF_ROWS = ("confidence", "margin", "vote share")


def draws() -> Iterator[tuple[str, Any]]:
    """Yield the name of each draw and a function that returns its labels (n, M) and classes (n,)."""
    for path in sorted(SHARED.glob("lwea_*.npz")):
        for draw in range(DRAWS):
            yield f"{path.stem} {draw}", lambda path=path, draw=draw: _from_pool(path, draw)
    for name in DATASETS:
        yield f"{name} 0", lambda name=name: _drawn(name)


def _from_pool(path: Path, draw: int) -> tuple[Ints, Ints]:
    with np.load(path) as archive:
        labels, classes = archive["labels"], archive["truth"].ravel()
    members = np.random.default_rng(draw).permutation(labels.shape[1])[:N_MEMBERS]
    return labels[:, np.sort(members)], classes


def _drawn(name: str) -> tuple[Ints, Ints]:
    data = qt.datasets.load(name)
    pool = qt.features.draw_pool(data, N_MEMBERS, ("kmeans",), path=CACHE / f"{name}.jsonl", progress=False)
    return pool.labels, np.unique(np.asarray(data.classes), return_inverse=True)[1]


def measure(labels: Ints, classes: Ints) -> dict[str, Any]:
    """Return, of one ensemble, how certainty ranks clusters by their best Jaccard to a class, and rows by error."""
    fitted = qt.GPMGLA(len(np.unique(classes))).fit(labels)
    found, certain = fitted.labels_, fitted.pattern_certainty_
    table = _contingency(found, classes)
    jaccard = _best_jaccard(table)
    mean = np.bincount(found, weights=fitted.confidence_) / np.bincount(found)
    ranks = {
        "stability": _spearman(np.array([cluster.stability for cluster in fitted.clusters_]), jaccard),
        "mean confidence": _spearman(mean, jaccard),
    }
    wrong = _misassigned(table, found, classes)
    share = certain.vote_share[fitted.ensemble_.row_pattern]
    of_rows = {"confidence": fitted.confidence_, "margin": fitted.margin_, "vote share": share}
    return {
        "clusters": len(jaccard),
        "wrong": float(wrong.mean()),
        **ranks,
        **{name: float(roc_auc_score(wrong, -values)) if wrong.any() else None for name, values in of_rows.items()},
    }


def _contingency(found: Ints, classes: Ints) -> Floats:
    """(clusters, classes) the rows they share."""
    codes = np.unique(classes, return_inverse=True)[1]
    n_classes = codes.max() + 1
    return np.bincount(found * n_classes + codes, minlength=(found.max() + 1) * n_classes).reshape(-1, n_classes)


def _best_jaccard(table: Floats) -> Floats:
    """(clusters,) the largest Jaccard index of each cluster with any class."""
    union = table.sum(axis=1, keepdims=True) + table.sum(axis=0) - table
    return (table / union).max(axis=1)


def _misassigned(table: Floats, found: Ints, classes: Ints) -> Bools:
    """(n,) whether a row's class is not the one that the best pairing of clusters and classes gives its cluster."""
    clusters, paired = linear_sum_assignment(-table)
    class_of = np.full(len(table), -1)
    class_of[clusters] = paired
    return class_of[found] != np.unique(classes, return_inverse=True)[1]


def _spearman(values: Floats, jaccard: Floats) -> float | None:
    if len(values) < FEWEST or np.ptp(values) == 0 or np.ptp(jaccard) == 0:
        return None
    return float(spearmanr(values, jaccard).statistic)


def rows() -> dict[str, dict[str, Any]]:
    """Measure what is missing; return the figures of each dataset, the mean over its draws."""
    warnings.simplefilter("ignore", qt.QuorateWarning)
    found: dict[str, list[dict[str, Any]]] = {}
    with Store(CACHE / "draws.jsonl", {"task": "certainty", "members": N_MEMBERS, "version": 1}) as store:
        for name, read in draws():
            if name not in store:
                store.add(name, measure(*read()))
            found.setdefault(name.rpartition(" ")[0], []).append(store[name])
    return {name: {key: _mean([one[key] for one in several]) for key in several[0]} for name, several in found.items()}


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


def main() -> None:
    """Print the table and whether the bar is reached."""
    measured = rows()
    print(table(measured))
    ranked = [one["stability"] for one in measured.values() if one["stability"] is not None]
    mean = float(np.mean(ranked))
    print(f"\nStability against the best Jaccard, {len(ranked)} sets of {FEWEST} clusters or more: "
          f"{mean:.3f} (bar {BAR}: {'holds' if mean >= BAR else 'FAILS'})")  # fmt: skip


if __name__ == "__main__":
    main()
