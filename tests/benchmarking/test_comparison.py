"""Comparisons: pools and methods of every kind, workers, tables and their statistics."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from itertools import pairwise

import numpy as np
import pytest
import scipy.io
import scipy.stats
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from typer.testing import CliRunner

import quorate as qt
import support
from quorate._runtime.checkpoints import peek
from quorate._runtime.workers import TIMED_OUT, Failure, run_in_workers
from quorate.benchmarking import statistics
from quorate.benchmarking.comparison import Cell, Protocol, Task, measure, reason_to_skip
from quorate.benchmarking.comparison_report import draw_ranks
from quorate.benchmarking.comparison_tables import Ranking, Table
from quorate.benchmarking.contestants import gather_contestants, make_contestant
from quorate.benchmarking.public_pools import Recipe, gather_pools, make_pool, read_pool
from quorate.benchmarking.results_folder import STORE
from quorate.benchmarking.scoring import score_rows
from quorate.cli.app import app
from quorate.cli.bench import named_methods

N = 60


def noisy_copies(rng, n_members=6, n_rows=N, k=3):
    """Return (n, members) copies of a partition with some random labels, and the partition."""
    classes = np.arange(n_rows) % k
    labels = np.repeat(classes[:, None], n_members, axis=1)
    spoilt = rng.random(labels.shape) < 0.15
    return np.where(spoilt, rng.integers(0, k, labels.shape), labels), classes


@pytest.fixture(scope="module")
def pools():
    rng = np.random.default_rng(0)
    return {name: noisy_copies(rng) for name in ("one", "two", "three")}


def first_member(labels, k):
    return labels[:, 0]


def broken(labels, k):
    raise ArithmeticError("nothing adds up")


def test_scores_of_rows_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    classes = rng.integers(0, 4, 50)
    labels = np.stack([rng.integers(0, k, 50) for k in (1, 2, 7)] + [classes], axis=1)
    scores = score_rows(labels, classes)
    for j, column in enumerate(labels.T):
        assert scores["ari"][j] == pytest.approx(adjusted_rand_score(classes, column), abs=1e-12)
        nmi = normalized_mutual_info_score(classes, column, average_method="max")
        assert scores["max"][j] == pytest.approx(nmi, abs=1e-12)


def test_a_comparison_and_its_tables(pools, tmp_path):
    methods = {"eac": "eac", "single": "weac linkage=single", "first": first_member, "broken": broken}
    found = qt.bench(pools, methods, tmp_path, n_members=4, draws=2, best_k=[2, 4], n_jobs=1, progress=False)
    assert found.methods == tuple(methods)
    means = found.means("ari")
    assert means.shape == (3, 4)
    assert np.isnan(means[:, 3]).all()
    assert not np.isnan(means[:, :3]).any()
    assert set(found.failures.values()) == {"ArithmeticError: nothing adds up"}
    assert np.all(found.values("max", best_k=True)[:, :3] >= found.values("max")[:, :3])
    assert found.ranking("ari").methods == ("eac", "single", "first")
    text = (tmp_path / "report" / "report.html").read_text()
    assert "nothing adds up" in text
    assert "<svg" in text
    assert "failed" in (tmp_path / "report" / "report.md").read_text()
    assert r"\toprule" in (tmp_path / "report" / "max_true-k_4_scores.tex").read_text()
    assert len((tmp_path / "report" / "measurements.csv").read_text().splitlines()) == 1 + 3 * 2 * 4


def test_scores_are_those_of_the_library(pools, tmp_path):
    found = qt.bench({"one": pools["one"]}, ["weac"], tmp_path, n_members=5, draws=1, n_jobs=1, progress=False)
    pool = make_pool("one", *pools["one"])
    labels = qt.WEAC(3).fit_predict(pool.draw(5, 0, 0))
    assert found.means("ari")[0, 0] == pytest.approx(adjusted_rand_score(pools["one"][1], labels), abs=1e-6)


def test_results_depend_on_the_seed_and_nothing_is_measured_twice(pools, tmp_path):
    settings = {"n_members": 3, "draws": 2, "progress": False}
    one = qt.bench(pools, ["eac"], tmp_path / "a", n_jobs=1, **settings)
    two = qt.bench(pools, ["eac"], tmp_path / "b", n_jobs=2, **settings)
    assert np.array_equal(one.means(), two.means())
    before = (tmp_path / "a" / STORE).read_bytes()
    again = qt.bench(pools, ["eac"], tmp_path / "a", n_jobs=1, **settings)
    assert (tmp_path / "a" / STORE).read_bytes() == before
    assert np.array_equal(again.means(), one.means())
    more = qt.bench(pools, ["eac", "hbgf"], tmp_path / "a", n_jobs=1, **settings)
    assert more.methods == ("eac", "hbgf")
    assert np.array_equal(more.means()[:, 0], one.means()[:, 0])
    other = qt.bench(pools, ["eac"], tmp_path / "c", n_jobs=1, seed=1, **settings)
    assert not np.array_equal(other.means(), one.means())


def test_other_methods_under_the_same_name_and_other_protocols_are_refused(pools, tmp_path):
    qt.bench(pools, {"mine": "eac"}, tmp_path, n_members=3, draws=1, n_jobs=1, progress=False)
    with support.raises("method-changed"):
        qt.bench(pools, {"mine": "eac linkage=single"}, tmp_path, n_members=3, draws=1, n_jobs=1, progress=False)
    with support.raises("other-protocol"):
        qt.bench(pools, {"mine": "eac"}, tmp_path, n_members=3, draws=2, n_jobs=1, progress=False)


def double(task):
    return 2 * task


def misbehave(task):
    if task == "exit":
        os._exit(3)
    if task == "wait":
        time.sleep(60)
    if task == "print":
        print("not an answer")
    return task


def test_workers_answer_every_task():
    assert sorted(run_in_workers(double, range(7), 2)) == [(n, 2 * n) for n in range(7)]


def test_workers_survive_failing_tasks():
    found = dict(run_in_workers(misbehave, ["exit", "wait", "print", "fine"], 1, timeout=15))
    assert found["exit"] == Failure("its process ended (with exit code 3)")
    assert found["wait"] == Failure("ran out of time (15 s)")
    assert found["print"] == "print"
    assert found["fine"] == "fine"


def test_a_killed_comparison_continues(pools, tmp_path):
    code = textwrap.dedent(f"""
        import numpy as np, os, signal
        import quorate as qt
        from quorate.benchmarking import comparison as run
        rng = np.random.default_rng(0)
        classes = np.arange(60) % 3
        labels = np.where(rng.random((60, 6)) < 0.2, rng.integers(0, 3, (60, 6)), classes[:, None])
        add = run.Store.add
        def add_and_die(store, key, piece):
            add(store, key, piece)
            if "die" in os.environ and len(store) == 4:
                os.kill(os.getpid(), signal.SIGKILL)
        run.Store.add = add_and_die
        qt.bench({{"p": (labels, classes)}}, ["eac", "hbgf"], {str(tmp_path)!r}, n_members=3, draws=3, n_jobs=1)
    """)
    killed = subprocess.run([sys.executable, "-c", code], env={**os.environ, "die": "1"}, check=False)
    assert killed.returncode == -signal.SIGKILL
    before = list(peek(tmp_path / STORE)[1].items())
    assert len(before) == 4
    subprocess.run([sys.executable, "-c", code], check=True)
    after = peek(tmp_path / STORE)[1]
    assert list(after.items())[:4] == before
    assert sum("draw=" in key for key in after) == 6


def test_pools_from_files_of_every_kind(pools, tmp_path):
    labels, classes = pools["one"]
    np.savez(tmp_path / "a.npz", labels=labels + 1, truth=classes)
    scipy.io.savemat(tmp_path / "b.mat", {"members": labels + 1.0, "gt": classes[:, None] + 1})
    header = ",".join([*(f"m{j}" for j in range(6)), "class"])
    np.savetxt(tmp_path / "c.csv", np.column_stack([labels, classes]), "%d", ",", header=header, comments="")
    (tmp_path / "notes.md").write_text("not a pool")
    read = gather_pools(tmp_path)
    assert [pool.name for pool in read] == ["a", "b", "c"]
    for pool in read:
        assert np.array_equal(pool.labels, labels)
        assert np.array_equal(pool.classes, classes)


def test_matlab_files_of_version_7_3(pools, tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    labels, classes = pools["one"]
    with h5py.File(tmp_path / "d.mat", "w", userblock_size=512) as file:
        file["members"], file["gt"] = labels.T, classes[None, :]
    with (tmp_path / "d.mat").open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file")
    assert np.array_equal(read_pool(tmp_path / "d.mat").labels, labels)


def test_pools_of_datasets_are_generated(tmp_path):
    [pool] = gather_pools("iris", recipe=Recipe(("kmeans",), 4), cache=tmp_path)
    assert pool.labels.shape == (150, 4)
    assert pool.n_classes == 3
    assert (tmp_path / "iris.sqlite").exists()


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({}, "no-pools"),
        ({"a.csv": "x,y\n1,1\n2,2\n"}, "no-classes"),
        ({"a.csv": "x,class\n1,1\n2,\n"}, "missing-class"),
        ({"a.csv": "x,class\n1,1\n2,2\n", "a.tsv": "x\tclass\n1\t1\n2\t2\n"}, "same-name"),
    ],
)
def test_bad_folders_are_explained(tmp_path, files, code):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with support.raises(code):
        gather_pools(tmp_path)


@pytest.mark.parametrize("files", [{"a.csv": "class\n1\n2\n"}, {"a.mat": "not a matrix"}])
def test_files_without_clusterings_are_refused(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(qt.QuorateError):
        gather_pools(tmp_path)


def test_tables_of_pools_may_have_ids_and_classes_of_other_names(tmp_path):
    rows = "".join(f"row-{i},{'ab'[i % 2]},{i % 2},{i % 3}\n" for i in range(40))
    (tmp_path / "pool.csv").write_text("sample,species_true,x,y\n" + rows)
    [pool] = gather_pools(tmp_path)
    assert pool.labels.shape == (40, 2)
    assert pool.n_classes == 2


def test_a_command_with_an_open_quote_is_refused():
    with support.raises("bad-command"):
        make_contestant("run 'it {table} {output}", "mine")


def test_the_default_method_can_be_compared(pools, tmp_path):
    comparison = qt.bench({"one": pools["one"]}, ["auto", "eac"], tmp_path, n_members=4, draws=1, n_jobs=1)
    assert comparison.failures == {}
    assert not np.isnan(comparison.means("ari")).any()


def test_bad_pools_are_explained(pools, tmp_path):
    with support.raises("one-class-per-row"):
        make_pool("short", pools["one"][0], pools["one"][1][1:])
    with support.raises("pool-too-small", parameter="n_members"):
        qt.bench(pools, ["eac"], tmp_path, n_members=7)
    with support.raises("no-file"):
        gather_pools("irs")


def test_methods_of_every_kind(tmp_path):
    (tmp_path / "own.py").write_text("def vote(labels, k):\n    return labels[:, 0]\n")
    (tmp_path / "program.py").write_text(
        "import csv, sys\n"
        "rows = list(csv.reader(open(sys.argv[1])))\n"
        "csv.writer(open(sys.argv[2], 'w')).writerows([['answer']] + [row[:1] for row in rows[1:]])\n"
    )
    labels = np.array([[0, 1], [0, 1], [1, 0], [-1, 0]], dtype=np.int32)
    program = make_contestant(f"{sys.executable} {tmp_path / 'program.py'} {{labels}} {{output}}", "program")
    assert program.answer(labels, [2, 3], 0).shape == (4, 2)
    own = make_contestant(f"{tmp_path / 'own.py'}:vote")
    assert own.name == "vote"
    assert own.answer(labels, [2], 0)[:, 0].tolist() == [0, 0, 1, -1]
    estimator = make_contestant(qt.EAC())
    first, second, third, fourth = estimator.answer(labels[:, 1:], [2], 0)[:, 0]
    assert first == second != third == fourth
    registered = make_contestant("gp-mgla alpha=0.2 init=heaviest")
    assert registered.params == {"alpha": 0.2, "init": "heaviest"}


@pytest.mark.parametrize(
    ("methods", "code"),
    [
        (["nonsense"], None),
        ([""], None),
        (["weac link=single"], None),
        (["weac single"], "name-value"),
        (["nowhere.py:f"], "no-file"),
        (["json:no_such_function"], "no-such-function"),
        (["no_such_module:f"], "cannot-import"),
        (["eac", "eac"], "same-name"),
        ([], "no-methods"),
        ([3], "method-kind"),
    ],
)
def test_bad_methods_are_explained(methods, code):
    with support.raises(code) if code else pytest.raises(qt.QuorateError):
        gather_contestants(methods)


def test_the_message_of_a_failing_program_is_shown(tmp_path):
    program = make_contestant(f"{sys.executable} -c 'raise SystemExit(\"no licence\")' {{output}}", "program")
    with support.raises("no-program-output") as caught:
        program.answer(np.zeros((3, 1), dtype=np.int32), [2], 0)
    assert str(caught.value).endswith("(exit code 1): no licence")


def test_ranks_and_wins():
    scores = np.array([[0.9, 0.5, 0.5], [0.8, 0.9, 0.1]])
    assert statistics.ranks(scores).tolist() == [[1, 2.5, 2.5], [2, 1, 3]]
    wins = statistics.wins_ties_losses(scores)
    assert wins[0, 1].tolist() == [1, 0, 1]
    assert wins[1, 2].tolist() == [1, 1, 0]


def test_friedman_and_wilcoxon_are_those_of_scipy():
    rng = np.random.default_rng(2)
    scores = rng.random((12, 4)) + np.array([0.3, 0.1, 0.0, 0.0])
    expected = scipy.stats.friedmanchisquare(*scores.T)
    assert statistics.friedman(scores) == pytest.approx(tuple(expected))
    adjusted = statistics.wilcoxon_holm(scores)
    first, second = np.triu_indices(4, 1)
    plain = scipy.stats.wilcoxon(scores[:, first] - scores[:, second]).pvalue
    order = np.argsort(plain)
    # Holm: the smallest p counts six times, the next five times, ..., and never less than the one before.
    stepped = plain[order] * np.arange(6, 0, -1)
    held = [max(stepped[: i + 1].max(), 0) for i in range(6)]
    assert adjusted[first, second][order] == pytest.approx(np.minimum(held, 1))
    assert all(a <= b for a, b in pairwise(adjusted[first, second][order]))


def test_critical_difference_is_that_of_the_published_table():
    # Demsar 2006, Table 5: q = 2.569 for four methods; fourteen data sets as in his example: 1.25.
    assert statistics.critical_difference(4, 14) == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)


def test_cliques_are_the_longest_runs():
    assert statistics.cliques(np.array([1.0, 1.5, 2.2, 4.0]), 1.0) == [(0, 1), (1, 2)]
    assert statistics.cliques(np.array([1.0, 1.1, 1.2]), 1.0) == [(0, 2)]


def test_the_rank_diagram_names_every_method():
    scores = np.random.default_rng(0).random((8, 5))
    figure = draw_ranks(Ranking(("a", "b", "c", "d", "e"), scores), "ranks")
    shown = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert all(name in shown for name in "abcde")


def test_latex_tables_escape_special_characters():
    text = Table("t", ("name", "50 %"), (("a_b & c", "1 ± 2"),)).latex()
    assert r"a\_b \& c & 1 $\pm$ 2 \\" in text
    assert r"50 \%" in text


def test_methods_of_the_command_have_names():
    assert named_methods([]) is None
    assert named_methods(["eac", "one link=weac linkage=single", "weac linkage=single", "a/b.py:vote"]) == {
        "eac": "eac",
        "one link": "weac linkage=single",
        "weac linkage=single": "weac linkage=single",
        "vote": "a/b.py:vote",
    }
    with support.raises("same-name", parameter="method"):
        named_methods(["eac", "eac"])


def test_the_command(pools, tmp_path):
    for name, (labels, classes) in pools.items():
        np.savez(tmp_path / f"{name}.npz", labels=labels, truth=classes)
    arguments = ["bench", str(tmp_path), "--method", "eac", "--method", "hbgf", "--method", "weac", "--n-members", "3"]
    arguments += ["--draws", "1", "--jobs", "1", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert set(answer["settings"][0]["means"]) == {"eac", "hbgf", "weac"}
    assert (tmp_path / "out" / "report" / "report.html").exists()
    shown = CliRunner().invoke(app, arguments)
    assert "mean rank" in shown.output


def test_a_method_that_timed_out_is_skipped_on_later_draws_and_larger_ensembles():
    protocol = Protocol(n_members=(10, 20), draws=3)
    late = {"status": f"{TIMED_OUT} (5 s)"}
    finished = {"p/M=10/draw=0/a": {"status": "ok"}, "p/M=10/draw=1/a": late, "p/M=20/draw=0/b": late}
    why = f"skipped: draw 1 of 10 members {late['status']}"
    assert reason_to_skip(Cell("p", 10, 2, "a"), protocol, finished) == why
    assert reason_to_skip(Cell("p", 20, 1, "a"), protocol, finished) == why
    for cell in (Cell("q", 20, 2, "a"), Cell("p", 20, 0, "a"), Cell("p", 10, 2, "b")):
        assert reason_to_skip(cell, protocol, finished) == ""
    nothing = np.empty((0, 2), dtype=np.int32)
    task = Task(Cell("p", 20, 1, "a"), make_contestant("eac"), nothing, nothing[:, 0], (2,), 0, skipped=why)
    assert measure(task) == {"status": why}
