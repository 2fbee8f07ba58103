"""Pages made from the code: one per consensus function, the reference of all public names, and llms.txt."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import quorate as qt
from quorate.algorithms.base import PROMISES, ConsensusMethod

__all__ = ["escape_docstring", "hidden_members", "write_all"]

HERE = Path(__file__).resolve().parent
_FIELDS = ("Parameters", "Attributes")  # sections of docstrings that describe members

REFERENCE = {
    "Combine clusterings": [
        "consensus",
        "ConsensusResult",
        "Solution",
        "Answer",
        "ConsensusCluster",
        "Split",
        "methods",
        "MethodInfo",
    ],
    "Which members are reliable": [
        "trust",
        "ensemble_trust",
        "EnsembleTrust",
        "member_reliability",
        "MemberReliability",
        "families",
        "Families",
        "agreement",
        "cai",
        "ncai",
        "member_weights",
    ],
    "How many clusters, and are there any": [
        "choose_k",
        "Choice",
        "Candidate",
        "CandidateAnswer",
        "structure",
        "Structure",
        "label_structure",
        "LabelStructure",
        "Diagnosis",
    ],
    "How good is it": ["evaluate", "Scores", "bench", "Comparison"],
    "Show it": ["report", "explore", "Explorer"],
    "An ensemble": ["Ensemble", "ensemble_from_frame", "save", "load"],
    "Tables of any size": [
        "consensus_frame",
        "consensus_file",
        "FileConsensus",
        "SqlExport",
        "memory_limit",
        "time_limit",
        "progress",
    ],
    "From features": [
        "ConsensusClustering",
        "cluster_frame",
        "cluster_file",
        "FileClusters",
        "FeatureModel",
        "USPEC",
        "RPCL",
        "HMAC",
        "ODISVC",
    ],
    "Similarities of rows and clusters": [
        "coassociation",
        "edge_evidence",
        "cluster_certainty",
        "jaccard",
        "sact",
        "Dendrogram",
    ],
    "More than one answer": ["core", "Core", "CoreStep", "camps", "Camps", "Camp", "credible_ball", "CredibleBall"],
    "Nested answers": ["Layers"],
    "Soft members": ["SoftEnsemble"],
    "Choice of a resolution": ["choose_member", "MemberChoice", "MemberEvidence"],
    "Rows in space": ["smooth_labels"],
    "Comparison of partitions": ["compare", "PartitionComparison", "match", "LabelMatch", "relabel"],
    "Consensus functions": [info.estimator.__name__ for info in qt.methods()],
    "Errors": ["QuorateError", "QuorateWarning"],
}
METHODS_OF_ESTIMATORS = {"fit", "fit_predict", "predict", "solve", "sweep", "layers", "save", "to_sql"}
"""What users call on a consensus method; its other public names are texts, or serve subclasses and other modules."""
INTERNAL = {"derived", "fit_sample", "labeler", "restore", "to_arrays"}
"""Public names of other classes that serve other modules only."""
MODULES = {
    "plot": "quorate.reporting.plot",
    "features": "quorate.features",
    "datasets": "quorate.datasets",
    "paper": "quorate.paper",
}


def write_all(folder: Path) -> None:
    """Write every generated page; what did not change is left alone, so that a rebuild is quick."""
    for info in qt.methods():
        _write(folder / "methods" / f"{info.name}.md", method_page(info))
    _write(folder / "methods" / "index.md", methods_index())
    _write(folder / "api.md", reference_page())
    _write(folder / "root" / "llms.txt", llms_page())


def llms_page() -> str:
    """Return llms.txt, a map of the site for language models: each page with its first sentence and its source.

    Sections are the captions of the site's index; pages without a heading of their own are left out.
    """
    index = (HERE / "index.md").read_text()
    sections = re.findall(r":caption: (.+?)\n(.*?)```", index, re.DOTALL)
    how_to = re.findall(r"^[\w-]+$", (HERE / "how-to" / "index.md").read_text().partition(":hidden:")[2], re.MULTILINE)
    lists = {caption: pages.split() for caption, pages in sections}
    lists["How to"] = [f"how-to/{name}" for name in how_to]
    parts = ["# Quorate", "> " + _first_sentence(index)]
    for caption, names in lists.items():
        texts = {name: (HERE / f"{name}.md").read_text() for name in names if (HERE / f"{name}.md").exists()}
        entries = [_llms_entry(f"{name}.md", text) for name, text in texts.items() if text.startswith("# ")]
        parts.append(f"## {caption}\n\n" + "\n".join(entries))
    methods = [_llms_entry(f"_generated/methods/{info.name}.md", method_page(info)) for info in qt.methods()]
    return "\n\n".join([*parts, "## Methods\n\n" + "\n".join(methods)]) + "\n"


def _llms_entry(path: str, text: str) -> str:
    title = text.partition("\n")[0].removeprefix("# ")
    return f"- [{title}](_sources/{path}.txt): {_first_sentence(text)}".rstrip(": ")


def _first_sentence(text: str) -> str:
    """Return the first sentence of a page below its title, without links."""
    paragraph = next((part for part in text.split("\n\n")[1:] if re.match(r"[A-Za-z*]|`[^`]", part)), "")
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
    return re.split(r"(?<=\.)\s", plain)[0]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def methods_index() -> str:
    """Return the table of all methods."""
    rows = "".join(
        f"| [`{info.name}`]({info.name}.md) | {_summary(info.estimator)} | {info.citation} |\n" for info in qt.methods()
    )
    names = "\n".join(info.name for info in qt.methods())
    return f"""# Methods

[Choose a method](../../how-to/which-method.md) has a table of when to use which. If you name none, `auto` runs.
Every method takes the same ensembles, weights and numbers of clusters, and keeps the same promises; exceptions are
listed on its page.

| method | what it does | from |
|---|---|---|
{rows}
## Signs

The pages write equations with these signs:

| sign | meaning |
|---|---|
| i, j; u, v | rows; patterns, that is groups of rows with the same label in every member |
| l, w_l | a member, and its weight |
| c_l(i) | the cluster of row i in member l |
| H | rows x clusters of all members: 1 where the row is in the cluster, else 0 |
| B | the same with weights: how strongly each row is linked to each cluster |
| S(i, j) | how similar two rows are: in the simplest case the share of members that put them together |
| k, m, M, n_c | clusters of the answer, patterns, members, clusters of all members |
| NCAI, SACT | agreement of a member with the others; similarity of clusters (Huang, Lai, Wang 2015) |
| ECI(c) | how certain the other members are of cluster c (`cluster_certainty`) |
| WCT, Jaccard | similarity of clusters: through third clusters that both meet; rows shared over rows in either |
| transfer cut | spectral clustering of the graph B, computed over the few clusters instead of the many rows |

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
    return f"""# `{info.name}`

{_summary(info.estimator)}

| | |
|---|---|
| when to use it | {info.when} |
| strength | {info.strength} |
| weakness | {info.weakness} |
| time and memory | {_cell(info.cost)} |
| exact, though only distinct rows are computed | {_cell(info.exact)} |
| members count | {"by their agreement with each other" if info.weighted else "the same"}, unless `weights` are given |
| from | {info.citation} |

## What it computes

{info.idea}

    {info.equation}

The [signs](index.md#signs) are the same on all pages; m, M, n_c and k are the numbers of patterns, members, clusters of
all members, and clusters of the answer.

{"What other methods promise and this one cannot:" if exceptions else ""}

{exceptions}
## Try it

```python
result = qt.consensus(labels, 3, "{info.name}")
fitted = qt.{name}(n_clusters=3).fit(labels)
```

| parameter | default |
|---|---|
{defaults}
[`qt.{name}`](../api/quorate.{name}.rst) explains the parameters and lists the attributes of a fitted estimator. The
[leaderboard](../../leaderboard.md) compares the methods.
"""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _exception(promise: str, reason: str) -> str:
    kind, _, where = promise.partition(", ")
    return f"- That {PROMISES[kind]}{f' ({where})' if where else ''}: {reason}.\n"


def _summary(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n")[0]


def escape_docstring(lines: list[str]) -> None:
    """Escape, in place, what reStructuredText would take for markup: docstrings are also read as plain text.

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


def hidden_members(name: str) -> str:
    """Return the members that the page of a class does not list after its docstring, separated by commas.

    These are the parameters and attributes that the docstring describes, and what only other modules use.
    """
    thing = getattr(qt, name, None)
    if not inspect.isclass(thing):
        return ""
    sections = re.split(r"\n\n(\w+)\n-+\n", inspect.getdoc(thing) or "")
    described = [text for title, text in zip(sections[1::2], sections[2::2], strict=True) if title in _FIELDS]
    heads = re.findall(r"^(\w[\w, ]*?)(?: :|$)", "\n".join(described), re.MULTILINE)
    hidden = {field for head in heads for field in head.split(", ")} | INTERNAL
    if issubclass(thing, ConsensusMethod):
        hidden |= {member for member in dir(thing) if not member.startswith("_")} - METHODS_OF_ESTIMATORS
    return ", ".join(sorted(hidden & set(dir(thing))))


def reference_page() -> str:
    """Return the reference: every public name, in groups; a name without a group is an error."""
    grouped = {name for names in REFERENCE.values() for name in names} | MODULES.keys()
    if grouped != set(qt.__all__):
        raise LookupError(f"REFERENCE must have every public name once; it differs in {grouped ^ set(qt.__all__)}.")
    text = "# Reference\n\nAll public names. `import quorate as qt` brings them: `quorate.trust` is `qt.trust`.\n"
    for title, names in REFERENCE.items():
        text += f"\n## {title}\n\n" + _autosummary(f"quorate.{name}" for name in names)
    for name, module in MODULES.items():
        text += f"\n## `qt.{name}`\n\n" + _autosummary(f"{module}.{item}" for item in _public(module))
    return text


def _public(module: str) -> list[str]:
    """Return the documented names that a module defines or lists."""
    namespace = __import__(module, fromlist=["*"])
    listed = getattr(namespace, "__all__", None) or [
        name
        for name, thing in vars(namespace).items()
        if not name.startswith("_") and inspect.isfunction(thing) and thing.__module__ == module
    ]
    shown = [getattr(qt, name) for name in qt.__all__]
    return [name for name in listed if callable(getattr(namespace, name)) and getattr(namespace, name) not in shown]


def _autosummary(names: Any) -> str:
    lines = "".join(f"   {name}\n" for name in names)
    return f"```{{eval-rst}}\n.. autosummary::\n   :toctree: api\n   :template: autosummary/thing.rst\n\n{lines}```\n"
