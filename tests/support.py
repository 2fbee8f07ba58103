"""Helpers that several test files use."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from quorate.errors import QuorateError, QuorateWarning


@contextmanager
def raises(
    code: str, parameter: str | None = None, error: type[QuorateError] = QuorateError
) -> Iterator[pytest.ExceptionInfo]:
    """Expect an error with this code (and parameter)."""
    with pytest.raises(error) as caught:
        yield caught
    assert (caught.value.code, caught.value.parameter if parameter else None) == (code, parameter), str(caught.value)


@contextmanager
def warns(code: str) -> Iterator[None]:
    """Expect a warning with this code; other warnings are issued again."""
    with pytest.warns(QuorateWarning) as caught:
        yield
    codes = [warning.message.code for warning in caught if isinstance(warning.message, QuorateWarning)]
    assert code in codes, codes
