"""`quorate demo`: the full workflow on a small dataset with two deliberately corrupted members."""

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
from quorate.errors import InputError
from quorate.features import METHODS, draw_pool, ill_clusterings
from quorate.reporting import Origin, known_classes, render_report, summarize
from quorate.tables.io import make_folder, write_text

_DATASET = "seeds"
_PER_METHOD, _N_CORRUPTED = 4, 2
_COMPARED = (AUTO, "gp-mgla", "weac", "eac")
_SEED = 2015


@dataclass(frozen=True)
class Demonstration:
    """The data, the members and the results."""

    data: Dataset
    ensemble: Ensemble
    fitted: dict[str, ConsensusMethod]
    scores: dict[str, float]
    """NMI of the consensus of each method with the known classes."""
    member_scores: NDArray[np.float64]


def run_demo(folder: str | None = None, *, seed: int | None = None, quiet: bool = False) -> Path:
    """Print the results in the terminal, write a report, and return its path."""
    target = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix="quorate-demo-"))
    if target.exists() and not target.is_dir():
        raise InputError(f"must be a folder; {target} is a file.", code="not-a-folder", parameter="folder")
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
    """Generate members of the seeds dataset, add corrupted ones, and combine them."""
    data = load(_DATASET)
    good = draw_pool(data, _PER_METHOD, METHODS, random_state=seed, progress=False)
    # Two members of the paper's corrupted kind, which the ranking should put last.
    corrupted = ill_clusterings(data, _N_CORRUPTED, random_state=seed)
    ens_members = (*good.labels.T, *corrupted.labels.T)
    ens = Ensemble(np.column_stack([good.labels, corrupted.labels]), names=[*good.names, *corrupted.names])
    fitted = {name: make_method(name, data.n_classes, {}).fit(ens) for name in _COMPARED}
    truth = data.classes
    return Demonstration(
        data=data,
        ensemble=ens,
        fitted=fitted,
        scores={name: evaluate(method.labels_, truth).nmi_sqrt for name, method in fitted.items()},
        member_scores=np.array([evaluate(member, truth).nmi_sqrt for member in ens_members]),
    )


def _origin(shown: Demonstration) -> Origin:
    classes = known_classes(shown.ensemble, shown.data.classes, "class")
    return Origin(name=shown.data.name, classes=classes, command="quorate demo")


def _print(shown: Demonstration, summary: dict[str, Any]) -> None:
    out = console()
    ens, members = shown.ensemble, summary["members"]
    n_good = ens.n_members - _N_CORRUPTED
    out.print(
        f"{ens.n_rows} wheat seeds of {shown.data.n_classes} varieties, clustered {n_good} times by four methods with "
        f"random parameters,\nplus {_N_CORRUPTED} corrupted clusterings. Which members are reliable? The ranking below "
        "uses the labels only:\nneither the varieties nor the features.\n",
        markup=False,
    )
    out.print(member_table(members))
    corrupted = members[n_good:]
    names = " and ".join(member["name"] for member in corrupted)
    out.print(
        f"\nThe corrupted members, {names}, have {sum(m['weight'] for m in corrupted):.1%} of the weight "
        f"(equal weights: {_N_CORRUPTED / ens.n_members:.1%}).\n",
        markup=False,
    )
    rows = [
        ("consensus (default)" if name == AUTO else f"consensus ({name})", f"{score:.3f}")
        for name, score in shown.scores.items()
    ]
    good, bad = shown.member_scores[:n_good], shown.member_scores[n_good:]
    rows += [("best member", f"{good.max():.3f}"), ("mean of the good members", f"{good.mean():.3f}")]
    rows += [("mean of the corrupted members", f"{bad.mean():.3f}")]
    title = "NMI with the true varieties (not used for fitting)"
    out.print(table(title, ("clustering", "NMI"), rows))
    out.print()


if __name__ == "__main__":
    run_demo()
