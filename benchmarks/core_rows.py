"""How often the rows of the core are right, on ensembles with known noise rows: `python -m benchmarks.core_rows`.

Each simulation has 2 to 8 clusters and 5 to 30 % noise rows, which every member labels at random. Every member also
mislabels 0 to 5 % of the other rows. A row that is kept is right if it is no noise row and has the label of its class.
"""

import argparse

import numpy as np
from numpy.random import Generator

import quorate as qt


def draw(random: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return (n, M) labels, and the class of each row, -1 for noise rows."""
    n_rows, k, n_members = 1000, int(random.integers(2, 9)), int(random.integers(8, 21))
    classes = random.integers(0, k, n_rows)
    noise = random.random(n_rows) < random.uniform(0.05, 0.3)
    wrong = (random.random((n_rows, n_members)) < random.uniform(0, 0.05)) | noise[:, None]
    labels = np.where(wrong, random.integers(0, k, wrong.shape), classes[:, None])
    return labels, np.where(noise, -1, classes)


def right(seed: int, agreement: float) -> tuple[int, int, int]:
    """Return the numbers of rows kept, of those that are right, and of rows with a class."""
    labels, classes = draw(np.random.default_rng(seed))
    kept = qt.core(labels, agreement, n_clusters=int(classes.max()) + 1)
    rows = np.flatnonzero(kept.labels >= 0)
    # One-to-one on the rows kept: a label that stands for two classes is right for one of them.
    table = qt.match(classes[rows], kept.labels[rows]) if len(rows) else ()
    correct = sum(pair.n_shared for pair in table if pair.first >= 0 and pair.jaccard > 0.5)
    return len(rows), correct, int(np.sum(classes >= 0))


def main() -> None:
    """Print the share of kept rows that are right, and the share of rows with a class that are kept."""
    options = argparse.ArgumentParser()
    options.add_argument("--draws", type=int, default=200)
    options.add_argument("--first", type=int, default=0, help="first seed")
    options.add_argument("--agreement", type=float, default=0.9)
    given = options.parse_args()
    results = np.array([right(seed, given.agreement) for seed in range(given.first, given.first + given.draws)])
    kept, correct, classed = results.sum(axis=0)
    worst = (results[:, 1] / np.maximum(results[:, 0], 1)).min()
    print(f"{given.draws} ensembles, agreement {given.agreement}: {correct / kept:.4f} of the rows kept are right")
    print(f"(worst ensemble {worst:.4f}); {kept / classed:.3f} times as many rows are kept as have a class")


if __name__ == "__main__":
    main()
