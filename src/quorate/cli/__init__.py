"""The `quorate` command. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from quorate.errors import QuorateError, QuorateWarning

BAD_INPUT, FAILURE, INTERRUPTED = 2, 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 success, 1 failure, 2 bad input, 130 interrupted.

    This is the one place where errors become messages.
    """
    from quorate.cli.app import app

    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings():
            quiet = "--quiet" in arguments or "-q" in arguments
            warnings.simplefilter("ignore" if quiet else "always", QuorateWarning)
            warnings.showwarning = lambda message, category, *_, **__: _show_warning(message, category, arguments)
            app(arguments, prog_name="quorate", standalone_mode=True)
    except SystemExit as finished:
        if finished.code == INTERRUPTED:
            return _complain("Interrupted; no file is half-written. Run the same command again.", INTERRUPTED)
        return finished.code if isinstance(finished.code, int) else FAILURE if finished.code else 0
    except QuorateError as error:
        return _complain(_in_flags(str(error), arguments), BAD_INPUT)
    except MemoryError:
        return _complain("Memory ran out. Combine fewer members, or choose weac or eac, which need least.", FAILURE)
    except BrokenPipeError:
        _forget_output()
        return FAILURE
    except Exception as error:
        what = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
        return _complain(f"Quorate failed ({what}). This is a defect; please report it with the command.", FAILURE)
    return 0


def _complain(message: str, code: int) -> int:
    print(f"Error: {message}", file=sys.stderr)
    return code


def _forget_output() -> None:
    """Point standard output nowhere, so that closing it does not complain about the reader that left."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_flags(message: str, arguments: Sequence[str]) -> str:
    """Return a message of the library in the words of the command that was called."""
    from quorate.cli.options import in_flags

    return in_flags(message, next((argument for argument in arguments if not argument.startswith("-")), ""))


def _show_warning(message: Warning | str, category: type[Warning], arguments: Sequence[str]) -> None:
    if issubclass(category, QuorateWarning):
        print(f"Warning: {_in_flags(str(message), arguments)}", file=sys.stderr)
