"""Where the results of a command go."""

from __future__ import annotations

import json as json_format
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorate.cli.output import note
from quorate.errors import QuorateError
from quorate.reporting import render_report
from quorate.tables.io import STREAM, check_ending, check_output, output_format, write_text


@dataclass(frozen=True)
class Outputs:
    """Where results go."""

    output: str | None
    output_format: str | None
    report: str | None = None
    summary: str | None = None
    model: str | None = None
    force: bool = False

    @property
    def files(self) -> list[str]:
        """All of them."""
        return [path for path in (self.output, self.report, self.summary, self.model) if path is not None]

    @property
    def described(self) -> bool:
        """Whether the answer is described in a file."""
        return self.report is not None or self.summary is not None

    def check(self, source: str, *, json: bool) -> None:
        """Refuse, before any work, what could not be written in the end."""
        for path in self.files:
            check_output(path, force=self.force, source=source)
        names = [Path(path).resolve() for path in self.files if path != STREAM]
        if len(set(names)) < len(names):
            raise QuorateError("Two outputs have the same name. Write each to a file of its own.")
        if [*self.files, *([STREAM] if json else [])].count(STREAM) > 1:
            raise QuorateError("Only one result can go to standard output. Write the others to files.")
        if self.output is not None:
            output_format(self.output, self.output_format)
        check_ending(self.report, (".html", ".htm"), "the report")
        check_ending(self.summary, (".json",), "the summary")
        check_ending(self.model, (".npz",), "the model")

    def describe(self, summary: dict[str, Any]) -> None:
        """Write the report, and its data, if they are wanted."""
        if self.report is not None:
            write_text(self.report, render_report(summary), force=self.force)
        if self.summary is not None:
            write_text(self.summary, json_format.dumps(summary, allow_nan=False), force=self.force)

    def say(self, *, quiet: bool) -> None:
        """Say what was written."""
        for path in self.files:
            if path != STREAM:
                note(f"Written: {path}", quiet=quiet)
