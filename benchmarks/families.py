"""Do 100 seeds of one poor clusterer outvote ten good members, and does the discount for copies change other results?

`python -m benchmarks.families`: 50 draws of a mixture of Gaussians. Good members are runs of k-means with 2 to 20
clusters on all features. A poor clusterer is k-means on one feature, or on one column of noise, with 100 seeds. Seeds
of the best of ten starts are near-copies; those of single starts end in different local optima. Printed is the mean ARI
with the groups, without and with the seeds: of the default, of the default without the discount (every member a family
of its own), with the family named (`groups=`), and of the default before families (`robust.before`).

Then ensembles in which members are not copies: 100 draws of 10 and of 20 such good members, and draws of 10 members of
the public pools, if these are there. Printed is how often the discount changes a label, the mean ARI, and how many
ensembles have members that are nearly the same all the same, as runs of k-means with the same k often are.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from benchmarks.data import SHARED
from benchmarks.measure import Result
from benchmarks.mixtures import draw_mixture
from benchmarks.robust import Case, before
from quorate._utils.array_types import Floats, Ints
from quorate.benchmarking.comparison_tables import markdown_table
from quorate.benchmarking.public_pools import read_pool

DRAWS, GOOD, SEEDS, ROWS = 50, 10, 100, 1000
KINDS = ("one feature, best of 10 starts", "one feature", "noise")
UNRELATED = 100  # draws of ensembles without copies
POOL_DRAWS = 5
LARGEST_POOL = 20_000  # rows


def kmeans(points: Floats, k: int, random: np.random.Generator, n_init: int = 1) -> Ints:
    """Return one run of k-means."""
    return KMeans(k, n_init=n_init, random_state=int(random.integers(2**31))).fit_predict(points)


def drawn(seed: int, n_members: int) -> tuple[Floats, Case]:
    """Return the points of a mixture, and good members of it."""
    random = np.random.default_rng([577, seed, n_members])
    k = int(random.integers(3, 9))
    points, groups = draw_mixture(random, k, ROWS)
    return points, Case([kmeans(points, int(random.integers(2, 21)), random) for _ in range(n_members)], groups, k)


def poor(points: Floats, k: int, seed: int, kind: str) -> list[Ints]:
    """Return seeds of a clusterer that sees one feature, or one column of noise, alone."""
    random = np.random.default_rng([578, seed])
    seen = random.random((ROWS, 1)) if kind == "noise" else points[:, :1]
    return [kmeans(seen, k, random, 10 if kind == "one feature, best of 10 starts" else 1) for _ in range(SEEDS)]


def default(case: Case, groups: list[str] | None = None) -> Ints:
    """Return the labels of the default, perhaps with named families."""
    return qt.consensus(case.members, case.k, groups=groups).labels


def without_discount(case: Case) -> Ints:
    """Return the labels of the default if every member counts as one."""
    return default(case, [f"member {j}" for j in range(len(case.members))])


def named(case: Case) -> Ints:
    """Return the labels of the default if the seeds are known to be one family."""
    return default(case, [f"member {j}" if j < GOOD else "seeds" for j in range(len(case.members))])


WAYS: dict[str, Callable[[Case], Ints]] = {
    "default": default,
    "without discount": without_discount,
    "family named": named,
    "before families": before,
}


def seed_results() -> Iterator[Result]:
    """Measure the effect of many seeds of one clusterer, and print the table."""
    lines = []
    for kind in KINDS:
        figures: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
        quality, effective = [], []
        for seed in range(DRAWS):
            points, case = drawn(seed, GOOD)
            seeds = poor(points, case.k, seed, kind)
            quality.append(adjusted_rand_score(case.groups, seeds[0]))
            effective.append(qt.families(seeds).effective_members)
            flooded = case._replace(members=[*case.members, *seeds])
            for way, answer in WAYS.items():
                alone, together = answer(case), answer(flooded)
                scores = [adjusted_rand_score(case.groups, labels) for labels in (alone, together)]
                figures[way].append((*scores, adjusted_rand_score(alone, together)))
        about = f"{kind} (ARI {np.mean(quality):.2f}, seeds count {np.mean(effective):.1f})"
        for way, found in figures.items():
            alone, together, same = np.mean(found, axis=0)
            moved = np.mean([abs(one - other) for one, other, _ in found])
            lines.append([about, way, *(f"{value:.3f}" for value in (alone, together, moved, same))])
            if way in ("default", "family named"):
                yield Result(f"{SEEDS} seeds, {kind}, {way}", together, alone, "ARI", moved, "<= 0.02", moved <= 0.02)
    columns = ["poor clusterer sees", "way", "without seeds", "with seeds", "mean change", "ARI of the two answers"]
    print(markdown_table(columns, lines))


def unrelated_cases() -> Iterator[tuple[str, Case]]:
    """Yield ensembles whose members were made independently of each other."""
    for n_members in (10, 20):
        for seed in range(UNRELATED):
            yield f"mixtures, {n_members} members", drawn(10_000 + seed, n_members)[1]
    for path in sorted(SHARED.glob("*.npz")):
        pool = read_pool(path)
        if len(pool.classes) <= LARGEST_POOL and pool.labels.shape[1] >= GOOD:
            for number in range(POOL_DRAWS):
                labels = pool.draw(GOOD, number, 579)
                k = min(pool.n_classes, int((labels.max(axis=0) + 1).sum()))
                yield "public pools, 10 members", Case(list(labels.T), pool.classes, k)


def unrelated_results() -> Iterator[Result]:
    """Measure how often the discount changes labels where no member is a copy, and print the table."""
    figures: dict[str, list[tuple[float, float, float, float, bool]]] = {}
    for kind, case in unrelated_cases():
        answers = default(case), without_discount(case)
        scores = [adjusted_rand_score(case.groups, labels) for labels in answers]
        same = adjusted_rand_score(*answers)
        alike = qt.families(case.members).effective_members < len(case.members) - 1e-9
        figures.setdefault(kind, []).append((*scores, same, same < 1, alike))
    lines = []
    for kind, found in figures.items():
        ours, other, same, changed, alike = np.mean(found, axis=0)
        of_the_rest = np.mean([row[3] for row in found if not row[4]] or [np.nan])
        shares = f"{changed:.1%}", f"{alike:.0%}", f"{of_the_rest:.1%}"
        lines.append([kind, str(len(found)), f"{ours:.4f}", f"{other:.4f}", f"{same:.3f}", *shares])
        yield Result(f"{kind}: labels changed", ours, other, "ARI", changed, "<= 5 %", changed <= 0.05)
    columns = ["ensembles", "number", "default", "without discount", "ARI of the two answers", "labels changed"]
    print(markdown_table([*columns, "some members alike", "labels changed in the others"], lines))


def run() -> list[Result]:
    """Measure both, or the part named on the command line, and return whether the bars are reached."""
    parts = {"seeds": seed_results, "unrelated": unrelated_results}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [result for name in sys.argv[1:] or parts for result in parts[name]()]
    for result in results:
        print(f"{'reached' if result.holds else 'MISSED '}  {result.what}: {result.quotient:.3f} ({result.bar})")
    return results


if __name__ == "__main__":
    run()
