"""The consensus for one number of clusters, whatever method found it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from quorate._utils.array_types import Floats, Ints, Labels
from quorate._utils.notebook_html import Share, card
from quorate.algorithms.sql_export import SqlExport, export_sql
from quorate.analysis.clusters import ConsensusCluster, describe_clusters
from quorate.certainty import Certainty, Groups, certainty, vote_entropy
from quorate.ensemble import Ensemble, cluster_ids, find_patterns
from quorate.errors import QuorateWarning
from quorate.patterns import CodeColumn, group_rows
from quorate.row_similarity import nearest_group
from quorate.soft_ensemble import refuse_soft


@dataclass(frozen=True)
class Answer:
    """The consensus for one number of clusters; everything but the labels is computed when first used.

    Arrays have one entry per pattern (distinct row of labels); `Ensemble.row_pattern` gives the pattern of each row.
    """

    ensemble: Ensemble
    requested: int
    """The requested number of clusters."""
    labels: Labels = field(repr=False)
    """(m,) consensus label of each pattern; 0 is the largest cluster, -1 where no member of positive weight labels."""
    weights: Floats = field(repr=False)
    """(M,) weights of the members, summing to 1."""
    caution: Callable[[int], QuorateWarning | None] | None = field(default=None, repr=False)
    """Returns the method's own warning about a number of clusters, if any."""

    @cached_property
    def n_clusters(self) -> int:
        """Number of clusters; below `requested` if the members do not distinguish as many as requested."""
        return int(self.labels.max(initial=-1)) + 1

    @cached_property
    def groups(self) -> Groups:
        """The clusters as histograms over the members' clusters."""
        return Groups.of(self.ensemble, self.weights, self.labels)

    @cached_property
    def certainty(self) -> Certainty:
        """How certain the placement of each pattern's rows is."""
        return certainty(self.ensemble, self.weights, self.labels, self.groups)

    @cached_property
    def entropy(self) -> Floats:
        """(m,) entropy of the members' votes for each pattern's rows, as a share of its largest value."""
        return vote_entropy(self.ensemble, self.weights, self.labels, self.groups)

    @cached_property
    def clusters(self) -> tuple[ConsensusCluster, ...]:
        """Size, stability, nearest cluster and main opponents of each cluster."""
        return describe_clusters(self.ensemble, self.weights, self.labels, self.groups)

    @cached_property
    def warnings(self) -> tuple[QuorateWarning, ...]:
        """What may not be as the caller expects."""
        n_unlabeled = int(self.ensemble.row_counts[self.labels < 0].sum())
        return answer_warnings(n_unlabeled, self.n_clusters, self.requested, self.caution)

    def predict(self, X: Any) -> Labels:
        """Return the consensus label of new rows labeled by the same members.

        A row with a known pattern gets its label. Any other row joins the cluster of highest mean co-association.
        Unknown label values count as missing. So does noise if every noise row was a cluster of its own
        (`noise="singletons"`). A row without any known label gets -1. The columns of a frame are matched by name.
        """
        ens = self.ensemble
        refuse_soft(ens, "predict")
        # New rows are grouped into patterns first: rows of equal labels need one search only.
        ids = cluster_ids(ens, X)
        columns = [CodeColumn(ids[:, j], ens.n_clusters) for j in range(ens.n_members)]
        new = group_rows(columns, len(ids))
        pattern = find_patterns(ens, new.codes)
        labels = self.labels[pattern]
        # Labels at position -1 are overwritten below.
        is_new = pattern < 0
        labels[is_new] = nearest_group(ens, self.weights, self.labels, new.codes[is_new])
        return labels[new.row_pattern]

    def to_sql(
        self, dialect: str, *, table: str = "new_rows", prefix: str = "quorate", ids: Ints | None = None
    ) -> SqlExport:
        """Return SQL that labels new rows in a warehouse exactly as `predict` does; needs `quorate[sql]`.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "bigquery", "snowflake", "spark", "sqlite"}
        table : str, default "new_rows"
            Name of the table of new rows, as a query writes it. Its columns have the names of the members.
        prefix : str, default "quorate"
            Start of the names of the two tables that are created, such as "schema.quorate".
        ids : (k,) integers, optional
            Id of each cluster in the result. Default: its label.

        Returns
        -------
        SqlExport
            `tables` creates and fills two small tables, `query` returns the new rows with a column `consensus`, and
            `patterns` is the query that counts distinct rows of labels.
        """
        return export_sql(self.ensemble, self.weights, self.labels, dialect, ids=ids, table=table, prefix=prefix)

    def to_html(self, title: str, trust: Floats) -> str:
        """Return a card for notebooks: the clusters, and the members from the least reliable on."""
        ens, confidence = self.ensemble, self.certainty.confidence
        facts = [
            (ens.n_rows, "rows"),
            (ens.n_members, "members"),
            (self.n_clusters, "clusters"),
            (float(round(confidence @ ens.counts / ens.counts.sum(), 3)), "mean confidence"),
        ]
        clusters = [(c.label, c.size, Share(c.stability)) for c in self.clusters]
        members = [(ens.names[j], Share(trust[j]), Share(self.weights[j])) for j in np.argsort(trust, kind="stable")]
        first = card(title, facts, ("cluster", "rows", "stability"), clusters)
        return first + "<br>" + card("Members, least reliable first", [], ("member", "trust", "weight"), members)


def answer_warnings(
    n_unlabeled: int,
    n_clusters: int,
    requested: int,
    caution: Callable[[int], QuorateWarning | None] | None,
) -> tuple[QuorateWarning, ...]:
    """Return warnings about rows without labels, about fewer clusters than requested, and the method's own."""
    warnings = []
    if n_unlabeled:
        rows = "1 row has" if n_unlabeled == 1 else f"{n_unlabeled:,} rows have"
        warnings.append(
            QuorateWarning(
                f"{rows} no label from any member of positive weight: label -1, confidence 0.",
                code="rows-without-labels",
            )
        )
    if n_clusters < requested:
        warnings.append(
            QuorateWarning(
                f"Found {n_clusters} clusters instead of {requested}: the members do not distinguish more.",
                code="fewer-clusters",
            )
        )
    elif caution is not None and (own := caution(requested)) is not None:
        warnings.append(own)
    return tuple(warnings)
