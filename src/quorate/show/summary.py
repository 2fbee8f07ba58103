"""What a consensus amounts to, as plain values ready for JSON: the report and other programs start from it."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

import quorate
from quorate._support.typing import Floats, Ints
from quorate.consensus.base import ConsensusMethod
from quorate.ensemble import Ensemble
from quorate.evidence import mean_evidence
from quorate.scores import score_table
from quorate.show.origin import Origin
from quorate.show.plotdata import (
    Cut,
    MemberRow,
    SweepView,
    agreement_view,
    member_rows,
    sample_evidence,
    sample_patterns,
    seriate,
    sweep_view,
    transition,
)

SUMMARY_VERSION = 1
"""Rises when a field of the summary changes its meaning or goes away."""

_UNCERTAIN_SHOWN = 12
_MEMBERS_IN_HEATMAP = 150
_TRUSTED, _PARTLY_TRUSTED = 0.5, 0.2
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "duckdb")


def summarise(
    fitted: ConsensusMethod, origin: Origin | None = None, *, n_clusters: Iterable[int] | None = None
) -> dict[str, Any]:
    """Return the summary of a consensus: plain values that `json.dumps` takes.

    Parameters
    ----------
    fitted : a fitted consensus function
    origin : Origin, optional
        Where the ensemble came from.
    n_clusters : iterable of int, optional
        The numbers of clusters to describe beside the fitted one. Default: up to twenty.
    """
    origin = origin or Origin()
    ens = fitted.ensemble_
    ks = None if n_clusters is None else {*n_clusters, fitted.n_clusters_}
    sweep = sweep_view(fitted, ks)
    answers = [_answer(fitted, cut, origin) for cut in sweep.cuts]
    _name_uncertain(answers, ens, origin)
    members = member_rows(ens, fitted.member_weights_, normalise=fitted.normalise)  # type: ignore[arg-type]
    return {
        "schema": "quorate-summary",
        "version": SUMMARY_VERSION,
        "source": _source(ens, origin),
        "method": {"name": fitted.name, "citation": fitted.citation, "parameters": _parameters(fitted)},
        "choice": _choice(fitted, sweep),
        "members": [{**_rounded(asdict(row)), **describe_trust(row)} for row in members],
        "agreement": _agreement(fitted, members),
        "answers": answers,
        "steps": [
            transition(one.labels, other.labels, ens.counts)
            for one, other in zip(sweep.cuts, sweep.cuts[1:], strict=False)
        ],
        "matrix": _matrix(fitted, sweep),
        "repeat": {"command": origin.command, "versions": _versions()},
    }


def _source(ens: Ensemble, origin: Origin) -> dict[str, Any]:
    missing = float(((ens.patterns < 0).sum(axis=1) * ens.counts).sum() / (ens.total * ens.n_members))
    return {
        "name": origin.name,
        "rows": ens.n_rows,
        "members": ens.n_members,
        "clusters": ens.n_clusters,
        "patterns": ens.n_patterns,
        "missing": round(missing, 6),
        "id": origin.id_column,
        "truth": None if origin.classes is None else origin.classes.column,
    }


def _parameters(fitted: ConsensusMethod) -> dict[str, Any]:
    return {name: _plain(value) for name, value in fitted.get_params().items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(item) for item in np.asarray(value).tolist()]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _choice(fitted: ConsensusMethod, sweep: SweepView) -> dict[str, Any]:
    """Return the number of clusters and, in words, how it was chosen."""
    automatic = isinstance(fitted.n_clusters, str)
    values = [None if np.isnan(value) else round(float(value), 6) for value in sweep.criterion]
    return {
        "k": fitted.n_clusters_,
        "automatic": automatic,
        "explanation": explain_choice(fitted, sweep) if automatic else f"{fitted.n_clusters_} clusters were asked for.",
        "criterion": sweep.criterion_name,
        "values": dict(zip(map(str, sweep.ks), values, strict=True)),
        "suggested": sweep.chosen,
    }


def explain_choice(fitted: ConsensusMethod, sweep: SweepView) -> str:
    """Return one or two sentences on why the number of clusters was chosen."""
    k = fitted.n_clusters_
    values = {j: value for j, value in zip(sweep.ks, sweep.criterion, strict=True) if np.isfinite(value)}
    reasons = {
        "lifetime": "a cut of the dendrogram gives them over the widest range of heights",
        "eigengap": "the graph's eigenvalues fall most behind them",
    }
    if k not in values or sweep.criterion_name not in reasons:
        return f"{k} clusters were chosen by {fitted.name}."
    text = f"{k} clusters were chosen because {reasons[sweep.criterion_name]} ({sweep.criterion_name} {values[k]:.3f}"
    others = {j: value for j, value in values.items() if j != k}
    if not others:
        return text + ")."
    second = max(others, key=lambda j: (round(others[j], 12), -j))
    text += f"; next is {second} with {others[second]:.3f})."
    if others[second] > 0.8 * values[k]:
        text += f" The choice is close: look at {second} as well."
    return text


def describe_trust(row: MemberRow) -> dict[str, str]:
    """Return how far a member was trusted, as a word and as a sentence."""
    share = "no member counts more" if row.influence > 0.9995 else f"counts {row.influence:.0%} of the most trusted"
    if row.influence >= _TRUSTED:
        trust, reason = "trusted", "Agrees with the crowd"
    elif row.influence >= _PARTLY_TRUSTED:
        trust, reason = "partly", "Agrees less with the others than most do"
    else:
        trust, reason = "hardly", "Agrees with hardly any other member"
    if row.coverage < 0.5:
        reason += f" as far as could be tested, on the {row.coverage:.0%} of rows it labels"
    return {"trust": trust, "words": f"{reason}; {share}."}


def _agreement(fitted: ConsensusMethod, members: Sequence[MemberRow]) -> dict[str, Any]:
    """Return the agreement of members, of a bounded number spread evenly over their ranks."""
    ens = fitted.ensemble_
    shown = np.arange(ens.n_members)
    if ens.n_members > _MEMBERS_IN_HEATMAP:
        ranked = np.argsort([-row.ncai for row in members], kind="stable")
        shown = np.sort(ranked[np.linspace(0, ens.n_members - 1, _MEMBERS_IN_HEATMAP).astype(int)])
        ens = ens.select(shown.tolist())
    view = agreement_view(ens, normalise=fitted.normalise)  # type: ignore[arg-type]
    return {
        "names": list(view.names),
        "members": shown[view.order].tolist(),
        "values": [[round(float(value), 3) for value in row] for row in view.values],
        "all_shown": len(shown) == len(members),
    }


def _answer(fitted: ConsensusMethod, cut: Cut, origin: Origin) -> dict[str, Any]:
    ens = fitted.ensemble_
    answer = {
        "k": cut.n_clusters,
        "clusters": [
            {
                "label": c,
                "size": float(cut.sizes[c]),
                "share": round(float(cut.sizes[c] / ens.total), 6),
                "stability": round(float(cut.stability[c]), 4),
                "opponents": [[name, round(share, 4)] for name, share in cut.opponents[c]],
            }
            for c in range(cut.n_clusters)
        ],
        "unlabelled": float(ens.counts[cut.labels < 0].sum()),
        "mean_confidence": round(cut.mean_confidence, 4),
        "agreement": round(cut.agreement, 4),
        "confidence_histogram": cut.histogram.tolist(),
        "uncertain": _uncertain(fitted, cut),
        "scores": None,
    }
    if origin.classes is not None:
        answer["scores"] = _rounded(asdict(score_table(_class_table(cut.labels, origin.classes.counts))))
    return answer


def _class_table(labels: Ints, class_counts: sp.csr_array) -> Floats:
    """(k, classes) how many rows of each consensus cluster belong to each class."""
    kept = np.flatnonzero(labels >= 0)
    shape = (int(labels.max(initial=-1)) + 1, len(labels))
    clusters = sp.csr_array((np.ones(len(kept)), (labels[kept], kept)), shape=shape)
    return np.asarray((clusters @ class_counts).toarray())


def _uncertain(fitted: ConsensusMethod, cut: Cut) -> list[dict[str, Any]]:
    """Return the patterns whose rows are least certain, with the cluster that would have them next."""
    ens = fitted.ensemble_
    kept = np.flatnonzero(cut.labels >= 0)
    least = kept[np.lexsort((kept, cut.confidence[kept]))[:_UNCERTAIN_SHOWN]]
    evidence = np.minimum(mean_evidence(ens, cut.weights, cut.labels, ens.patterns[least]), 1.0)
    evidence[np.arange(len(least)), cut.labels[least]] = -1.0
    second = np.argmax(evidence, axis=1)
    return [
        {
            "example": int(pattern),
            "rows": float(ens.counts[pattern]),
            "label": int(cut.labels[pattern]),
            "confidence": round(float(cut.confidence[pattern]), 4),
            "next": int(second[i]) if cut.n_clusters > 1 else None,
            "next_evidence": round(float(evidence[i, second[i]]), 4) if cut.n_clusters > 1 else None,
        }
        for i, pattern in enumerate(least)
    ]


def _name_uncertain(answers: Sequence[dict[str, Any]], ens: Ensemble, origin: Origin) -> None:
    """Put an example row in place of the number of each uncertain pattern, looking all of them up at once."""
    lines = [line for answer in answers for line in answer["uncertain"]]
    patterns = np.unique([line["example"] for line in lines])
    if origin.examples is not None:
        names = list(origin.examples(patterns))
    elif ens.first_row is not None:
        names = [f"row {row}" for row in ens.first_row[patterns]]
    else:
        names = [f"pattern {pattern}" for pattern in patterns]
    name_of = dict(zip(patterns.tolist(), names, strict=True))
    for line in lines:
        line["example"] = name_of[line["example"]]


def _matrix(fitted: ConsensusMethod, sweep: SweepView) -> dict[str, Any]:
    """Return the consensus matrix on samples, in hundredths, with the samples' cluster at each k."""
    chosen, rows = sample_patterns(fitted.ensemble_, fitted.pattern_labels_)
    evidence = sample_evidence(fitted.ensemble_, fitted.member_weights_, chosen)
    order = seriate(evidence)
    chosen, rows, evidence = chosen[order], rows[order], evidence[np.ix_(order, order)]
    return {
        "rows": rows.tolist(),
        "evidence": np.rint(100 * evidence).astype(int).tolist(),
        "labels": {str(cut.n_clusters): cut.labels[chosen].tolist() for cut in sweep.cuts},
        "patterns": len(chosen),
    }


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in values.items()}


def _versions() -> dict[str, str]:
    return {
        "quorate": quorate.__version__,
        "python": platform.python_version(),
        **{package: version(package) for package in _PACKAGES},
    }
