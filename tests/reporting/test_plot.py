"""Figures: drawn at the sizes people have, on their axes, with labels that do not collide."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

import quorate as qt
from quorate.analysis.diagnosis import Diagnosis
from quorate.reporting import plot
from quorate.reporting.cut_views import sweep_view
from quorate.reporting.figure_views import MATRIX_SAMPLES, flow_view, matrix_view, tree_view
from quorate.reporting.fitted_input import fitted_method
from quorate.reporting.member_views import agreement_view, member_rows
from quorate.reporting.palette import cluster_colors
from support import raises

mpl.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")


def fitted(n_clusters, n_members, n_rows=800, method=qt.WEAC):
    rng = np.random.default_rng(n_clusters)
    truth = rng.integers(0, n_clusters, n_rows)
    labels = [np.where(rng.random(n_rows) < 0.15, rng.integers(0, n_clusters, n_rows), truth) for _ in range(n_members)]
    labels[-1] = rng.integers(0, n_clusters, n_rows)
    return truth, method(n_clusters).fit(np.stack(labels, axis=1))


@pytest.fixture(scope="module", params=[(3, 5), (40, 100)], ids=["3 clusters, 5 members", "40 clusters, 100 members"])
def answer(request):
    return fitted(*request.param)


DRAWINGS = {
    "agreement": lambda truth, method, ax: plot.agreement(method.ensemble_, ax=ax),
    "trust": lambda truth, method, ax: plot.trust(method.ensemble_, ax=ax),
    "consensus_matrix": lambda truth, method, ax: plot.consensus_matrix(method, ax=ax),
    "dendrogram": lambda truth, method, ax: plot.dendrogram(method, ax=ax),
    "cluster_sizes": lambda truth, method, ax: plot.cluster_sizes(method, ax=ax),
    "choose_k": lambda truth, method, ax: plot.choose_k(method, ax=ax),
    "by_n_clusters": lambda truth, method, ax: plot.by_n_clusters(method, [2, 3, 40], truth=truth, ax=ax),
    "flow": lambda truth, method, ax: plot.flow(method, 0, ax=ax),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_figures_are_drawn_and_their_labels_do_not_collide(name, answer):
    ax = DRAWINGS[name](*answer, None)
    try:
        ax.figure.draw_without_rendering()
        assert ax.get_title()
        texts = [text for text in [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels()]
                 if text.get_text() and text.get_visible()]  # fmt: skip
        assert not collisions([text.get_window_extent() for text in texts])
    finally:
        pyplot.close(ax.figure)


def collisions(boxes):
    """Return pairs of boxes that overlap by more than a sliver."""
    found = []
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            wide = min(one.x1, other.x1) - max(one.x0, other.x0)
            tall = min(one.y1, other.y1) - max(one.y0, other.y0)
            if wide > 1.5 and tall > 1.5:
                found.append((one, other))
    return found


@pytest.mark.parametrize("name", DRAWINGS)
def test_figures_accept_axes_and_return_them(name):
    truth, method = fitted(3, 5, n_rows=60)
    figure, ax = pyplot.subplots()
    try:
        assert DRAWINGS[name](truth, method, ax) is ax
        assert pyplot.get_fignums() == [figure.number]
    finally:
        pyplot.close(figure)


def test_a_graph_has_no_dendrogram():
    _, method = fitted(3, 5, n_rows=60, method=qt.GPMGLA)
    with raises("no-dendrogram"):
        plot.dendrogram(method)


def test_a_tree_whose_leaves_are_rows_is_drawn_over_patterns():
    labels = np.array([[1, -1, 0], [1, 1, -1], [0, -1, 1], [0, -1, 1], [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 1, 1]])
    method = qt.SRS(2).fit(labels)
    assert len(method.dendrogram_.leaf_pattern) > method.ensemble_.n_patterns
    assert tree_view(method.solution_, method.n_clusters_).rows.sum() == len(labels)


def test_without_matplotlib_the_extra_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import quorate as qt\n"
        "try: qt.plot.trust([[0, 0, 1, 1], [0, 1, 1, 1]])\n"
        "except qt.QuorateError as error: print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "quorate[plot]"' in found.stdout


# What is drawn ------------------------------------------------------------------------------------------------------


def test_the_matrix_is_the_evidence_of_its_patterns(answer):
    _, method = answer
    view = matrix_view(method)
    assert len(view.rows) <= MATRIX_SAMPLES + method.n_clusters_
    assert view.rows.sum() == method.ensemble_.n_rows
    assert np.array_equal(view.labels, np.sort(view.labels))
    assert np.array_equal(view.labels, method.pattern_labels_[view.patterns])
    sizes = np.bincount(view.labels, weights=view.rows)
    assert np.array_equal(sizes, [cluster.size for cluster in method.clusters_])
    if method.ensemble_.n_patterns < 1000:
        evidence = qt.coassociation(method.ensemble_, method.member_weights_)
        assert view.coassociation == pytest.approx(evidence[np.ix_(view.patterns, view.patterns)])


def test_the_matrix_of_rows_with_gaps():
    labels = [[0, 0, 1, None, 1], [0, None, 1, 1, 1], [None, 2, 2, 3, 3]]
    method = qt.WEAC(2).fit(labels)
    view = matrix_view(method)
    evidence = qt.coassociation(method.ensemble_, method.member_weights_)
    assert view.coassociation == pytest.approx(evidence[np.ix_(view.patterns, view.patterns)])


def test_constant_columns_do_not_rank_first():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    good = [np.where(rng.random(200) < 0.1, rng.integers(0, 3, 200), truth) for _ in range(4)]
    ens = qt.Ensemble([np.zeros(200), *good, np.zeros(200)])
    ax = plot.trust(ens)
    names = [label.get_text() for label in ax.get_yticklabels()]
    pyplot.close(ax.figure)
    assert set(names[-2:]) == {"member_0", "member_5"}
    assert [row.trust for row in member_rows(ens)][::5] == [0, 0]
    view = agreement_view(ens, order=False)
    assert view.values[0, 5] == 0  # two constant columns share no information
    assert agreement_view(ens, order=False, measure="nmi").values[0, 5] == 1


def test_similar_members_are_neighbors():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    view = agreement_view([one, other, one, other, one])
    assert sorted("".join("a" if j % 2 == 0 else "b" for j in view.order)) == list("aaabb")
    assert "".join("a" if j % 2 == 0 else "b" for j in view.order) in ("aaabb", "bbaaa")


def test_the_tree_stands_on_all_rows_and_is_cut_between_clusters(answer):
    _, method = answer
    view = tree_view(method.solution_, method.n_clusters_)
    k = method.n_clusters_
    assert view.rows.sum() == method.ensemble_.n_rows
    assert set(view.labels) == set(range(k))
    tops = view.segments[:, 1, 1]
    assert (tops > view.cut_height).sum() == k - 1
    assert np.array_equal(view.colors < 0, tops > view.cut_height)


def test_flows_keep_all_rows():
    _, method = fitted(5, 4)
    view = flow_view(method, "member_1")
    assert view.table.sum() == 800
    assert view.table.sum(axis=0).tolist() == [cluster.size for cluster in method.clusters_]
    many = qt.WEAC(3).fit([np.arange(200) // 2, np.arange(200) // 70])
    view = flow_view(many, 0)
    assert view.table.sum() == 200
    assert any(name.endswith("others") for name in view.left)


def test_answers_by_k_are_those_of_sweep():
    _, method = fitted(6, 6)
    view = sweep_view(Diagnosis(method.solution_, method.n_clusters_), [2, 4, 6])
    swept = method.sweep([2, 4, 6])
    for cut, labels in zip(view.cuts, swept.T, strict=True):
        assert np.array_equal(cut.labels[method.ensemble_.row_pattern], labels)
        assert cut.histogram.sum() == 800
    assert view.choice.n_clusters == qt.WEAC("auto").fit(method.ensemble_).n_clusters_


@pytest.mark.parametrize("blindness", ["none", "deutan", "protan", "tritan"])
def test_colors_of_few_clusters_differ_for_every_eye(blindness):
    """Eight colors, seen with each kind of dichromacy (Vienot 1999; Brettel 1997 in one plane), differ clearly."""
    see = {
        "none": np.eye(3),
        "protan": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
        "deutan": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
        "tritan": np.array([[1, 0.15236, -0.15236], [0, 0.86717, 0.13283], [0, 0.86717, 0.13283]]),
    }[blindness]
    seen = [_lab(np.clip(see @ _linear(color), 0, 1)) for color in cluster_colors(8)]
    distances = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[i + 1 :]]
    assert min(distances) > 15


def test_forty_clusters_have_forty_colors():
    assert len(set(cluster_colors(40))) == 40


def _linear(color):
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _lab(rgb):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    f = np.cbrt(np.maximum(xyz / np.array([0.9505, 1.0, 1.089]), 1e-6))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_figures_take_results_and_estimators_from_features():
    _, method = fitted(3, 5)
    result = qt.consensus(method.ensemble_, 3, "weac")
    for draw in (
        plot.consensus_matrix,
        plot.dendrogram,
        plot.cluster_sizes,
        plot.choose_k,
        plot.by_n_clusters,
        plot.agreement,
        plot.trust,
    ):
        pyplot.close(draw(result).figure)
    pyplot.close(plot.flow(result, 0).figure)
    assert np.array_equal(matrix_view(fitted_method(result)).labels, matrix_view(method).labels)
    model = qt.ConsensusClustering(3, n_members=3, random_state=0).fit(qt.datasets.load("wine").features)
    pyplot.close(plot.cluster_sizes(model).figure)
