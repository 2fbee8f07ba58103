"""From features to a consensus in one call."""

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_choice, check_integer
from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.registry import AUTO, make_method
from quorate.analysis.choose_k import Choice
from quorate.analysis.distinctive_features import DistinctiveFeatures, distinctive_features
from quorate.analysis.structure.feature_structure import Structure, structure_of, thinned
from quorate.columns.column_heuristics import FEW_ROWS
from quorate.ensemble import Ensemble
from quorate.errors import InputError, Setting, warn
from quorate.features.clusterers.feature_checks import check_features
from quorate.features.generators import METHODS
from quorate.features.kinds import DiverseClusterings, choose_by_kinds, pack_choice
from quorate.features.labeling import Crew
from quorate.features.member_fitting import (
    AllRows,
    SampledRows,
    Source,
    SparseRows,
    check_labels_new_rows,
    fit_in_order,
    scale_rows,
    training_rows,
)
from quorate.features.out_of_sample import Assigned, KnownRows, RowClusters, Votes, combine_sample
from quorate.features.outliers import Outliers
from quorate.features.sampling import Sample, check_fit_rows, check_k_range, hash_rows, kinds_fit_rows
from quorate.features.scaling import SCALES, Moments, Scaling, choose_scaling
from quorate.persistence.archive import plain_parameters, write_archive
from quorate.persistence.member_arrays import pack_members
from quorate.persistence.method_arrays import pack_method
from quorate.reliability import ensemble_trust

DIVERSE = "diverse"
"""Members of different kinds: k-means, Genie, spectral, Gaussian mixtures and HDBSCAN."""
# How columns of labels are distinguished from features, and in how many rows of X.
_FEW_COLUMNS, _AS_CLUSTERINGS_DO = 3, 0.5
ROWS_LOOKED_AT, _COLUMNS_LOOKED_AT = 1000, 50


def can_predict(clustering: "ConsensusClustering") -> bool:
    """Tell whether every member can label new rows."""
    return all(labels_new_rows(source) for source in clustering._sources())


def labels_new_rows(source: Source) -> bool:
    """Tell whether a member can label new rows."""
    return isinstance(source, str) or hasattr(source, "predict")


def warn_of_labels(sample: Floats, what: str, instead: str) -> None:
    """Warn of columns that look like clusterings: whole numbers from -1, 0 or 1 on, which agree with each other.

    sample : (n, d) some of the rows, NaN where a number is missing
    """
    # Columns without any number carry no information about what they are.
    sample = sample[:, ~np.isnan(sample).all(axis=0)][:, :_COLUMNS_LOOKED_AT]
    if len(sample) < FEW_ROWS or sample.shape[1] < _FEW_COLUMNS:
        return
    whole_or_missing = np.isnan(sample) | (sample == np.floor(sample))
    if (
        not whole_or_missing.all()
        or np.any(np.abs(np.nanmin(sample, axis=0)) > 1)
        or np.nanmax(sample) > len(sample) / 2
    ):
        return
    # Columns of labels agree with each other far more than integer features do.
    alike = float(np.median(ensemble_trust(Ensemble(list(sample.T), noise="cluster")).index))
    if alike >= _AS_CLUSTERINGS_DO:
        warn(
            f"{what} look like labels, not features: small whole numbers with a chance-corrected agreement of "
            f"{alike:.2f}.",
            code="labels-as-features",
            hint=f"To combine labels, use {instead}.",
        )


@dataclass(eq=False, repr=False)
class ConsensusClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster features by the consensus of many clusterings.

    Members are fitted with seeds of their own, weighed by how far they agree with each other, and combined.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Clusters of the consensus. "auto": the number on which members agree most; with diverse members also one, if
        there is no evidence of more.
    members : str, clusterer, or list of these, default="diverse"
        Where members come from. "diverse": nine clusterings of different kinds (k-means, Genie, spectral, Gaussian
        mixtures, HDBSCAN), all of the same rows. "kmeans", "rpcl", "hmac" or "od-isvc", drawn with random parameters as
        in the paper (k uniform in [2, 2 sqrt(n)]); "spectral" (also "uspec"); or scikit-learn clusterers. Several of
        these take turns.
    n_members : int, default=20
        How many members are fitted. With diverse members, how many of k-means: their consensus counts as two members,
        and they label new rows.
    method : str or consensus estimator, default="auto"
        How they are combined: a name from `quorate.methods()`, "auto" as in `quorate.consensus`, or an estimator such
        as `WEAC(linkage="single")`, whose own `n_clusters` is not used.
    scale : {"auto", "standard", "minmax", "none"}, default="auto"
        How columns are scaled: "auto" standardizes them if their standard deviations differ more than tenfold.
    fit_rows : int, "auto" or None, default="auto"
        How many rows each member is fitted on; it then labels all rows. "auto": all rows up to 20,000, otherwise
        10,000, drawn by what is in the rows, so that their order does not matter. Diverse members are fitted on 5,000
        rows if there are more than 20,000, or more than 20 columns and too many rows for all distances. None: all rows.
    k_range : (int, int) or "auto", default="auto"
        Fewest and most clusters of members drawn by name. "auto": 2 to 2 sqrt(n) where members are fitted on all rows,
        as in the paper, otherwise 2 to 100; 20 to 60 for spectral members.
    outliers : bool, default=False
        Whether rows that are not placed firmly get the label -1, in `fit` and `predict`: rows much farther from others
        than is usual in their cluster, or with a confidence below one half. Needs diverse members.
    random_state : int, RandomState instance or None, default=0
        Gives every member its seed before any is fitted: the result is the same for any `n_jobs`. With diverse members
        it is also the same for any order of the rows, and up to 20,000 rows the same as that of `cluster_frame`.
    n_jobs : int or None, default=None
        Members fitted at the same time, as in joblib; where they are fitted on a part of the rows, None is all cores.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row; 0 is the largest. -1 for outliers, and where no member of positive weight labels the row.
    confidence_ : ndarray of shape (n_rows,)
        Share of the members' votes for the cluster of each row, in [0, 1].
    margin_ : ndarray of shape (n_rows,)
        Confidence minus the share of the votes for the runner-up; negative if the runner-up has more votes.
    runner_up_ : ndarray of shape (n_rows,)
        Of the other clusters, the one with most votes for the row; -1 where none has any.
    n_clusters_ : int
        Clusters found.
    members_ : list of clusterers
        The fitted members; of diverse members, those of k-means.
    ensemble_ : Ensemble
        The clusterings that are combined: of all rows, or of the sample where members are fitted on one.
    ncai_ : ndarray of shape (n_members,)
        How far each agrees with the others.
    consensus_ : consensus estimator
        The consensus function fitted to `ensemble_`, with `clusters_`, `sweep` and more.
    choice_ : Choice
        How many clusters the members support, with the evidence (`choose_k`), whatever number was requested. With
        diverse members, the agreement of their kinds for each number of clusters.
    structure_ : Structure
        Whether the rows form clusters at all, and which clusters are significantly separated, by the dip test
        (`structure`), on at most 10,000 rows.
    distinctive_features_ : DistinctiveFeatures
        The features in which each cluster differs most from all other rows, and clusters that differ almost only in one
        feature, on at most 10,000 rows.
    fitted_hashes_ : ndarray of uint64
        After `fit_sample` only: hashes of the rows of the sample that the consensus was found on.
    examined_ : ndarray of shape (some rows, n_features)
        At most 10,000 rows at even steps, of X or of the sample: what `structure_` and reports look at.
    n_features_in_ : int
        Columns of X in `fit`.

    Notes
    -----
    Sparse X works where all members take it, as those of k-means do.

    Diverse members are fitted on the same rows. Rows beyond them, and new rows, are labeled by the k-means members:
    each cluster votes for the consensus clusters of its rows.

    Where members are fitted on a sample (`fit_rows`), so is the consensus: on the five times `fit_rows` rows that the
    members' own rows are drawn from. All rows then follow in one pass over X: members label them, and each member's
    cluster votes for the consensus clusters that its rows in the sample belong to. Clusters are numbered by their size
    in the sample.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import quorate as qt
    >>> wine = qt.datasets.load("wine")
    >>> model = make_pipeline(StandardScaler(), qt.ConsensusClustering(n_clusters=3, random_state=0))
    >>> labels = model.fit_predict(wine.features)
    >>> qt.evaluate(labels, wine.classes).ari > 0.8
    True
    """

    n_clusters: int | str = "auto"
    _: KW_ONLY
    members: Any = DIVERSE
    n_members: int = 20
    method: str | ConsensusMethod = AUTO
    scale: str = "auto"
    fit_rows: int | str | None = "auto"
    k_range: tuple[int, int] | str = "auto"
    outliers: bool = False
    random_state: int | np.random.RandomState | None = 0
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the members to X, of shape (n_rows, n_features), and find their consensus; y is ignored."""
        self._check_parameters()
        X = check_features(self, X, fitting=True, sparse=self._takes_sparse(), single=True)
        self._check_n_clusters(X.shape[0])
        if not np.ptp(X, axis=0).any() if isinstance(X, np.ndarray) else X.nnz == 0:
            raise InputError(
                "All rows of X are the same: there are no clusters to find. Check the columns of X.", code="equal-rows"
            )
        if isinstance(X, np.ndarray):
            warn_of_labels(X[:: -(-len(X) // ROWS_LOOKED_AT)], "The columns of X", "quorate.consensus(X)")
        # One seed for everything: members, sample and consensus follow from it.
        seed = check_random_state(self.random_state).randint(2**31)
        rows = training_rows(X, self._fit_rows(*X.shape), self.k_range, seed)
        clusters = self._combine(rows, self._choose_scaling(X), seed)
        # Members fitted on all rows have labeled them already, unless outliers are withdrawn.
        part = None if isinstance(rows, AllRows) and not self.outliers else clusters
        self._assigned = None if part is None else part.assign(X)
        self.labels_ = self.consensus_.labels_ if self._assigned is None else self._assigned.labels.astype(np.int64)
        return self

    def fit_sample(self, sample: Sample, n_rows: int) -> RowClusters:
        """Fit to a sample of the distinct rows of a table of `n_rows` rows, and return what labels any of them.

        The rows are on their scale already. `labels_` and the certainty of each row are not set: the table is
        somewhere else.
        """
        self._check_parameters()
        self._check_n_clusters(n_rows)
        fit_rows = self._fit_rows(n_rows, sample.rows.shape[1])
        # The table is elsewhere; the caller labels its rows with what is returned.
        k_range = check_k_range(self.k_range, fit_rows)
        rows = SampledRows(sample, fit_rows or n_rows, k_range, is_part=fit_rows is not None)
        seed = check_random_state(self.random_state).randint(2**31)
        if self.is_diverse:
            rows = rows.shared(seed)
        self.fitted_hashes_ = rows.sample.hashes
        clusters = self._combine(rows, None, seed)
        assert clusters is not None
        return clusters

    def _combine(
        self, rows: AllRows | SampledRows | SparseRows, scaling: Scaling | None, seed: int
    ) -> RowClusters | None:
        """Fit members and find their consensus; return what labels any row, or None if members do that themselves."""
        if self.is_diverse:
            assert not isinstance(rows, SparseRows)
            return self._combine_kinds(rows, scaling, seed)
        names, consensus = self._names(), self._make_consensus(self.n_clusters)
        fitted = fit_in_order(names, scale_rows(rows, scaling), seed, self.n_jobs)
        models = [member.draw.model for member in fitted]
        sample, counts = rows.together
        clusters = None
        # All rows: the labels that members were fitted with. A sample: members label it again, which any row repeats.
        if isinstance(rows, AllRows):
            consensus.fit(Ensemble([member.draw.labels for member in fitted], names=list(names)))
        else:
            consensus, clusters = combine_sample(Crew(tuple(models), scaling), list(names), sample, counts, consensus)
        self.restore(consensus, models, clusters, thinned(sample), scaling)
        return clusters

    def _combine_kinds(self, rows: AllRows | SampledRows, scaling: Scaling | None, seed: int) -> RowClusters:
        """Find the consensus of clusterings of different kinds of the same rows; k-means members label any others."""
        if isinstance(rows, SampledRows):
            rows = rows.shared(seed)
        names = {f"kmeans_{i}": "kmeans" for i in range(self.n_members)}
        scaled = scale_rows(rows, scaling)
        # Clusterers see all rows in the order of their hashes, as those of a sample are: their own order never matters.
        order = np.arange(len(rows.together[0]))
        ordered = scaled
        if isinstance(rows, AllRows) and isinstance(scaled, AllRows):
            order = np.argsort(hash_rows(rows.all.X, self._hash_seed(seed)), kind="stable")
            ordered = AllRows(replace(scaled.all, X=scaled.all.X[order]))
        fitted = fit_in_order(names, ordered, seed, self.n_jobs)
        models = [member.draw.model for member in fitted]
        data = ordered.data(seed)
        clusterings = DiverseClusterings(data.X, [member.draw.labels for member in fitted], seed)
        choice = choose_by_kinds(clusterings) if self.n_clusters == "auto" else None
        k = int(self.n_clusters) if choice is None else choice.n_clusters
        # Clusterings into one cluster say nothing: those of the best candidate show what was rejected.
        members = clusterings.members(max(k, 2) if choice is None or k > 1 else choice.candidates[0].n_clusters)
        sample, counts = rows.together
        # Equal rows are in the same cluster of every member.
        first = (np.cumsum(counts) - counts)[np.argsort(order)]
        ensemble = Ensemble(
            [labels[first] for labels in members.values()],
            names=list(members),
            row_weights=counts.astype(np.float64) if (counts > 1).any() else None,
        )
        consensus = self._make_consensus(k)
        # Members of different kinds that agree are evidence, not copies: each counts in full.
        if consensus.get_params().get("groups", ()) is None:
            consensus.set_params(groups=list(members))
        consensus.fit(ensemble)
        crew = Crew(tuple(models), scaling)
        known_rows = None
        if not data.is_part:
            assigned = (consensus.labels_, consensus.confidence_, consensus.margin_, consensus.runner_up_)
            known_rows = KnownRows.of(scaled.together[0], Assigned.of(*assigned))
        votes = Votes.by_likelihood(crew.label(sample), counts.astype(np.float64), consensus.labels_)
        outliers = Outliers.of(data.X, np.repeat(consensus.labels_[order], counts[order])) if self.outliers else None
        clusters = RowClusters(crew, votes, known_rows, outliers)
        self.restore(consensus, models, clusters, thinned(sample), scaling, choice, clusterings)
        return clusters

    def _hash_seed(self, seed: int) -> int:
        """Return the seed of the hashes of rows: `random_state` as in `cluster_frame`, if it is a number."""
        return int(self.random_state) if isinstance(self.random_state, int | np.integer) else seed

    def restore(
        self,
        consensus: ConsensusMethod,
        members: list[Any],
        clusters: RowClusters | None,
        examined: Floats,
        scaling: Scaling | None,
        choice: Choice | None = None,
        clusterings: DiverseClusterings | None = None,
        assigned: Assigned | None = None,
    ) -> None:
        """Store a result, computed or loaded; `clusters` and `assigned` if members cannot label rows by themselves."""
        self.members_, self.consensus_, self._clusters, self._scaling = members, consensus, clusters, scaling
        self.ensemble_, self.n_clusters_, self.ncai_ = consensus.ensemble_, consensus.n_clusters_, consensus.ncai_
        self.examined_, self._choice, self._clusterings = examined, choice, clusterings
        self._assigned = assigned
        for computed in ("structure_", "distinctive_features_"):  # those of an earlier fit
            self.__dict__.pop(computed, None)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file (NPZ, arrays only), whole or not at all; `quorate.load` brings it back.

        Members of k-means, RPCL and U-SPEC can be saved: as the centers or landmarks they label rows by.
        """
        check_is_fitted(self)
        parameters, own_method = self.get_params(deep=False), isinstance(self.method, ConsensusMethod)
        if own_method:
            parameters["method"] = self.consensus_.name
        method, arrays = pack_method(self.consensus_)
        manifest = {
            "kind": "clustering",
            "parameters": plain_parameters(parameters, "ConsensusClustering"),
            "method": method,
            "own_method": own_method,
            "n_features": self.n_features_in_,
            "features": [str(name) for name in getattr(self, "feature_names_in_", ())],
            "choice": pack_choice(self.choice_) if self.is_diverse else None,
        }
        arrays |= {"labels": self.labels_, "examined": self.examined_}
        if self._scaling is not None:
            arrays |= self._scaling.to_arrays()
        if self._clusters is not None:
            arrays |= self._clusters.to_arrays()
        if self._assigned is not None:
            arrays |= self._assigned._asdict()
        write_archive(path, (manifest, {**arrays, **pack_members(self.members_)}))

    def _names(self) -> dict[str, Source]:
        """Return where each member comes from, by the members' names."""
        sources = self._sources()
        chosen = [sources[i % len(sources)] for i in range(self.n_members)]
        return {
            f"{source if isinstance(source, str) else type(source).__name__}_{i}": source
            for i, source in enumerate(chosen)
        }

    @property
    def confidence_(self) -> Floats:
        """(n_rows,) share of the members' votes for the cluster of each row, in [0, 1]."""
        return self.consensus_.confidence_ if self._assigned is None else self._assigned.confidence.astype(np.float64)

    @property
    def margin_(self) -> Floats:
        """(n_rows,) confidence of each row minus the share of the votes for its runner-up."""
        return self.consensus_.margin_ if self._assigned is None else self._assigned.margin.astype(np.float64)

    @property
    def runner_up_(self) -> Ints:
        """(n_rows,) of the other clusters, the one with most votes for each row; -1 where none has any."""
        return self.consensus_.runner_up_ if self._assigned is None else self._assigned.runner_up.astype(np.int64)

    @property
    def choice_(self) -> Choice:
        """The number of clusters that the members support, independent of the requested number."""
        check_is_fitted(self)
        if not self.is_diverse:
            return self.consensus_.choice_
        if self._choice is None:
            assert self._clusterings is not None
            self._choice = choose_by_kinds(self._clusterings)
        return self._choice

    @cached_property
    def structure_(self) -> Structure:
        """Whether the rows form clusters, and which are significantly separated; computed on first access."""
        check_is_fitted(self)
        members = Ensemble(list(Crew(tuple(self.members_), self._scaling).label(self.examined_)))
        return structure_of(self._scaled(self.examined_), self.consensus_, members if self.is_diverse else None)

    @cached_property
    def distinctive_features_(self) -> DistinctiveFeatures:
        """The features that distinguish each cluster, and clusters that a single feature separates."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"feature_{j}" for j in range(self.examined_.shape[1])])
        ens, pattern = self.ensemble_, thinned(self.consensus_.ensemble_.row_pattern)
        weights = (ens.counts / ens.row_counts)[pattern]
        labels = self.consensus_.pattern_labels_[pattern]
        return distinctive_features(self.examined_, [str(name) for name in names], labels, self.n_clusters_, weights)

    def _fit_rows(self, n_rows: int, n_columns: int) -> int | None:
        """Return how many rows members are fitted on: all of them where some member could not label any others."""
        if self.fit_rows == "auto" and not can_predict(self):
            return None
        if self.is_diverse:
            fit_rows = kinds_fit_rows(self.fit_rows, n_rows, n_columns)
        else:
            fit_rows = check_fit_rows(self.fit_rows, n_rows)
        check_labels_new_rows(self._sources(), fit_rows)
        if fit_rows is not None and not isinstance(self.n_clusters, str) and self.n_clusters > fit_rows:
            raise InputError(
                f"must be at most the number of rows that members are fitted on, {fit_rows}; got {self.n_clusters}.",
                code="few-rows",
                parameter="n_clusters",
                hint=("Raise ", Setting("fit_rows"), "."),
            )
        return fit_rows

    @available_if(can_predict)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Ints:
        """Return the consensus cluster of each row of X, from the labels its members predict."""
        check_is_fitted(self)
        X = check_features(self, X, fitting=False, sparse=self._takes_sparse(), single=self._clusters is not None)
        if self._clusters is not None:
            return self._clusters.assign(X).labels.astype(np.int64)
        X = self._scaled(X)
        return self.consensus_.predict([model.predict(X) for model in self.members_])

    def _scaled(self, X: Any) -> Any:
        """Return rows on the scale that members were fitted on."""
        return X if self._scaling is None else self._scaling.apply(X)

    def _choose_scaling(self, X: Any) -> Scaling | None:
        """Return how rows are scaled, or None if they are taken as they are."""
        if not isinstance(X, np.ndarray):
            if self.scale in ("standard", "minmax"):
                raise InputError(
                    f'must be "auto" or "none" for a sparse X; got {self.scale!r}.', code="choice", parameter="scale"
                )
            return None
        scaling = choose_scaling(self.scale, Moments.of_rows(X))
        return None if set(scaling.factor.tolist()) <= {0.0, 1.0} and not scaling.shift.any() else scaling

    def __getattr__(self, name: str) -> Any:
        """Say why there is no `predict`, where members cannot."""
        if name != "predict":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        mute = dict.fromkeys(type(source).__name__ for source in self._sources() if not labels_new_rows(source))
        raise AttributeError(
            f"Members of {', '.join(mute)} cannot label new rows, so that there is no predict. Use members that can, "
            'such as "kmeans" or "spectral", or fit all rows together and use labels_.'
        )

    def _sources(self) -> list[Source]:
        """Return where members come from, as a list."""
        sources = list(self.members) if isinstance(self.members, list | tuple) else [self.members]
        return ["uspec" if isinstance(source, str) and source == "spectral" else source for source in sources]

    @property
    def is_diverse(self) -> bool:
        """Whether members are clusterings of different kinds."""
        return isinstance(self.members, str) and self.members == DIVERSE

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense for any X."""
        check_integer("n_members", self.n_members, low=1)
        check_choice("scale", self.scale, SCALES)
        sources, clusterers = self._sources(), (*METHODS, "spectral", "uspec")
        if not sources:
            raise InputError(
                f"must name at least one of {', '.join(clusterers)}, or hold a clusterer; got [].",
                code="no-members",
                parameter="members",
            )
        if self.is_diverse:
            return
        if self.outliers:
            raise InputError(
                f"needs members of different kinds; got {self.members!r}.",
                code="outliers-members",
                parameter="outliers",
                hint=("Use ", Setting("members", DIVERSE), "."),
            )
        for source in sources:
            if not hasattr(source, "fit_predict"):
                check_choice("members", source, (DIVERSE, *clusterers) if isinstance(self.members, str) else clusterers)

    def _check_n_clusters(self, n_rows: int) -> None:
        """Refuse a number of clusters that is none, or more than there are rows."""
        if self.n_clusters != "auto" and check_integer("n_clusters", self.n_clusters, low=1) > n_rows:
            raise InputError(
                f"must be at most the number of rows; got {self.n_clusters} with n_samples = {n_rows}.",
                code="few-rows",
                parameter="n_clusters",
            )
        self._make_consensus(self.n_clusters)

    def _make_consensus(self, n_clusters: int | str) -> ConsensusMethod:
        """Return the requested consensus function with a number of clusters."""
        if isinstance(self.method, ConsensusMethod):
            return clone(self.method).set_params(n_clusters=n_clusters)
        return make_method(self.method, n_clusters, {})

    def _takes_sparse(self) -> bool:
        """Tell whether every member takes sparse features."""
        return not self.is_diverse and all(
            source == "kmeans" if isinstance(source, str) else get_tags(source).input_tags.sparse
            for source in self._sources()
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        return tags
