"""Pages made from the code: one per consensus function, and the reference of all public names."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode

import quorate as qt
from quorate.consensus.base import PROMISES

__all__ = ["SkipNode", "escape_docstring", "write_all"]

REFERENCE = {
    "An ensemble": ["Ensemble", "ensemble_from_frame", "save", "load"],
    "The consensus": ["consensus", "ConsensusResult", "ConsensusCluster", "Split", "ConsensusClustering"],
    "Tables of any size": ["consensus_frame", "consensus_file", "FileConsensus", "memory_limit"],
    "Whom to trust": ["agreement", "cai", "ncai", "member_weights"],
    "Links and evidence": ["jaccard", "sact", "coassociation", "Dendrogram"],
    "How good is it": ["evaluate", "Scores"],
    "Methods": ["methods", "MethodInfo"],
    "Errors": ["QuorateError", "QuorateWarning"],
}
ROOMS = {
    "plot": "quorate.show.plot",
    "members": "quorate.members",
    "datasets": "quorate.datasets",
    "paper": "quorate.paper",
}


def write_all(folder: Path) -> None:
    """Write every generated page; what did not change is left alone, so that a rebuild is quick."""
    for info in qt.methods():
        _write(folder / "methods" / f"{info.name}.md", method_page(info))
    _write(folder / "methods" / "index.md", methods_index())
    _write(folder / "api.md", reference_page())
    _write(folder / "more.md", more_page(folder.parent))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def more_page(docs: Path) -> str:
    """Return a list of the pages that the start page does not name, so that none is out of reach."""
    named = (docs / "index.md").read_text().splitlines()
    others = sorted(page.stem for page in docs.glob("*.md") if page.stem not in (*named, "index"))
    listed = "\n".join(f"../{name}" for name in others)
    toctree = f"```{{toctree}}\n{listed}\n```\n" if others else "All pages are in the menu.\n"
    return f"# More\n\n{toctree}"


def methods_index() -> str:
    """Return the table of all methods."""
    rows = "".join(
        f"| [`{info.name}`]({info.name}.md) | {_summary(info.estimator)} | {info.citation} |\n" for info in qt.methods()
    )
    names = "\n".join(info.name for info in qt.methods())
    return f"""# Methods

Every method takes the same ensembles, weights and numbers of clusters, and promises the same things; what one cannot
promise stands on its page. These pages are made from what `qt.methods()` says.

| method | what it does | from |
|---|---|---|
{rows}
```{{toctree}}
:hidden:
{names}
```
"""


def method_page(info: Any) -> str:
    """Return the page of one method: the idea, its equation, cost, promises and parameters."""
    name = info.estimator.__name__
    defaults = "".join(f"| `{key}` | `{value!r}` |\n" for key, value in info.parameters.items())
    exceptions = "".join(_exception(*exception) for exception in info.exceptions.items())
    guide = "".join(_section(title, getattr(info, field, "")) for title, field in GUIDE.items())
    return f"""# `{info.name}`

{_summary(info.estimator)}

*{info.citation}.* Members count {"by their crowd agreement" if info.weighted else "the same"} unless told otherwise.

{guide}
## Cost and exactness

{_cost(info.cost)}

From patterns instead of rows: {info.exact}.

{"What it cannot promise:" if exceptions else ""}

{exceptions}
## Try it

```python
result = qt.consensus(labels, 3, "{info.name}")
fitted = qt.{name}(n_clusters=3).fit(labels)
```

| parameter | default |
|---|---|
{defaults}
All of it: [`qt.{name}`](../api/quorate.{name}.rst).
"""


GUIDE = {
    "The idea": "idea",
    "The equation": "equation",
    "Strength": "strength",
    "Weakness": "weakness",
    "When to use it": "when",
}


def _section(title: str, text: str) -> str:
    if not text:
        return ""
    if title == "The equation" and "$" not in text:
        text = f"$$\n{text}\n$$" if "\\" in text else f"    {text}"
    return f"## {title}\n\n{text}\n\n"


def _exception(promise: str, reason: str) -> str:
    kind, _, where = promise.partition(", ")
    return f"- That {PROMISES[kind]}{f' ({where})' if where else ''}: {reason}.\n"


def _cost(cost: str) -> str:
    return f"{cost}, with m patterns, M members, n_c clusters of all members and k clusters of the answer."


def _summary(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n")[0]


def escape_docstring(lines: list[str]) -> None:
    """Escape, in place, what reStructuredText would take for markup: our docstrings are written to be read as they are.

    Left alone are examples, what is in backticks, and the names that head the entries of a section.
    """
    in_example = False
    for i, line in enumerate(lines):
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if not in_example:
            name, colon, rest = line.partition(" : ")
            lines[i] = name + colon + _escape(rest) if colon else _escape(line) if line.startswith(" ") else line


def _escape(text: str) -> str:
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*|]|(?<=\w)_(?!\w))", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def reference_page() -> str:
    """Return the reference: every public name, in groups; a name without a group is an error."""
    estimators = [info.estimator.__name__ for info in qt.methods()]
    clusterers = ["RPCL", "HMAC", "ODISVC"]
    grouped = {**REFERENCE, "Consensus functions": estimators, "Base clusterers": clusterers}
    known = {name for names in grouped.values() for name in names} | ROOMS.keys()
    missing = sorted(set(qt.__all__) - known)
    if missing:
        grouped["More"] = missing
    text = "# Reference\n\nPublic names, from their docstrings. `import quorate as qt` brings all of them.\n"
    for title, names in grouped.items():
        text += f"\n## {title}\n\n" + _autosummary([f"quorate.{name}" for name in names if name in qt.__all__])
    for name, module in ROOMS.items():
        text += f"\n## `qt.{name}`\n\n" + _autosummary(f"{module}.{item}" for item in _public(module))
    return text


def _public(module: str) -> list[str]:
    """Return the documented names that a module defines or lists."""
    room = __import__(module, fromlist=["*"])
    listed = getattr(room, "__all__", None) or [
        name
        for name, thing in vars(room).items()
        if not name.startswith("_") and inspect.isfunction(thing) and thing.__module__ == module
    ]
    shown = [getattr(qt, name) for name in qt.__all__]
    return [name for name in listed if callable(getattr(room, name)) and getattr(room, name) not in shown]


def _autosummary(names: Any) -> str:
    lines = "".join(f"   {name}\n" for name in names)
    return f"```{{eval-rst}}\n.. autosummary::\n   :toctree: api\n   :template: thing.rst\n\n{lines}```\n"
