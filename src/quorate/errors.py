"""The errors and warnings of the package."""

import sys
import warnings


class QuorateError(ValueError):
    """Bad input or an impossible request; the message says what is wrong and what to do."""


class QuorateWarning(UserWarning):
    """The answer is right but probably not what was meant, or less than was asked for."""


def warn(message: str) -> None:
    """Issue a `QuorateWarning` that points at the first caller's line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("quorate"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, QuorateWarning, stacklevel=level - 1)
