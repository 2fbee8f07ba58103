import copy
import gc
import pickle
import weakref
from unittest.mock import patch

import duckdb
import joblib
import narwhals as nw
import numba
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import oracles
import quorate as qt
from quorate import _kernels
from quorate.cluster_similarity import neighbor_lists
from quorate.ensemble import Ensemble, cluster_ids, counted_labels, ensemble_blocks, find_patterns
from quorate.errors import InputError
from quorate.overlaps import Overlaps
from support import MIXED_MEMBERS, assert_same_ensemble, mixed_ensemble, mixed_labels, raises, warns


def test_running_example(running_example):
    ens = Ensemble(running_example)
    assert ens.patterns.tolist() == [[0, 2, 5], [0, 3, 5], [1, 3, 5], [1, 4, 6]]
    assert ens.counts.tolist() == [2, 1, 1, 2]
    assert ens.row_pattern.tolist() == [0, 0, 1, 2, 3, 3]
    assert ens.cluster_member.tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert ens.names == ("member_0", "member_1", "member_2")
    assert ens.patterns.dtype == np.int32
    assert ens.counts.dtype == np.int64
    assert repr(ens) == "Ensemble(n_rows=6, n_members=3, n_clusters=7, n_patterns=4)"


@given(oracles.label_matrices(missing=True))
def test_patterns_are_the_sorted_distinct_rows(labels):
    ens = Ensemble(list(labels.T))
    expected = ens.patterns[ens.row_pattern]
    distinct, inverse, counts = np.unique(expected, axis=0, return_inverse=True, return_counts=True)
    assert np.array_equal(ens.patterns, distinct)
    assert np.array_equal(ens.row_pattern, inverse.ravel())
    assert np.array_equal(ens.counts, counts)
    assert np.array_equal(expected < 0, labels < 0)
    first = [np.flatnonzero(inverse.ravel() == p)[0] for p in range(len(distinct))]
    assert ens.first_row.tolist() == first


@given(oracles.label_matrices(missing=True))
def test_cooccurrence_is_the_product_of_indicators(labels):
    ens = Ensemble(list(labels.T))
    membership, member = oracles.indicators(labels)
    assert np.array_equal(ens.cooccurrence.toarray(), membership.T @ membership)
    assert np.array_equal(ens.cluster_member, member)
    assert ens.cooccurrence.dtype == np.int64


@patch("quorate.overlaps._CLUSTERS_PER_TASK", 2)
@given(oracles.label_matrices(missing=True))
def test_overlaps_are_the_same_however_they_are_added_up(labels):
    ens = Ensemble(list(labels.T))
    membership, _ = oracles.indicators(labels)
    expected = sp.csr_array(membership.T @ membership)
    overlaps = Overlaps(ens.patterns, ens.n_clusters)
    parts = list(overlaps.in_blocks(ens.counts))
    assert [first for first, _ in parts] == list(range(0, ens.n_clusters, 2))
    for found in (overlaps.dense(ens.counts), overlaps.sparse(ens.counts), sp.vstack([part for _, part in parts])):
        np.testing.assert_array_equal(found.toarray(), expected.toarray())
        np.testing.assert_array_equal(found.indices, expected.indices)  # clusters in order, none that share nothing
        assert found.dtype == np.int64
    assert overlaps.estimate() == pytest.approx(expected.nnz)  # all clusters are tried where they are few


def test_many_rows_are_hashed_in_threads_to_the_same_patterns():
    labels = np.random.default_rng(0).integers(0, 7, (60_000, 4))
    threads = numba.get_num_threads()
    try:
        ensembles = []
        for n in (1, threads):
            numba.set_num_threads(n)
            ensembles.append(Ensemble(labels))
    finally:
        numba.set_num_threads(threads)
    distinct, inverse, counts = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    for ens in ensembles:
        assert np.array_equal(ens.patterns, distinct + np.array([0, 7, 14, 21]))
        assert np.array_equal(ens.row_pattern, inverse.ravel())
        assert np.array_equal(ens.counts, counts)
        _, first = np.unique(inverse.ravel(), return_index=True)
        assert np.array_equal(ens.first_row, first)


def test_many_members_need_several_words():
    labels = np.random.default_rng(0).integers(0, 3, (300, 120))
    labels[100:200] = labels[:100]
    ens = Ensemble(labels)
    assert ens.n_patterns == 200
    assert np.array_equal(ens.patterns[ens.row_pattern] - 3 * np.arange(120), labels)


def test_members_of_many_clusters_are_ordered_over_several_words():
    labels = np.random.default_rng(1).integers(0, [5000, 9, 70_000, 3, 4100, 2**40, 6], (500, 7))
    labels[::5] = labels[0]
    labels[::7, 5:] = labels[0, 5:]
    distinct, inverse = np.unique(labels, axis=0, return_inverse=True)
    ens = Ensemble(labels)
    assert np.array_equal(ens.row_pattern, inverse.ravel())
    values = [ens.levels[j][ens.patterns[:, j] - np.flatnonzero(ens.cluster_member == j)[0]] for j in range(7)]
    assert np.array_equal(np.transpose(values), distinct)
    assert find_patterns(ens, cluster_ids(ens, labels)).tolist() == inverse.ravel().tolist()
    assert find_patterns(ens, np.full((2, 7), -1, dtype=np.int32)).tolist() == [-1, -1]  # no such pattern


def test_amounts_are_added_by_group_and_cluster_by_hand():
    patterns = np.array([[0, 2], [0, -1], [1, 3], [1, 2]], dtype=np.int32)
    found = np.zeros((2, 4))
    _kernels.row_hashing.add_by_group(patterns, np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 1, 1, -1]), found)
    assert found.tolist() == [[1, 0, 1, 0], [2, 4, 0, 4]]


def test_layouts_and_integer_types_do_not_matter(tmp_path, running_example):
    expected = Ensemble(running_example)
    variants = [np.asfortranarray(running_example), np.repeat(running_example, 2, axis=0)[::2]]
    variants += [running_example.astype(kind) for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint64)]
    np.save(tmp_path / "labels.npy", running_example)
    variants.append(np.load(tmp_path / "labels.npy", mmap_mode="r"))
    for variant in variants:
        ens = Ensemble(variant)
        assert np.array_equal(ens.patterns, expected.patterns)
        assert np.array_equal(ens.row_pattern, expected.row_pattern)


def test_columns_of_one_matrix_may_come_in_any_order(running_example):
    matrix = np.ascontiguousarray(running_example)
    for order in ([0, 1, 2], [2, 0, 1], [1, 2], [0, 1], [2, 2, 0], [1]):
        found, expected = Ensemble([matrix[:, j] for j in order]), Ensemble([matrix[:, j].copy() for j in order])
        assert np.array_equal(found.patterns, expected.patterns)
        assert np.array_equal(found.row_pattern, expected.row_pattern)
        backwards = Ensemble([matrix[::-1, j] for j in order])
        assert np.array_equal(backwards.row_pattern, expected.row_pattern[::-1])


def test_gaps_and_huge_ids_cost_nothing():
    ens = Ensemble(np.array([[5, 10**15], [900_000_000, -(10**17)], [5, 3]]), noise="cluster")
    assert ens.n_clusters == 5
    assert [levels.tolist() for levels in ens.levels] == [[5, 900_000_000], [-1, 3, 10**15]]


def test_text_is_ordered_by_code_point_and_numbers_numerically():
    ens = Ensemble([["b", "B", "a", "é"], [10, 9, 2, 10]])
    assert ens.levels[0].tolist() == ["B", "a", "b", "é"]
    assert ens.levels[1].tolist() == [2, 9, 10]


def test_missing_labels_of_every_kind():
    ens = Ensemble([["a", None, "b"], [1.0, np.nan, 2.0], [1, pd.NA, 2], [float("nan"), 0, 1]])
    assert (ens.patterns[ens.row_pattern] < 0).tolist() == [
        [False, False, False, True],
        [True, True, True, False],
        [False] * 4,
    ]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_of_every_kind_give_the_same_ensemble(kind):
    columns = {
        "numbers": [1, 2, 1, 3],
        "gaps": [1, None, 1, 3],
        "text": ["x", "y", None, "x"],
        "floats": [0.0, 1.0, float("nan"), 1.0],
        "flags": [True, False, True, True],
    }
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind](columns)
    ens = Ensemble(frame)
    expected = Ensemble(list(columns.values()))
    assert ens.names == tuple(columns)
    assert np.array_equal(ens.patterns, expected.patterns)
    assert np.array_equal(ens.row_pattern, expected.row_pattern)
    assert [levels.tolist() for levels in ens.levels] == [levels.tolist() for levels in expected.levels]


def test_categories_count_by_value():
    values = ["low", "high", None, "low"]
    expected = Ensemble([values])
    pandas = pd.Series(pd.Categorical(values, categories=["high", "mid", "low"]))
    ordered_numbers = pd.Series(pd.Categorical([2, 1, None, 2], categories=[2, 1]))
    for series in (pandas, pl.Series(values, dtype=pl.Categorical), pl.Series(values, dtype=pl.Enum(["low", "high"]))):
        ens = Ensemble([series])
        assert ens.levels[0].tolist() == ["high", "low"]
        assert np.array_equal(ens.row_pattern, expected.row_pattern)
    assert Ensemble([ordered_numbers]).levels[0].tolist() == [1, 2]
    assert nw.from_native(pandas, series_only=True).dtype == nw.Categorical


def test_noise_is_missing_or_a_cluster_or_singletons():
    labels = np.array([[-1, 0], [-1, 0], [0, 0], [0, 1], [-2, 1]])
    assert (Ensemble(labels).patterns[:, 0] < 0).sum() == 2
    as_cluster = Ensemble(labels, noise="cluster")
    assert as_cluster.n_clusters == 4
    assert as_cluster.levels[0].tolist() == [-1, 0]
    alone = Ensemble(labels, noise="singletons")
    assert alone.n_clusters == 4 + 2
    assert alone.n_patterns == 5
    assert np.unique(alone.patterns[alone.row_pattern, 0]).tolist() == [0, 1, 2, 3]
    assert Ensemble(labels.astype(float)).patterns.tolist() == Ensemble(labels).patterns.tolist()


def test_singletons_of_shuffled_rows_are_the_same_ensemble():
    random = np.random.default_rng(3)
    labels = random.integers(-1, 3, (200, 3))
    order = random.permutation(200)
    one, other = Ensemble(labels, noise="singletons"), Ensemble(labels[order], noise="singletons")
    assert np.array_equal(one.patterns, other.patterns)
    assert np.array_equal(one.counts, other.counts)


def test_row_weights_are_summed(running_example):
    weights = np.arange(1, 7) / 2
    ens = Ensemble(running_example, row_weights=weights)
    assert ens.weight_unit == 0.5
    assert ens.counts.tolist() == [3.0, 3.0, 4.0, 11.0]
    assert ens.cooccurrence.toarray()[5, 5] == 10.0
    whole = Ensemble(np.repeat(running_example, [1, 2, 3, 1, 1, 2], axis=0))
    weighted = Ensemble(running_example, row_weights=[1, 2, 3, 1, 1, 2])
    assert np.array_equal(whole.counts, weighted.counts)
    assert np.allclose(qt.ncai(whole), qt.ncai(weighted))


@pytest.mark.parametrize(
    ("weights", "unit"),
    [
        ([1, 2, 3], 1),
        ([2, 4, 6], 2),
        ([2, 3, 5], 1),
        ([1e-7, 2e-7, 3e-7], 1e-7),
        ([2e-7, 3e-7, 5e-7], 1e-7),
        ([0.37, 1.24, 0.9], 0.01),
        ([7, 11, 13], 1),
        ([1.0, np.sqrt(2), np.pi], (1 + np.sqrt(2) + np.pi) / 3),
        ([1e-3, np.pi, 5e3], (1e-3 + np.pi + 5e3) / 3),
        ([1e6, 3e6, 2e6], 1e6),
    ],
)
def test_weights_count_in_their_common_unit_or_relative_to_their_mean(weights, unit):
    ens = Ensemble([[0, 1, 2]], row_weights=weights)
    assert ens.weight_unit == pytest.approx(unit)
    assert ens.counts == pytest.approx(np.array(weights) / unit, rel=1e-7)
    assert ens.select([0]).weight_unit == ens.weight_unit
    for factor in (7, 1e-5, 0.1, 1e5):
        assert np.array_equal(Ensemble([[0, 1, 2]], row_weights=np.array(weights) * factor).counts, ens.counts)


@pytest.mark.parametrize("weights", [[1, 2, 3, 2], [0.5, 1.0, 1.5, 0.5], [1.0, np.sqrt(2), np.pi, 2.0]])
def test_saved_ensembles_and_methods_keep_weights_and_their_unit(tmp_path, weights):
    ens = Ensemble([[0, 1, 2, 2], [0, 0, 1, 2]], row_weights=weights)
    qt.save(ens, tmp_path / "ensemble")
    qt.WEAC(2).fit(ens).save(tmp_path / "model.npz")
    for loaded in (qt.load(tmp_path / "ensemble"), qt.load(tmp_path / "model.npz").ensemble_):
        assert loaded.weight_unit == ens.weight_unit
        assert np.array_equal(loaded.counts, ens.counts)


def test_masks_of_matrices_and_huge_numbers_are_labels():
    matrix = np.ma.MaskedArray([[1, 5], [2, 5], [2, 6]], mask=[[0, 0], [1, 0], [0, 1]])
    assert np.array_equal(Ensemble(matrix).patterns, Ensemble(list(matrix.T)).patterns)
    assert np.sum(Ensemble(matrix).patterns < 0) == 2
    assert Ensemble([[2**64, 2**64 + 1, 2**64]]).n_clusters == 2


def test_names_of_columns_may_be_numbers(running_example):
    frame = pd.DataFrame(running_example)
    expected = Ensemble(running_example)
    for ens in (Ensemble(frame), qt.ensemble_from_frame(frame)):
        assert ens.names == ("0", "1", "2")
        assert np.array_equal(ens.patterns, expected.patterns)
    assert qt.consensus_frame(frame, n_clusters=2)["consensus"].tolist() == qt.consensus(expected, 2).labels.tolist()
    assert np.array_equal(qt.datasets.load(frame).features, frame.to_numpy())


def test_a_selection_is_weighted_only_if_the_ensemble_is(running_example):
    ens = Ensemble(running_example)
    added = ens.select([0, 1]).add_members(running_example[:, 2:])
    assert np.array_equal(added.patterns, ens.patterns)
    weighted = Ensemble(running_example, row_weights=np.arange(1, 7))
    assert counted_labels(weighted.select([0, 1])).weights.sum() == 21


def test_saved_ensembles_are_found_by_their_own_name(tmp_path, running_example):
    ens = Ensemble(running_example, names=["A", "a", "Rows"])
    qt.save(ens, tmp_path / "run*")
    qt.save(Ensemble(np.tile(running_example, (2, 1))), tmp_path / "run[1]")
    loaded = qt.load(tmp_path / "run*")
    assert loaded.names == ("A", "a", "Rows")
    assert loaded.n_rows == 6
    assert np.array_equal(loaded.patterns, ens.patterns)


def test_select_keeps_rows_and_names(running_example):
    frame = pd.DataFrame(running_example, columns=["a", "b", "c"])
    ens = Ensemble(frame)
    some = ens.select(["c", 0])
    expected = Ensemble(frame[["c", "a"]])
    assert some.names == ("c", "a")
    for attribute in ("patterns", "counts", "row_pattern", "first_row", "row_counts"):
        assert np.array_equal(getattr(some, attribute), getattr(expected, attribute)), attribute
    assert ens.select([-1]).names == ("c",)


def test_a_selection_may_leave_rows_without_a_label():
    ens = qt.Ensemble([[0, 0, 1, None], [None, None, None, 2], [None] * 4], names=["a", "b", "c"])
    assert ens.select(["a"]).n_rows == 4
    with warns("rows-without-labels"):
        answer = qt.WEAC(2).fit(ens.select(["a", "c"]))
    assert answer.labels_.tolist() == [0, 0, 1, -1]
    with raises("no-labels"):
        ens.select(["c"])


def test_a_selection_takes_over_the_overlaps_that_are_known(running_example):
    ens = Ensemble(running_example)
    expected = ens.select([2, 0]).cooccurrence  # counted anew, as the overlaps of all are not known yet
    assert ens.cooccurrence.shape == (7, 7)
    taken_over = ens.select([2, 0]).__dict__["cooccurrence"]
    for attribute in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(taken_over, attribute), getattr(expected, attribute)), attribute


def test_arrays_cannot_be_changed_and_ensembles_can_be_pickled(running_example):
    ens = Ensemble(running_example)
    with pytest.raises(ValueError, match="read-only"):
        ens.patterns[0, 0] = 5
    again = pickle.loads(pickle.dumps(ens))
    assert np.array_equal(again.patterns, ens.patterns)


def test_transposed_matrix_is_noticed(running_example):
    with warns("transposed"):
        Ensemble(running_example.T)


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        ([], "no-members"),
        (np.empty((0, 3)), "no-rows"),
        ([[], []], "no-rows"),
        (np.empty((3, 0)), "no-members"),
        ([[1, 2, 3], [1, 2]], "row-count"),
        (np.arange(5), "label-dimensions"),
        ([np.eye(2, dtype=int)], "label-dimensions"),
        (np.random.default_rng(0).normal(size=(50, 3)), "features"),
        ([[1.0, np.inf]], "infinite-label"),
        ([[None, None], [np.nan, -1]], "no-labels"),
        ([[1, "a", 2]], "mixed-labels"),
        ([[1, 2], None], "label-dimensions"),
        ([[{}, {}]], "label-type"),
        ([[1 + 2j, 0]], "label-type"),
        (np.array(["2020-01-01"], dtype="datetime64[D]")[:, None], "label-type"),
    ],
)
def test_invalid_labels(labels, code):
    with raises(code, error=InputError):
        Ensemble(labels)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"noise": "mising"}, "choice"),
        ({"names": ["a"]}, "name-count"),
        ({"names": ["a", "a", "b"]}, "repeated-name"),
        ({"row_weights": [1, 2]}, "row-count"),
        ({"row_weights": list("abcdef")}, "numbers"),
        ({"row_weights": [1, 1, 1, 1, 1, np.nan]}, "positive"),
        ({"row_weights": [1, 1, 1, 1, 1, 0]}, "positive"),
    ],
)
def test_invalid_options(running_example, options, code):
    with raises(code, parameter=next(iter(options))):
        Ensemble(running_example, **options)


def test_select_names_what_is_wrong(running_example):
    ens = Ensemble(running_example, names=["kmeans", "ward", "rpcl"])
    with raises("unknown-member") as caught:
        ens.select(["kmean"])
    assert "Did you mean 'kmeans'?" in str(caught.value)
    with raises("unknown-member"):
        ens.select([3])
    with raises("repeated-member"):
        ens.select([0, "kmeans"])
    with raises("no-members"):
        ens.select([])


def stored_and_back(ens, how, tmp_path):
    if how == "pickle":
        return pickle.loads(pickle.dumps(ens))
    if how == "deepcopy":
        return copy.deepcopy(ens)
    joblib.dump(ens, tmp_path / "ens.joblib")
    return joblib.load(tmp_path / "ens.joblib", mmap_mode="r" if how == "joblib memory map" else None)


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "joblib", "joblib memory map"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_pickled_ensemble_is_the_same_ensemble(running_example, how, weighted, tmp_path):
    ens = Ensemble(running_example, row_weights=np.arange(1, 7) if weighted else None)
    ens.cooccurrence, ens.incidence  # noqa: B018 - what was derived is derived again
    back = stored_and_back(ens, how, tmp_path)
    assert back.weighted == ens.weighted == weighted
    assert (back.names, back.noise, back.n_rows, repr(back)) == (ens.names, ens.noise, ens.n_rows, repr(ens))
    for name in ("patterns", "counts", "row_counts", "row_pattern", "first_row"):
        np.testing.assert_array_equal(getattr(back, name), getattr(ens, name))
        assert not getattr(back, name).flags.writeable
    np.testing.assert_array_equal(back.cooccurrence.toarray(), ens.cooccurrence.toarray())
    assert (counted_labels(back).weights is None) == (not weighted)
    if weighted:
        with raises("weighted-ensemble"):
            back.add_members([[1, 2, 3, 1, 2, 3]])
    else:
        assert back.add_members([[1, 2, 3, 1, 2, 3]]).n_members == 4


def test_a_pickled_ensemble_is_saved_without_weights(running_example, tmp_path):
    joblib.dump(Ensemble(running_example), tmp_path / "ens.joblib")
    qt.save(joblib.load(tmp_path / "ens.joblib"), tmp_path / "saved")
    with duckdb.connect() as connection:
        columns = connection.read_parquet(str(tmp_path / "saved" / "patterns.parquet")).columns
    assert columns == ["member_0", "member_1", "member_2", "rows"]


def test_what_was_derived_is_not_pickled(running_example):
    ens = Ensemble(running_example)
    before = len(pickle.dumps(ens))
    ens.cooccurrence, ens.incidence, ens.coverage  # noqa: B018
    qt.agreement(ens)
    assert len(pickle.dumps(ens)) == before


def test_what_was_derived_does_not_keep_an_ensemble_alive(running_example):
    ens = Ensemble([*running_example, *running_example])
    for derive in (qt.agreement, qt.trust, qt.families, qt.camps, neighbor_lists, qt.choose_k, qt.label_structure):
        derive(ens)
    assert {"information", "chance", "families", "camps", "neighbors", "halves", "solved halves", "choice"} == {
        name for name, _ in ens.derived.items()
    }
    seen = weakref.ref(ens)
    gc.disable()  # an ensemble in a cycle would stay until the next collection
    try:
        del ens
        assert seen() is None
    finally:
        gc.enable()


def test_an_ensemble_is_one_block(running_example):
    ens = Ensemble(running_example)
    assert [block is ens for block in ensemble_blocks(ens)] == [True]


@pytest.mark.parametrize("noise", ["missing", "cluster", "singletons"])
@given(cut=st.integers(1, 399))
def test_merging_parts_gives_the_whole(noise, cut):
    labels = mixed_labels()
    whole = mixed_ensemble(labels, slice(None), noise=noise)
    merged = mixed_ensemble(labels, slice(cut), noise=noise).merge(
        mixed_ensemble(labels, slice(cut, None), noise=noise)
    )
    # Which of several equal rows of noise comes first is a matter of their order in the parts.
    assert_same_ensemble(merged, whole, rows=noise != "singletons")


def test_merged_ensembles_know_their_rows():
    labels = mixed_labels()
    merged = mixed_ensemble(labels, slice(100)).merge(mixed_ensemble(labels, slice(100, None)))
    assert (
        qt.WEAC(3).fit_predict(merged).tolist() == qt.WEAC(3).fit_predict(mixed_ensemble(labels, slice(None))).tolist()
    )


def test_merging_reorders_members_by_name():
    labels = mixed_labels()
    other = mixed_ensemble(labels, slice(100, None)).select(["noisy", "numbers", "text"])
    assert_same_ensemble(mixed_ensemble(labels, slice(100)).merge(other), mixed_ensemble(labels, slice(None)))


def test_merging_keeps_weights():
    labels, weights = mixed_labels(), np.random.default_rng(1).random(400) + 0.1
    whole = mixed_ensemble(labels, slice(None), row_weights=weights)
    merged = mixed_ensemble(labels, slice(100), row_weights=weights[:100]).merge(
        mixed_ensemble(labels, slice(100, None), row_weights=weights[100:])
    )
    assert_same_ensemble(merged, whole)


def test_what_cannot_be_merged_is_refused():
    labels = mixed_labels()
    ens = mixed_ensemble(labels, slice(None))
    with raises("different-members", parameter="other"):
        ens.merge(qt.Ensemble(labels, names=["numbers", "text", "other"]))
    with raises("different-noise", parameter="other"):
        ens.merge(mixed_ensemble(labels, slice(None), noise="cluster"))
    with raises("mixed-labels"):
        ens.merge(qt.Ensemble([labels[1], labels[1], labels[2]], names=MIXED_MEMBERS))
    with raises("not-an-ensemble", parameter="other"):
        ens.merge(labels)


def test_a_member_that_says_nothing_merges_with_any():
    silent = qt.Ensemble([[1, 2], [None, None]], names=["a", "b"])
    spoken = qt.Ensemble([[1, 3], ["x", "y"]], names=["a", "b"])
    assert_same_ensemble(silent.merge(spoken), qt.Ensemble([[1, 2, 1, 3], [None, None, "x", "y"]], names=["a", "b"]))


@pytest.mark.parametrize("noise", ["missing", "cluster", "singletons"])
def test_adding_members_gives_the_whole(noise):
    labels = mixed_labels()
    grown = qt.Ensemble(labels[:1], names=MIXED_MEMBERS[:1], noise=noise).add_members(
        labels[1:], names=MIXED_MEMBERS[1:]
    )
    assert_same_ensemble(grown, mixed_ensemble(labels, slice(None), noise=noise), rows=noise != "singletons")


def test_added_members_count_on_and_take_names_of_frames():
    import pandas as pd

    ens = qt.Ensemble([[1, 1, 2], [1, 2, 2]])
    assert ens.add_members([[1, 2, 3]]).names == ("member_0", "member_1", "member_2")
    assert ens.add_members(pd.DataFrame({"new": [1, 2, 3]})).names == ("member_0", "member_1", "new")
    with raises("row-count", parameter="labels"):
        ens.add_members([[1, 2]])
    with raises("repeated-name", parameter="names"):
        ens.add_members([[1, 2, 3]], names=["member_0"])
    with raises("weighted-ensemble"):
        qt.Ensemble([[1, 1, 2]], row_weights=[1, 2, 3]).add_members([[1, 2, 3]])
