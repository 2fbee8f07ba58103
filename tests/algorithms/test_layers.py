"""Nested partitions of a consensus."""

import csv
import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate as qt
from quorate.algorithms.registry import METHODS
from quorate.algorithms.tree import LinkageMethod
from quorate.cli import main
from support import raises

pytestmark = pytest.mark.filterwarnings("ignore::quorate.QuorateWarning")

tables = st.lists(
    st.lists(st.sampled_from([0, 1, 2, 3, None]), min_size=3, max_size=3), min_size=6, max_size=30
).filter(lambda rows: all(len({row[j] for row in rows} - {None}) > 1 for j in range(3)))


def columns(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def assert_nested(layers):
    n_layers = len(layers.n_clusters)
    assert list(layers.n_clusters) == sorted(layers.n_clusters, reverse=True)
    for fine, coarse, parents in zip(layers.cluster_layers_, layers.cluster_layers_[1:], layers.parents, strict=False):
        np.testing.assert_array_equal(np.append(parents, -1)[fine], coarse)
    for layer, (labels, k, sizes) in enumerate(
        zip(layers.cluster_layers_, layers.n_clusters, layers.sizes, strict=True)
    ):
        assert set(labels[labels >= 0]) == set(range(k))
        np.testing.assert_array_equal(np.bincount(labels[labels >= 0], minlength=k), sizes)
        assert (np.diff(sizes) <= 0).all()
        children = [child for key, found in layers.cluster_tree_.items() for child in found if key[0] == layer + 1]
        assert sorted(children) == [(layer, cluster) for cluster in range(k)]
    assert [child for _, child in layers.cluster_tree_[n_layers, 0]] == list(range(layers.n_clusters[-1]))


@given(tables, st.sampled_from(sorted(METHODS)), st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_layers_are_nested_and_begin_with_the_answer(rows, method, ks):
    estimator = METHODS[method]()
    if estimator.limited_by_clusters:
        estimator.set_params(n_clusters=2)
    fitted = estimator.fit(columns(rows))
    layers = fitted.layers(ks)
    assert_nested(layers)
    assert len(layers.n_clusters) == len(set(ks))
    finest = fitted.sweep(max(ks))[:, 0]
    if finest.max() < max(ks):  # a method that finds its own number of clusters may give more, which are merged
        np.testing.assert_array_equal(layers.cluster_layers_[0], finest)
    for k, found in zip(sorted(set(ks), reverse=True), layers.n_clusters, strict=True):
        assert found == min(k, finest.max() + 1)


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if issubclass(method, LinkageMethod)])
def test_layers_of_a_tree_are_its_cuts(generated, method):
    fitted = METHODS[method](2).fit(generated[:, :6])
    layers = fitted.layers([2, 5, 9])
    assert layers.exact
    for k, labels in zip((9, 5, 2), layers.cluster_layers_, strict=True):
        np.testing.assert_array_equal(labels, fitted.sweep(k)[:, 0])


@given(tables, st.randoms(use_true_random=False), st.sampled_from(["hbgf", "weac", "auto"]))
def test_the_order_of_rows_does_not_matter(rows, random, method):
    order = list(range(len(rows)))
    random.shuffle(order)
    first = qt.consensus(columns(rows), 2, method).layers([1, 2, 4])
    second = qt.consensus(columns([rows[i] for i in order]), 2, method).layers([1, 2, 4])
    for one, other in zip(first.cluster_layers_, second.cluster_layers_, strict=True):
        np.testing.assert_array_equal(one[order], other)


def test_clusters_that_share_most_members_merge_first(generated):
    result = qt.consensus(generated[:, :8], 6, "hbgf")
    fine, coarse = result.layers([6, 5]).cluster_layers_
    similarity = qt.coassociation(result.ensemble, result.member_weights, rows=True)
    between = np.array([[similarity[np.ix_(fine == a, fine == b)].mean() for b in range(6)] for a in range(6)])
    np.fill_diagonal(between, -1)
    nearest = np.unravel_index(np.argmax(between), between.shape)
    assert len(set(coarse[np.isin(fine, nearest)])) == 1


def test_rows_without_labels_are_in_no_cluster():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layers = qt.consensus([[0, 0, 1, 1, None], [0, 1, 2, 2, None]], 2, "hbgf").layers([3, 1])
    assert [labels[-1] for labels in layers.cluster_layers_] == [-1, -1]
    assert_nested(layers)


@pytest.mark.parametrize(
    ("ks", "code"), [([], "no-layers"), ([3, 0], "integer"), ("5,20", "integer"), ([2.5], "integer")]
)
def test_invalid_layers_are_refused(ks, code):
    result = qt.consensus([[0, 0, 1, 1], [0, 1, 2, 2]], 2)
    with raises("integer" if ks else "no-layers", "n_clusters"):
        result.layers(ks)


def test_the_command_writes_a_column_per_layer(tmp_path, capsys):
    table, out = tmp_path / "labels.csv", tmp_path / "out.csv"
    rows = [f"r{i},{i // 4},{i // 3},{i // 6}" for i in range(24)]
    table.write_text("\n".join(["id,a,b,c", *rows]) + "\n")
    assert main(["combine", str(table), "-k", "3", "--layers", "2,6", "-o", str(out), "-q"]) == 0
    with out.open() as file:
        written = list(csv.DictReader(file))
    assert list(written[0]) == ["id", "consensus", "consensus_layer_2", "consensus_layer_6"]
    members = [[int(i) // size for i in range(24)] for size in (4, 3, 6)]
    expected = qt.consensus(members, 3).layers([2, 6])
    for k, labels in zip((6, 2), expected.cluster_layers_, strict=True):
        assert [int(row[f"consensus_layer_{k}"]) for row in written] == labels.tolist()
    assert (
        main(
            [
                "combine",
                str(table),
                "--members",
                "a,b,c",
                "--keep",
                "a,b,c",
                "--layers",
                "2",
                "-o",
                str(out),
                "-q",
                "--force",
            ]
        )
        == 0
    )
    assert main(["combine", str(out), "-k", "2", "--json"]) == 0
    used = [member["name"] for member in json.loads(capsys.readouterr().out)["members"]]
    assert used == ["a", "b", "c"]  # the layers of an earlier result are no members
    assert main(["combine", str(table), "--layers", "5,x"]) == 2
    assert "--layers" in capsys.readouterr().err
