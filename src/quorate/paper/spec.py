"""The protocol of the paper's experiments, as data (section 7; choices the paper leaves open are marked)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from quorate._utils.checks import nearest_name
from quorate.datasets import NAMES
from quorate.errors import InputError
from quorate.features import METHODS as GENERATORS

VERSION = 1  # rises when the meaning of results changes; results of different versions are not mixed
EXPERIMENTS = ("compare", "parameters", "base", "wins", "ill", "time")
LINKAGES = {"AL": "average", "CL": "complete", "SL": "single"}
LARGE = ("pen_digits", "letters")
MAX_PRESET = " (max)"
"""Suffix of methods whose NCAI uses NMI over the larger entropy, as in the authors' program."""


@dataclass(frozen=True)
class Method:
    """A consensus method with its parameters, under its name in the paper."""

    name: str
    estimator: str
    """Its name in the registry."""
    params: Mapping[str, Any] = field(default_factory=dict)
    slow: bool = False
    """Whether it is slow, and therefore has fewer runs and numbers of clusters."""

    @property
    def plain_name(self) -> str:
        """The name in the paper, without the suffix of the preset."""
        return self.name.removesuffix(MAX_PRESET)

    @property
    def own(self) -> bool:
        """Whether it is one of the two methods that the paper proposes, at the default linkage."""
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
    """The reduced protocol of slow methods."""

    runs: int = 20
    grid: tuple[int, ...] = (2, 5, 10, 20, 30)
    """Numbers of clusters to try, in addition to the number of classes."""
    left_out: tuple[str, ...] = ()
    """Datasets on which they are not run."""
    not_ill: tuple[str, ...] = LARGE
    """Datasets on which they are not run with ill clusterings."""
    max_time_rows: int = 20000
    """Largest number of rows at which they are timed."""


@dataclass(frozen=True)
class Timing:
    """The sizes and repetitions of the timing experiment."""

    sizes: tuple[int, ...] = (500, 1000, 2000, 3000, 4000, 5000, 8000, 12000, 16000, 20000)
    repeats: int = 3
    dataset: str = "letters"
    per_method: int = 2
    """Members of each generator for each size, from which ensembles are drawn."""
    n_clusters: int = 26


@dataclass(frozen=True)
class Spec:
    """Everything the results depend on, except versions of libraries."""

    name: str
    datasets: tuple[str, ...] = NAMES
    methods: tuple[Method, ...] = METHODS
    n_members: int = 5
    """M, drawn from the pool without replacement for each run."""
    runs: int = 100
    grid: tuple[int, ...] = tuple(range(2, 31))
    """Numbers of clusters to try, in addition to the number of classes; the paper does not specify them."""
    per_generator: int = 100
    """Members of the pool from each generator."""
    generators: tuple[str, ...] = GENERATORS
    scale: str | None = "minmax"
    """Scaling of features before members are generated; the paper does not specify it.

    In the authors' published k-means members of Pen Digits and Letters every row is nearest to its own center if
    features keep their range; with standardized features this fails for 5 to 8 % of the rows.
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
        """Return the spec with its kind and version."""
        return {"kind": "reproduction", "version": VERSION, **asdict(self)}

    def plain(self) -> dict[str, Any]:
        """Return the spec as values for JSON."""
        return json.loads(json.dumps(self.about()))

    @classmethod
    def from_plain(cls, about: Mapping[str, Any]) -> Spec:
        """Return the spec stored in a file."""
        if about.get("kind") != "reproduction" or about.get("version") != VERSION:
            raise InputError(
                "The folder contains results of another version of the experiments.",
                code="other-version",
                hint="Use another folder.",
            )
        # JSON has lists where the spec has tuples.
        fields = {name: _as_tuples(value) for name, value in about.items() if name not in ("kind", "version")}
        methods = tuple(Method(**method) for method in about["methods"])
        slow = Slow(**{name: _as_tuples(value) for name, value in about["slow"].items()})
        timing = Timing(**{name: _as_tuples(value) for name, value in about["timing"].items()})
        return cls(**{**fields, "methods": methods, "slow": slow, "timing": timing})

    def method(self, name: str) -> Method:
        """Return one of the methods by name."""
        return next(method for method in self.methods if method.name == name)

    def runs_of(self, method: Method) -> int:
        """Return the number of runs of a method."""
        return min(self.runs, self.slow.runs) if method.slow else self.runs

    def grid_of(self, method: Method, n_classes: int) -> list[int]:
        """Return the numbers of clusters to try with a method, ascending, including the number of classes."""
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
    """The part of a spec to run; other parts can be added to the same results folder later."""

    experiments: tuple[str, ...]
    datasets: tuple[str, ...]
    methods: tuple[str, ...]


def select(
    spec: Spec,
    experiments: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> Selection:
    """Return the requested part of a spec, by default all; an unknown name raises an error."""
    return Selection(
        _select("experiment", experiments, EXPERIMENTS),
        _select("dataset", datasets, spec.datasets),
        _select("method", methods, tuple(method.name for method in spec.methods)),
    )


def _select(what: str, requested: Sequence[str] | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the requested names in the order of `names`; case is ignored."""
    if requested is None:
        return tuple(names)
    by_lower = {name.lower(): name for name in names}
    chosen = set()
    for name in [requested] if isinstance(requested, str) else requested:
        if name.lower() not in by_lower:
            raise InputError(
                f"There is no {what} {name!r}.{nearest_name(name, by_lower)}",
                code=f"no-such-{what}",
                hint=f"The {what}s are {', '.join(names)}.",
            )
        chosen.add(by_lower[name.lower()])
    return tuple(name for name in names if name in chosen)
