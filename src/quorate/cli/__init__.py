"""The `quorate` command. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from quorate.cli.interrupts import INTERRUPTED, SENTENCE, ignore_interrupts, leave_on_interrupt
from quorate.errors import QuorateError, QuorateWarning

BAD_INPUT, FAILURE = 2, 1
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def command() -> int:
    """Be the process of the command: run it with the arguments of the process, which an interrupt ends at once."""
    _open_streams()
    leaves = leave_on_interrupt()
    code = main(sys.argv[1:])
    if leaves:
        ignore_interrupts()
    for stream in (sys.stdout, sys.stderr):
        _let_go(stream)
    return code


def _let_go(stream: Any) -> None:
    """Drop what a full stream could not take, which Python would try again at its end and fail for."""
    try:
        stream.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0 success, 1 failure, 2 bad input, 130 interrupted.

    This is the one place where errors become messages.
    """
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except BaseException as error:
        return _explain(error, arguments)


def _run(arguments: Sequence[str]) -> int:
    from quorate.cli.app import app

    with warnings.catch_warnings():
        quiet = "--quiet" in arguments or "-q" in arguments
        warnings.simplefilter("ignore" if quiet else "always", QuorateWarning)
        warnings.showwarning = lambda message, category, *_, **__: _show_warning(message, category, arguments)
        try:
            app(arguments, prog_name="quorate", standalone_mode=True)
        except SystemExit as finished:
            if finished.code == INTERRUPTED:
                raise KeyboardInterrupt from None
            return finished.code if isinstance(finished.code, int) else FAILURE if finished.code else 0
    return 0


def _explain(error: BaseException, arguments: Sequence[str]) -> int:
    """Say what went wrong, and return the exit code."""
    if isinstance(error, KeyboardInterrupt):
        return _complain(SENTENCE, INTERRUPTED)
    if isinstance(error, QuorateError):
        return _complain(_in_flags(str(error), arguments), BAD_INPUT)
    if isinstance(error, MemoryError):
        return _complain("Memory ran out. Combine fewer members, or choose weac or eac, which need least.", FAILURE)
    if isinstance(error, BrokenPipeError):  # who reads the output has read enough
        _forget_output()
        return FAILURE
    if isinstance(error, OSError):
        _forget_output()
        full = error.errno in _FULL or error.filename is None
        what = error.filename or "What was asked for"
        message = f"{what} cannot be read or written: {error.strerror or error}. "
        return _complain(
            message + ("Check space there." if full else "Check that path."), FAILURE if full else BAD_INPUT
        )
    if not isinstance(error, Exception):
        raise error
    what = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
    return _complain(f"Quorate failed ({what}). This is a defect; please report it with the command.", FAILURE)


def _complain(message: str, code: int) -> int:
    with contextlib.suppress(OSError):  # nobody hears it
        print(f"Error: {_one_line(message)}", file=sys.stderr, flush=True)
    return code


def _one_line(message: str) -> str:
    """Return a message with control signs, as names of columns may hold them, shown and not obeyed."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in message)


def _open_streams() -> None:
    """Let standard streams take any text; those that were closed lead nowhere, so that no file takes their place."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may not know every sign, nor a file's name be text
            stream.reconfigure(errors="replace")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            with contextlib.suppress(OSError):
                os.fstat(number)
                continue
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _forget_output() -> None:
    """Point standard output nowhere, so that closing it does not complain about the reader that left."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_flags(message: str, arguments: Sequence[str]) -> str:
    """Return a message of the library in the words of the command that was called."""
    from quorate.cli.options import in_flags

    return in_flags(message, next((argument for argument in arguments if not argument.startswith("-")), ""))


def _show_warning(message: Warning | str, category: type[Warning], arguments: Sequence[str]) -> None:
    if issubclass(category, QuorateWarning):
        print(f"Warning: {_one_line(_in_flags(str(message), arguments))}", file=sys.stderr)
