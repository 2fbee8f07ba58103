"""The whole way on a small dataset: members good and ill, whom to trust, the consensus, and a report."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.registry import AUTO, make_method
from quorate.analysis.scores import evaluate
from quorate.cli.combine import member_table
from quorate.cli.output import console, note, progress, table
from quorate.datasets import Dataset, load
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.features import METHODS, draw_pool, ill_clusterings
from quorate.reporting import Origin, known_classes, render_report, summarize
from quorate.tables.io import make_folder, write_text

_DATASET = "seeds"
_PER_METHOD, _N_ILL = 4, 2
_COMPARED = (AUTO, "gp-mgla", "weac", "eac")
_SEED = 2015


@dataclass(frozen=True)
class Demonstration:
    """The data, the members, and what came of them."""

    data: Dataset
    ensemble: Ensemble
    fitted: dict[str, ConsensusMethod]
    scores: dict[str, float]
    """NMI of each method's answer with the known classes."""
    member_scores: NDArray[np.float64]


def run_demo(folder: str | None = None, *, seed: int | None = None, quiet: bool = False) -> Path:
    """Show the whole way in the terminal, write a report, and return its path."""
    target = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix="quorate-demo-"))
    if target.exists() and not target.is_dir():
        raise QuorateError(f"{target} is not a folder. Name a folder to write the report to.")
    make_folder(target)
    with progress("Clustering the seeds", quiet=quiet):
        shown = demonstrate(_SEED if seed is None else seed)
    best = shown.fitted[AUTO]
    summary = summarize(best, _origin(shown))
    if not quiet:
        _print(shown, summary)
    report = target / "report.html"
    write_text(report, render_report(summary))
    note("Open this file in a browser:")
    print(report.resolve())
    return report


def demonstrate(seed: int = _SEED) -> Demonstration:
    """Draw a mixed pool of members of the seeds with ill ones among them, and combine it."""
    data = load(_DATASET)
    good = draw_pool(data, _PER_METHOD, METHODS, random_state=seed, progress=False)
    ill = ill_clusterings(data, _N_ILL, random_state=seed)
    ens = Ensemble(np.column_stack([good.labels, ill.labels]), names=[*good.names, *ill.names])
    fitted = {name: make_method(name, data.n_classes, {}).fit(ens) for name in _COMPARED}
    truth = data.classes
    return Demonstration(
        data=data,
        ensemble=ens,
        fitted=fitted,
        scores={name: evaluate(method.labels_, truth).nmi_sqrt for name, method in fitted.items()},
        member_scores=np.array([evaluate(member, truth).nmi_sqrt for member in (*good.labels.T, *ill.labels.T)]),
    )


def _origin(shown: Demonstration) -> Origin:
    classes = known_classes(shown.ensemble, shown.data.classes, "class")
    return Origin(name=shown.data.name, classes=classes, command="quorate demo")


def _print(shown: Demonstration, summary: dict[str, Any]) -> None:
    out = console()
    ens, members = shown.ensemble, summary["members"]
    n_good = ens.n_members - _N_ILL
    out.print(
        f"{ens.n_rows} wheat seeds of {shown.data.n_classes} varieties, clustered {n_good} times by four methods with "
        f"random parameters;\n{_N_ILL} ill clusterings were put among them. Who can be trusted? The crowd alone "
        "tells: no class and no feature is used.\n",
        markup=False,
    )
    out.print(member_table(members))
    doubted = sorted(members, key=lambda member: member["weight"])[:_N_ILL]
    names = " and ".join(member["name"] for member in doubted)
    out.print(
        f"\nThe crowd trusts {names} least: together they have {sum(m['weight'] for m in doubted):.1%} of the weight, "
        f"where equal shares were {_N_ILL / ens.n_members:.1%}.\n",
        markup=False,
    )
    rows = [
        ("the consensus" if name == AUTO else f"{name} consensus", f"{score:.3f}")
        for name, score in shown.scores.items()
    ]
    good, ill = shown.member_scores[:n_good], shown.member_scores[n_good:]
    rows += [("best member", f"{good.max():.3f}"), ("mean of the members", f"{good.mean():.3f}")]
    rows += [("mean of the ill members", f"{ill.mean():.3f}")]
    title = f"Agreement with the {shown.data.n_classes} varieties, which nobody was told (NMI)"
    out.print(table(title, ("clustering", "NMI"), rows))
    out.print()


if __name__ == "__main__":
    run_demo()
