"""How often planted camps of members are found, and how often one camp is reported where none are planted.

`python -m benchmarks.camps`: 200 simulations of each kind. A simulation is right if `camps` finds exactly the planted
groups of members, or one camp where there is one opinion.
"""

import argparse
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import quorate as qt

Members = list[np.ndarray]


def noisy(random: Generator, classes: np.ndarray, share: float) -> np.ndarray:
    """Return classes of which a share of the rows has random labels."""
    wrong = random.random(len(classes)) < share
    return np.where(wrong, random.integers(0, classes.max() + 1, len(classes)), classes)


def opinions(random: Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Return three clusters, seven clusters that split two of them, and a share of noise."""
    coarse = random.integers(0, 3, 500)
    fine = np.choose(coarse, [random.integers(0, 3, 500), np.full(500, 3), 4 + random.integers(0, 3, 500)])
    return coarse, fine, random.uniform(0.05, 0.2)


def planted(sizes: tuple[int, int]) -> Callable[[Generator], tuple[Members, list[int]]]:
    """Return a simulation of two camps: three clusters, and seven that split two of them."""

    def draw(random: Generator) -> tuple[Members, list[int]]:
        coarse, fine, share = opinions(random)
        members = [noisy(random, coarse, share) for _ in range(sizes[0])]
        return members + [noisy(random, fine, share) for _ in range(sizes[1])], list(sizes)

    return draw


def some_between(random: Generator) -> tuple[Members, list[int]]:
    """Return camps of 11 and 8 members, and one or two members that split one of the two clusters."""
    coarse, fine, share = opinions(random)
    members = [noisy(random, coarse, share) for _ in range(11)] + [noisy(random, fine, share) for _ in range(8)]
    between = np.where(coarse == 0, fine, coarse + 2)
    return members + [noisy(random, between, share) for _ in range(random.integers(1, 3))], [11, 8]


def one_partition(random: Generator) -> tuple[Members, list[int]]:
    """Return 20 members of one partition with different amounts of noise."""
    classes = random.integers(0, random.integers(2, 9), 500)
    return [noisy(random, classes, random.uniform(0.02, 0.3)) for _ in range(20)], [20]


def blobs(random: Generator) -> np.ndarray:
    """Return 500 rows of a mixture of three to eight Gaussians."""
    centers = random.normal(0, 3, (random.integers(3, 9), 4))
    return make_blobs(500, centers=centers, random_state=int(random.integers(1 << 30)))[0]


def kmeans(random: Generator, X: np.ndarray, k: int) -> np.ndarray:
    """Return one run of k-means from one random start."""
    return KMeans(k, n_init=1, init="random", random_state=int(random.integers(1 << 30))).fit_predict(X)


def varied_k(random: Generator) -> tuple[Members, list[int]]:
    """Return 20 runs of k-means with different numbers of clusters."""
    X = blobs(random)
    return [kmeans(random, X, int(random.integers(2, 16))) for _ in range(20)], [20]


def same_k(random: Generator) -> tuple[Members, list[int]]:
    """Return 20 runs of k-means with the same number of clusters, which may end in different local optima."""
    X, k = blobs(random), int(random.integers(3, 9))
    return [kmeans(random, X, k) for _ in range(20)], [20]


KINDS = {
    "planted 12/8": planted((12, 8)),
    "planted 15/5": planted((15, 5)),
    "planted 11/8, one or two between": some_between,
    "one partition": one_partition,
    "k-means, varied k": varied_k,
    "k-means, same k": same_k,
}


def right(draw: Callable[[Generator], tuple[Members, list[int]]], seed: int) -> tuple[bool, float]:
    """Return whether the camps of one simulation are the planted ones, and the AMI between camps.

    Members after the planted ones lie between camps and may be in either.
    """
    members, sizes = draw(np.random.default_rng(seed))
    found = qt.camps(members)
    ends = np.cumsum([0, *sizes])
    expected = [list(range(start, end)) for start, end in pairwise(ends)]
    camps = sorted(camp.members[camp.members < ends[-1]].tolist() for camp in found.camps)
    if len(expected) == 1:
        return len(camps) <= 1, found.agreement_between
    return camps == expected, found.agreement_between


def main() -> None:
    """Print the share of right simulations of each kind."""
    options = argparse.ArgumentParser()
    options.add_argument("--draws", type=int, default=200)
    options.add_argument("--first", type=int, default=0, help="first seed")
    options.add_argument("--kinds", nargs="*", default=list(KINDS))
    given = options.parse_args()
    for kind in given.kinds:
        results = [right(KINDS[kind], seed) for seed in range(given.first, given.first + given.draws)]
        share = np.mean([correct for correct, _ in results])
        wrong = [f"{between:.2f}" for correct, between in results if not correct]
        print(
            f"{kind}: {share:.3f} right of {given.draws}; AMI between camps where wrong: {' '.join(wrong)}", flush=True
        )


if __name__ == "__main__":
    main()
