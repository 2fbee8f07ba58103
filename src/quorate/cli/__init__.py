"""The `quorate` command. Heavy packages are imported only by the commands that need them."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from quorate._runtime.memory import require_address_space
from quorate.cli.flags import command_tree, flag_writer
from quorate.cli.interrupts import INTERRUPT_MESSAGE, INTERRUPTED, exit_on_interrupt, ignore_interrupts
from quorate.errors import MissingPackageError, QuorateError, QuorateWarning

BAD_INPUT, FAILURE = 2, 1
_ADDRESS_SPACE = 2600 << 20  # measured: what the libraries of a command map until its kernels are compiled
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def command() -> int:
    """Run the command with the arguments of this process, and return its exit code; Ctrl-C ends the process."""
    _open_streams()
    interruptible = exit_on_interrupt()
    code = main(sys.argv[1:])
    if interruptible:
        ignore_interrupts()
    for stream in (sys.stdout, sys.stderr):
        _drop_unwritten(stream)
    return code


def _drop_unwritten(stream: Any) -> None:
    """Discard output that could not be written; Python would try to write it again at exit, and fail."""
    try:
        stream.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0 success, 1 failure, 2 bad input, 130 interrupted.

    This is the one place where errors become messages.
    """
    try:
        code = run(arguments)
        sys.stdout.flush()
        return code
    except BaseException as error:
        return _explain(error, arguments)


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code; errors are raised."""
    if arguments and not {"-h", "--help", "--version"}.intersection(arguments):
        require_address_space(_ADDRESS_SPACE, "The command")
    with warnings.catch_warnings():
        quiet = "--quiet" in arguments or "-q" in arguments
        warnings.simplefilter("ignore" if quiet else "always", QuorateWarning)
        shown: set[str] = set()
        warnings.showwarning = lambda message, *_, **__: _show_warning(message, arguments, shown)
        try:
            command_tree()(arguments, prog_name="quorate", standalone_mode=True)
        except SystemExit as finished:
            if finished.code == INTERRUPTED:
                raise KeyboardInterrupt from None
            if isinstance(finished.__context__, BrokenPipeError):  # which typer turns into exit code 1
                raise finished.__context__ from None
            return finished.code if isinstance(finished.code, int) else FAILURE if finished.code else 0
    return 0


def _explain(error: BaseException, arguments: Sequence[str]) -> int:
    """Print what went wrong, and return the exit code; raise the error instead if QUORATE_TRACEBACK is set."""
    if os.environ.get("QUORATE_TRACEBACK"):
        raise error
    if isinstance(error, KeyboardInterrupt):
        return _complain(INTERRUPT_MESSAGE, INTERRUPTED)
    if isinstance(error, MissingPackageError):  # perhaps of the package that reads the flags
        return _complain(str(error), BAD_INPUT)
    if isinstance(error, QuorateError):
        return _complain(error.render(flag_writer(arguments)), BAD_INPUT)
    if isinstance(error, MemoryError):
        return _complain(
            "Out of memory. Combine fewer members, or use --method weac, which needs little memory.", FAILURE
        )
    if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has read enough
        _redirect_output()
        return 0
    if isinstance(error, OSError):
        _redirect_output()
        full = error.errno in _FULL or error.filename is None
        what = error.filename or "The output"
        message = f"{what} cannot be read or written: {error.strerror or error}. "
        return _complain(
            message + ("Check the disk space." if full else "Check the path."), FAILURE if full else BAD_INPUT
        )
    if not isinstance(error, Exception):
        raise error
    what = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
    return _complain(f"Quorate failed ({what}). This is a bug; please report it with the command.", FAILURE)


def _complain(message: str, code: int) -> int:
    with contextlib.suppress(OSError):  # standard error may be closed
        print(f"Error: {_one_line(message)}", file=sys.stderr, flush=True)
    return code


def _one_line(message: str) -> str:
    """Escape control characters, which column names may contain."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in message)


def _open_streams() -> None:
    """Make the standard streams accept any text; open closed ones on the null device."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if isinstance(stream, io.TextIOWrapper):  # the terminal may not support every character
            stream.reconfigure(errors="replace")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            with contextlib.suppress(OSError):
                os.fstat(number)
                continue
            os.open(os.devnull, os.O_RDWR)  # a file opened later would take this descriptor otherwise
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _redirect_output() -> None:
    """Point standard output at the null device, so that closing it does not fail."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, arguments: Sequence[str], shown: set[str]) -> None:
    """Print a warning of this package once; warnings of other libraries are not for users of the command."""
    if isinstance(message, QuorateWarning):
        text = _one_line(message.render(flag_writer(arguments)))
        # The result and its summary may warn of the same.
        if text not in shown:
            shown.add(text)
            print(f"Warning: {text}", file=sys.stderr)
