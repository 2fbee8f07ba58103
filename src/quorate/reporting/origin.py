"""The source of an ensemble: what a report can show in addition to the labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Ints
from quorate.analysis.choose_k import Choice
from quorate.analysis.compare import EarlierPartition
from quorate.analysis.structure.feature_structure import Structure
from quorate.ensemble import Ensemble
from quorate.errors import InputError
from quorate.labels import encode, split_members
from quorate.reporting.feature_view import FeatureRows
from quorate.reporting.row_facts import RowFacts

FindRowFacts = Callable[[Ints, int], RowFacts]


@dataclass(frozen=True)
class KnownClasses:
    """Known classes of the rows: results are compared with them, never computed from them."""

    column: str
    """The name of their column."""
    names: tuple[str, ...]
    counts: sp.csr_array
    """(m, classes) the number of rows of each pattern in each class."""


@dataclass(frozen=True)
class Origin:
    """The source of an ensemble, shown in the report."""

    name: str = "labels"
    id_column: str | None = None
    classes: KnownClasses | None = None
    earlier: EarlierPartition | None = None
    """An earlier partition of the rows; clusters take its ids, and are compared with it."""
    command: str | None = None
    command_at: Callable[[int], str] | None = None
    """Returns the command that writes the labels at k clusters."""
    requested: Sequence[int] = ()
    """The requested numbers of clusters, if there were several."""
    layers: Sequence[int] = ()
    """Numbers of clusters of nested layers to show; default: the best-supported numbers."""
    row_facts: FindRowFacts | None = None
    """Returns names for some patterns, and a sample of at most n rows; None: rows are named by their numbers."""
    features: FeatureRows | None = None
    """Rows with their features, if available."""
    structure: Structure | None = None
    """The test for structure in the features, if available."""
    choice: Choice | None = None
    """The choice of the number of clusters by the features, if available; default: by the labels."""
    automatic: bool = False
    """Whether the features chose the number of clusters."""


def known_classes(ens: Ensemble, truth: Any, column: str = "known classes") -> KnownClasses:
    """Return the known classes of an ensemble's rows; rows without a class are ignored."""
    (vector, *others), _ = split_members([truth])
    if others or len(vector) != ens.n_rows:
        raise InputError(
            f"must have one class for each of {ens.n_rows:,} rows; got {len(vector):,}.",
            code="length",
            parameter="truth",
        )
    labels = encode(vector, "truth", "cluster")
    code, pattern = labels.digits(slice(None)), ens.row_pattern
    labeled = code >= 0
    if not labeled.any():
        raise InputError(
            "has no class for any row.", code="no-class", parameter="truth", hint="Omit it, or pass one class per row."
        )
    cells = (pattern[labeled], code[labeled])
    shape = (ens.n_patterns, len(labels.levels))
    counts = sp.csr_array(sp.coo_array((np.ones(int(labeled.sum())), cells), shape=shape))
    return KnownClasses(column, tuple(map(str, labels.levels.tolist())), counts)
