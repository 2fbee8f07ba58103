import itertools

import numpy as np
import pytest
import scipy.cluster.hierarchy as sch
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import squareform

import oracles
import quorate as qt
from quorate import _kernels
from quorate._kernels.merge_chain import first_leaves, keep_leaves
from quorate._runtime.time_limit import Pace
from quorate.ensemble import Ensemble
from quorate.numerics.average_link import ActiveGroups, PatternGroups
from quorate.numerics.linkage import LINKS, _join_nearest, link_coassociation, link_similarity, link_through_clusters
from quorate.row_similarity import ThroughClusters, pattern_coassociation
from support import raises, warns


@st.composite
def weighted_ensembles(draw, missing):
    labels = draw(oracles.label_matrices(missing=missing, max_rows=18))
    weight = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0.01, 1.0)
    weights = np.array(draw(st.lists(weight, min_size=labels.shape[1], max_size=labels.shape[1])))
    weights[0] = max(weights[0], 0.25)
    return labels, weights / weights.sum()


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("missing", [False, True])
@given(data=st.data())
def test_every_merge_joins_the_most_similar_groups(link, missing, data):
    labels, weights = data.draw(weighted_ensembles(missing))
    ens = Ensemble(list(labels.T))
    tree = link_coassociation(ens, weights, link)
    rows = ens.first_row[tree.leaf_pattern]
    similarity = oracles.evidence(labels, weights)[np.ix_(rows, rows)]
    oracles.replay(similarity, ens.counts[tree.leaf_pattern], tree.merges, tree.heights, link)
    assert np.all(np.diff(tree.heights) >= 0)


@given(data=st.data())
def test_a_dense_similarity_is_linked_like_the_evidence_it_holds(data):
    labels, weights = data.draw(weighted_ensembles(missing=True))
    ens = Ensemble(list(labels.T))
    for link in LINKS:
        covered = link_coassociation(ens, weights, link).leaf_pattern
        similarity = oracles.evidence(labels, weights)[np.ix_(ens.first_row[covered], ens.first_row[covered])]
        tree = link_similarity(ens, similarity.copy(), link, covered)
        oracles.replay(similarity, ens.counts[covered], tree.merges, tree.heights, link)


def similar_through_clusters(ens, weights, decimals=16):
    """The similarity of patterns through similar clusters of each member, and the patterns; few decimals make ties."""
    random = np.random.default_rng(ens.n_clusters)
    of_clusters = np.round(random.random((ens.n_clusters, ens.n_clusters)) * 0.9, decimals)
    of_clusters = np.minimum(of_clusters, of_clusters.T) * (ens.cluster_member[:, None] == ens.cluster_member)
    np.fill_diagonal(of_clusters, 1.0)
    patterns = link_coassociation(ens, weights, "single").leaf_pattern
    return ThroughClusters.of_members(ens, weights, of_clusters, patterns), patterns


@pytest.mark.parametrize("few", [1, 3, 1024])
@pytest.mark.parametrize("missing", [False, True])
@given(data=st.data())
def test_merges_in_rounds_join_the_most_similar_groups(few, missing, data):
    labels, weights = data.draw(weighted_ensembles(missing))
    ens = Ensemble(list(labels.T))
    similarity, patterns = similar_through_clusters(ens, weights, data.draw(st.sampled_from([0, 1, 16])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quorate.numerics.linkage.CHAIN_GROUPS", few)
        for link in LINKS:
            tree = link_through_clusters(ens, similarity, link, patterns)
            oracles.replay(similarity.matrix(), ens.counts[patterns], tree.merges, tree.heights, link)


@pytest.mark.parametrize("decimals", [1, 16])
@pytest.mark.parametrize("n_done", [1, 20, 300])
def test_the_nearest_group_is_found_through_clusters_and_whether_another_is_as_near(n_done, decimals):
    random = np.random.default_rng(n_done)
    ens = Ensemble(random.integers(0, 6, (400, 5)))
    similarity, patterns = similar_through_clusters(ens, np.full(5, 0.2), decimals)
    pairs = np.sort(random.permutation(len(patterns)) // 2)  # of patterns
    shares = sp.csr_array((np.full(len(pairs), 0.5), (pairs, np.arange(len(pairs)))))
    for groups in (similarity, similarity.joined(shares)):
        todo = np.sort(random.choice(len(groups), min(n_done, len(groups)), replace=False))
        partner, best, second = np.full(len(groups), -1), np.full(len(groups), -1.0), np.full(len(groups), -1.0)
        groups.find_nearest(todo, partner, best, second)
        matrix = groups.matrix()
        np.fill_diagonal(matrix, -1.0)
        next_best, highest = np.sort(matrix[todo], axis=1)[:, -2:].T
        assert best[todo] == pytest.approx(highest, abs=1e-12)
        assert matrix[todo, partner[todo]] == pytest.approx(highest, abs=1e-12)
        assert np.array_equal(best[todo] - second[todo] < 1e-10, highest - next_best < 1e-10)
        assert np.all(second[todo] <= next_best + 1e-12)
        left = np.setdiff1d(np.arange(len(groups)), todo)
        assert np.all(np.stack([partner, best, second])[:, left] == -1)


def test_groups_that_are_equally_near_to_a_third_are_left_to_the_chain(monkeypatch):
    """0 is as near to 1 as to 2; 3 and 4 are nearest to each other; 5 is nearest to 3."""
    monkeypatch.setattr("quorate.numerics.linkage.CHAIN_GROUPS", 1)
    monkeypatch.setattr("quorate.numerics.linkage.SIMILARITIES_PER_LABEL", 0)
    similarity = np.full((6, 6), 0.1)
    for a, b, value in [(0, 1, 0.9), (0, 2, 0.9), (3, 4, 0.8), (3, 5, 0.7), (4, 5, 0.6)]:
        similarity[a, b] = similarity[b, a] = value
    np.fill_diagonal(similarity, 1.0)
    sizes = np.array([1.0, 1.0, 1.0, 3.0, 1.0, 1.0])
    found, groups, leaf, left = _join_nearest(ThroughClusters.of_all(sp.csr_array(np.eye(6)), similarity), sizes)
    assert np.concatenate([merges.pairs for merges in found]).tolist() == [[3, 4], [3, 5]]
    assert np.concatenate([merges.heights for merges in found]) == pytest.approx([0.2, 1 - (3 * 0.7 + 0.6) / 4])
    assert (leaf.tolist(), left.tolist()) == ([0, 1, 2, 3], [1, 1, 1, 5])
    assert groups.matrix()[0] == pytest.approx([1.0, 0.9, 0.9, 0.1])


def test_patterns_are_merged_if_a_full_matrix_exceeds_memory():
    ens = Ensemble(np.random.default_rng(0).integers(0, 9, (3000, 6)))
    similarity, patterns = similar_through_clusters(ens, np.full(6, 1 / 6))
    assert len(patterns) > 2900
    expected = link_through_clusters(ens, similarity, "average", patterns)
    with qt.memory_limit("10 MB"):
        found = link_through_clusters(ens, similarity, "average", patterns)
        with raises("memory"):
            link_through_clusters(ens, similarity, "complete", patterns)
    assert np.allclose(found.heights, expected.heights, atol=1e-12)
    assert np.array_equal(found.merges, expected.merges)


@pytest.mark.parametrize("m", [*range(1, 34), 255, 256, 257, 271, 600])
def test_the_highest_of_a_row_is_found_at_its_first_place_or_the_previous_one(m):
    random = np.random.default_rng(m)
    row, scratch = random.integers(0, max(m // 3, 2), m) / 7.0, np.empty(-(-m // _kernels.merge_chain._STRETCH))
    row[random.random(m) < 0.2] = -np.inf
    row[random.integers(m)] = 0.25
    highest = np.flatnonzero(row == row.max())
    assert _kernels.merge_chain._most_similar(row, -1, scratch) == highest[0]
    for previous in range(m):
        expected = previous if previous in highest else highest[0]
        assert _kernels.merge_chain._most_similar(row, previous, scratch) == expected


def tie_free_ensemble(seed):
    """Weights under which no two different sets of members weigh the same."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 5, (60, 6))
    return labels, random.dirichlet(np.ones(6))


@pytest.mark.parametrize("link", ["single", "complete"])
@pytest.mark.parametrize("seed", range(3))
def test_heights_are_those_of_scipy_over_all_rows(link, seed):
    labels, weights = tie_free_ensemble(seed)
    distance = 1 - oracles.evidence(labels, weights)
    np.fill_diagonal(distance, 0)
    expected = sch.linkage(squareform(distance, checks=False), link)[:, 2]
    tree = link_coassociation(Ensemble(labels), weights, link)
    found = tree.to_scipy(rows=True)[:, 2]
    below_one = expected < 1 - 1e-9  # at distance 1 complete link is all ties
    assert np.allclose(found[below_one], expected[below_one], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_single_link_is_that_of_scipy_where_searches_end_below_what_is_known(seed):
    """Many patterns in growing parts: what a part knows already rules out most of what its patterns could find."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 12, 800)
    labels = np.stack(
        [np.where(random.random(800) < 0.3, random.integers(0, 12, 800), group) for _ in range(7)], axis=1
    )
    weights = random.dirichlet(np.ones(7))
    ens = Ensemble(labels)
    tree = link_coassociation(ens, weights, "single")
    distance = 1.0 - oracles.evidence(labels[ens.first_row], weights)
    np.fill_diagonal(distance, 0.0)
    expected = sch.linkage(squareform(distance, checks=False), "single")
    assert np.allclose(tree.heights, expected[:, 2], atol=1e-12)


def test_average_heights_are_those_of_scipy_where_rows_weigh_differently():
    """Random row weights leave no ties; SciPy sees each row as often as it weighs."""
    random = np.random.default_rng(5)
    base = random.integers(0, 3, (12, 4))
    labels = np.repeat(base, random.integers(1, 6, 12), axis=0)
    weights = random.dirichlet(np.ones(4))
    distance = 1 - oracles.evidence(labels, weights)
    np.fill_diagonal(distance, 0)
    expected = sch.linkage(squareform(distance, checks=False), "average")[:, 2]
    found = link_coassociation(Ensemble(labels), weights, "average").to_scipy(rows=True)[:, 2]
    assert np.allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("equal", [True, False])
def test_average_link_does_not_depend_on_how_near_groups_are_found(equal, monkeypatch):
    """Lists of any length, and similarities that are all kept where groups are few, give the same tree."""
    rng = np.random.default_rng(3)
    center = rng.integers(0, 40, 90)
    labels = np.stack([np.where(rng.random(90) < 0.3, rng.integers(0, k, 90), center % k) for k in (2, 3, 9, 40)], 1)
    weights = np.full(4, 0.25) if equal else np.array([0.1, 0.2, 0.3, 0.4])
    ens = Ensemble(labels)
    few = link_coassociation(ens, weights, "average")
    monkeypatch.setattr("quorate.numerics.average_link._FEW_SIMILARITIES", 1)
    monkeypatch.setattr("quorate.numerics.average_link._SIMILARITIES_PER_ENTRY", 0)
    monkeypatch.setattr("quorate.numerics.average_link._FEW_GROUPS", -1)
    trees = []
    for listed in (1, 2, 16):
        monkeypatch.setattr("quorate.numerics.average_link.NEAR_LIST_LENGTH", listed)
        trees.append(link_coassociation(ens, weights, "average"))
    rows = ens.first_row[trees[0].leaf_pattern]
    similarity = oracles.evidence(labels, weights)[np.ix_(rows, rows)]
    oracles.replay(similarity, ens.counts, trees[0].merges, trees[0].heights, "average")
    for other in trees[1:]:
        np.testing.assert_array_equal(other.merges, trees[0].merges)
        np.testing.assert_array_equal(other.heights, trees[0].heights)
    np.testing.assert_array_equal(few.merges, trees[0].merges)
    assert few.heights == pytest.approx(trees[0].heights, abs=1e-14)


def test_average_link_is_the_same_in_rounds_and_in_one_go(monkeypatch):
    """More groups than have all their similarities kept; rows hardly repeat, and many similarities are equal."""
    labels = np.random.default_rng(5).integers(0, 12, (1500, 5))
    ens = Ensemble(labels)
    found = link_coassociation(ens, np.full(5, 0.2), "average")
    monkeypatch.setattr("quorate.numerics.average_link._FEW_GROUPS", -1)
    in_rounds = link_coassociation(ens, np.full(5, 0.2), "average")
    monkeypatch.setattr("quorate.numerics.average_link._FEW_SIMILARITIES", 1)
    monkeypatch.setattr("quorate.numerics.average_link._SIMILARITIES_PER_ENTRY", 0)
    to_the_end = link_coassociation(ens, np.full(5, 0.2), "average")
    for expected in (in_rounds, to_the_end):
        np.testing.assert_array_equal(found.merges, expected.merges)
        assert found.heights == pytest.approx(expected.heights, abs=1e-14)


def test_members_without_weight_add_nothing_however_large_their_clusters():
    random = np.random.default_rng(0)
    heard, unheard = random.integers(0, 30, (600, 4)), random.integers(0, 2, (600, 8))
    weights = np.array([1.0] * 4 + [0.0] * 8)
    found = qt.WEAC(5, weights=weights).fit(np.hstack([heard, unheard]))
    assert oracles.partition(found.labels_) == oracles.partition(qt.WEAC(5, weights="equal").fit_predict(heard))
    ens = found.ensemble_
    leaves = PatternGroups.of_patterns(ens, weights, np.arange(ens.n_patterns), None, np.full(ens.n_patterns, 4.0))
    front = ActiveGroups.of_leaves(leaves)
    search = _kernels.nearest_groups.search.py_func  # in plain Python, what is written outside an array is an error
    search(np.arange(2), front.groups, front.touching, front.near, front.tree)
    assert np.all(front.near.candidates[:2, 0] >= 0)


def test_running_example(running_example):
    weac = qt.WEAC(n_clusters=2).fit(running_example)
    assert weac.dendrogram_.heights == pytest.approx([0.2410, 0.5151, 0.9398], abs=5e-5)
    assert weac.dendrogram_.to_scipy(rows=True)[:, 2] == pytest.approx([0, 0, 0.2410, 0.5151, 0.9398], abs=5e-5)
    evidence = qt.coassociation(running_example, qt.member_weights(running_example), rows=True)
    found = evidence[[0, 0, 2, 3], [2, 3, 3, 4]]
    assert found == pytest.approx([0.6054, 0.3644, 0.7590, 0.2410], abs=5e-5)


def test_equal_weights_on_the_running_example(running_example):
    heights = {link: qt.WEAC(weights="equal", linkage=link, n_clusters=2).fit(running_example) for link in LINKS}
    assert heights["single"].dendrogram_.heights == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert heights["complete"].dendrogram_.heights == pytest.approx([1 / 3, 2 / 3, 1])
    average = heights["average"].dendrogram_.heights
    assert average[[0, 2]] == pytest.approx([1 / 3, 11 / 12])
    assert average[1] == pytest.approx(5 / 9) or average[1] == pytest.approx(1 / 2)
    assert qt.WEAC(n_clusters="auto", weights="equal").fit(running_example).n_clusters_ == 2
    assert heights["single"].dendrogram_.lifetimes == pytest.approx([1 / 3, 0, 1 / 3])
    name, by_k = heights["single"].dendrogram_.criterion()
    assert (name, by_k) == ("lifetime", pytest.approx({2: 1 / 3, 3: 0, 4: 1 / 3}))


@given(oracles.label_matrices(missing=True))
def test_cuts_give_exactly_k_nested_clusters_numbered_by_size(labels):
    ens = Ensemble(list(labels.T))
    tree = link_coassociation(ens, np.ones(labels.shape[1]), "average")
    coarser = None
    for k in range(1, tree.max_clusters + 2):
        cut = tree.cut(k)
        sizes = np.bincount(cut, weights=ens.counts)
        assert len(sizes) == min(k, tree.max_clusters)
        assert np.all(np.diff(sizes) <= 0)
        if coarser is not None:
            assert len(set(zip(cut.tolist(), coarser.tolist(), strict=True))) == len(sizes)
        coarser = cut


@given(oracles.label_matrices(missing=True))
def test_scipy_accepts_the_tree_over_patterns_and_rows(labels):
    ens = Ensemble(list(labels.T))
    tree = link_coassociation(ens, np.ones(labels.shape[1]), "average")
    if ens.n_patterns > 1:
        assert sch.is_valid_linkage(tree.to_scipy())
    over_rows = tree.to_scipy(rows=True)
    assert sch.is_valid_linkage(over_rows)
    assert over_rows[-1, 3] == len(labels)
    assert np.allclose(over_rows[len(labels) - ens.n_patterns :, 2], tree.heights)


def test_leaves_are_found_and_left_out_by_hand():
    nodes = np.array([[0, 1], [2, 3], [5, 6], [4, 7]])
    assert first_leaves(nodes).tolist() == [[0, 1], [2, 3], [0, 2], [4, 0]]
    pairs, positions = keep_leaves(nodes, np.array([0, 2, 4]))
    assert (pairs.tolist(), positions.tolist()) == ([[0, 1], [2, 0]], [2, 3])
    pairs, positions = keep_leaves(nodes, np.array([1, 3]))
    assert (pairs.tolist(), positions.tolist()) == ([[0, 1]], [2])
    pairs, positions = keep_leaves(nodes, np.array([3]))
    assert (pairs.tolist(), positions.tolist()) == ([], [])


@pytest.mark.parametrize("link", LINKS)
def test_equal_rows_are_one_leaf_unless_another_pattern_is_nearer(link):
    ens = Ensemble([[0, 0, 1, 2]])
    similarity = np.array([[0.9, 0.5, 0.2], [0.5, 0.9, 0.3], [0.2, 0.3, 0.9]])
    tree = link_similarity(ens, similarity.copy(), link, np.arange(3))
    assert tree.leaf_pattern.tolist() == [0, 1, 2]
    assert tree.leaf_heights == pytest.approx([0.1, 0, 0])  # a row alone is at height 0
    assert tree.heights[0] == pytest.approx(0.5)
    similarity[0, 0] = 0.4
    tree = link_similarity(ens, similarity.copy(), link, np.arange(3))
    assert tree.leaf_pattern.tolist() == [0, 0, 1, 2]
    assert tree.leaf_heights is None
    assert tree.max_clusters == 3
    with qt.memory_limit(8 * 4**2 - 1), raises("memory"):
        link_similarity(ens, similarity.copy(), link, np.arange(3))
    with qt.memory_limit(8 * 4**2):
        assert link_similarity(ens, similarity.copy(), link, np.arange(3)).leaf_heights is None


@pytest.mark.parametrize("link", LINKS)
def test_a_member_that_labels_no_row_gives_a_tree_without_leaves(link):
    tree = link_coassociation(Ensemble([[None, None, None], [0, 1, 1]]), np.array([1.0, 0.0]), link)
    assert (len(tree.leaf_pattern), len(tree.merges), len(tree.lifetimes)) == (0, 0, 0)
    assert tree.cut(2).tolist() == [-1, -1]


def test_all_rows_apart_is_not_a_number_of_clusters():
    """Only where no two rows share a pattern: else the patterns may well be the clusters."""
    apart = link_coassociation(Ensemble([[0, 0, 1, 1], [0, 1, 2, 3]]), np.array([0.5, 0.5]), "average")
    together = link_coassociation(Ensemble([[0, 0, 1, 1, 1], [0, 1, 2, 3, 3]]), np.array([0.5, 0.5]), "average")
    assert apart.lifetimes.tolist() == [0.5, 0.0, 0.0]
    assert together.lifetimes.tolist() == [0.5, 0.0, 0.5]


def test_rows_that_are_leaves_of_their_own_take_them_in_turn():
    """Six rows of the second pattern are nearer to the first pattern than to each other."""
    ens = Ensemble([[0, 1, 1, 0, 1, 1, 2, 1, 1]])
    similarity = np.array([[1.0, 0.9, 0.1], [0.9, 0.2, 0.1], [0.1, 0.1, 1.0]])
    tree = link_similarity(ens, similarity, "average", np.arange(3))
    assert tree.leaf_pattern.tolist() == [0, 1, 1, 1, 1, 1, 1, 2]
    assert tree._leaf_of_each_row().tolist() == [0, 1, 2, 0, 3, 4, 7, 5, 6]


def test_groups_without_common_evidence_join_last_at_distance_one():
    tree = qt.WEAC(n_clusters=2).fit([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2]]).dendrogram_
    assert tree.heights.tolist() == [1.0, 1.0]
    assert qt.WEAC(n_clusters=3, linkage="single").fit_predict([[0, 0, 1, 1, 2, 2]]).tolist() == [0, 0, 1, 1, 2, 2]


def test_complete_link_is_refused_where_memory_does_not_allow_it():
    labels = np.stack([np.arange(200) % 14, np.arange(200) % 15, np.arange(200) // 70], axis=1)
    with qt.memory_limit("300kB"):
        with raises("memory"):
            qt.WEAC(n_clusters=2, linkage="complete").fit(labels)
        assert qt.WEAC(n_clusters=2).fit(labels).n_clusters_ == 2


def test_a_long_tree_warns_and_reports_progress(monkeypatch):
    """By a clock that goes a minute at each look, the tree takes minutes."""
    clock = itertools.count(0, 60)
    monkeypatch.setattr("quorate._runtime.time_limit.perf_counter", lambda: next(clock))
    ens = qt.Ensemble(np.random.default_rng(0).integers(0, 6, (5000, 8)))
    heard = []
    with (
        warns("long-computation"),
        qt.progress(lambda what, share: heard.append((what, share))),
    ):
        qt.WEAC(3).fit(ens)
    assert heard[0] == ("The agreement of 8 members with 48 clusters", None)
    shares = [share for what, share in heard if share is not None]
    assert len(shares) > 8
    assert shares == sorted(shares)
    assert shares[-1] > 0.9
    assert max(shares[:-1]) < 1


def test_a_slow_beginning_is_not_taken_for_the_pace(monkeypatch):
    """Compiling comes before the first word; a moment's delay is no pace."""
    times = iter([100.0, 100.9, 102.0, 103.0])
    monkeypatch.setattr("quorate._runtime.time_limit.perf_counter", lambda: next(times))
    quick = Pace("Quick work", "No advice.")
    for share in (0.01, 0.02, 0.06, 0.1):
        quick.at(share)
    times = iter([0.0, 2.0, 200.0])
    slow = Pace("Slow work", "Try less.")
    slow.at(0.01)
    with warns("long-computation"):
        slow.at(0.03)
    slow.at(0.04)  # said once


def test_a_progress_listener_can_end_the_work():
    def listen(what, share):
        raise TimeoutError(what)

    with pytest.raises(TimeoutError, match="agreement of 3 members"), qt.progress(listen):
        qt.WEAC(2).fit([[1, 1, 2], [1, 2, 2], [1, 2, 3]])


@pytest.mark.parametrize("link", LINKS)
def test_the_memory_order_of_a_similarity_does_not_matter(link):
    """Columns of a selection are adjacent in memory; the kernel once read beyond such matrices."""
    ens = Ensemble(np.random.default_rng(0).integers(0, 4, (300, 6)))
    leaves = np.arange(ens.n_patterns)
    similarity = pattern_coassociation(ens, np.ones(6))
    by_rows, by_columns = (
        link_similarity(ens, np.array(similarity, order=order), link, leaves) for order in ("C", "F")
    )
    np.testing.assert_array_equal(by_rows.merges, by_columns.merges)
    np.testing.assert_array_equal(by_rows.heights, by_columns.heights)
