"""Simulate the dip of uniform samples and write its quantiles: `python tools/dips.py dip_quantiles.npz`.

Some minutes on one core. The quantiles are of sqrt(n) times the dip, for the probabilities of a larger one.
"""

import sys

import numba
import numpy as np

from quorate._kernels.dip import dip

SIZES = (8, 10, 12, 15, 20, 30, 45, 70, 100, 150, 250, 400, 700, 1200, 2500, 5000)
PROBABILITIES = (0.9, 0.7, 0.5, 0.35, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
DRAWS = 100_000


@numba.njit
def dips(samples):
    """Return the dip of each row, without ties, times twice its length."""
    n = samples.shape[1]
    below = np.arange(n).astype(np.float64)
    return np.array([dip(np.sort(sample), below, below + 1) for sample in samples])


def main(path: str) -> None:
    """Simulate and write."""
    random = np.random.default_rng(20150101)
    quantiles = []
    for n in SIZES:
        found = np.concatenate([dips(random.random((1000, n))) for _ in range(DRAWS // 1000)]) / (2 * np.sqrt(n))
        quantiles.append(np.quantile(found, 1 - np.array(PROBABILITIES)))
        print(n, quantiles[-1].round(4).tolist(), flush=True)
    np.savez(path, sizes=SIZES, probabilities=PROBABILITIES, quantiles=np.array(quantiles))


if __name__ == "__main__":
    main(sys.argv[1])
