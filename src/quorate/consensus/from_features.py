"""From features to a consensus in one call."""

from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from quorate._support.checks import check_choice, check_integer
from quorate._support.typing import Ints
from quorate.consensus.base import ConsensusMethod
from quorate.consensus.registry import make_method
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.members.base import check_features
from quorate.members.generators import METHODS, Data, draw_member


class FittedMember(NamedTuple):
    """A clusterer and the clustering it gave."""

    model: ClusterMixin
    labels: Ints


def fit_member(member: str | ClusterMixin, data: Data, seed: int) -> FittedMember:
    """Draw a member with a generator of that name, or fit a copy of a clusterer with a seed of its own."""
    if isinstance(member, str):
        draw = draw_member(member, data, seed).draw
        return FittedMember(draw.model, draw.labels)
    model = clone(member)
    random = {name: seed % 2**32 for name in model.get_params() if name.split("__")[-1] == "random_state"}
    with threadpool_limits(1):
        return FittedMember(model, np.asarray(model.set_params(**random).fit_predict(data.X)))


def can_predict(clustering: "ConsensusClustering") -> bool:
    """Tell whether every member can label new rows."""
    return all(isinstance(member, str) or hasattr(member, "predict") for member in clustering._sources())


class ConsensusClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster features by the consensus of many clusterings.

    Members are fitted with seeds of their own, weighed by how far they agree with each other, and combined.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Clusters of the consensus.
    members : str, clusterer, or list of these, default="kmeans"
        Where members come from: "kmeans", "rpcl", "hmac" or "od-isvc", drawn with random parameters as in the paper (k
        uniform in [2, 2 sqrt(n)]), or scikit-learn clusterers. Several take turns.
    n_members : int, default=20
        How many members are fitted.
    consensus : str or consensus estimator, default="gp-mgla"
        How they are combined: a name from `quorate.methods()`, or an estimator such as `WEAC(linkage="single")`, whose
        own `n_clusters` is not used.
    random_state : int, RandomState instance or None, default=None
        Gives every member its seed before any is fitted: the result is the same for any `n_jobs`.
    n_jobs : int or None, default=None
        Members fitted at the same time, as in joblib.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row; 0 is the largest. -1 where no member of positive weight labels the row.
    n_clusters_ : int
        Clusters found.
    members_ : list of clusterers
        The fitted members.
    ensemble_ : Ensemble
        Their clusterings.
    ncai_ : ndarray of shape (n_members,)
        How far each agrees with the others.
    consensus_ : consensus estimator
        The fitted consensus function, with `confidence_`, `clusters_`, `sweep` and more.
    n_features_in_ : int
        Columns of X in `fit`.

    Notes
    -----
    Features are taken as they are; put a scaler before this in a `Pipeline`. Sparse X works where all members take it.

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

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        members: Any = "kmeans",
        n_members: int = 20,
        consensus: str | ConsensusMethod = "gp-mgla",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.members = members
        self.n_members = n_members
        self.consensus = consensus
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the members to X, of shape (n_rows, n_features), and find their consensus; y is ignored."""
        sources = self._check_sources()
        X = check_features(self, X, fitting=True, sparse=self._takes_sparse())
        n_members = check_integer("n_members", self.n_members, low=1)
        consensus = self._check_consensus(X.shape[0])
        if not np.ptp(X, axis=0).any() if isinstance(X, np.ndarray) else X.nnz == 0:
            raise QuorateError("All rows of X are the same: there are no clusters to find. Check the columns of X.")
        chosen = [sources[i % len(sources)] for i in range(n_members)]
        fitted = self._fit_members(chosen, Data(X))
        self.members_ = [member.model for member in fitted]
        names = [
            f"{source if isinstance(source, str) else type(source).__name__}_{i}" for i, source in enumerate(chosen)
        ]
        self.ensemble_ = Ensemble([member.labels for member in fitted], names=names)
        self.consensus_ = consensus.fit(self.ensemble_)
        self.labels_, self.n_clusters_ = self.consensus_.labels_, self.consensus_.n_clusters_
        self.ncai_ = self.consensus_.ncai_
        return self

    def _fit_members(self, chosen: list[str | ClusterMixin], data: Data) -> list[FittedMember]:
        """Fit one member per source, each with its own seed."""
        root = np.random.SeedSequence(check_random_state(self.random_state).randint(2**31))
        seeds = [int(sequence.generate_state(1)[0]) for sequence in root.spawn(len(chosen))]
        tasks = (delayed(fit_member)(source, data, seed) for source, seed in zip(chosen, seeds, strict=True))
        return list(Parallel(n_jobs=self.n_jobs)(tasks))

    @available_if(can_predict)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Ints:
        """Return the consensus cluster of each row of X, from the labels its members predict."""
        check_is_fitted(self)
        X = check_features(self, X, fitting=False, sparse=self._takes_sparse())
        return self.consensus_.predict([model.predict(X) for model in self.members_])

    def _sources(self) -> list[str | ClusterMixin]:
        """Return where members come from, as a list."""
        return list(self.members) if isinstance(self.members, list | tuple) else [self.members]

    def _check_sources(self) -> list[str | ClusterMixin]:
        """Return where members come from, all of them known."""
        sources = self._sources()
        if not sources:
            raise QuorateError(f"members must name at least one of {', '.join(METHODS)}, or hold a clusterer; got [].")
        for source in sources:
            if not hasattr(source, "fit_predict"):
                check_choice("members", source, METHODS)
        return sources

    def _check_consensus(self, n_rows: int) -> ConsensusMethod:
        """Return the consensus function asked for, with the number of clusters asked for."""
        if self.n_clusters != "auto" and check_integer("n_clusters", self.n_clusters, low=1) > n_rows:
            raise QuorateError(
                f"n_clusters must be at most the number of rows; got {self.n_clusters} with n_samples = {n_rows}."
            )
        if isinstance(self.consensus, ConsensusMethod):
            return clone(self.consensus).set_params(n_clusters=self.n_clusters)
        return make_method(self.consensus, self.n_clusters, {})

    def _takes_sparse(self) -> bool:
        """Tell whether every member takes sparse features."""
        return all(
            source == "kmeans" if isinstance(source, str) else get_tags(source).input_tags.sparse
            for source in self._sources()
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        return tags
