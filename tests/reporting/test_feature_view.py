"""The features' view of a report: which rows are drawn where, what sets clusters apart, and the page itself."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import quorate as qt
from browser import Page, open_browser
from quorate.cli import main
from quorate.cli.combine import print_summary
from quorate.cli.repeat_command import cluster_command
from quorate.reporting.clustered_files import summarize_clusters
from quorate.reporting.feature_view import FeatureRows, choose_points, features_of, view_features
from support import raises

NAMES = ("x", "y")
SQUARE = np.array([[0.0, 5], [0, 5], [10, 5], [10, 6]])


def rows_of(values, labels, weights=None, names=NAMES):
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    return FeatureRows(values, names, weights, lambda cut: (np.asarray(labels), np.ones(len(values))))


def cut(k):
    return SimpleNamespace(n_clusters=k)


def test_features_that_set_a_cluster_apart():
    view = view_features(rows_of(SQUARE, [0, 0, 1, 1]), [cut(2)])
    # x is 0 and 10 in halves: mean 5, deviation 5; the means differ by 10 = 2 deviations
    assert view["distinctive"]["2"][0][0] == {
        "feature": 0, "difference": -2.0, "inside": 0.0, "outside": 10.0, "text": "x = 10: 0% (others 100%)",
    }  # fmt: skip
    assert view["distinctive"]["2"][1][0] == {
        "feature": 0, "difference": 2.0, "inside": 10.0, "outside": 0.0, "text": "x = 10: 100% (others 0%)",
    }  # fmt: skip
    assert [one["feature"] for one in view["distinctive"]["2"][0]] == [0, 1]


def test_the_page_names_clusters_that_one_column_separates(tmp_path):
    random = np.random.default_rng(0)
    yes = np.repeat([0, 1], 100)
    frame = pd.DataFrame({"x": random.normal(size=200), "y": random.normal(size=200), "yes": yes})
    fitted = qt.ConsensusClustering(2).fit(frame)
    (split,) = fitted.distinctive_features_.splits
    assert split.name == "yes"
    with open_browser() as browser, Page(browser) as page:
        page.open(qt.report(fitted, tmp_path / "report.html"))
        page.page.wait_for_selector("html[data-drawn=true]")
        assert page.run("document.getElementById('feature-splits').textContent") == " ".join(
            fitted.distinctive_features_.sentences
        )
    # Where the members were not made from these features, there is nothing to leave out.
    rows = rows_of(frame.to_numpy(), yes, names=tuple(frame.columns))
    (alone,) = view_features(rows, [cut(2)])["splits"]["2"]
    assert alone.endswith("(share of 1: 0% and 100%).")


def test_principal_components_are_named_with_their_share_of_variance():
    view = view_features(rows_of(SQUARE, [0, 0, 1, 1]), [cut(2)])
    assert view["components"]
    assert [axis[:4] for axis in view["axes"]] == ["PC1 ", "PC2 "]
    shares = [int(axis.split("(")[1].split("%")[0]) for axis in view["axes"]]
    assert shares[0] >= shares[1]
    assert sum(shares) == 100  # of two features


def test_rows_that_represent_several():
    once = view_features(rows_of(np.repeat(SQUARE, [1, 2, 3, 1], axis=0), [0, 0, 0, 1, 1, 1, 1]), [cut(2)])
    weighted = view_features(rows_of(SQUARE, [0, 0, 1, 1], [1, 2, 3, 1]), [cut(2)])
    assert weighted["distinctive"] == once["distinctive"]
    assert weighted["rows"] == once["rows"] == 7


def test_missing_numbers_rows_without_a_cluster_and_a_constant_feature():
    values = np.array([[0.0, 1], [np.nan, 1], [4, 1], [9, 1]])
    view = view_features(rows_of(values, [0, 0, 1, -1]), [cut(2)])
    assert np.isfinite(view["points"]).all()
    assert [one["difference"] for one in view["distinctive"]["2"][0] if one["feature"] == 1] == [0.0]
    alone = view_features(rows_of(values, [0, 0, 0, 0]), [cut(1)])
    assert alone["distinctive"]["1"] == [[]]  # nothing to be apart from


def test_a_plane_of_two_columns():
    values = np.column_stack([SQUARE, [7.0, 8, 9, 7]])
    rows = rows_of(values, [0, 0, 1, 1], names=("x", "u", "v"))
    view = view_features(rows.in_plane(("v", "u")), [cut(2)])
    assert view["points"][3] == [7.0, 6.0]
    assert (view["axes"], view["names"], view["components"]) == (["v", "u"], ["x"], False)
    both = rows_of(SQUARE, [0, 0, 1, 1]).in_plane(NAMES)
    assert both.names == NAMES  # there is no other feature
    with raises("unknown-column", "plane"):
        rows.in_plane(("v", "w"))
    with raises("two-columns", "plane"):
        rows.in_plane("v")


def test_points_are_drawn_by_weight_and_in_any_order():
    random = np.random.default_rng(0)
    values, weights = random.normal(size=(20_000, 2)), np.repeat([1.0, 9.0], 10_000)
    chosen = choose_points(values, weights, 1000)
    assert len(np.unique(chosen)) == 1000
    assert 850 < (chosen >= 10_000).sum() < 950
    order = random.permutation(len(values))
    again = order[choose_points(values[order], weights[order], 1000)]
    np.testing.assert_array_equal(np.sort(again), chosen)


def test_at_most_so_many_points_however_many_answers():
    random = np.random.default_rng(0)
    rows = rows_of(random.normal(size=(9000, 3)), random.integers(2, size=9000), names=("a", "b", "c"))
    assert len(view_features(rows, [cut(2)])["points"]) == 3000
    view = view_features(rows, [cut(k) for k in range(2, 22)])
    assert len(view["points"]) * 2 * 20 <= 40_000


@pytest.fixture(scope="module")
def wine():
    data = qt.datasets.load("wine")
    return pd.DataFrame(data.features, columns=list(data.feature_names)), data.classes


def test_an_estimator_brings_its_features(wine):
    frame, _ = wine
    fitted = qt.ConsensusClustering(3, n_members=4, random_state=0).fit(frame)
    rows = features_of(fitted)
    assert rows.names == tuple(frame.columns)
    np.testing.assert_array_equal(rows.labels_at(cut_at(fitted, 3))[0], fitted.labels_)
    labels = [np.random.default_rng(j).integers(3, size=len(frame)) for j in range(3)]
    result = qt.consensus(labels, 3)
    assert features_of(result) is None
    assert features_of(result, frame.assign(name="text")).names == tuple(frame.columns)
    with raises("length", "features"):
        features_of(result, frame[1:])


def cut_at(fitted, k):
    method = fitted.consensus_
    return SimpleNamespace(n_clusters=k, labels=method.pattern_labels_, confidence=method.pattern_labels_ * 0.0)


def test_all_rows_where_the_consensus_was_found_on_a_sample():
    random = np.random.default_rng(0)
    values = random.normal(size=(3000, 2)) + 9 * random.integers(2, size=(3000, 1))
    fitted = qt.ConsensusClustering(2, n_members=4, fit_rows=100, random_state=0).fit(values)
    rows = features_of(fitted, values)
    assert rows.labels_at(cut(2))[0] is fitted.labels_
    assert rows.labels_at(cut(3)) is None
    assert len(features_of(fitted).values) <= 500


@pytest.mark.filterwarnings("ignore:Left out")
def test_the_view_of_a_clustered_file_counts_all_rows(tmp_path, capsys):
    random = np.random.default_rng(0)
    group = random.integers(3, size=3000)
    values = random.normal(size=(3000, 2)) + 9 * group[:, None]
    frame = pd.DataFrame(values, columns=["a", "b"]).assign(u=values[:, 0] * 2, kind=group)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    found = qt.cluster_file(
        tmp_path / "rows.csv", tmp_path / "out.csv", ["a", "b"], 3, n_members=4, fit_rows=100, keep=["a"]
    )
    summary = summarize_clusters(found, name="rows.csv")
    assert summary["source"]["rows"] == 3000
    assert summary["features"]["sample"] == 100
    assert not summary["rows"]["all"]
    print_summary(summary)
    assert "The consensus was computed on a sample of 100 rows; then all rows were labeled." in capsys.readouterr().out
    written = next(answer for answer in summary["answers"] if answer["k"] == 3)
    assert [cluster["size"] for cluster in written["clusters"]] == found.sizes.tolist()
    other = next(answer for answer in summary["answers"] if answer["k"] == 2)
    assert abs(sum(cluster["size"] for cluster in other["clusters"]) - 3000) <= 1
    for answer in summary["answers"]:
        assert answer["finding"].startswith(f"{answer['k']} clusters (")
        if (split := answer["outlook"]["split"]) is not None:
            assert sum(split["sizes"]) <= answer["clusters"][split["cluster"]]["size"]
    # the rows of the sample are found again in the file
    np.testing.assert_allclose(found.sample.rows, values[found.trace.numbers])
    with raises("rows-not-in-memory", "truth"):
        qt.report(found, tmp_path / "report.html", truth=group)
    assert qt.report(found, tmp_path / "report.html").exists()


def test_the_command_for_another_number_of_clusters():
    words = ["rows.csv", "-k", "4", "--report=r.html", "-o", "out.csv", "--features", "a,b", "--model", "m.npz"]
    assert cluster_command(words, 7) == "quorate cluster rows.csv --features a,b -k 7 -o consensus_7.csv"


def test_the_page_draws_them(wine, tmp_path):
    frame, classes = wine
    fitted = qt.ConsensusClustering(3, n_members=6, random_state=0).fit(frame)
    path = qt.report(fitted, tmp_path / "report.html", truth=classes, n_clusters=[2, 3])
    with open_browser() as browser, Page(browser) as page:
        page.open(path)
        page.page.wait_for_selector("html[data-drawn=true]")
        assert page.run("document.querySelectorAll('#distinctive .panel').length") == 3
        assert len(page.column("distinctive-table", 0)) == 15
        agreement = {candidate.n_clusters: candidate.agreement for candidate in fitted.choice_.candidates}
        shown = dict(zip(page.column("candidates", 0), page.column("candidates", 2), strict=True))
        assert shown == {str(k): f"{value:.3f}" for k, value in agreement.items()}
        assert page.run("document.querySelectorAll('#kinds polyline').length") == 2
        inked = """(() => { const canvas = document.querySelector('#plane-clusters canvas');
            const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            const colors = new Set();
            for (let i = 0; i < pixels.length; i += 4) colors.add(pixels.slice(i, i + 3).join());
            return colors.size; })()"""
        assert page.run(inked) > 3
        page.page.click("#sizes [data-cluster='1']")
        assert page.run("document.querySelectorAll('#distinctive .panel').length") == 1
        page.page.click("#fewer")
        assert page.run("document.querySelectorAll('#distinctive .panel').length") == 2
        assert page.problems == []


def test_columns_of_the_plane_are_not_reported_as_ignored(tmp_path, capsys):
    random = np.random.default_rng(0)
    values = random.normal(size=(300, 2)) + 9 * random.integers(3, size=(300, 1))
    pd.DataFrame(values, columns=["a", "b"]).assign(u=values[:, 0], v=values[:, 1], name="x").to_csv(
        tmp_path / "rows.csv", index=False
    )
    command = ["cluster", str(tmp_path / "rows.csv"), "-k", "3", "-m", "3", "--plane", "u,v", "-o", "-"]
    assert main(command) == 0
    warning = capsys.readouterr().err.splitlines()[0]
    assert "Ignored columns: name (" in warning
    assert "u (" not in warning


def test_equal_rows_are_no_sample(tmp_path):
    random = np.random.default_rng(0)
    values = random.integers(0, 3, size=(400, 2)) + 9 * random.integers(2, size=(400, 1))
    pd.DataFrame(values, columns=["a", "b"]).to_csv(tmp_path / "rows.csv", index=False)
    found = qt.cluster_file(tmp_path / "rows.csv", tmp_path / "out.csv", ["a", "b"], 2, n_members=4)
    summary = summarize_clusters(found, name="rows.csv")
    assert summary["features"]["sample"] == len(np.unique(values, axis=0)) < 400
    assert summary["features"]["whole"]
    text = qt.report(found, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "computed on a sample" not in text
    assert "Equal rows are drawn and listed" in text
