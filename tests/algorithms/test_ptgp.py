"""PTGP."""

import pytest

import quorate as qt
from method_checks import assert_same_partitions


def test_graph_cut_on_the_running_example(running_example):
    cut = qt.PTGP(n_clusters=3, n_neighbors=2, n_steps=2).fit(running_example)
    assert cut.eigenvalues_[:3] == pytest.approx([1, 0.0955, 0.0279], abs=5e-5)
    assert cut.labels_.tolist() == [0, 0, 1, 1, 2, 2]


def test_patterns_without_links_are_components():
    assert qt.PTGP(n_clusters=3).fit_predict([[0, 0, 1, 2]]).tolist() == [0, 0, 1, 2]


def test_graph_cuts_agree_with_the_authors_program(authors_reference):
    ens, answers = authors_reference
    cut = qt.PTGP(n_clusters=2, init="first-row").fit(ens)
    eigenvalues = answers["ptgp_eigenvalues"]
    assert cut.solution_.cuts.spectrum(len(eigenvalues)).values[: len(eigenvalues)] == pytest.approx(
        eigenvalues, abs=1e-9
    )
    for k in answers["ks"]:
        points = cut.solution_.cuts.embedding(k)
        assert points @ points[0] == pytest.approx(answers[f"ptgp_gram_pattern0_k{k}"], abs=1e-7)
    assert_same_partitions(cut.sweep(answers["ks"]), answers["ptgp_first_pattern_labels"])


def test_order_of_members_does_not_break_ties():
    """Patterns (0, 0) and (0, 4) mirror each other; the last three have no links, and only rounding moved them."""
    members = [[0, 0, 0, 1, 2, 3], [0, 0, 4, 1, 2, 3]]
    one, other = (qt.PTGP(n_clusters=2).fit_predict(ordered) for ordered in (members, members[::-1]))
    assert one.tolist() == other.tolist()
