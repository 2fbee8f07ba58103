"""The output files of a command."""

from __future__ import annotations

import json as json_format
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorate.cli.output import note
from quorate.errors import InputError, warn
from quorate.reporting import render_report
from quorate.tables.io import STREAM, check_ending, check_output, output_format, write_text


@dataclass(frozen=True)
class Outputs:
    """The output files, and how to write them."""

    output: str | None
    output_format: str | None
    report: str | None = None
    summary: str | None = None
    model: str | None = None
    force: bool = False
    sql: str | None = None

    @property
    def files(self) -> list[str]:
        """The paths of all outputs."""
        return [path for path in (self.output, self.report, self.summary, self.model, self.sql) if path is not None]

    @property
    def described(self) -> bool:
        """Whether a report or a summary is written."""
        return self.report is not None or self.summary is not None

    def check(self, *sources: str, json: bool) -> None:
        """Raise an error, before any computation, for outputs that cannot be written."""
        for path in self.files:
            for source in sources:
                check_output(path, force=self.force, source=source)
        names = [Path(path).resolve() for path in self.files if path != STREAM]
        if len(set(names)) < len(names):
            raise InputError(
                "Two outputs have the same path.", code="same-output", hint="Use a different file for each."
            )
        if [*self.files, *([STREAM] if json else [])].count(STREAM) > 1:
            raise InputError(
                "Only one result can be written to standard output.",
                code="stdout-taken",
                hint="Write the others to files.",
            )
        if self.output is not None:
            output_format(self.output, self.output_format)
        elif self.output_format is not None:
            warn("has no effect without an output file.", code="no-output", parameter="output_format")
        check_ending(self.report, (".html", ".htm"), "the report")
        check_ending(self.summary, (".json",), "the summary")
        check_ending(self.model, (".npz",), "the model")
        check_ending(self.sql, (".sql",), "the SQL script")

    def describe(self, summary: dict[str, Any]) -> None:
        """Write the report and the summary, if requested."""
        if self.report is not None:
            write_text(self.report, render_report(summary), force=self.force)
        if self.summary is not None:
            write_text(self.summary, json_format.dumps(summary, allow_nan=False), force=self.force)

    def note_written(self, *, quiet: bool) -> None:
        """Print which files were written."""
        for path in self.files:
            if path != STREAM:
                note(f"Written: {path}", quiet=quiet)
