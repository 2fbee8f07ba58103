"""The errors and warnings of the package."""

import sys
import warnings


class QuorateError(ValueError):
    """Bad input or an impossible request; the message says what is wrong and what to do."""


class QuorateWarning(UserWarning):
    """The answer is right but probably not what was meant, or less than was asked for."""


# What stands between a user's line and the code that warns: scikit-learn calls `fit` for `fit_predict` and pipelines.
_NOT_THE_USER = ("quorate", "sklearn", "joblib")


def warn(message: str) -> None:
    """Issue a `QuorateWarning` that points at the user's line, outside of this package and of those that call it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_USER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, QuorateWarning, stacklevel=level)
