"""The median partition."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import field_oracles as dense
import oracles
import quorate as qt
from baseline_oracles import quiet
from quorate.ensemble import Ensemble
from quorate.labels import count_in_units

LOSSES = ("vi", "binder")


@pytest.mark.parametrize("loss", LOSSES)
def test_median_on_the_running_example(running_example, loss):
    fitted = qt.MedianPartition(loss=loss).fit(running_example)
    expected = {"vi": [0, 0, 0, 0, 1, 1], "binder": [0, 0, 0, 2, 1, 1]}[loss]
    assert fitted.labels_.tolist() == expected
    every = dense.partition_losses(running_example, np.ones(3), dense.partitions(6), loss)
    assert fitted.objective_ == pytest.approx(every.min())
    assert fitted.objective_ == pytest.approx({"vi": 5 / 9, "binder": 4 / 27}[loss])


every_partition = cache(dense.partitions)


def random_ensemble(seed, max_rows):
    """Return labels, weights of members and rows, and a: with or without structure, ties and missing labels."""
    random = np.random.default_rng(seed)
    n, n_members, k = random.integers(3, max_rows + 1), random.integers(1, 9), random.integers(1, 6)
    truth = random.integers(k, size=n)
    noise = random.choice([0.25, 0.5, 1.0])
    columns = [np.where(random.random(n) < noise, random.integers(k + 1, size=n), truth) for _ in range(n_members)]
    labels = np.stack(columns, axis=1).astype(float)
    if random.random() < 0.5:
        labels[random.random(labels.shape) < random.choice([0.1, 0.3, 0.5])] = np.nan
        labels[np.isnan(labels).all(axis=1), 0] = 0
        labels = labels[:, ~np.isnan(labels).all(axis=0)]
    weights = random.random(labels.shape[1]) + 0.05 if random.random() < 0.5 else np.ones(labels.shape[1])
    row_weights = [None, random.integers(1, 5, size=n), random.random(n) + 0.1][random.integers(3)]
    return labels, weights, row_weights, random.choice([1.0, 1.0, 0.5, 0.8, 1.3, 1.5])


def check_optimum(seed, max_rows):
    labels, weights, row_weights, a = random_ensemble(seed, max_rows)
    ens = Ensemble(list(labels.T), row_weights=row_weights)
    if row_weights is not None:  # an ensemble rounds relative weights to 24 bits; the losses are compared to 1e-9
        row_weights, _ = count_in_units(row_weights.astype(float))
    for loss in LOSSES:
        fitted = qt.MedianPartition(loss=loss, a=a, weights=weights).fit(ens)
        every = dense.partition_losses(labels, weights, every_partition(len(labels)), loss, a, row_weights)
        assert fitted.objective_ == pytest.approx(every.min(), abs=1e-9), (seed, loss)
        assert fitted.objective_ == pytest.approx(
            dense.partition_losses(labels, weights, fitted.labels_, loss, a, row_weights)[0], abs=1e-9
        )
        optima = every_partition(len(labels))[every < every.min() + 1e-12]
        assert np.array_equal(optima, optima[:, ens.first_row[ens.row_pattern]])  # no optimum splits a pattern


@pytest.mark.parametrize("seed", range(60))
def test_no_partition_is_better_than_the_median(seed):
    check_optimum(seed, 7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1500))
def test_no_partition_of_up_to_nine_rows_is_better_than_the_median(seed):
    check_optimum(seed, 9)


few = settings(max_examples=25)


@given(
    labels=oracles.label_matrices(missing=True, max_rows=12),
    k=st.integers(1, 4),
    loss=st.sampled_from(LOSSES),
    a=st.sampled_from([0.7, 1.0]),
)
@few
def test_moving_a_pattern_does_not_improve_the_median(labels, k, loss, a):
    ens = Ensemble(list(labels.T))
    labels = np.where(labels < 0, np.nan, labels)
    covered = ~np.isnan(labels).all(axis=1)
    for n_clusters in ("auto", min(k, ens.n_patterns)):
        with quiet():
            fitted = qt.MedianPartition(n_clusters=n_clusters, loss=loss, a=a).fit(ens)
        groups, moves = fitted.pattern_labels_, []
        for u in np.flatnonzero(groups >= 0):
            if n_clusters == "auto" or np.sum(groups == groups[u]) > 1:
                for target in range(fitted.n_clusters_ + (n_clusters == "auto")):
                    moves.append(np.where(np.arange(len(groups)) == u, target, groups)[ens.row_pattern][covered])
        moves = np.array([fitted.labels_[covered], *moves])
        losses = dense.partition_losses(labels[covered], np.ones(ens.n_members), moves, loss, a)
        assert fitted.objective_ == pytest.approx(losses[0], abs=1e-9)
        assert np.all(losses >= losses[0] - 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_clusters", ["auto", 3])
@pytest.mark.parametrize("seed", range(5))
def test_names_and_order_do_not_change_the_median(n_clusters, seed, loss):
    """Ties of the tree and the order of moves follow the patterns' co-association, not the names of labels."""
    random = np.random.default_rng(seed)
    truth = random.integers(4, size=90)
    labels = np.stack([np.where(random.random(90) < 0.4, random.integers(6, size=90), truth) for _ in range(5)], axis=1)
    rows = random.permutation(90)
    method = qt.MedianPartition(n_clusters, loss=loss)
    fitted = method.fit(labels)
    found, objective = fitted.labels_, fitted.objective_
    others = {
        "names": (np.stack([random.permutation(6)[column] for column in labels.T], axis=1), found, None),
        "members": (labels[:, random.permutation(5)], found, None),
        "rows": (labels[rows], found[rows], None),
        "scaled weights": (labels, found, np.full(90, 0.3)),
    }
    for changed, (members, expected, row_weights) in others.items():
        other = method.fit(Ensemble(list(members.T), row_weights=row_weights))
        assert qt.evaluate(other.labels_, expected).ari == pytest.approx(1), changed
        assert other.objective_ == pytest.approx(objective), changed


@pytest.mark.parametrize("loss", LOSSES)
def test_the_cost_of_separating_rows_decides_how_many_clusters_there_are(loss):
    random = np.random.default_rng(0)
    members = [random.integers(4, size=60) for _ in range(4)]
    ks = [qt.MedianPartition(loss=loss, a=a).fit(members).n_clusters_ for a in (0.0, 0.5, 1.0, 1.5, 2.0)]
    assert ks == sorted(ks, reverse=True)
    assert ks[0] == Ensemble(members).n_patterns
    assert ks[-1] == 1


@pytest.mark.parametrize("params", [{"a": 2.1}, {"a": -0.1}, {"loss": "mirkin"}])
def test_unknown_losses_are_refused(params):
    with pytest.raises(qt.errors.InputError) as error:
        qt.MedianPartition(**params).fit([[0, 0, 1], [0, 1, 1]])
    assert error.value.parameter in params
