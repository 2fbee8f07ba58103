import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

from quorate import QuorateError, datasets, features
from quorate._runtime.checkpoints import peek
from quorate.features import METHODS, draw_pool, ill_clusterings, replace_with_ill
from quorate.features.generators import Data, draw_ill, draw_member, member_seed
from quorate.features.pool import scale_features
from support import raises

FAST = ("kmeans", "rpcl")


@pytest.fixture(scope="module")
def pool():
    return draw_pool("iris", per_method=3, random_state=7)


def test_a_pool_says_how_it_was_made(pool):
    assert pool.labels.shape == (150, 12)
    assert [member.method for member in pool.members] == [method for method in METHODS for _ in range(3)]
    assert len(set(pool.table["seed"])) == 12
    for labels, member in zip(pool.labels.T, pool.members, strict=True):
        assert sorted(set(labels)) == list(range(member.n_clusters))
        assert 2 <= member.n_clusters <= 75
        assert member.seconds > 0
        assert member.redraws >= 0
    assert set(pool.table) == {"name", "method", "params", "seed", "n_clusters", "redraws", "seconds"}
    assert pool.scale == "standard"


def test_parameters_follow_the_protocol():
    pool = draw_pool("wine", per_method=40, methods=("kmeans",), random_state=1)
    ks = [member.params["n_clusters"] for member in pool.members]
    assert min(ks) >= 2
    assert max(ks) <= 2 * np.sqrt(178)
    assert len(set(ks)) > 15


def test_the_same_for_any_number_of_processes(pool):
    again = draw_pool("iris", per_method=3, random_state=7, n_jobs=2)
    np.testing.assert_array_equal(pool.labels, again.labels)
    assert [(m.name, m.params, m.redraws) for m in pool.members] == [
        (m.name, m.params, m.redraws) for m in again.members
    ]


def test_a_larger_pool_contains_the_smaller_one():
    small = draw_pool("iris", per_method=2, methods=("rpcl",))
    large = draw_pool("iris", per_method=4, methods=("kmeans", "rpcl"))
    np.testing.assert_array_equal(large.labels[:, [4, 5]], small.labels)


def test_another_seed_gives_other_members():
    first, second = (draw_pool("iris", 5, ("kmeans",), random_state=seed) for seed in (0, 1))
    assert [m.params for m in first.members] != [m.params for m in second.members]


def test_an_interrupted_pool_resumes(tmp_path):
    path = tmp_path / "iris.sqlite"
    whole = draw_pool("iris", 4, FAST)
    draw_pool("iris", 2, FAST, path=path)
    before = peek(path)[1]
    resumed = draw_pool("iris", 4, FAST, path=path)
    np.testing.assert_array_equal(resumed.labels, whole.labels)
    assert {member["seconds"] for member in before.values()} <= set(resumed.table["seconds"])  # not drawn again
    assert draw_pool("iris", 4, FAST, path=path).members == resumed.members


def test_a_killed_pool_resumes(tmp_path):
    path = tmp_path / "iris.sqlite"
    program = (
        "import sys\nfrom quorate.features import draw_pool\n"
        "draw_pool('iris', 400, ('kmeans',), path=sys.argv[1], progress=False)"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(path)])
    finished = 0
    while finished < 4:
        assert process.poll() is None
        time.sleep(0.01)
        with suppress(QuorateError):  # nothing is finished yet
            finished = len(peek(path)[1])
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = len(peek(path)[1])
    assert 4 <= finished < 400
    resumed = draw_pool("iris", finished + 2, ("kmeans",), path=path)
    np.testing.assert_array_equal(resumed.labels, draw_pool("iris", finished + 2, ("kmeans",)).labels)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"X": "wine"}, "its data is"),
        ({"scale": "minmax"}, "its data is"),
        ({"random_state": 1}, "its random_state is 0"),
    ],
)
def test_a_pool_file_of_something_else_is_refused_and_kept(tmp_path, change, difference):
    path = tmp_path / "pool.sqlite"
    asked = {"X": "iris", "per_method": 1, "methods": ("kmeans",), "path": path}
    draw_pool(**asked)
    before = path.read_bytes()
    with raises("other-checkpoint") as caught:
        draw_pool(**{**asked, **change})
    assert difference in str(caught.value)
    assert path.read_bytes() == before


def test_a_pool_file_of_another_version_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "pool.sqlite"
    draw_pool("iris", 1, ("kmeans",), path=path)
    monkeypatch.setattr(features.pool, "VERSION", 2)
    with raises("other-checkpoint"):
        draw_pool("iris", 1, ("kmeans",), path=path)


def test_scaling():
    X = np.array([[1.0, 5.0, 3.0], [2.0, 5.0, 1.0], [4.0, 5.0, 0.0]])
    standard, ranged = scale_features(X, "standard"), scale_features(X, "minmax")
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=0), [1, 0, 1])
    np.testing.assert_allclose(ranged, [[0, 0, 1], [1 / 3, 0, 1 / 3], [1, 0, 0]])
    assert scale_features(X, None) is X


def test_constant_columns_do_not_matter():
    X = datasets.load("iris").features
    widened = np.column_stack([X, np.full(len(X), 9.0)])
    np.testing.assert_array_equal(draw_pool(widened, 3, FAST).labels, draw_pool(X, 3, FAST).labels)


def test_repeated_rows_limit_k():
    X = np.repeat(np.arange(5.0), 40)[:, None]
    pool = draw_pool(X, 10, ("kmeans",))
    assert max(member.n_clusters for member in pool.members) <= 5


def test_trivial_members_are_drawn_again_and_counted():
    X = datasets.load("iris").features
    redraws = sum(draw_member("od-isvc", Data(X), member_seed(0, "od-isvc", i)).redraws for i in range(4))
    assert redraws > 0


def test_nothing_but_trivial_members_is_an_error():
    blob = np.random.default_rng(0).normal(size=(30, 1)).round(1)
    data = Data(np.concatenate([blob, blob]))
    data.__dict__["diameter"] = data.__dict__["neighbor_distance"] = 1e6  # kernels far too wide
    with raises("trivial-clusterings"):
        draw_member("od-isvc", data, 0)


@pytest.mark.parametrize("seed", range(5))
def test_corrupted_clusterings_are_heavily_imbalanced(seed):
    data = Data(datasets.load("breast_cancer").features)
    labels, params, _ = draw_ill(data, np.random.default_rng(seed))
    k, merged = params["n_clusters"], params["n_merged"]
    assert np.sqrt(683) <= k <= 2 * np.sqrt(683)
    assert 0.7 * k - 0.5 <= merged <= min(0.99 * k + 0.5, k - 1)
    assert len(np.unique(labels)) == k - merged + 1
    assert np.bincount(labels).max() > 0.4 * len(labels)


@pytest.mark.parametrize("n_rows", [4, 5, 9])
def test_corrupted_clusterings_of_few_rows(n_rows):
    pool = ill_clusterings(np.arange(float(n_rows))[:, None] ** 2, 5)
    assert all(2 <= member.n_clusters <= max(2, n_rows // 2) for member in pool.members)


@pytest.mark.parametrize(("ratio", "n_ill"), [(0.0, 0), (0.2, 4), (0.5, 10), (1.0, 20)])
def test_members_are_replaced_by_corrupted_ones(ratio, n_ill):
    pool = draw_pool("iris", 10, FAST)
    mixed = replace_with_ill(pool, ratio, random_state=3)
    is_ill = np.array([member.method == "ill" for member in mixed.members])
    assert is_ill.sum() == n_ill
    np.testing.assert_array_equal(mixed.labels[:, ~is_ill], pool.labels[:, ~is_ill])
    for labels, member in zip(mixed.labels.T, mixed.members, strict=True):
        assert len(np.unique(labels)) == member.n_clusters
    np.testing.assert_array_equal(replace_with_ill(pool, ratio, random_state=3).labels, mixed.labels)


@pytest.mark.parametrize(
    ("asked", "code", "parameter"),
    [
        ({"X": "irirs"}, "no-such-dataset", None),
        ({"X": [[1.0, 2.0], [np.nan, 1.0], [3.0, 4.0], [5.0, 6.0]]}, "features", "X"),
        ({"X": [[1.0], [np.inf], [3.0], [5.0]]}, "features", "X"),
        ({"X": [[1.0], [2.0]]}, "few-rows", "X"),
        ({"X": np.ones((9, 2))}, "equal-rows", None),
        ({"per_method": 0}, "integer", "per_method"),
        ({"methods": "kmeans"}, "generators", "methods"),
        ({"methods": ()}, "generators", "methods"),
        ({"methods": ("kmean",)}, "choice", "methods"),
        ({"scale": "max"}, "choice", "scale"),
        ({"random_state": -1}, "integer", "random_state"),
    ],
)
def test_refusals(asked, code, parameter):
    with raises(code, parameter):
        draw_pool(**{"X": "iris", "per_method": 1, **asked})


@pytest.mark.parametrize("ratio", [-0.1, 1.1, "half"])
def test_bad_ratios_are_refused(pool, ratio):
    with raises("number", "ratio"):
        replace_with_ill(pool, ratio)


def test_progress_is_shown_only_on_request(capsys):
    draw_pool("iris", 1, ("kmeans",))
    assert capsys.readouterr() == ("", "")
    draw_pool("iris", 1, ("kmeans",), progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Drawing members" in shown.err
