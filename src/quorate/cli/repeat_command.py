"""The command that reproduces a result."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from quorate.cli.table_source import Source

_NONE: Mapping[str, object] = MappingProxyType({})


def labels_command(
    source: Source, method: str, settings: Sequence[str], seed: int | None, k: int, more: Mapping[str, object] = _NONE
) -> str:
    """Return the command that writes the labels at k clusters; `more` are further options, None if not given."""
    words = ["quorate", "combine", source.file, *source.others, *_source_options(source), "--method", method]
    for setting in settings:
        words += ["--set", setting]
    if seed is not None:
        words += ["--seed", str(seed)]
    for option, value in more.items():
        words += [] if value is None else [option, str(value)]
    return shlex.join([*words, "-k", str(k), "-o", f"consensus_{k}.csv"])


def cluster_command(words: Sequence[str], k: int) -> str:
    """Return the `quorate cluster` command that was called, with another number of clusters and output."""
    repeated, skip = [], False
    for word in words:
        option = word.partition("=")[0]
        if not skip and option not in _CHANGED:
            repeated.append(word)
        skip = not skip and word in _CHANGED
    return shlex.join(["quorate", "cluster", *repeated, "-k", str(k), "-o", f"consensus_{k}.csv"])


_CHANGED = ("-k", "--clusters", "-o", "--output", "--report", "--summary", "--model", "--plane")


def _source_options(source: Source) -> list[str]:
    options = {
        "--members": source.members,
        "--soft": source.soft,
        "--id": source.id_column,
        "--truth": source.truth,
        "--keep": source.keep,
        "--noise": None if source.noise == "missing" else source.noise,
        "--format": source.format,
        "--delimiter": source.delimiter,
        "--encoding": source.encoding,
        "--sheet": source.sheet,
        "--memory-limit": source.memory_limit,
    }
    words = []
    for option, value in options.items():
        for text in [] if value is None else [value] if isinstance(value, str) else value:
            words += [option, text]
    return words if source.header is None else [*words, "--header" if source.header else "--no-header"]
