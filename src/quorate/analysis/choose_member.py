"""Choose among clusterings of different resolution: the finest one whose clusters the finer members still respect.

Plain agreement prefers fine members, because two fine partitions share most of their (large) entropy even if neither
finds anything. Here a member is judged by the share of its entropy that finer members reproduce. Refining beyond the
structure lowers that share at a rate that the finest members show. A member gains by reproduced entropy and loses by a
null share of its entropy, which lies halfway between the largest reproduced share and that rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate._utils.array_types import Floats
from quorate._utils.optional_imports import import_extra
from quorate.ensemble import Ensemble, as_ensemble
from quorate.errors import InputError
from quorate.integrations.anndata import clusterings_of, is_annotated
from quorate.numerics.mutual_information import Reproduction, agreement, reproduction

_FINER, _AS_FINE, _COARSER = 1.02, 0.95, 0.85  # bounds of the ratio of two entropies
_SUPPORTED = 0.15  # excess that at most 4 % of ensembles without structure reach (docs/how-to/single-cell.md)


@dataclass(frozen=True)
class MemberEvidence:
    """How far finer members support one member."""

    key: str
    n_clusters: int
    entropy: float
    """Entropy of its labels, in nats."""
    agreement: float
    """Mean AMI with all other members."""
    reproduced: float
    """Share of its entropy that finer members reproduce, corrected for chance; NaN if no member is finer."""
    excess: float
    """`reproduced` minus the null share."""
    score: float
    """`excess` times `entropy`, in nats; the chosen member has the largest."""


@dataclass(frozen=True)
class MemberChoice:
    """The chosen member and the evidence for each."""

    key: str
    """Name of the chosen member."""
    member: int
    """Its position."""
    null_share: float
    """Share of the entropy of a member that must be reproduced for it to gain by its clusters."""
    evidence: tuple[MemberEvidence, ...]
    """Evidence for each member, in the order of the members."""

    @property
    def supported(self) -> bool:
        """Whether the chosen member is reproduced better than in ensembles without structure."""
        return self.evidence[self.member].excess >= _SUPPORTED

    @property
    def ranking(self) -> tuple[MemberEvidence, ...]:
        """The evidence by descending score; members that cannot be judged come last."""
        return tuple(sorted(self.evidence, key=lambda m: np.inf if np.isnan(m.score) else -m.score))

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        best = self.evidence[self.member]
        finding = f"{best.key}: {best.n_clusters} clusters, {best.reproduced:.0%} reproduced by finer members"
        doubt = "" if self.supported else " Evidence is weak: unstructured data give values like this."
        return f"{finding} (null {self.null_share:.0%}).{doubt}"

    def to_frame(self) -> Any:
        """Return a pandas frame with one line per member."""
        pandas = import_extra("pandas", "to_frame")
        return pandas.DataFrame([vars(member) for member in self.evidence])

    def __str__(self) -> str:
        return self.sentence


def choose_member(labels: Any, *, keys: Sequence[str] | None = None) -> MemberChoice:
    """Choose one of several clusterings of different resolution.

    Parameters
    ----------
    labels : Ensemble, anything `Ensemble` takes, or an AnnData, MuData or SpatialData object
        At least three clusterings. Include some that are too fine: they show what refining without structure gives.
    keys : sequence of str, optional
        The members to choose from. Required for an AnnData object, where they are columns of `obs`.

    Returns
    -------
    MemberChoice
        Has `key`, `member`, `supported`, `evidence`, `ranking` and `to_frame()`. `quorate.plot.choose_member` draws it.

    Notes
    -----
    The finest member has no finer one to test it and is never chosen. The order of the members does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> import quorate as qt
    >>> rng = np.random.default_rng(0)
    >>> types = np.arange(600) % 6
    >>> random_split = {parts: types * parts + rng.integers(parts, size=600) for parts in (2, 3, 4)}
    >>> choice = qt.choose_member({"coarse": types // 2, "types": types, **random_split})
    >>> choice.key, choice.supported
    ('types', True)
    """
    ens = members_of(labels, keys)
    if ens.n_members < 3:
        raise InputError(f"At least three members are required; got {ens.n_members}.", code="few-members")
    shares = reproduction(ens)
    if not (shares.entropy > 0).any():
        raise InputError("No member has two clusters.", code="one-cluster")
    reproduced = _reproduced_by_finer(shares)
    if np.isnan(reproduced).all():
        raise InputError(
            "No member is finer than another one, so none can be judged.",
            code="no-finer-member",
            hint="Include clusterings of different resolution, some of them too fine.",
        )
    null = _null_share(shares, reproduced)
    score = (reproduced - null) * shares.entropy
    mean_agreement = (agreement(ens, measure="ami").sum(axis=1) - 1) / (ens.n_members - 1)
    sizes = np.diff(ens.cluster_offsets).tolist()
    figures = np.stack([shares.entropy, mean_agreement, reproduced, reproduced - null, score], axis=1).tolist()
    evidence = tuple(MemberEvidence(key, k, *row) for key, k, row in zip(ens.names, sizes, figures, strict=True))
    # Equal scores: by name, so that the order of the members does not matter.
    rounded = np.nan_to_num(np.round(score, 12), nan=-np.inf)
    best = min(np.flatnonzero(rounded == rounded.max()).tolist(), key=lambda i: ens.names[i])
    return MemberChoice(ens.names[best], best, null, evidence)


def members_of(labels: Any, keys: Sequence[str] | None) -> Ensemble:
    """Return the ensemble of the members `keys`, which are columns of `obs` of an AnnData object; None: all."""
    if is_annotated(labels):
        return as_ensemble(clusterings_of(labels, keys))
    ens = as_ensemble(labels)
    return ens if keys is None else ens.select(list(keys))


def _reproduced_by_finer(shares: Reproduction) -> Floats:
    """(M,) mean share of the entropy of each member that clearly finer members reproduce; NaN if there is none."""
    finer = (shares.entropy > shares.entropy[:, None] * _FINER) & (shares.entropy[:, None] > 0)
    total = np.where(finer, shares.share, 0.0).sum(axis=1)
    return np.divide(total, finer.sum(axis=1), out=np.full(len(total), np.nan), where=finer.any(axis=1))


def _null_share(shares: Reproduction, reproduced: Floats) -> float:
    """Return the reproduced share at which a finer member is no better than a coarser one.

    Halfway between the largest reproduced share and the rate at which entropy added up to the finest member is
    reproduced: the median over the coarser members of the gain in reproduced entropy over the gain in entropy.
    """
    finest = int(np.argmax(shares.entropy))
    largest = shares.entropy[finest]
    others = np.arange(len(reproduced)) != finest
    as_fine = others & (shares.entropy >= largest * _AS_FINE)
    of_finest = shares.share[finest]
    share = of_finest[as_fine].mean() if as_fine.any() else of_finest[others].max()
    coarser = np.isfinite(reproduced) & (shares.entropy < largest * _COARSER)
    gained = share * largest - (reproduced * shares.entropy)[coarser]
    rate = np.median(gained / (largest - shares.entropy[coarser])) if coarser.any() else share
    best = np.nanmax(reproduced) if np.isfinite(reproduced).any() else share
    return float((best + max(rate, 0.0)) / 2)
