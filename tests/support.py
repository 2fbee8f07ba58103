"""Helpers that several test files use."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quorate.errors import QuorateError, QuorateWarning

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""The folder of published ensembles and reference answers, which is not part of the repository."""


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
