"""What every registered consensus function promises; a new method inherits these tests by being registered."""

import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import oracles
import quorate as qt
from baseline_oracles import quiet
from quorate.algorithms.base import PROMISES
from quorate.algorithms.graph import GraphMethod
from quorate.ensemble import Ensemble
from quorate.errors import MemoryLimitError
from quorate.numerics.kmeans import Points, farthest, spread_out
from quorate.numerics.linkage import LINKS
from support import raises

METHODS = {info.name: info for info in qt.methods()}
CASES = {
    "-".join([info.name, *params.values()]): (info, params)
    for info in METHODS.values()
    for params in ([{"linkage": link} for link in LINKS] if "linkage" in info.parameters else [{}])
}
every_case = pytest.mark.parametrize("case", CASES)
every_method = pytest.mark.parametrize("name", METHODS)
few = settings(max_examples=15)


def fit(case, labels, n_clusters, **params):
    """Fit a case on a rows x members matrix, or on an ensemble."""
    info, own = CASES[case]
    ens = labels if isinstance(labels, Ensemble) else Ensemble(list(np.asarray(labels).T))
    with quiet():
        return info.estimator(n_clusters=n_clusters, **own, **params).fit(ens)


def largest_k(case, ens):
    """The largest number of clusters that fit accepts."""
    limited = CASES[case][0].estimator.limited_by_clusters
    return min(ens.n_rows, ens.n_clusters) if limited else ens.n_rows


def excused(case, promise):
    """Whether the method declares, with a reason, that it cannot hold this promise."""
    info, params = CASES[case]
    assert promise in PROMISES
    return promise in info.exceptions or f"{promise}, {params.get('linkage')} link" in info.exceptions


def cases_with(promise):
    """Parametrize by the cases whose method makes this promise."""
    return pytest.mark.parametrize("case", [case for case in CASES if not excused(case, promise)])


def assert_sound(fitted):
    """No NaN, nothing out of range, labels 0..k-1 by decreasing size."""
    for array in (fitted.confidence_, fitted.ncai_, fitted.member_weights_):
        assert np.all((array >= 0) & (array <= 1))
    assert fitted.member_weights_.sum() == pytest.approx(1)
    found = fitted.labels_[fitted.labels_ >= 0]
    sizes = np.bincount(found, minlength=fitted.n_clusters_)
    assert len(sizes) == fitted.n_clusters_
    assert np.all(sizes > 0)
    assert np.all(np.diff(sizes) <= 0)
    assert [cluster.size for cluster in fitted.clusters_] == sizes.tolist()


small = oracles.label_matrices(missing=True, max_rows=14, max_members=4)


@every_case
@given(labels=small, k=st.integers(1, 4), seed=st.integers(0, 9))
@few
def test_order_of_rows_does_not_matter(case, labels, k, seed):
    ens = Ensemble(list(labels.T))
    assume(k <= largest_k(case, ens))
    order = np.random.default_rng(seed).permutation(len(labels))
    one, other = fit(case, ens, k), fit(case, labels[order], k)
    assert np.array_equal(one.labels_[order], other.labels_)
    assert np.array_equal(one.confidence_[order], other.confidence_)
    assert_sound(one)


@every_case
@given(labels=small)
@few
def test_exactly_k_clusters_and_sweeps_and_predictions(case, labels):
    ens = Ensemble(list(labels.T))
    auto = fit(case, ens, "auto")
    assert np.array_equal(auto.predict(list(labels.T)), auto.labels_)
    assert_sound(auto)
    with quiet():
        sweep = auto.sweep(range(1, 7))
    n_known = int((auto.pattern_labels_ >= 0).sum())
    for k in range(1, 7):
        n_found = len(np.unique(sweep[sweep[:, k - 1] >= 0, k - 1]))
        assert_number_of_clusters(case, n_found, most_clusters(auto, min(k, auto.solution_.cuts.max_clusters), n_known))
        if k <= largest_k(case, ens):
            assert np.array_equal(fit(case, ens, k).labels_, sweep[:, k - 1])


def assert_number_of_clusters(case, found, most):
    """As many clusters as possible come back, or fewer, or others, if the method says so."""
    assert found == most or excused(case, "exactly k")
    assert found <= most or CASES[case][0].estimator.finds_k


def most_clusters(fitted, k, n_known):
    """How many clusters can come back: there may be fewer patterns, or fewer distinct embedded patterns."""
    if k > 1 and hasattr(fitted.solution_.cuts, "embedding"):
        points = np.ascontiguousarray(fitted.solution_.cuts.embedding(k)[fitted.pattern_labels_ >= 0])
        return len(spread_out([Points(points, np.ones(len(points)))], points[0], k, farthest))
    return min(k, n_known)


@every_case
@given(labels=small, k=st.integers(1, 3))
@few
def test_same_seed_gives_the_same_labels(case, labels, k):
    ens = Ensemble(list(labels.T))
    assume(k <= largest_k(case, ens))
    estimator = CASES[case][0].estimator
    params = dict(CASES[case][1])
    if "random_state" in CASES[case][0].parameters:
        params |= {"random_state": 3, "init": "k-means++" if issubclass(estimator, GraphMethod) else "random"}
        params |= {"init": "random"} if estimator is qt.HBGF else {}
    with quiet():
        one, other = (estimator(n_clusters=k, **params).fit(ens) for _ in range(2))
        assert np.array_equal(one.labels_, other.labels_)
        assert np.array_equal(one.sweep([k])[:, 0], one.labels_)
    assert_sound(one)


def planted(seed, noise):
    """Three groups of rows; every member splits one of them, and mislabels some rows."""
    random = np.random.default_rng(seed)
    truth = random.permutation(np.repeat(np.arange(3), [22, 20, 18]))
    columns = []
    for member in range(5):
        column = np.where((truth == member % 3) & (random.random(60) < 0.4), 3, truth)
        columns.append(np.where(random.random(60) < noise, random.integers(0, 4, 60), column))
    return np.stack(columns, axis=1), truth


@cases_with("clear answers")
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_names_and_order_of_members_do_not_matter_for_clear_answers(case, seed):
    # Mislabeled rows tie everywhere under complete link, and vanish from a completed matrix.
    noisy = "complete" not in case and "ecmc" not in case
    labels, truth = planted(seed, 0.02 if noisy else 0.0)
    random = np.random.default_rng(seed)
    renamed = np.stack([random.permutation(4)[column] for column in labels.T], axis=1)[:, random.permutation(5)]
    # So few patterns have hardly any strongest links; with all of them the answer of walks is clear.
    params = {"n_neighbors": 60, "n_steps": 4} if "n_neighbors" in CASES[case][0].parameters else {}
    one, other = fit(case, labels, 3, **params), fit(case, renamed, 3, **params)
    if hasattr(one, "dendrogram_"):
        third, second = one.dendrogram_.heights[-3:-1]
        assume(second - third > 1e-9)  # else two merges tie where the tree is cut, and the answer is not clear
    assert oracles.partition(one.labels_) == oracles.partition(other.labels_)
    if not noisy:
        assert oracles.partition(one.labels_) == oracles.partition(truth)
    assert sorted(one.ncai_) == pytest.approx(sorted(other.ncai_))


@every_case
@given(labels=small, seed=st.integers(0, 9))
@few
def test_names_and_order_of_members_matter_only_for_ties(case, labels, seed):
    """What no tie can change: single-link heights, eigenvalues, objectives."""
    random = np.random.default_rng(seed)
    order = random.permutation(labels.shape[1])
    renamed = np.stack([np.append(random.permutation(4), -1)[labels[:, j]] for j in order], axis=1)
    one, other = fit(case, labels, 1), fit(case, renamed, 1)
    if hasattr(one, "completion_"):
        assert one.completion_.objective == pytest.approx(other.completion_.objective, rel=1e-4)
    elif case.endswith("single"):
        assert one.dendrogram_.heights == pytest.approx(other.dendrogram_.heights, abs=1e-10)
    elif hasattr(one, "eigenvalues_"):
        assert one.eigenvalues_ == pytest.approx(other.eigenvalues_, abs=1e-9)
    assert one.ncai_[order] == pytest.approx(other.ncai_, abs=1e-12)


@every_case
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5), n_members=st.integers(1, 4))
@few
def test_unanimous_members_give_their_partition(case, sizes, n_members):
    truth = np.repeat(np.arange(len(sizes)), sizes)
    fitted = fit(case, np.stack([truth] * n_members, axis=1), len(sizes))
    assert oracles.partition(fitted.labels_) == oracles.partition(truth)
    assert fitted.n_clusters_ == len(sizes)
    assert fitted.ncai_.tolist() == pytest.approx([1.0] * n_members)


@cases_with("components")
@given(labels=st.lists(oracles.label_matrices(max_rows=6, max_members=3, max_clusters=2), min_size=2, max_size=3))
@few
def test_components_of_the_graph_are_found(case, labels):
    """Groups of rows that share no cluster with others, each connected in itself."""
    n_members = min(part.shape[1] for part in labels)
    parts = [np.column_stack([np.zeros(len(part), dtype=int), part[:, :n_members]]) for part in labels]
    joint = np.concatenate([part + 10 * i for i, part in enumerate(parts)])
    truth = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    fitted = fit(case, joint, len(parts))
    assert oracles.partition(fitted.labels_) == oracles.partition(truth)


@every_case
@given(labels=oracles.label_matrices(max_rows=14, min_members=2, max_members=4), k=st.integers(1, 3))
@few
def test_trivial_member_has_no_weight(case, labels, k):
    labels[:2] = [[0], [1]]  # no other member is trivial
    with_it, without = np.column_stack([labels, np.zeros(len(labels))]), Ensemble(list(labels.T))
    assume(k <= largest_k(case, without))
    assume(qt.cai(without).max() > 0)
    assert_sound(fit(case, with_it, k))
    weighted = fit(case, with_it, k, weights="ncai")
    assert_sound(weighted)
    assert weighted.ncai_[-1] == 0
    if not excused(case, "member without weight"):
        assert np.array_equal(weighted.labels_, fit(case, without, k, weights="ncai").labels_)


DEGENERATE = {
    "all trivial": [[0, 0, 0, 0], [0, 0, 0, 0]],
    "all singletons": [[0, 1, 2, 3], [0, 1, 2, 3]],
    "singletons in other orders": [[0, 1, 2, 3], [3, 1, 0, 2]],
    "one member": [[0, 1, 1, 0]],
    "two rows": [[0, 1], [0, 0]],
    "two equal rows": [[0, 0], [0, 0]],
    "one row": [[0]],
    "trivial and singletons": [[0, 1, 0, 1, 2], [0, 0, 0, 0, 0], [0, 1, 2, 3, 4]],
    "identical": [[0, 0, 1, 1, 2], [0, 0, 1, 1, 2], [0, 0, 1, 1, 2]],
    "more components than asked for": [[0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 1, 2, 2, 3, 3]],
    "chains of components": [[0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 0, 0, 2, 2, 2, 2], [0, 0, 1, 1, 2, 2, 4, 4]],
    "no overlap": [[0, 0, 1, None, None, None], [None, None, None, 0, 1, 1]],
    "rows nobody labels": [[0, 0, 1, 1, None], [0, 1, 1, 1, None]],
}


@every_case
@pytest.mark.parametrize("degenerate", DEGENERATE)
def test_degenerate_ensembles(case, degenerate):
    ens = Ensemble(DEGENERATE[degenerate])
    labeled = int(np.any(ens.patterns >= 0, axis=1).sum())
    for k in [1, 2, 3, "auto", ens.n_rows, ens.n_rows + 1]:
        if k != "auto" and k > largest_k(case, ens):
            with pytest.raises(qt.QuorateError) as caught:
                fit(case, ens, k)
            assert caught.value.code in ("more-clusters-than-rows", "more-clusters-than-members-have")
            continue
        fitted = fit(case, ens, k)
        assert_sound(fitted)
        if k != "auto":
            assert_number_of_clusters(case, fitted.n_clusters_, most_clusters(fitted, k, labeled))
        assert np.array_equal(fitted.predict(DEGENERATE[degenerate]), fitted.labels_)
        with quiet():
            assert fitted.sweep([1, 2, 50]).shape == (ens.n_rows, 3)


@every_case
@pytest.mark.parametrize("weights", [[0, 1, 0], [1, 0, 2], [1e-9, 1, 1]])
def test_members_of_weight_zero(case, weights):
    members = [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, None], [0, 1, 2, 0, 1, 2]]
    fitted = fit(case, Ensemble(members), 2, weights=weights)
    assert_sound(fitted)
    if CASES[case][0].name != "wcc":  # which learns weights of its own
        assert (fitted.labels_[-1] == -1) == (weights == [0, 1, 0])


@every_case
def test_all_weight_on_a_member_without_labels(case):
    ens = Ensemble([[0, 0, 1, 1], [None, None, None, None]])
    fitted = fit(case, ens, 1, weights=[0.0, 1.0])
    assert set(fitted.labels_.tolist()) <= {-1, 0}
    assert np.all(np.isfinite(fitted.confidence_))


@every_case
def test_row_weights_count_like_repeated_rows(case, generated):
    labels = generated[:40]
    repeats = np.random.default_rng(0).integers(1, 4, len(labels))
    with quiet():
        weighted = fit(case, Ensemble(labels, row_weights=repeats), 4)
    repeated = fit(case, np.repeat(labels, repeats, axis=0), 4)
    if excused(case, "repeated rows"):
        assert weighted.n_clusters_ == repeated.n_clusters_
    else:
        assert np.array_equal(np.repeat(weighted.labels_, repeats), repeated.labels_)


@every_case
def test_only_the_proportions_of_row_weights_matter(case):
    members = [[0, 0, 1, 1, 2, 2, 2, 0], [0, 0, 0, 1, 1, 1, None, 0], [0, 1, 1, 1, 2, 2, 2, 2]]
    for weights in (np.array([1, 2, 1, 3, 1, 1, 2, 1]), np.random.default_rng(0).random(8) + 0.1):
        one, *others = (fit(case, Ensemble(members, row_weights=s * weights), 3) for s in (1, 8, 3, 1e-7, 1e6))
        assert all(np.array_equal(one.labels_, other.labels_) for other in others)


@every_method
def test_scikit_learn_conventions(name, generated):
    labels = generated
    info = METHODS[name]
    default = info.estimator()
    assert default.get_params() == {"n_clusters": "auto", **info.parameters}
    copy = clone(info.estimator(n_clusters=4, beta=1.0))
    assert copy.get_params()["beta"] == 1.0
    assert not [attribute for attribute in vars(copy) if attribute.endswith("_")]
    copy.set_params(n_clusters=3, weights="ncai")
    with quiet():
        fitted = copy.fit(labels)
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.labels_, fitted.labels_)
        assert np.array_equal(again.sweep([3, 5]), fitted.sweep([3, 5]))
        assert np.array_equal(again.predict(labels[:20]), fitted.labels_[:20])
        assert np.array_equal(clone(fitted).fit_predict(labels), fitted.labels_)


@every_case
def test_consensus_equals_the_estimator(case, generated):
    labels = generated
    info, params = CASES[case]
    with quiet():
        result = qt.consensus(labels, 3, method=info.name, **params)
    fitted = fit(case, Ensemble(labels), 3)
    assert np.array_equal(result.labels, fitted.labels_)
    assert np.array_equal(result.member_weights, fitted.member_weights_)
    assert result.method == info.name


@every_method
def test_registry_describes_the_method(name):
    info = METHODS[name]
    assert info.estimator.name == name
    assert info.weighted == (info.parameters["weights"] in ("ncai", "trust"))
    guide = (info.idea, info.equation, info.strength, info.weakness, info.when)
    for text in (*guide, info.citation, info.cost, info.exact, *info.exceptions.values()):
        assert len(text) > 5
    lines = inspect.cleandoc(info.estimator.__doc__).splitlines()
    undocumented = [
        each for each in info.parameters if not any(re.match(rf"(?! )[\w, ]*\b{each}\b", line) for line in lines)
    ]
    assert undocumented == []


def test_readme_names_every_method():
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    table = readme[readme.index("## Which method?") :].partition("\n\n`quorate methods`")[0]
    named = re.findall(r"`([a-z-]+)`", "".join(line.split("|")[1] for line in table.splitlines() if line[:1] == "|"))
    assert [name for name in METHODS if name not in named] == []
    assert sorted(named) == sorted(METHODS)


def test_methods_of_the_paper_are_registered():
    assert {"gp-mgla", "weac", "eac", "hbgf", "wcc", "ecmc", "srs", "wct"} <= set(METHODS)
    assert [name for name in METHODS if METHODS[name].weighted] == ["auto", "gp-mgla", "weac"]


@pytest.mark.parametrize(
    ("method", "params", "code", "parameter"),
    [
        (qt.WCT, {"decay": 1.5}, "number", "decay"),
        (qt.SRS, {"decay": -1}, "number", "decay"),
        (qt.SRS, {"n_iterations": 1}, "integer", "n_iterations"),
        (qt.HBGF, {"init": "first-row"}, "choice", "init"),
        (qt.HBGF, {"n_init": 0}, "integer", "n_init"),
        (qt.WCC, {"n_iterations": -1}, "integer", "n_iterations"),
        (qt.WCC, {"n_updates": 0}, "integer", "n_updates"),
        (qt.WCC, {"tolerance": -1}, "number", "tolerance"),
        (qt.WCC, {"ridge": "a"}, "number", "ridge"),
        (qt.ECMC, {"thresholds": 0.5}, "two-numbers", "thresholds"),
        (qt.ECMC, {"thresholds": (0.5, 0.5)}, "number", "thresholds[1]"),
        (qt.ECMC, {"thresholds": (-0.1, 0.5)}, "number", "thresholds[0]"),
        (qt.ECMC, {"lam": 0}, "number", "lam"),
        (qt.ECMC, {"tolerance": 0}, "number", "tolerance"),
        (qt.ECMC, {"max_iterations": 0}, "integer", "max_iterations"),
        (qt.EAC, {"linkage": "ward"}, "choice", "linkage"),
        (qt.CumulativeVoting, {"adaptive": 1}, "flag", "adaptive"),
        (qt.LWEA, {"theta": 0}, "number", "theta"),
        (qt.LWGP, {"weights": "local"}, "choice", "weights"),
    ],
)
def test_invalid_parameters_raise(running_example, method, params, code, parameter):
    with raises(code, parameter):
        method(n_clusters=2, **params).fit(running_example)


@every_case
def test_memory_limit_is_checked_first_and_the_advice_works(case):
    random = np.random.default_rng(0)
    ens = Ensemble(random.integers(0, 12, (3000, 4)))
    qt.cai(ens)  # the co-occurrence is part of the ensemble
    with qt.memory_limit("20MB"):
        cost = CASES[case][0].cost
        needs_a_matrix = "complete" in case or ("single" in case and "single link m^2" in cost)
        needs_a_matrix = needs_a_matrix or re.search(r"memory [^;]*\bm\^2", cost)
        if not needs_a_matrix:
            assert fit(case, ens, 4).n_clusters_ == 4 or CASES[case][0].estimator.finds_k
            return
        with raises("memory", error=MemoryLimitError):
            fit(case, ens, 4)


@pytest.mark.parametrize("method", [qt.HBGF, qt.WCC, qt.GPMGLA])
def test_embedding_beyond_the_memory_limit_raises(method):
    ens = Ensemble(np.random.default_rng(0).integers(0, 12, (3000, 4)))
    with (
        qt.memory_limit("300kB"),
        raises("memory", error=MemoryLimitError),
    ):
        method(n_clusters=20).fit(ens)
