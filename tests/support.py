"""Helpers that several test files use."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from quorate.algorithms.weac import WEAC
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError, QuorateWarning

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""The folder of published ensembles and reference answers, which is not part of the repository."""
MIXED_MEMBERS = ("numbers", "text", "noisy")


def with_published(*names: str) -> list[str]:
    """Return the names of ensembles to test on: the generated one, and the published ones if they are present."""
    return ["generated", *(names if SHARED.is_dir() else ())]


@contextmanager
def raises(
    code: str, parameter: str | None = None, error: type[QuorateError] = QuorateError
) -> Iterator[pytest.ExceptionInfo]:
    """Expect an error with this code (and parameter)."""
    with pytest.raises(error) as caught:
        yield caught
    assert (caught.value.code, caught.value.parameter if parameter else None) == (code, parameter), str(caught.value)


@contextmanager
def warns(*expected: str) -> Iterator[None]:
    """Expect warnings with these codes, and perhaps others."""
    with pytest.warns(QuorateWarning) as caught:
        yield
    codes = [warning.message.code for warning in caught if isinstance(warning.message, QuorateWarning)]
    assert set(expected) <= set(codes), codes


def mixed_labels(n_rows=400, seed=0):
    """Draw a member of integers, one of text with missing labels, and one of integers with noise."""
    rng = np.random.default_rng(seed)
    text = np.array(["b", "a", "ä", None], dtype=object)[rng.integers(0, 4, n_rows)]
    return [rng.integers(0, 3, n_rows), text, rng.integers(-2, 3, n_rows)]


def assert_same_ensemble(first, second, rows=True):
    """Check that two ensembles have equal patterns, counts and levels (and rows)."""
    assert first.names == second.names
    assert (first.n_rows, first.noise) == (second.n_rows, second.noise)
    np.testing.assert_array_equal(first.patterns, second.patterns)
    np.testing.assert_array_equal(first.row_counts, second.row_counts)
    np.testing.assert_allclose(first.counts, second.counts, rtol=1e-7)  # weights without a unit have 24 bits
    assert [levels.tolist() for levels in first.levels] == [levels.tolist() for levels in second.levels]
    if rows:
        np.testing.assert_array_equal(first.row_pattern, second.row_pattern)
        np.testing.assert_array_equal(first.first_row, second.first_row)


def mixed_ensemble(labels, rows, **options):
    """Return the ensemble of some rows of mixed labels."""
    return Ensemble([vector[rows] for vector in labels], names=MIXED_MEMBERS, **options)


def noisy_consensus(n_clusters, n_members, n_rows=800, method=WEAC):
    """Return classes and a fitted method: members that know the classes of most rows, and a random one."""
    rng = np.random.default_rng(n_clusters)
    truth = rng.integers(0, n_clusters, n_rows)
    labels = [np.where(rng.random(n_rows) < 0.15, rng.integers(0, n_clusters, n_rows), truth) for _ in range(n_members)]
    labels[-1] = rng.integers(0, n_clusters, n_rows)
    return truth, method(n_clusters).fit(np.stack(labels, axis=1))


class EndlessView:
    """A view of the explorer that works until its job is cancelled."""

    stage = "counting sheep"

    def __init__(self):
        self.begun, self.ended = threading.Event(), threading.Event()

    def __call__(self, bench, request, job):
        self.begun.set()
        try:
            while True:
                job.enter(self.stage)
                time.sleep(0.01)
        finally:
            self.ended.set()
