"""`python -m quorate` is the `quorate` command."""

from quorate.cli import command

if __name__ == "__main__":
    raise SystemExit(command())
