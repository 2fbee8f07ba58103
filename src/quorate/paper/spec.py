"""The protocol of the paper's experiments, as data (section 7; choices the paper leaves open are marked)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from quorate._utils.checks import nearest_name
from quorate.datasets import NAMES
from quorate.errors import QuorateError
from quorate.features import METHODS as GENERATORS

VERSION = 1  # of what the rows mean: results of another version are not mixed with these
EXPERIMENTS = ("compare", "parameters", "base", "wins", "ill", "time")
LINKAGES = {"AL": "average", "CL": "complete", "SL": "single"}
LARGE = ("pen_digits", "letters")
MAX_PRESET = " (max)"
"""Ends the names of methods whose crowd index uses NMI over the larger entropy, as the authors' program does."""


@dataclass(frozen=True)
class Method:
    """A consensus function with its parameters, under the paper's name."""

    name: str
    estimator: str
    """Its name in the registry of consensus functions."""
    params: Mapping[str, Any] = field(default_factory=dict)
    slow: bool = False
    """Whether it is slow by nature, and so has fewer runs and numbers of clusters."""

    @property
    def plain_name(self) -> str:
        """The paper's name, without the mark of the preset."""
        return self.name.removesuffix(MAX_PRESET)

    @property
    def own(self) -> bool:
        """Whether it is one of the paper's two methods in the form the paper means by its bare name."""
        return self.plain_name in ("GP-MGLA", "WEAC-AL")

    def varied(self, **params: float) -> Method:
        """Return the method with other parameters, named after them."""
        setting = " ".join(f"{name}={value:g}" for name, value in params.items())
        return Method(f"{self.name} {setting}", self.estimator, {**self.params, **params}, self.slow)


def _with_linkages(name: str, slow: bool = False, **params: Any) -> list[Method]:
    return [
        Method(f"{name}-{suffix}", name.lower(), {"linkage": linkage, **params}, slow)
        for suffix, linkage in LINKAGES.items()
    ]


_FARTHEST_FIRST = {"init": "heaviest"}
"""As in the authors' programs, but from the heaviest pattern instead of the first or a random row."""

METHODS = (
    Method("GP-MGLA", "gp-mgla", _FARTHEST_FIRST),
    Method("GP-MGLA" + MAX_PRESET, "gp-mgla", {**_FARTHEST_FIRST, "normalize": "max"}),
    *_with_linkages("WEAC"),
    Method("WEAC-AL" + MAX_PRESET, "weac", {"linkage": "average", "normalize": "max"}),
    Method("HBGF", "hbgf", _FARTHEST_FIRST),
    Method("WCC", "wcc", slow=True),
    *_with_linkages("EAC"),
    *_with_linkages("ECMC", slow=True, tolerance=1e-3, max_iterations=200),
    *_with_linkages("SRS"),
    *_with_linkages("WCT"),
)


@dataclass(frozen=True)
class Slow:
    """How what is slow by nature is cut: the methods marked slow."""

    runs: int = 20
    grid: tuple[int, ...] = (2, 5, 10, 20, 30)
    """Numbers of clusters tried besides the number of classes."""
    left_out: tuple[str, ...] = ()
    """Datasets on which they do not run at all."""
    not_ill: tuple[str, ...] = LARGE
    """Datasets on which they do not run among ill clusterings."""
    max_time_rows: int = 20000
    """Largest number of rows at which they are timed."""


@dataclass(frozen=True)
class Timing:
    """The sizes and repetitions of the experiment on time."""

    sizes: tuple[int, ...] = (500, 1000, 2000, 3000, 4000, 5000, 8000, 12000, 16000, 20000)
    repeats: int = 3
    dataset: str = "letters"
    per_method: int = 2
    """Members of each generator drawn for each size, of which the ensembles are made."""
    n_clusters: int = 26


@dataclass(frozen=True)
class Spec:
    """Everything the results depend on, apart from versions of libraries."""

    name: str
    datasets: tuple[str, ...] = NAMES
    methods: tuple[Method, ...] = METHODS
    n_members: int = 5
    """M, drawn from the pool without replacement for each run."""
    runs: int = 100
    grid: tuple[int, ...] = tuple(range(2, 31))
    """Numbers of clusters tried besides the number of classes; the paper does not give its own."""
    per_generator: int = 100
    """Members of the pool from each generator."""
    generators: tuple[str, ...] = GENERATORS
    scale: str | None = "minmax"
    """How features are scaled before members are drawn; the paper does not say.

    In the authors' published k-means members of Pen Digits and Letters every row is nearest to its own center where
    features keep their range; with standardized features 5 to 8 % of rows are not.
    """
    seed: int = 0
    betas: tuple[float, ...] = (0, 1, 2, 4, 8)
    """For WEAC, at average link (Table 2)."""
    alphas_betas: tuple[tuple[float, float], ...] = (
        (0.5, 0),
        (0.5, 2),
        (0.5, 4),
        (0.5, 8),
        (0.01, 2),
        (0.1, 2),
        (1, 2),
    )
    """For GP-MGLA (Table 3)."""
    ill_ratios: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    slow: Slow = Slow()
    timing: Timing = Timing()

    def about(self) -> dict[str, Any]:
        """Return the spec as plain values."""
        return {"kind": "reproduction", "version": VERSION, **asdict(self)}

    def plain(self) -> dict[str, Any]:
        """Return the spec as it reads in a file."""
        return json.loads(json.dumps(self.about()))

    @classmethod
    def from_plain(cls, about: Mapping[str, Any]) -> Spec:
        """Return the spec that reads so in a file."""
        if about.get("kind") != "reproduction" or about.get("version") != VERSION:
            raise QuorateError("These are not results of this version's experiments. Start anew in another folder.")
        facts = {name: _as_tuples(value) for name, value in about.items() if name not in ("kind", "version")}
        methods = tuple(Method(**method) for method in about["methods"])
        slow = Slow(**{name: _as_tuples(value) for name, value in about["slow"].items()})
        timing = Timing(**{name: _as_tuples(value) for name, value in about["timing"].items()})
        return cls(**{**facts, "methods": methods, "slow": slow, "timing": timing})

    def method(self, name: str) -> Method:
        """Return one of the methods by name."""
        return next(method for method in self.methods if method.name == name)

    def runs_of(self, method: Method) -> int:
        """Return how many runs a method has."""
        return min(self.runs, self.slow.runs) if method.slow else self.runs

    def grid_of(self, method: Method, n_classes: int) -> list[int]:
        """Return the numbers of clusters tried with a method, ascending; the number of classes is among them."""
        return sorted({n_classes, *(self.slow.grid if method.slow else self.grid)})


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


FULL = Spec("full")
QUICK = Spec(
    "quick",
    datasets=("iris", "wine", "seeds"),
    runs=5,
    per_generator=10,
    ill_ratios=(0.0, 0.2, 0.5),
    slow=Slow(runs=2),
    timing=Timing(sizes=(300, 600, 1200), repeats=1, per_method=1),
)


@dataclass(frozen=True)
class Selection:
    """Which part of a spec to run now; the rest can follow in the same results folder."""

    experiments: tuple[str, ...]
    datasets: tuple[str, ...]
    methods: tuple[str, ...]


def select(
    spec: Spec,
    experiments: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> Selection:
    """Return the part of a spec that was asked for, by default all; an unknown name says what exists."""
    return Selection(
        _known("experiment", experiments, EXPERIMENTS),
        _known("dataset", datasets, spec.datasets),
        _known("method", methods, tuple(method.name for method in spec.methods)),
    )


def _known(what: str, wanted: Sequence[str] | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the wanted names, in order; capitals do not matter."""
    if wanted is None:
        return tuple(names)
    by_lower = {name.lower(): name for name in names}
    chosen = set()
    for name in [wanted] if isinstance(wanted, str) else wanted:
        if name.lower() not in by_lower:
            near = nearest_name(name, by_lower)
            raise QuorateError(f"There is no {what} {name!r}.{near} The {what}s are {', '.join(names)}.")
        chosen.add(by_lower[name.lower()])
    return tuple(name for name in names if name in chosen)
