"""Does the default hold on rare groups and near-copies? Compared with one graph cut with members weighted by agreement.

`python -m benchmarks.robust` prints mean ARI: of the default, of the default before it was a portfolio (LWGP, weights
by mean AMI to the power 4, copies counted one by one), and of plain majority voting, which needs to know which cluster
of each member stands for which group.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from benchmarks.measure import Result
from quorate._utils.array_types import Ints
from quorate.benchmarking.comparison_tables import markdown_table

SHARES = {
    "96/2/1/1": (0.96, 0.02, 0.01, 0.01),
    "99/.5/.3/.2": (0.99, 0.005, 0.003, 0.002),
    "90/5/3/2": (0.9, 0.05, 0.03, 0.02),
}
ROWS = (1500, 20_000)
NOISE = (0.02, 0.05, 0.1)
MEMBERS = (5, 8, 12)
COPIES = (1, 2, 5)
FIDELITY = (0.95, 0.98, 0.99, 1.0)
SEEDS = 10
LARGEST_LOSS = 0.02
LEAST = 0.98
CLEAR = 0.99  # majority voting from which the default has to find the groups


class Case(NamedTuple):
    """Members and the groups they were made from."""

    members: list[Ints]
    groups: Ints
    k: int


def redraw(labels: Ints, share: float, k: int, random: np.random.Generator) -> Ints:
    """Return labels of which a share is drawn at random."""
    return np.where(random.random(len(labels)) < share, random.integers(k, size=len(labels)), labels)


def uneven(shares: tuple[float, ...], n_rows: int, noise: float, seed: int) -> Case:
    """Return ten members of four groups of uneven size, each right but for a share of rows."""
    random = np.random.default_rng([271, seed, n_rows, round(1000 * noise)])
    sizes = np.round(np.array(shares) * n_rows).astype(int)
    groups = np.repeat(np.arange(4), [n_rows - sizes[1:].sum(), *sizes[1:]])
    return Case([redraw(groups, noise, 4, random) for _ in range(10)], groups, 4)


def copied(n_members: int, n_copies: int, fidelity: float, seed: int, *, of_random: bool) -> Case:
    """Return members of five groups, a fifth of the rows drawn at random, and copies of a good or a random member."""
    random = np.random.default_rng([314, seed, n_members, of_random])
    groups = random.integers(5, size=1000)
    members = [redraw(groups, 0.2, 5, random) for _ in range(n_members)]
    if of_random:
        members.append(random.integers(5, size=1000))
    return Case([*members, *(redraw(members[-1], 1 - fidelity, 5, random) for _ in range(n_copies))], groups, 5)


def before(case: Case) -> Ints:
    """Return the labels of the default before it was a portfolio."""
    agreement = qt.agreement(case.members, measure="ami")
    trust = np.clip((agreement.sum(axis=1) - 1) / (len(case.members) - 1), 0, None)
    return qt.LWGP(case.k, theta=0.8, weights=np.maximum(trust / trust.max(), 1e-2) ** 4).fit(case.members).labels_


def majority(case: Case) -> Ints:
    """Return the label that most members give to each row; labels mean the same in all members."""
    return np.stack([np.sum(np.stack(case.members) == c, axis=0) for c in range(case.k)]).argmax(axis=0)


def score(case: Case) -> tuple[float, float, float]:
    """Return the ARI of the default, of the default before, and of majority voting."""
    answers = qt.consensus(case.members, case.k).labels, before(case), majority(case)
    first, second, third = (float(adjusted_rand_score(case.groups, labels)) for labels in answers)
    return first, second, third


def uneven_results() -> Iterator[Result]:
    """Measure groups of uneven size, and print the table."""
    lines = []
    for (name, shares), n_rows, noise in itertools.product(SHARES.items(), ROWS, NOISE):
        found = np.array([score(uneven(shares, n_rows, noise, seed)) for seed in range(SEEDS)])
        ours, old, voting = found.mean(axis=0)
        lines.append([name, f"{n_rows:,}", f"{noise:.0%}", *(f"{value:.3f}" for value in (ours, old, voting))])
        holds = ours >= LEAST or voting < CLEAR
        what = f"groups of {name} %, {n_rows:,} rows, {noise:.0%} redrawn"
        yield Result(what, ours, old, "ARI", ours, f">= {LEAST}", holds)
    print(markdown_table(["groups, %", "rows", "redrawn", "default", "before", "majority voting"], lines))


def copy_results() -> Iterator[Result]:
    """Measure near-copies, and print the table."""
    lines = []
    for of_random, n_members in itertools.product((False, True), MEMBERS):
        alone = np.mean(
            [score(copied(n_members, 0, 1.0, seed, of_random=of_random))[:2] for seed in range(SEEDS)], axis=0
        )
        kind = "random" if of_random else "good"
        for n_copies, fidelity in itertools.product(COPIES, FIDELITY):
            cases = [copied(n_members, n_copies, fidelity, seed, of_random=of_random) for seed in range(SEEDS)]
            ours, old = np.mean([score(case)[:2] for case in cases], axis=0)
            copies = [str(n_members), kind, str(n_copies), f"{fidelity:.0%}"]
            lines.append([*copies, *(f"{value:.3f}" for value in (alone[0], ours, alone[1], old))])
            what = f"{n_members} members, {n_copies} copies at {fidelity:.0%} of a {kind} one"
            lost = float(alone[0] - ours)
            yield Result(what, ours, alone[0], "ARI", lost, f"<= {LARGEST_LOSS} lost", lost <= LARGEST_LOSS)
    columns = ["members", "copied", "copies", "rows alike", "without copies", "with copies", "before: without", "with"]
    print(markdown_table(columns, lines))


def run() -> list[Result]:
    """Measure both, and return whether the bars are reached."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [*uneven_results(), *copy_results()]
    print(f"{sum(result.holds for result in results)} of {len(results)} bars reached")
    return results


if __name__ == "__main__":
    run()
