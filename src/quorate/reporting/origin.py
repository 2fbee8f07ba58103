"""Where an ensemble came from: what a report can name beside the labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Ints
from quorate.analysis.structure.feature_structure import Structure
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.labels import encode, split_members
from quorate.reporting.feature_view import FeatureRows
from quorate.reporting.row_facts import RowFacts

Look = Callable[[Ints, int], RowFacts]


@dataclass(frozen=True)
class KnownClasses:
    """Classes that rows are known to belong to: answers are scored by them, never found by them."""

    column: str
    """What they are called."""
    names: tuple[str, ...]
    counts: sp.csr_array
    """(m, classes) how many rows of each pattern belong to each class."""


@dataclass(frozen=True)
class Origin:
    """Where an ensemble came from, to be named in the report."""

    name: str = "labels"
    id_column: str | None = None
    classes: KnownClasses | None = None
    command: str | None = None
    command_at: Callable[[int], str] | None = None
    """Gives the command that writes the labels at some number of clusters."""
    asked: Sequence[int] = ()
    """The numbers of clusters that were asked for, if there were several."""
    look: Look | None = None
    """Gives names for some patterns, and at most so many rows; None: the rows are the ensemble's, by their numbers."""
    features: FeatureRows | None = None
    """Rows with their features, if those are known."""
    structure: Structure | None = None
    """Whether anything parts the clusters in the features, if that is known."""


def known_classes(ens: Ensemble, truth: Any, column: str = "known classes") -> KnownClasses:
    """Return the known classes of an ensemble's rows; a row without a class counts nowhere."""
    (vector, *others), _ = split_members([truth])
    if others or len(vector) != ens.n_rows:
        raise QuorateError(f"truth must hold one class for each of {ens.n_rows} rows; got {len(vector)}.")
    labels = encode(vector, "truth", "cluster")
    code, pattern = labels.digits(slice(None)), ens.row_pattern
    known = code >= 0
    if not known.any():
        raise QuorateError("truth names no class for any row. Leave it out, or pass one class per row.")
    cells = (pattern[known], code[known])
    shape = (ens.n_patterns, len(labels.levels))
    counts = sp.csr_array(sp.coo_array((np.ones(int(known.sum())), cells), shape=shape))
    return KnownClasses(column, tuple(map(str, labels.levels.tolist())), counts)
