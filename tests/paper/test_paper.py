"""The paper's experiments: protocol, scores, resumable runs, tables, claims and the page."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import pairwise_distances_argmin

import support
from quorate import Ensemble, QuorateError, consensus, datasets, evaluate, features, paper
from quorate._runtime.checkpoints import peek
from quorate.benchmarking.results_folder import STORE
from quorate.benchmarking.scoring import class_counts, score_columns
from quorate.cli import main
from quorate.features.pool import scale_features
from quorate.paper.choices import choice_name, claims_elsewhere
from quorate.paper.claims import FAILS, HOLDS, OPEN, STATEMENTS, check_claims
from quorate.paper.drawn_pools import DatasetPool, drawing_seconds
from quorate.paper.experiments import Measurement, experiment_methods, measurements, timings, variants
from quorate.paper.measure import Task, measure
from quorate.paper.published import published_value
from quorate.paper.reproduction_page import compose_page, read_results
from quorate.paper.spec import EXPERIMENTS, FULL, METHODS, Method, Slow, Spec, Timing, select
from quorate.paper.summaries import (
    Results,
    Summary,
    agreements,
    in_preset,
    n_classes,
    rank_correlation,
    run_rows,
    summarize,
    win_percentage,
)

SHARED = Path(__file__).resolve().parents[3] / "shared"
CHOSEN = ("GP-MGLA", "GP-MGLA (max)", "WEAC-AL", "WEAC-AL (max)", "EAC-AL", "ECMC-AL")
# For child processes that import this file.
TEST_FOLDERS = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
TINY = replace(
    paper.QUICK,
    name="tiny",
    datasets=("iris", "wine"),
    methods=tuple(method for method in METHODS if method.name in CHOSEN),
    runs=3,
    generators=("kmeans", "rpcl"),
    per_generator=5,
    grid=tuple(range(2, 7)),
    ill_ratios=(0.0, 0.5),
    slow=Slow(runs=1, grid=(2, 5)),
    timing=Timing(sizes=(100, 200), repeats=1, per_method=2, n_clusters=5),
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A finished run of the tiny spec."""
    folder = tmp_path_factory.mktemp("tiny")
    paper.reproduce(folder, TINY, n_jobs=1)
    return folder


def tables_of(folder):
    """Everything in the tables that does not depend on the clock."""
    summaries = summarize(read_results(folder))
    return {name: rows for name, rows in summaries.items() if name != "time"}


def test_every_published_number_is_there_and_belongs_to_a_method_of_ours():
    rows = paper.published()
    assert len(rows) == 406
    known = {method.plain_name for method in METHODS} | {"WEAC", "NCAI"}
    assert {row.method for row in rows} <= known
    assert {row.dataset for row in rows} == set(datasets.NAMES)


def test_the_full_protocol_is_the_papers():
    spec = paper.FULL
    assert len({method.plain_name for method in spec.methods}) == 18
    assert (len(spec.datasets), spec.runs, spec.n_members, spec.per_generator) == (8, 100, 5, 100)
    assert spec.grid_of(spec.method("EAC-AL"), 26) == list(range(2, 31))
    assert spec.grid_of(spec.method("WCC"), 7) == [2, 5, 7, 10, 20, 30]
    assert spec.runs_of(spec.method("ECMC-SL")) == 20
    assert paper.Spec.from_plain(json.loads(json.dumps(spec.about()))) == spec


def test_what_is_measured_in_each_experiment():
    spec = paper.FULL
    count = {
        name: len({item.key for item in measurements(spec, name, select(spec, datasets=["iris"]))})
        for name in paper.EXPERIMENTS
    }
    # 16 methods with 100 runs (two of them in both presets), four with 20.
    assert count["compare"] == 16 * 100 + 4 * 20
    # WEAC at 5 and GP-MGLA at 7 settings, in two presets.
    assert count["parameters"] == 2 * 12 * 100
    # Two methods in two presets, at best-k and at the same k, and the members.
    assert count["wins"] == 4 * 2 * 100 + 100
    assert count["ill"] == 6 * (8 * 100 + 2 * 20)
    large = {item.method.name for item in measurements(spec, "ill", select(spec, datasets=["letters"]))}
    assert not large & {"WCC", "ECMC-AL"}


def test_the_authors_members_were_not_found_on_standardized_features():
    """Why features are scaled to their range: k-means leaves every row nearest to the center of its own cluster."""
    ensemble, order = SHARED / "ensembles" / "lwea_PD.npz", SHARED / "data" / "authors_row_order.npz"
    if not (ensemble.exists() and order.exists()):
        pytest.skip("the authors' published members are not here")
    table = np.loadtxt(SHARED / "data" / "pen_digits.csv.gz", delimiter=",", skiprows=1)
    features = table[np.load(order)["pen_digits"], :-1]
    labels = np.load(ensemble)["labels"][:, :5]
    share = {
        scale: [share_at_own_center(scale_features(features, scale), column) for column in labels.T]
        for scale in ("minmax", "standard")
    }
    assert min(share["minmax"]) > 0.999
    assert max(share["standard"]) < 0.98


def share_at_own_center(features, labels):
    values, code = np.unique(labels, return_inverse=True)
    centers = np.stack([features[code == j].mean(axis=0) for j in range(len(values))])
    return np.mean(pairwise_distances_argmin(features, centers) == code)


def test_a_method_at_its_defaults_is_measured_once_for_all_experiments():
    spec = paper.FULL
    weac = variants(spec, spec.method("WEAC-AL"))
    assert weac["beta=2"] is spec.method("WEAC-AL")
    assert weac["beta=8"].params == {"linkage": "average", "beta": 8}
    assert [method.name for method in experiment_methods(spec, "ill")][:2] == ["GP-MGLA", "GP-MGLA (max)"]


def test_choosing_a_method_chooses_its_parameter_settings_but_not_its_other_preset():
    chosen = select(TINY, methods=["weac-al"])
    names = {item.method.name for item in measurements(TINY, "parameters", chosen)}
    assert names == {"WEAC-AL", *(f"WEAC-AL beta={beta}" for beta in (0, 1, 4, 8))}


@pytest.mark.parametrize(
    ("what", "wrong", "right"),
    [("experiment", "comparison", "compare"), ("dataset", "irsi", "iris"), ("method", "gp-mgl", "gp-mgla")],
)
def test_errors_about_unknown_names_suggest_others(what, wrong, right, tmp_path):
    with support.raises(f"no-such-{what}") as caught:
        paper.reproduce(tmp_path, TINY, **{f"{what}s": [wrong]})
    assert f"Did you mean {right!r}?" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_scores_of_many_clusterings_are_those_of_each():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, (60, 3))
    classes = np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]
    ens = Ensemble(labels)
    patterns = np.column_stack([ens.patterns % 4, np.zeros(ens.n_patterns, dtype=int)])
    scores = score_columns(patterns, class_counts(ens, classes))
    for j, column in enumerate(patterns.T):
        one = evaluate(column[ens.row_pattern], classes)
        assert scores["sqrt"][j] == pytest.approx(one.nmi_sqrt, abs=1e-12)
        assert scores["max"][j] == pytest.approx(one.nmi_max, abs=1e-12)


def test_a_measurement_is_what_fitting_and_scoring_gives():
    iris = datasets.load("iris")
    labels = features.draw_pool("iris", per_method=5, methods=("kmeans",)).labels
    spec = paper.FULL
    items = [
        Measurement("iris", 0.0, 0, spec.method(name)) for name in ("GP-MGLA (max)", "WEAC-SL", "ECMC-CL", "WCT-AL")
    ]
    pieces = measure(Task(labels, iris.classes, tuple((item, (2, 3, 8)) for item in items)))
    for item in items:
        piece = pieces[item.key]
        for j, k in enumerate(piece["k"]):
            answer = consensus(labels, k, item.method.estimator, **item.method.params)
            scores = evaluate(answer.labels, iris.classes)
            assert piece["sqrt"][j] == pytest.approx(scores.nmi_sqrt, abs=1e-6), item.key
            assert piece["max"][j] == pytest.approx(scores.nmi_max, abs=1e-6), item.key


def test_members_are_scored_with_their_own_numbers_of_clusters():
    iris = datasets.load("iris")
    labels = features.draw_pool("iris", per_method=3, methods=("kmeans",)).labels
    item = Measurement("iris", 0.0, 0, None)
    piece = measure(Task(labels, iris.classes, ((item, ()),)))[item.key]
    assert piece["k"] == [len(np.unique(column)) for column in labels.T]
    assert piece["max"] == pytest.approx([evaluate(column, iris.classes).nmi_max for column in labels.T], abs=1e-6)


def test_a_failing_method_is_a_status_and_does_not_stop_the_others(tmp_path):
    broken = Method("EAC-AL", "eac", {"linkage": "sideways"})
    spec = replace(TINY, datasets=("iris",), methods=(broken, TINY.method("GP-MGLA")), runs=1)
    pieces = paper.reproduce(tmp_path, spec, experiments=["compare"], n_jobs=1)
    assert pieces["iris/ill=0/run=0/EAC-AL"]["status"].startswith("InputError: linkage must be one of")
    assert pieces["iris/ill=0/run=0/GP-MGLA"]["status"] == "ok"
    results = Results(spec, pieces)
    assert list(results.failures) == ["iris/ill=0/run=0/EAC-AL"]
    assert "Failed: 1 x InputError" in paper.write_report(tmp_path).read_text()


def test_corrupted_members_are_those_of_the_pool_functions(tmp_path):
    pool = DatasetPool(TINY, "iris", tmp_path, 1)
    whole = features.draw_pool("iris", 5, TINY.generators, scale=TINY.scale, random_state=TINY.seed)
    assert np.array_equal(pool.with_ill(0.0), whole.labels)
    assert np.array_equal(pool.with_ill(0.5), features.replace_with_ill(whole, 0.5, random_state=TINY.seed).labels)


def test_ensembles_are_drawn_without_replacement_and_are_the_same_again(tmp_path):
    pool = DatasetPool(TINY, "iris", tmp_path, 1)
    draws = [pool.chosen(run) for run in range(20)]
    assert all(len(set(draw)) == TINY.n_members for draw in draws)
    assert len({tuple(draw) for draw in draws}) > 15
    assert np.array_equal(pool.chosen(3), DatasetPool(TINY, "iris", tmp_path, 1).chosen(3))


def test_the_run_is_complete(tiny):
    results = read_results(tiny)
    wanted = {item.key for name in paper.EXPERIMENTS for item in measurements(TINY, name, select(TINY))}
    wanted |= {item.key for item in timings(TINY, select(TINY))}
    assert wanted == {key for key in results.pieces if not key.startswith("session/")}
    assert not results.failures
    assert results.pieces["iris/ill=0.5/run=0/ECMC-AL"]["k"] == [2, 3, 5]
    rows = list(run_rows(results, "compare"))
    assert len(rows) == 2 * (5 * 3 + 1)
    assert {"experiment", "dataset", "method", "run", "setting", "status", "seconds", "best_max", "true_sqrt"} <= rows[
        0
    ].keys()


def test_nothing_is_measured_twice(tiny):
    before = (tiny / STORE).read_bytes()
    paper.reproduce(tiny, TINY, n_jobs=1)
    assert (tiny / STORE).read_bytes() == before


def test_two_processes_and_pieces_of_the_work_give_the_same_tables(tiny, tmp_path):
    paper.reproduce(tmp_path, TINY, experiments=["compare", "wins"], datasets=["wine"], n_jobs=2)
    paper.reproduce(tmp_path, TINY, experiments=["parameters", "ill"], n_jobs=2)
    paper.reproduce(tmp_path, TINY, n_jobs=1)
    assert tables_of(tmp_path) == tables_of(tiny)


def killed_run(folder, spec_text, pieces_before_the_kill):
    """Start a run in a process group of its own and kill it -9 once some pieces are there."""
    code = f"from quorate import paper\n{spec_text}\npaper.reproduce({str(folder)!r}, SPEC)"
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        store = folder / STORE
        while process.poll() is None:
            with suppress(QuorateError):  # nothing is finished yet
                if len(peek(store)[1]) >= pieces_before_the_kill:
                    break
            time.sleep(0.02)
        assert process.poll() is None, "the run was over before it could be killed"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_killed_in_the_middle_and_started_again_it_ends_the_same(tiny, tmp_path):
    killed_run(tmp_path, f"import sys; sys.path[:0] = {TEST_FOLDERS!r}\nfrom test_paper import TINY as SPEC", 20)
    before = list(peek(tmp_path / STORE)[1].items())
    paper.reproduce(tmp_path, TINY, n_jobs=1)
    assert list(peek(tmp_path / STORE)[1].items())[: len(before)] == before
    assert tables_of(tmp_path) == tables_of(tiny)


@pytest.mark.slow
def test_the_quick_run_killed_twice_ends_as_an_undisturbed_one(tmp_path):
    paper.reproduce(tmp_path / "whole", paper.QUICK)
    for pieces in (50, 400):
        killed_run(tmp_path / "killed", "SPEC = paper.QUICK", pieces)
    paper.reproduce(tmp_path / "killed", paper.QUICK)
    assert tables_of(tmp_path / "killed") == tables_of(tmp_path / "whole")


def test_results_of_another_spec_are_refused(tiny):
    before = (tiny / STORE).read_bytes()
    with support.raises("other-protocol"):
        paper.reproduce(tiny, paper.QUICK)
    with support.raises("other-protocol"):
        paper.reproduce(tiny, replace(TINY, seed=1))
    assert (tiny / STORE).read_bytes() == before


def test_a_folder_that_cannot_be_written_is_a_clear_message(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(QuorateError):
        paper.reproduce(tmp_path / "file" / "results", TINY)


def test_a_full_disk_is_a_clear_message_and_the_store_stays_readable(tiny, tmp_path):
    """A limit on the size of files stands in for the full disk."""
    code = f"""
import resource, sys
sys.path[:0] = {TEST_FOLDERS!r}
from quorate import QuorateError, paper
from test_paper import TINY
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
try:
    paper.reproduce({str(tmp_path)!r}, TINY, n_jobs=1)
except QuorateError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "Results cannot be written" in said
    assert "run the same command again" in said
    kept = read_results(tmp_path).pieces
    assert 0 < len(kept) < len(read_results(tiny).pieces)
    paper.reproduce(tmp_path, TINY, n_jobs=1)
    assert tables_of(tmp_path) == tables_of(tiny)


def test_best_k_per_run_or_per_dataset(tiny):
    of_run, of_dataset = read_results(tiny), read_results(tiny, "dataset")
    method = TINY.method("WEAC-AL")
    table = np.array([piece["max"] for piece in of_run.of("iris", method).values()])
    assert np.allclose(of_run.scores("iris", method, "max")["best-k"], table.max(axis=1))
    assert of_dataset.scores("iris", method, "max")["best-k"].mean() == pytest.approx(table.mean(axis=0).max())
    assert np.allclose(of_run.scores("iris", method, "max")["true-k"], table[:, n_classes("iris") - 2])


def test_ties_count_half_a_win():
    assert win_percentage(np.array([[0.5, 0.5]]), np.array([[0.5, 0.4]])).tolist() == [75.0]
    assert win_percentage(np.array([[0.3]]), np.array([[0.5, 0.3, 0.1, 0.2]])).tolist() == [62.5]


def test_rank_correlation_is_spearmans():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 9, 18) / 10, rng.random(18)
    assert rank_correlation(list(x), list(y)) == pytest.approx(spearmanr(x, y).statistic)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) == 0.0


def compared(**scores):
    """Summaries of `compare` on Seeds, where the paper gives 0.604 and 0.517 for WEAC-AL."""
    return [
        Summary("compare", "seeds", name.replace("_", "-"), "", k, "max", 3, mean, 0.01, value)
        for name, means in scores.items()
        for k, mean, value in zip(("best-k", "true-k"), means, (0.6, 0.5), strict=True)
    ]


def test_agreement_is_the_mean_absolute_difference():
    rows = compared(GP_MGLA=(0.65, 0.4), WEAC_AL=(0.6, 0.5), EAC_AL=(0.1, 0.1))
    agreement = next(item for item in agreements(rows) if (item.preset, item.score) == ("sqrt", "max"))
    assert (agreement.columns, agreement.gp_mgla, agreement.weac_al) == (2, pytest.approx(0.075), pytest.approx(0.0))


def test_a_preset_stands_in_for_the_plain_method():
    rows = [
        row._replace(method=name) for row in compared(X=(0.1, 0.2)) for name in ("WEAC-AL", "WEAC-AL (max)", "EAC-AL")
    ]
    assert {row.method for row in in_preset(rows, "sqrt")} == {"WEAC-AL", "EAC-AL"}
    assert [row.method for row in in_preset(rows, "max")] == ["WEAC-AL", "EAC-AL"] * 2


def verdicts(rows):
    nothing = {name: [] for name in paper.EXPERIMENTS}
    return {claim.statement: claim for claim in check_claims({**nothing, "compare": rows})}


def test_claims_are_computed():
    found = verdicts(compared(GP_MGLA=(0.6, 0.5), WEAC_AL=(0.7, 0.6), EAC_AL=(0.5, 0.4), HBGF=(0.1, 0.1)))
    assert found["WEAC-AL achieves the best scores on Seeds"].verdict == HOLDS
    assert found["WEAC-AL is ahead of EAC-AL on average"].measured == "mean difference +0.200; ahead in 2 of 2 columns"
    assert found["Both methods win about two thirds at the same k"].verdict == OPEN
    found = verdicts(compared(GP_MGLA=(0.1, 0.1), WEAC_AL=(0.2, 0.2), EAC_AL=(0.5, 0.4), HBGF=(0.3, 0.3)))
    assert found["WEAC-AL achieves the best scores on Seeds"].verdict == FAILS
    assert found["GP-MGLA is best or second best in most columns"].verdict == FAILS
    assert len(found) == len(STATEMENTS)


@pytest.mark.parametrize("seed", range(8))
def test_any_part_of_the_results_can_be_judged(tiny, seed):
    results = read_results(tiny)
    rng = np.random.default_rng(seed)
    lost = {method: rng.random() < 0.4 for method in dict.fromkeys(key.split("/", 3)[-1] for key in results.pieces)}
    dataset = rng.choice(["iris", "wine", "neither"])
    left = {
        key: piece
        for key, piece in results.pieces.items()
        if not lost[key.split("/", 3)[-1]] and not key.startswith(f"{dataset}/ill=0.5")
    }
    summaries = summarize(Results(TINY, left))
    for preset in ("sqrt", "max"):
        assert len(check_claims(summaries, preset=preset)) == len(STATEMENTS)
    agreements(summaries["compare"])


def test_every_claim_is_judged_where_everything_was_run(tiny):
    claims = check_claims(summarize(read_results(tiny)))
    judged = {claim.statement for claim in claims if claim.verdict != OPEN}
    assert {claim.statement for claim in claims} - judged <= {
        "WEAC-AL achieves the best scores on Seeds",
        "GP-MGLA and HBGF are the two fastest above 5,000 rows",
        "ECMC and WCC are the two slowest, SRS the third slowest",
    }


def test_the_page_has_every_table_and_figure(tiny, tmp_path):
    page = paper.write_report(tiny, tmp_path / "page.md")
    text = page.read_text()
    for heading in (
        "Table 1",
        "Tables 2 and 3",
        "Tables 4 and 5",
        "Tables 6 and 7",
        "Figure 2",
        "Figure 3",
        "Figure 4",
    ):
        assert f"## {heading}" in text
    for name in ("figure2", "figure3_best-k", "figure3_true-k", "figure4"):
        assert f"](page/{name}.png)" in text
        for kind in ("png", "svg"):
            assert (tmp_path / "page" / f"{name}.{kind}").stat().st_size > 1000
    for name in paper.EXPERIMENTS:
        assert (
            (tmp_path / "page" / f"{name}.csv").read_text().startswith("experiment,dataset,method,setting,k,score,runs")
        )
        assert (tiny / f"runs_{name}.csv").exists()
    verdicts = [claim.verdict for claim in check_claims(summarize(read_results(tiny)))]
    counts = [verdicts.count(verdict) for verdict in (HOLDS, FAILS, OPEN)]
    assert "of {} statements of the paper, {} hold here, {} do not and {} were".format(len(STATEMENTS), *counts) in text
    assert "nan" not in text
    paper.write_report(tiny, tmp_path / "again" / "page.md")
    assert (tmp_path / "again" / "page.md").read_text() == text
    for path in (tmp_path / "page").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / "page" / path.name).read_bytes(), path.name


def test_the_time_of_the_pools_is_reported(tiny, tmp_path):
    drawn = sum(member["seconds"] for path in (tiny / "pools").iterdir() for member in peek(path)[1].values())
    assert drawing_seconds(tiny) == pytest.approx(drawn)
    assert drawn > 0
    (tmp_path / "pools").mkdir()
    (tmp_path / "pools" / "iris.sqlite").touch()
    assert drawing_seconds(tmp_path) == 0


def test_other_choices_are_shown(tiny, tmp_path):
    other = replace(TINY, scale="standard", runs=2)
    paper.reproduce(tmp_path, other, experiments=["compare"], datasets=["iris"], methods=["GP-MGLA"], n_jobs=1)
    text = paper.write_report(tiny, tmp_path / "page.md", compare_with=[tmp_path]).read_text()
    assert "| column | GP-MGLA, as above | GP-MGLA, runs: 2; scale: standard | WEAC-AL, as above |" in text
    mine, theirs = (summarize(read_results(folder))["compare"] for folder in (tiny, tmp_path))
    shown = [
        next(row.difference for row in rows if row.method == "GP-MGLA" and row.score == "max")
        for rows in (mine, theirs)
    ]
    assert f"| Iris, best-k | {shown[0]:+.3f} | {shown[1]:+.3f} |" in text
    theirs_true = next(row.difference for row in theirs if (row.k, row.score) == ("true-k", "max"))
    size = f"{(abs(shown[1]) + abs(theirs_true)) / 2:.3f} (2)"
    line = next(line for line in text.splitlines() if line.startswith("| mean absolute difference (columns) |"))
    assert [cell.strip() for cell in line.split("|")][3::2] == [size, "–"]
    nearest, smallest = min(zip(("as above", "runs: 2; scale: standard"), shown, strict=True), key=lambda x: abs(x[1]))
    far_off = (
        f"| Iris, best-k | GP-MGLA | {shown[0]:+.3f} | {nearest} | {smallest:+.3f} | {min(shown):+.3f} to "
        f"{max(shown):+.3f} |"
    )
    assert (far_off in text) == (abs(shown[0]) > 0.05)


def test_claims_are_shown_only_for_the_same_methods(tiny):
    results = read_results(tiny)
    summaries = summarize(results)

    def without(*lost):
        kept = {key: piece for key, piece in results.pieces.items() if key.split("/", 3)[-1] not in lost}
        return claims_elsewhere(TINY, summaries, {"scale: standard": summarize(Results(TINY, kept))})

    everything = without()
    assert "another choice (scale: standard)" in everything
    for claim in check_claims(summaries):
        line = f"{claim.measured} | **{claim.verdict}**"
        assert (f"| {claim.statement} | {line} | {line} |" in everything) == (claim.verdict != OPEN)
    overall, stable = "GP-MGLA produces overall the best", "Both methods are stable"
    assert overall in without("ECMC-AL", "ECMC-CL", "ECMC-SL", "WCC")
    assert overall not in without("EAC-AL")
    assert stable in without("EAC-AL")
    assert stable not in without("WEAC-AL beta=4")


def test_reasons_are_shown_only_with_the_numbers_they_were_measured_on():
    def page(spec, best_k="run"):
        summaries = {name: [] for name in EXPERIMENTS}
        for method, seconds in {"GP-MGLA": 2.0, "EAC-AL": 1.0}.items():
            summaries["time"].append(Summary("time", "letters", method, "8000", "", "seconds", 3, seconds, 0.0, None))
        return compose_page(Results(spec, {}, best_k), summaries, {}, [], "assets", 0.0)

    assert Spec.from_plain(FULL.plain()) == FULL
    with_equations, as_the_program = page(FULL).split("WEAC as the authors' program")
    assert "work on patterns" in with_equations
    assert "likely reason" not in as_the_program
    for other in (page(FULL, "dataset"), page(replace(FULL, scale=None)), page(TINY)):
        assert "**does not hold**" in other
        assert "likely reason" not in other


def test_the_published_numbers_on_parameters_are_those_of_best_k():
    def distance(method, table, name, setting, k):
        return np.mean(
            [
                abs(published_value(table, d, name, setting) - published_value("compare_ce", d, method, k))
                for d in datasets.NAMES
            ]
        )

    means = [
        round(distance(*method, k), 3)
        for k in ("best-k", "true-k")
        for method in (
            ("GP-MGLA", "para_gp_mgla", "GP-MGLA", "alpha=0.5;beta=2"),
            ("WEAC-AL", "para_weac", "WEAC", "beta=2"),
        )
    ]
    reason = next(statement.reason for statement in STATEMENTS if "stable under" in statement.text)
    assert [float(number) for number in re.findall(r"0\.\d+", reason)] == means


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"grid": (*range(2, 31), 40, 60, 61)}, "grid: 2 to 30, 40, 60 to 61"),
        ({"grid": (*range(2, 31), 40, 60, 80, 100)}, "grid: 2 to 30, 40, …, 100"),
        ({"scale": None, "seed": 3}, "scale: none; seed: 3"),
        ({"generators": ("kmeans", "hmac")}, "generators: kmeans, hmac"),
        ({"name": "other"}, "unchanged"),
    ],
)
def test_another_spec_is_named_by_what_it_changes(changed, name):
    assert choice_name(TINY, replace(TINY, **changed)) == name


def test_a_number_is_shown_once_all_its_runs_are_there(tiny):
    results = read_results(tiny)
    short = {key: piece for key, piece in results.pieces.items() if key != "iris/ill=0/run=2/GP-MGLA"}
    rows = summarize(Results(TINY, short))["compare"]
    assert ("iris", "GP-MGLA") not in {(row.dataset, row.method) for row in rows}
    assert {("wine", "GP-MGLA"), ("iris", "WEAC-AL")} <= {(row.dataset, row.method) for row in rows}


def test_a_page_of_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(QuorateError):
        paper.write_report(tmp_path)


def test_a_page_of_part_of_the_work_says_what_is_missing(tmp_path):
    paper.reproduce(tmp_path, TINY, experiments=["compare"], datasets=["iris"], methods=["EAC-AL"], n_jobs=1)
    text = paper.write_report(tmp_path).read_text()
    assert "| compare | 3 of 16 | – |" in text
    assert "## Figure 2" not in text


def test_the_command_runs_an_experiment_and_writes_the_page(tmp_path, capsys):
    chosen = ["--quick", "--dataset", "iris", "--method", "eac-al", "--generator", "kmeans", "--jobs", "1"]
    assert main(["reproduce", "compare", str(tmp_path), *chosen]) == 0
    said = capsys.readouterr()
    assert "WEAC-AL is ahead of EAC-AL on average" in said.out
    assert "report.md" in said.err
    assert "| EAC-AL |" in (tmp_path / "report.md").read_text()
    assert main(["reproduce", "compare", str(tmp_path), "--quick"]) == 2
    assert "contains results of another protocol" in capsys.readouterr().err


def test_the_command_reports_what_is_there(tiny, tmp_path, capsys):
    page = tmp_path / "page.md"
    assert main(["reproduce", "report", str(tiny), "-o", str(page), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["page"] == str(page)
    assert {claim["verdict"] for claim in found["claims"]} <= {HOLDS, FAILS, OPEN}
    assert main(["reproduce", "report", str(tiny), "--best-k", "month"]) == 2
    assert "Error: --best-k must be one of 'run', 'dataset'" in capsys.readouterr().err


def test_the_command_says_which_experiments_exist(capsys):
    assert main(["reproduce", "tables", "results"]) == 2
    said = capsys.readouterr().err
    assert "There is no experiment 'tables'" in said
    assert "all, compare, parameters, base, wins, ill, time, report" in said
