"""Figures: drawn at the sizes people have, on their axes, with labels that do not collide."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

import quorate as qt
from quorate.reporting import plot
from quorate.reporting.figure_views import matrix_view, resolution_tree_view
from quorate.reporting.fitted_input import fitted_method
from quorate.reporting.member_views import agreement_view, member_rows
from support import noisy_consensus, raises

mpl.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")


DRAWINGS = {
    "agreement": lambda truth, method, ax: plot.agreement(method.ensemble_, ax=ax),
    "trust": lambda truth, method, ax: plot.trust(method.ensemble_, ax=ax),
    "consensus_matrix": lambda truth, method, ax: plot.consensus_matrix(method, ax=ax),
    "dendrogram": lambda truth, method, ax: plot.dendrogram(method, ax=ax),
    "cluster_sizes": lambda truth, method, ax: plot.cluster_sizes(method, ax=ax),
    "choose_k": lambda truth, method, ax: plot.choose_k(method, ax=ax),
    "by_n_clusters": lambda truth, method, ax: plot.by_n_clusters(method, [2, 3, 40], truth=truth, ax=ax),
    "flow": lambda truth, method, ax: plot.flow(method, 0, ax=ax),
    "resolution_tree": lambda truth, method, ax: plot.resolution_tree(method, ax=ax),
    "spatial": lambda truth, method, ax: plot.spatial(method, np.stack([truth, truth % 7], axis=1), ax=ax),
    "layers": lambda truth, method, ax: plot.layers(method.layers([3, 12, 40]), ax=ax),
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
    truth, method = noisy_consensus(3, 5, n_rows=60)
    figure, ax = pyplot.subplots()
    before = pyplot.get_fignums()
    try:
        assert DRAWINGS[name](truth, method, ax) is ax
        assert pyplot.get_fignums() == before
    finally:
        pyplot.close(figure)


def test_a_graph_has_no_dendrogram():
    _, method = noisy_consensus(3, 5, n_rows=60, method=qt.GPMGLA)
    with raises("no-dendrogram"):
        plot.dendrogram(method)


def test_without_matplotlib_the_extra_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import quorate as qt\n"
        "try: qt.plot.trust([[0, 0, 1, 1], [0, 1, 1, 1]])\n"
        "except qt.QuorateError as error: print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "quorate[plot]"' in found.stdout


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


def test_figures_take_results_and_estimators_from_features():
    _, method = noisy_consensus(3, 5)
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


def test_the_tree_puts_finer_clusters_below_their_own_and_shows_the_mixed_ones():
    types = np.arange(60) % 3
    mixed = np.where(np.arange(60) < 30, 5, types)  # its first cluster takes rows of all types
    view = resolution_tree_view(qt.Ensemble({"mixed": mixed, "types": types, "fine": types * 2 + np.arange(60) // 30}))
    assert view.members == ("types", "mixed", "fine")
    assert view.sizes[0].tolist() == [20, 20, 20]
    assert view.origin[1].tolist() == pytest.approx([1, 1, 1, 1 / 3])
    assert view.shared[1].sum() == 60
    nested = resolution_tree_view(qt.Ensemble({"types": types, "fine": types * 2 + np.arange(60) // 30}))
    assert nested.origin[1].tolist() == [1] * 6
    parents = nested.shared[0].argmax(axis=0)
    order = np.argsort(nested.positions[1])
    assert parents[order].tolist() == sorted(parents.tolist())


@pytest.mark.parametrize("color", ["entropy", "confidence", "margin", "cluster"])
def test_maps_have_a_point_per_row_with_its_value(color):
    _, method = noisy_consensus(3, 5, n_rows=90)
    ax = plot.spatial(method, np.arange(180).reshape(90, 2), color=color)
    points = ax.collections[0]
    assert points.get_offsets().tolist() == np.arange(180).reshape(90, 2).tolist()
    if color == "cluster":
        assert len({tuple(color) for color in points.get_facecolors()}) == 3
    else:
        values = {"entropy": method.answer_.entropy[method.ensemble_.row_pattern]}
        assert points.get_array().tolist() == values.get(color, getattr(method, f"{color}_", None)).tolist()
    pyplot.close(ax.figure)


def test_layers_refuse_anything_else():
    with raises("not-layers", "nested"):
        plot.layers(qt.consensus([[0, 0, 1, 1]] * 2, 2))


def test_maps_refuse_wrong_coordinates():
    _, method = noisy_consensus(3, 5, n_rows=90)
    with raises("length", "xy"):
        plot.spatial(method, np.zeros((5, 2)))
    with raises("two-columns", "xy"):
        plot.spatial(method, np.zeros((90, 3)))
    with raises("choice", "color"):
        plot.spatial(method, np.zeros((90, 2)), color="red")
