"""How often the commands and functions solve, cut and diagnose: each ensemble once per method, each k once."""

from collections import Counter

import numpy as np
import pytest

import quorate as qt
from quorate.algorithms import base
from quorate.algorithms.registry import METHODS
from quorate.analysis import choose_k
from quorate.cli import main
from quorate.explorer.requests import Query
from quorate.explorer.workbench import Workbench

N_ROWS, N_MEMBERS = 600, 12


class Calls:
    """Calls of one walk: ensembles solved by each method, numbers of clusters cut, automatic choices."""

    def __init__(self):
        self.solves, self.cuts, self.choices, self.objects = Counter(), Counter(), 0, []

    def solved(self, method, ens):
        self.objects.append(ens)  # so that no other object gets its id
        self.solves[method.name, id(ens)] += 1

    def cut(self, solution, k):
        self.objects.append(solution)
        self.cuts[id(solution), k] += 1

    @property
    def ensembles(self):
        return {ens for _, ens in self.solves}


@pytest.fixture
def calls(monkeypatch):
    counted = Calls()

    def count_solves(solve):
        return lambda self, ens, influence: counted.solved(self, ens) or solve(self, ens, influence)

    for kind in {kind for method in METHODS.values() for kind in method.__mro__ if "_solve" in vars(kind)}:
        monkeypatch.setattr(kind, "_solve", count_solves(vars(kind)["_solve"]))
    cut, choose = base.Solution._answer, choose_k.choose

    def counted_choice(*given):
        counted.choices += 1
        return choose(*given)

    monkeypatch.setattr(base.Solution, "_answer", lambda self, k: counted.cut(self, k) or cut(self, k))
    monkeypatch.setattr(choose_k, "choose", counted_choice)
    return counted


@pytest.fixture(scope="module")
def labels():
    random = np.random.default_rng(0)
    truth = np.arange(N_ROWS) * 3 // N_ROWS
    members = []
    for j in range(N_MEMBERS):
        member = truth * 2 + random.integers(0, 2, N_ROWS) if j % 2 else truth.copy()
        redrawn = random.random(N_ROWS) < 0.15
        member[redrawn] = random.integers(0, member.max() + 1, redrawn.sum())
        members.append(member)
    return members


@pytest.fixture
def label_file(labels, tmp_path):
    path = tmp_path / "labels.csv"
    lines = [
        ",".join(f"m{j}" for j in range(N_MEMBERS)),
        *(",".join(map(str, row)) for row in zip(*labels, strict=True)),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def points():
    random = np.random.default_rng(1)
    return np.concatenate([random.normal(center, 1, (200, 3)) for center in (0, 6, 12)])


@pytest.fixture
def feature_file(points, tmp_path):
    path = tmp_path / "features.csv"
    np.savetxt(path, points, delimiter=",", header="a,b,c", comments="")
    return path


def run(*arguments):
    assert main([str(argument) for argument in arguments]) == 0


def assert_nothing_twice(calls):
    assert max(calls.solves.values()) == 1, calls.solves
    assert max(calls.cuts.values()) == 1, calls.cuts


def assert_no_diagnostics(calls, n_ensembles=1):
    assert len(calls.ensembles) == n_ensembles  # no halves of the members
    assert {k for _, k in calls.cuts} == {3}
    assert calls.choices == 0


def test_combine_solves_and_cuts_once(calls, label_file, tmp_path):
    run("combine", label_file, "-k", 3, "-o", tmp_path / "out.csv")
    assert_nothing_twice(calls)
    assert calls.choices == 1


def test_quiet_combine_runs_no_diagnostics(calls, label_file, tmp_path):
    run("combine", label_file, "-k", 3, "-q", "-o", tmp_path / "out.csv")
    assert_nothing_twice(calls)
    assert_no_diagnostics(calls)


def test_consensus_runs_no_diagnostics(calls, labels):
    result = qt.consensus(labels, 3)
    assert len(result.clusters) == 3
    assert result.confidence.shape == (N_ROWS,)
    assert_nothing_twice(calls)
    assert_no_diagnostics(calls)


def test_consensus_clustering_runs_no_diagnostics(calls, points):
    qt.ConsensusClustering(3, random_state=0).fit(points)
    assert_nothing_twice(calls)
    assert_no_diagnostics(calls, n_ensembles=3)  # two members are themselves a consensus of k-means clusterings


def test_quiet_cluster_runs_no_diagnostics(calls, feature_file, tmp_path):
    run("cluster", feature_file, "-k", 3, "-q", "-o", tmp_path / "out.csv")
    assert_nothing_twice(calls)
    assert_no_diagnostics(calls, n_ensembles=3)


def test_explorer_solves_once_and_cuts_each_k_once(calls, labels):
    bench = Workbench(qt.Ensemble(labels))
    members = tuple(range(N_MEMBERS))
    bench.answer(Query("auto", 3, members))
    assert_nothing_twice(calls)
    assert_no_diagnostics(calls)
    for k in (3, 4, 3, None, 4):
        bench.answer(Query("auto", k, members))
    assert_nothing_twice(calls)
    assert len(calls.ensembles) == 1
    assert calls.choices == 1
