"""The measurements of the paper's experiments.

Experiments overlap: GP-MGLA at its defaults is a row of `compare`, of `parameters`, of `base` and of `ill`. A
measurement is therefore named by its content, not by the experiment, and is made once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from quorate.paper.spec import Method, Selection, Spec

MEMBERS = "members"


@dataclass(frozen=True)
class Measurement:
    """One method on the ensemble of one run (or the members of that ensemble themselves)."""

    dataset: str
    ratio: float
    """Share of ill clusterings in the pool."""
    run: int
    method: Method | None
    """None for the members themselves, each scored against the classes."""
    same_k: bool = False
    """Whether to cut at the number of clusters of each member, instead of over the grid."""

    @property
    def key(self) -> str:
        """The key in the store."""
        name = MEMBERS if self.method is None else self.method.name + (" same k" if self.same_k else "")
        return f"{self.dataset}/ill={self.ratio:g}/run={self.run}/{name}"


@dataclass(frozen=True)
class Timed:
    """One method timed on one ensemble; None for the NCAI alone."""

    n_rows: int
    repeat: int
    method: Method | None

    @property
    def key(self) -> str:
        """The key in the store."""
        return f"time/n={self.n_rows}/repeat={self.repeat}/{'NCAI' if self.method is None else self.method.name}"


def measurements(spec: Spec, experiment: str, selection: Selection) -> Iterator[Measurement]:
    """Yield the measurements of an experiment on the selected datasets and methods; `time` has `timings` instead."""
    if experiment == "time":
        return
    for dataset in selection.datasets:
        for run in range(spec.runs):
            for ratio in spec.ill_ratios if experiment == "ill" else (0.0,):
                for method in experiment_methods(spec, experiment):
                    selected = any(_is_variant(method, name) for name in selection.methods)
                    if selected and _is_run(spec, method, experiment, dataset, run):
                        yield Measurement(dataset, ratio, run, method)
                        if experiment == "wins":
                            yield Measurement(dataset, ratio, run, method, same_k=True)
            if experiment in ("base", "wins"):
                yield Measurement(dataset, 0.0, run, None)


def experiment_methods(spec: Spec, experiment: str) -> tuple[Method, ...]:
    """Return the methods of an experiment, in the paper's order; other parameters make separate methods."""
    if experiment == "parameters":
        return tuple(variant for method in spec.methods if method.own for variant in variants(spec, method).values())
    if experiment in ("wins", "base"):
        names = ("GP-MGLA", "WEAC-AL", "WEAC-CL", "WEAC-SL") if experiment == "base" else ("GP-MGLA", "WEAC-AL")
        return tuple(method for method in spec.methods if method.plain_name in names)
    if experiment in ("ill", "time"):
        return tuple(method for method in spec.methods if not method.plain_name.endswith(("-CL", "-SL")))
    return spec.methods


def variants(spec: Spec, method: Method) -> dict[str, Method]:
    """Return the parameter settings of GP-MGLA or WEAC-AL by the names used in the published tables.

    The setting with the defaults is the method itself, so that it is not measured twice.
    """
    if method.plain_name == "GP-MGLA":
        return {
            f"alpha={alpha:g};beta={beta:g}": method
            if (alpha, beta) == (0.5, 2)
            else method.varied(alpha=alpha, beta=beta)
            for alpha, beta in spec.alphas_betas
        }
    return {f"beta={beta:g}": method if beta == 2 else method.varied(beta=beta) for beta in spec.betas}


def _is_variant(method: Method, name: str) -> bool:
    """Return whether a method is the named one, possibly with other parameters."""
    rest = method.name.removeprefix(name)
    return method.name.startswith(name) and (not rest or "=" in rest.split()[0])


def _is_run(spec: Spec, method: Method, experiment: str, dataset: str, run: int) -> bool:
    """Return whether a method has this run; slow methods have fewer."""
    if run >= spec.runs_of(method):
        return False
    excluded = spec.slow.left_out + (spec.slow.not_ill if experiment == "ill" else ())
    return not (method.slow and dataset in excluded)


def timings(spec: Spec, selection: Selection) -> Iterator[Timed]:
    """Yield the measurements of the timing experiment: every method at every size, and the NCAI alone."""
    for n_rows in spec.timing.sizes:
        for repeat in range(spec.timing.repeats):
            yield Timed(n_rows, repeat, None)
            for method in experiment_methods(spec, "time"):
                skipped = method.slow and (n_rows > spec.slow.max_time_rows or repeat > 0)
                if method.name in selection.methods and method.name == method.plain_name and not skipped:
                    yield Timed(n_rows, repeat, method)
