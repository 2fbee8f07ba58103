"""The errors and warnings of the package: a message for people, and a code for programs.

An error that is about one parameter names it in `parameter`, and its message starts with that name. The command shows
its own flag instead. Advice that mentions parameters is given as `hint`, in parts: text and `Setting`.
"""

import functools
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Setting(NamedTuple):
    """A parameter that advice mentions, and its value: `init="ward"` in Python, `--init ward` in the command."""

    parameter: str
    value: object = None

    def __str__(self) -> str:
        return self.parameter if self.value is None else f"{self.parameter}={self.value!r}"


Hint = str | Setting | Iterable[str | Setting]


class _Message(Exception):
    """A message whose parameters can be shown in the vocabulary of Python or of the command."""

    def __init__(self, problem: str, *, code: str, parameter: str | None = None, hint: Hint = ()) -> None:
        """Store the parts of a message.

        problem : what is wrong and what was received; without its subject if `parameter` is given
        code : a stable name of the problem, in kebab case
        parameter : the parameter at fault, which becomes the subject of the message
        hint : what to do
        """
        self.problem, self.code, self.parameter = problem, code, parameter
        self.hint = (hint,) if isinstance(hint, str | Setting) else tuple(hint)
        super().__init__(self.render(str))

    def __reduce__(self) -> tuple[Callable[[str], Exception], tuple[str]]:
        """Keep all parts when worker processes send a message back: exceptions are pickled by their text alone."""
        again = functools.partial(type(self), code=self.code, parameter=self.parameter, hint=self.hint)
        return again, (self.problem,)

    def render(self, show: Callable[[Setting], str]) -> str:
        """Return the message, with every parameter as `show` writes it."""
        subject = f"{show(Setting(self.parameter))} " if self.parameter else ""
        advice = "".join(show(part) if isinstance(part, Setting) else part for part in self.hint)
        return f"{subject}{self.problem} {advice}".strip()


class QuorateError(_Message, ValueError):
    """Base class of the errors that Quorate raises on purpose."""


class InputError(QuorateError, ValueError):
    """Invalid input or an invalid parameter."""


class MemoryLimitError(QuorateError, MemoryError):
    """A computation that would need more memory than is available or allowed."""


class TimeLimitError(QuorateError, TimeoutError):
    """A computation that would take longer than allowed."""


class DamagedFileError(QuorateError, ValueError):
    """A file that is damaged or not of the format that it declares."""


class MissingPackageError(QuorateError, ImportError):
    """An optional package that a feature needs is not installed."""


class QuorateWarning(_Message, UserWarning):
    """The result is correct but may not be what the caller meant."""


# Frames between the caller's line and the code that warns: scikit-learn calls `fit` for `fit_predict` and pipelines.
_NOT_THE_CALLER = ("quorate", "sklearn", "joblib")


def warn(problem: str, *, code: str, parameter: str | None = None, hint: Hint = ()) -> None:
    """Issue a `QuorateWarning` that points at the caller's line, outside of this package and of those that call it."""
    issue(QuorateWarning(problem, code=code, parameter=parameter, hint=hint))


def issue(warning: QuorateWarning) -> None:
    """Issue a warning that points at the caller's line, outside of this package and of those that call it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_CALLER:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
