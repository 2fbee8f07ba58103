"""Docstrings of methods: parameters and attributes that many share are described once, here.

A method's own docstring describes what is its own: the summary, its own parameters, references and an example.
"""

from __future__ import annotations

import inspect
import re
import textwrap

_WIDTH = 116
_LIMITED = ", at most the number of clusters of all members"
PARAMETERS = {
    "n_clusters": ('int or "auto"', 'Number of clusters{limited}; "auto" takes the suggestion of `choose_k`.'),
    "linkage": (
        '{"average", "complete", "single"}',
        "How the similarity of two groups follows from that of their rows. Complete link needs a matrix over patterns.",
    ),
    "theta": ("float", "How slowly the weight of a cluster falls with its uncertainty; the authors use 0.2 to 1."),
    "init": (
        '{"ward", "heaviest", "k-means++", "first-row"}',
        "How the k-means of the embedded patterns starts. "
        '"ward": many seeds merged by Ward\'s criterion, which needs no random numbers and a quarter of the time of '
        '"k-means++" for equally good answers (docs/starts.md). "heaviest": farthest-first from the heaviest pattern. '
        '"k-means++": at random, the best of `n_init`. "first-row": farthest-first from the first row, as in the '
        "authors' program.",
    ),
    "n_init": ("int", "Number of random starts, if `init` is random."),
    "random_state": ("int, Generator or None", "Seed, if `init` is random. None: another seed in every run."),
    "weights": (
        "{choices} or (M,) array",
        'Weights of the members: all equal, by crowd agreement ("ncai"), by chance-corrected agreement ("trust"), or '
        "given.{local}",
    ),
    "beta": ("float", 'Exponent of the agreement in the weight of a member, for weights "ncai" and "trust".'),
    "normalize": (
        '{"sqrt", "max", "arithmetic", "min"}',
        'How mutual information is normalized (see `agreement`); the authors\' program uses "max".',
    ),
}
"""Type and meaning of the parameters that many methods share."""
_GROUP_INIT = (
    '{"lwea", "random"}',
    'Where the iterations start: at the average-link cut of LWEA ("lwea"), or at random rows, the best of `n_init`.',
)
_LOCAL = ' "local": each cluster has its own weight, by its certainty (`cluster_certainty`).'
_WEIGHTS = ("ncai", "trust", "equal")


def complete_docstring(cls: type) -> None:
    """Add the shared parameters and the fitted attributes to the docstring of a method."""
    # numpydoc sections are taken apart, completed, and joined again.
    head, sections = _split(inspect.cleandoc(cls.__doc__ or ""))
    own = _entries(sections.pop("Parameters", ""))
    attributes = _entries(sections.pop("Attributes", ""))
    parameters = inspect.signature(cls).parameters
    # The method's own parameters come between the number of clusters and those that it shares with others.
    order = sorted(parameters, key=lambda name: (name != "n_clusters", name in PARAMETERS))
    described = [own[name] if name in own else _shared_parameter(cls, name, parameters[name].default) for name in order]
    fitted = [entry for entry in attributes.values() if entry] + _fitted_attributes(cls, set(attributes))
    sections = {"Parameters": "\n".join(filter(None, described)), "Attributes": "\n".join(fitted), **sections}
    cls.__doc__ = "\n\n".join([head, *(f"{name}\n{'-' * len(name)}\n{text}" for name, text in sections.items())])


def _split(text: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into what precedes its sections, and the sections by name."""
    # Sections start with a name and a line of dashes.
    head, *parts = re.split(r"\n\n(\w+)\n-+\n", text)
    return head, {name: body.strip("\n") for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _entries(section: str) -> dict[str, str]:
    """Return the entries of a section by the names they describe; an entry of several names comes once."""
    entries: dict[str, str] = {}
    for entry in re.findall(r"^\S[^\n]*(?:\n    [^\n]*|\n(?=\n))*", section, re.MULTILINE):
        # "a, b : int" describes two parameters; the entry is written once, under the first name.
        names = entry.partition(" :")[0].partition("\n")[0].split(", ")
        entries |= {name: entry if name == names[0] else "" for name in names}
    return entries


def _shared_parameter(cls: type, name: str, default: object) -> str:
    """Return the numpydoc entry of a parameter that methods share."""
    if name not in PARAMETERS:
        raise TypeError(f"The docstring of {cls.__name__} does not describe its parameter {name}.")
    kind, meaning = _GROUP_INIT if (name, default) == ("init", "lwea") else PARAMETERS[name]
    local, limited = (getattr(cls, fact, False) for fact in ("local_weights", "limited_by_clusters"))
    choices = ", ".join(f'"{choice}"' for choice in (*_WEIGHTS, *(["local"] if local else [])))
    kind = kind.replace("{choices}", f"{{{choices}}}")
    meaning = meaning.replace("{limited}", _LIMITED if limited else "").replace("{local}", _LOCAL if local else "")
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    return f"{name} : {kind}, default {shown}\n{_indented(meaning)}"


def _fitted_attributes(cls: type, described: set[str]) -> list[str]:
    """Return the entries of the public properties that `fit` fills, from their docstrings; a method's own first."""
    # Later classes of the reversed MRO override earlier ones, as in attribute lookup.
    properties = {
        name: value
        for kind in reversed(cls.__mro__)
        for name, value in vars(kind).items()
        if isinstance(value, property) and name.endswith("_") and not name.startswith("_")
    }
    return [
        f"{name}\n{_indented(value.__doc__ or '')}"
        for name, value in sorted(properties.items(), key=lambda item: item[0] not in vars(cls))
        if name not in described
    ]


def _indented(text: str) -> str:
    return textwrap.indent(textwrap.fill(" ".join(text.split()), _WIDTH), "    ")
