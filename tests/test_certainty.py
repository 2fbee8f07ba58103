"""How firmly rows sit in their clusters: confidence, margin, runner-up, and the stability of clusters."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, roc_auc_score

import oracles
import quorate as qt
from quorate.analysis.clusters import Split, confidence_by_chance, describe_clusters, next_merge, next_split
from quorate.certainty import Groups, certainty
from quorate.reporting import summarize
from quorate.reporting.plain_values import outlook
from quorate.row_similarity import histograms, shared_rows
from reference_answers import generated_labels

# Five rows, two members with weights 3/4 and 1/4, and the clusters {0, 1, 2} and {3, 4}.
TWO_MEMBERS = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 2]])
CLUSTERS = np.array([0, 0, 0, 1, 1])


@pytest.fixture(scope="module")
def noisy_blobs():
    """Members that mislabel some rows of five groups; missing labels here and there."""
    random = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), [60, 50, 40, 30, 20])
    columns = []
    for k in (5, 7, 9, 5, 6):
        column = np.where(random.random(200) < 0.2, random.integers(0, k, 200), truth * k // 5).astype(float)
        column[random.random(200) < 0.05] = np.nan
        columns.append(column)
    return np.stack(columns, axis=1)


def of_rows(labels, weights, consensus, **options):
    """The certainty of rows, through patterns."""
    ens = qt.Ensemble(list(np.asarray(labels).T), **options)
    rows = ens.row_pattern
    first = np.unique(rows, return_index=True)[1]
    found = certainty(ens, np.asarray(weights, dtype=float), np.asarray(consensus)[first])
    return [values[rows] for values in found]


def test_certainty_by_hand():
    confidence, margin, runner_up = of_rows(TWO_MEMBERS, [0.75, 0.25], CLUSTERS)
    # The second member: its counterparts of the clusters are {0, 1} and one of {2, 3} and {4}, which hold 3 of 5 rows.
    # Without row 0 itself, one of two rows of cluster 0 is with it. Without row 2 or 3, none of their clusters is, and
    # the other cluster has the whole vote. Row 4 is alone in the second member, which has no vote on it.
    confidence_0 = 0.75 + 0.25 * np.sqrt(1 / 2 / 0.6)
    assert confidence == pytest.approx([confidence_0, confidence_0, 0.75, 0.75, 1])
    assert runner_up.tolist() == [-1, -1, 1, 0, -1]
    for_second, for_first = np.sqrt(1 / 2 / 0.6), np.sqrt(1 / 3 / 0.6)
    assert margin == pytest.approx(confidence - [0, 0, 0.25 * for_second, 0.25 * for_first, 0])


def test_stability_is_that_of_all_rows(noisy_blobs):
    fitted = qt.WEAC(n_clusters=5).fit(noisy_blobs)
    labels = np.where(np.isnan(noisy_blobs), -1, noisy_blobs).astype(int)
    expected = oracles.stability(labels, fitted.member_weights_, fitted.labels_)
    assert [c.stability for c in fitted.clusters_] == pytest.approx(expected)


@settings(deadline=None, max_examples=60)
@given(oracles.label_matrices(missing=True, max_clusters=5), st.integers(1, 4), st.randoms())
def test_stability_is_that_of_all_rows_of_random_tables(labels, k, random):
    weights = np.array([random.choice([0.0, 0.5, 1.0]) for _ in labels.T])
    weights[0] = 1.0
    ens = qt.Ensemble(list(labels.T))
    of_pattern = np.arange(ens.n_patterns) % k
    found = [c.stability for c in describe_clusters(ens, weights, of_pattern)]
    assert found == pytest.approx(oracles.stability(labels, weights, of_pattern[ens.row_pattern]), abs=1e-9)
    assert all(0.0 <= value <= 1.0 for value in found)
    # Rows that occur w times are rows of weight w, and a common factor of all weights changes nothing.
    tripled, scaled = (qt.Ensemble(list(labels.T), row_weights=np.full(len(labels), w)) for w in (3.0, 0.25))
    weighted = np.resize([1.0, 2.0, 3.0], len(labels))
    once, twice = (qt.Ensemble(list(labels.T), row_weights=weighted * factor) for factor in (1.0, 7.0))
    several = qt.Ensemble(list(np.repeat(labels, weighted.astype(int), axis=0).T))
    for first, second in ((ens, tripled), (ens, scaled), (once, twice), (once, several)):
        a, b = ([c.stability for c in describe_clusters(e, weights, of_pattern)] for e in (first, second))
        assert a == pytest.approx(b, abs=1e-9)


def test_stability_by_hand():
    ens, weights = qt.Ensemble(list(TWO_MEMBERS.T)), np.array([0.75, 0.25])
    first, second = describe_clusters(ens, weights, CLUSTERS[ens.first_row])
    # The first member has exactly the two clusters. Votes of the second: see above; row 4 has none. It resolves rows 0,
    # 1 and 4; of rows 2 and 3, one is in each cluster: one bit for two of five rows.
    entropy = -(0.6 * np.log2(0.6) + 0.4 * np.log2(0.4))
    resolved = 1 - 2 / 5 / entropy
    assert first.stability == pytest.approx(0.75 + 0.25 * 2 / 3 * np.sqrt(1 / 2 / 0.6) * resolved)
    assert second.stability == pytest.approx(0.75)


def test_stability_knows_clusters_that_take_in_rows_of_others():
    """A cluster into which members put rows of another is less stable than a cluster of the same votes without them."""
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [200, 200, 100])
    # Rows of group 2 are in group 1 for half of the members; rows of group 0 are certain, those of 1 as well.
    members = [np.where((truth == 2) & (random.random(500) < 0.5), 1, truth) for _ in range(9)]
    fitted = qt.WEAC(3, weights="equal").fit(members)
    stability = np.array([c.stability for c in fitted.clusters_])
    clusters = fitted.labels_[[0, 200]]
    assert stability[clusters[0]] == pytest.approx(1)
    assert stability[clusters[1]] < 0.85


def test_a_cluster_of_one_row_has_no_votes_of_other_rows():
    confidence, margin, runner_up = of_rows([[0, 0], [0, 0], [0, 1]], [0.5, 0.5], [0, 0, 1])
    # The first member, of one cluster, has two of its three rows in cluster 0, without the row itself one of two.
    assert confidence == pytest.approx([0.75, 0.75, 0])
    assert margin[2] < 0  # the runner-up has more
    assert runner_up[2] == 0


def test_rows_without_a_label_or_a_mate_have_no_certainty():
    labels = [[0, -1], [0, -1], [-1, 0], [-1, -1]]
    found = of_rows(labels, [0.5, 0.5], [0, 0, 1, -1])
    np.testing.assert_allclose(found, [[1, 1, 0, 0], [1, 1, 0, 0], [-1, -1, -1, -1]], rtol=1e-14)


def test_confidence_compares_across_clusters_and_members():
    """Neither the size of a cluster nor how fine the members are decides, but how many members support a row."""
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [1200, 200, 100])
    members = []
    for fineness in (1, 1, 1, 4, 4):
        pieces = random.integers(fineness, size=1500)
        wrong = random.random(1500) < 0.1
        members.append(np.where(wrong, random.integers(3, size=1500), truth) * 4 + pieces)
    confidence, margin, _ = of_rows(np.stack(members, axis=1), np.ones(5), truth)
    means = [confidence[truth == c].mean() for c in range(3)]
    assert max(means) - min(means) < 0.12
    assert min(means) > 0.8
    # Rows that all five members place right, and rows that two or more place elsewhere.
    right = (np.stack(members, axis=1) // 4 == truth[:, None]).sum(axis=1)
    assert confidence[right == 5].min() > confidence[right <= 3].max()
    assert (margin[right >= 4] > 0).all()


def test_margins_are_negative_only_where_another_cluster_has_more_votes():
    """Fifteen of 23 members put a row with its cluster: confidence is near 15 / 23, and the margin is positive."""
    random = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], [500, 60, 40])
    members = [np.where(random.random(600) < 0.05, random.integers(3, size=600), truth) for _ in range(23)]
    for member in members[:15]:
        member[599] = 2
    for member in members[15:]:
        member[599] = 0
    confidence, margin, runner_up = of_rows(np.stack(members, axis=1), np.ones(23), truth)
    assert confidence[599] == pytest.approx(15 / 23, abs=0.03)
    assert margin[599] > 0.15
    assert runner_up[599] == 0
    votes = np.stack([np.sum(np.stack(members) == c, axis=0) for c in range(3)])
    assert (margin[votes.argmax(axis=0) == truth] > 0).all()


def test_rounding_does_not_change_the_confidence_of_rows_on_which_all_agree():
    """It was above 1 in 1 % of such ensembles, and just below 1 in others, which `abstain=1` then left out."""
    for seed in range(200):
        random = np.random.default_rng(seed)
        truth = random.integers(3, size=30)
        # Members split clusters but never mix them.
        members = [np.where(random.random(30) < 0.15, truth + 3, truth) for _ in range(random.integers(2, 8))]
        confidence, _, _ = of_rows(np.stack(members, axis=1), random.random(len(members)), truth)
        assert confidence.max() <= 1, seed
        assert not ((confidence < 1) & (confidence > 1 - 1e-12)).any(), seed


@settings(deadline=None, max_examples=60)
@given(oracles.label_matrices(missing=True, max_clusters=5), st.integers(1, 4), st.randoms(), st.booleans())
def test_certainty_is_that_of_all_pairs_of_rows(labels, k, random, weighted):
    weights = np.array([random.choice([0.0, 0.5, 1.0, 2.0]) for _ in labels.T])
    weights[0] = 1.0
    pattern = np.unique(labels, axis=0, return_inverse=True)[1].ravel()  # NumPy 2.0 gives it the shape (n, 1)
    of_pattern = np.array([random.randrange(k) for _ in range(pattern.max() + 1)])
    consensus = np.where(((labels >= 0) & (weights > 0)).any(axis=1), of_pattern[pattern], -1)
    of_row = np.array([random.choice([0.5, 1.0, 3.0]) for _ in range(pattern.max() + 1)])[pattern] if weighted else None
    found = of_rows(labels, weights, consensus, row_weights=of_row)
    for ours, expected in zip(found, oracles.certainty(labels, weights, consensus, of_row), strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(oracles.label_matrices(max_clusters=3), st.integers(1, 3))
def test_parts_of_the_patterns_add_up_to_all(labels, k):
    ens = qt.Ensemble(list(labels.T))
    weights = np.full(ens.n_members, 1 / ens.n_members)
    groups = np.arange(ens.n_patterns) % k
    n_groups = groups.max() + 1
    one, two = np.where(np.arange(ens.n_patterns) % 2, groups, -1), np.where(np.arange(ens.n_patterns) % 2, -1, groups)
    both = Groups.of(ens, weights, one, n_groups) + Groups.of(ens, weights, two, n_groups)
    for part, whole in zip(certainty(ens, weights, groups, both), certainty(ens, weights, groups), strict=True):
        np.testing.assert_allclose(part, whole, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(oracles.label_matrices(missing=True, max_clusters=5), st.integers(1, 4))
def test_tables_of_many_clusters_hold_the_same_sums(labels, k):
    ens = qt.Ensemble(list(labels.T))
    weights = np.full(ens.n_members, 1 / ens.n_members)
    groups = np.arange(ens.n_patterns) % k
    few = shared_rows(ens, groups, k).toarray(), histograms(ens, weights, groups, k).toarray()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quorate.row_similarity._FEW_CELLS", 0)
        many = shared_rows(ens, groups, 10 * k + 10), histograms(ens, weights, groups, 10 * k + 10)
    for one, other in zip(few, many, strict=True):
        np.testing.assert_allclose(other.toarray()[:k], one, atol=1e-12)
        assert not other.toarray()[k:].any()


def test_thousands_of_tiny_clusters_have_confidence_and_a_description():
    """Entity resolution: a dense table of consensus clusters and members' clusters would have 700 million cells."""
    random = np.random.default_rng(5)
    entity = random.integers(10_000, size=30_000)
    labels = [np.where(random.random(30_000) < 0.05, random.integers(10_000, size=30_000), entity) for _ in range(7)]
    result = qt.consensus(labels, method="majority")
    assert result.n_clusters > 9_000
    assert adjusted_rand_score(entity, result.labels) > 0.99
    # Rows of an entity that a third of the members put elsewhere are less certain than those that all keep in place.
    moved = np.mean(np.stack(labels) != entity, axis=0)
    assert result.confidence[moved > 0.3].mean() < result.confidence[moved == 0].mean() - 0.1
    sizes = np.bincount(result.labels)
    assert [cluster.size for cluster in result.clusters] == sizes.tolist()
    assert np.array_equal(result.estimator.predict(np.stack(labels, axis=1)), result.labels)
    assert qt.label_structure(labels, result.n_clusters).reason == "too many clusters"
    assert 0.5 < qt.core(result).share < 1


def test_margin_and_runner_up_go_where_confidence_goes(noisy_blobs, tmp_path):
    result = qt.consensus(noisy_blobs, 4)
    fitted = result.estimator
    assert np.array_equal(result.margin, fitted.margin_)
    assert np.array_equal(result.runner_up, fitted.runner_up_)
    assert np.array_equal(fitted.pattern_margin_[fitted.ensemble_.row_pattern], result.margin)
    frame = pd.DataFrame(noisy_blobs, columns=list("abcde"))
    answered = qt.consensus_frame(frame, n_clusters=4)
    assert answered.columns[-4:].tolist() == ["consensus", "confidence", "margin", "runner_up"]
    assert np.array_equal(answered["margin"], result.margin)
    assert np.array_equal(answered["runner_up"], result.runner_up)
    assert (result.runner_up != result.labels).all()
    assert result.runner_up.max() < 4
    frame.to_parquet(tmp_path / "labels.parquet")
    qt.consensus_file(tmp_path / "labels.parquet", tmp_path / "out.parquet", n_clusters=4)
    written = pd.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_allclose(written["margin"], result.margin, rtol=1e-12)
    assert np.array_equal(written["runner_up"], result.runner_up)


def test_features_on_a_sample_have_margins_too():
    data = qt.datasets.load("iris")
    whole = qt.ConsensusClustering(3, random_state=0).fit(data.features)
    assert np.array_equal(whole.margin_, whole.consensus_.margin_)
    part = qt.ConsensusClustering(3, fit_rows=60, k_range=(2, 6), random_state=0).fit(data.features)
    assert part.margin_.shape == part.runner_up_.shape == (150,)
    assert (part.runner_up_ != part.labels_).all()
    assert (part.margin_ <= part.confidence_ + 1e-6).all()


def test_merging_and_splitting_by_hand():
    ens, weights = qt.Ensemble(list(TWO_MEMBERS.T)), np.array([0.75, 0.25])
    labels = CLUSTERS[ens.first_row]
    first, second = describe_clusters(ens, weights, labels)
    assert (first.cohesion, second.cohesion) == pytest.approx(((0.875 + 0.875 + 0.75) / 3, 0.75))
    # The mean vote of all rows. In the second member, {2, 3} has recall 1/3 of one cluster and 1/2 of the other.
    for_first, for_second = 2 / 5 * np.sqrt(1 / 3 / 0.6), 3 / 5 * np.sqrt(1 / 2 / 0.6)
    alone = np.sqrt(1 / 2 / 0.6)
    means = [0.75 * 0.6 + 0.25 * (2 + 2 * for_first) / 5, 0.75 * 0.4 + 0.25 * (2 * for_second + alone) / 5]
    by_chance = (3 * means[0] + 2 * means[1]) / 5
    assert confidence_by_chance(ens, weights, Groups.of(ens, weights, labels)) == pytest.approx(by_chance)
    # Of the six pairs of rows between the two, one is together, in the second member.
    cost = 1 - 0.25 / 6 / 0.75
    assert [(c.nearest, c.merge_cost) for c in (first, second)] == [(1, pytest.approx(cost)), (0, pytest.approx(cost))]
    assert next_merge((first, second)) == (0, 1, pytest.approx(cost))
    split = next_split(ens, weights, np.zeros_like(labels), labels)
    assert split == Split(0, (3.0, 2.0), pytest.approx(cost))
    assert next_split(ens, weights, labels, labels) is None


def test_rounding_errors_are_not_evidence():
    """The rows of cluster 0 are never together, so that the other cluster's rows are the measure."""
    labels = np.array([[0, 1, 0, -1], [0, 1, 1, 1], *[[1, 1, 1, 1]] * 6, [1, 0, 1, 1]])
    ens, weights = qt.Ensemble(list(labels.T)), np.full(4, 0.25)
    consensus = np.array([0, 1, *[1] * 6, 0])[ens.first_row]
    found = describe_clusters(ens, weights, consensus)
    similar = oracles.evidence(labels, weights)
    between = similar[np.ix_([0, 8], range(1, 8))].mean()
    assert found[0].cohesion == pytest.approx(0, abs=1e-12)
    assert found[0].merge_cost == pytest.approx(1 - between / found[1].cohesion)


def test_clusters_that_no_member_ties_do_not_merge():
    result = qt.consensus([[0, 0, 1, 1, 2], [0, 0, 1, 1, 2]], 3)
    assert [cluster.nearest for cluster in result.clusters] == [-1, -1, -1]
    assert [cluster.merge_cost for cluster in result.clusters] == [1, 1, 1]
    assert next_merge(result.clusters) is None
    values = outlook(result.clusters, None)
    assert values["merge"] is None
    assert len(values["sentences"]) == 1


@settings(deadline=None, max_examples=30)
@given(oracles.label_matrices(missing=True, max_clusters=5, min_rows=4), st.integers(2, 4))
def test_costs_of_merging_are_those_of_all_pairs_of_rows(labels, k):
    ens = qt.Ensemble(list(labels.T))
    weights = np.full(ens.n_members, 1 / ens.n_members)
    of_pattern = np.arange(ens.n_patterns) % k
    found = describe_clusters(ens, weights, of_pattern)
    consensus, similar = of_pattern[ens.row_pattern], oracles.evidence(labels, weights)
    inside = consensus[:, None] == consensus[None, :]
    within = [similar[(consensus == c)[:, None] & inside & ~np.eye(len(labels), dtype=bool)].mean()
              if np.sum(consensus == c) > 1 else 0.0 for c in range(len(found))]  # fmt: skip
    for cluster in found:
        assert cluster.cohesion == pytest.approx(within[cluster.label], abs=1e-9)
        closest = 0.0
        for other in set(range(len(found))) - {cluster.label}:
            between = similar[np.ix_(consensus == cluster.label, consensus == other)].mean()
            known = [value for value in (within[cluster.label], within[other]) if value > 1e-12]
            closest = max(closest, min(between / min(known, default=1.0), 1.0))
        assert cluster.merge_cost == pytest.approx(1 - closest, abs=1e-9)


def test_a_dendrogram_splits_what_it_merged_last():
    labels = [np.repeat([0, 1, 2], 20), np.repeat([0, 1, 1], 20), np.repeat([0, 1, 2], [20, 19, 21])]
    fitted = qt.WEAC(2).fit(labels)
    assert fitted.split_ is not None
    assert fitted.split_.sizes == (21.0, 19.0)
    assert qt.WEAC(2).fit([[0, 0, 1, 1]]).split_ is None  # there are only two patterns


def test_chance_is_shown_next_to_confidence():
    """Four blobs have high confidence however fine the members are; random labels have little more than chance."""
    random = np.random.default_rng(0)
    blobs = np.repeat(np.arange(4), 150)
    fine = [blobs * 12 + random.integers(0, 12, 600) for _ in range(10)]
    noise = [random.integers(0, 2, 600) for _ in range(10)]
    firm, loose = (summarize(qt.WEAC(4).fit(qt.Ensemble(members)))["answers"] for members in (fine, noise))
    of_blobs, of_noise = (next(answer for answer in answers if answer["k"] == 4) for answers in (firm, loose))
    assert of_blobs["mean_confidence"] > 0.7 > 3 * of_blobs["chance_confidence"]
    assert of_noise["mean_confidence"] < 1.5 * of_noise["chance_confidence"]
    for cluster in of_blobs["clusters"]:
        assert cluster["stability"] > 0.7
    for cluster in of_noise["clusters"]:
        assert cluster["stability"] < 0.1
    assert min(cluster["merge_cost"] for cluster in of_noise["clusters"]) < 0.5


def test_a_finer_solution_may_be_equally_supported():
    clusters = (_cluster(0, nearest=1, merge_cost=0.92), _cluster(1, nearest=0, merge_cost=0.92))
    values = outlook(clusters, Split(1, (30.0, 20.5), 0.93))
    assert values["merge"] == {"clusters": [0, 1], "cost": 0.92}
    assert values["split"] == {"cluster": 1, "sizes": [30.0, 20.5], "cost": 0.93}
    assert len(values["sentences"]) == 3
    assert len(outlook(clusters, Split(1, (30.0, 20.0), 0.5))["sentences"]) == 2


def _cluster(label, *, nearest, merge_cost):
    return qt.ConsensusCluster(label, 50.0, 0.9, (), 0.4, nearest, merge_cost)


def test_confidence_and_margin_rank_wrong_rows_last():
    labels, classes = generated_labels(n_rows=800, n_members=10, seed=1), np.arange(800) % 4
    fitted = qt.consensus(labels, 4).estimator
    counts = np.zeros((4, 4))
    np.add.at(counts, (fitted.labels_, classes), 1)
    wrong = counts.argmax(axis=1)[fitted.labels_] != classes
    assert 5 < wrong.sum() < 200
    for values in (fitted.confidence_, fitted.margin_):
        assert roc_auc_score(wrong, -values) > 0.8


def test_entropy_is_that_of_the_votes_of_each_row(noisy_blobs):
    result = qt.consensus(noisy_blobs, 4, weights="trust")
    weights, labels = result.member_weights, result.labels
    for row in range(0, 200, 7):
        votes = np.zeros(4)
        for j, weight in enumerate(weights):
            column = noisy_blobs[:, j]
            if np.isnan(column[row]):
                continue
            labeled = ~np.isnan(column)
            levels = np.unique(column[labeled])
            table = np.array([[np.sum((labels == c) & (column == level)) for level in levels] for c in range(4)])
            held = table.max(axis=1).sum() / table.sum()
            shared = table[:, levels.searchsorted(column[row])]
            recall = shared / table.sum(axis=1)
            votes += weight * recall / recall.sum() * np.sqrt(np.minimum(recall / held, 1.0))
        shares = votes[votes > 0] / votes.sum()
        assert result.entropy[row] == pytest.approx(-np.sum(shares * np.log(shares)) / np.log(4), abs=1e-9)


@pytest.mark.filterwarnings("ignore::quorate.QuorateWarning")
def test_entropy_is_zero_where_all_agree_and_one_where_votes_are_even():
    agreed = qt.consensus([[0, 0, 1, 1]] * 3, 2)
    assert agreed.entropy.tolist() == [0, 0, 0, 0]
    assert qt.consensus([[0, 0, 0], [0, 0, 0]], 1).entropy.tolist() == [0, 0, 0]
    even = qt.consensus([[0, 0, 1, 1, None], [0, 1, 0, 1, None]], 2)
    assert even.entropy[-1] == 0
    assert np.all((even.entropy >= 0) & (even.entropy <= 1))
