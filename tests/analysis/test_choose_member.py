"""Choosing among resolutions: the finest supported one, whatever the order of the members."""

import numpy as np
import pandas as pd
import pytest

import quorate as qt
from support import raises


@pytest.fixture
def members():
    """Three levels with structure, then random splits of the last one."""
    rng = np.random.default_rng(0)
    types = np.arange(900) % 9
    splits = {f"split_{parts}": types * parts + rng.integers(parts, size=900) for parts in (2, 3, 4)}
    return {"groups": types // 3, "pairs": types // 2, "types": types, **splits}


def test_random_refinement_is_not_chosen(members):
    choice = qt.choose_member(members)
    assert (choice.key, choice.member, choice.supported) == ("types", 2, True)
    assert choice.ranking[0].key == "types"
    by_key = {one.key: one for one in choice.evidence}
    assert by_key["types"].reproduced == pytest.approx(1)
    assert by_key["split_2"].score < by_key["types"].score
    assert np.isnan(by_key["split_4"].reproduced)  # nothing finer could test it


def test_the_order_and_the_form_of_the_members_do_not_matter(members):
    choice = qt.choose_member(members)
    backwards = qt.choose_member(dict(reversed(members.items())))
    assert backwards.key == choice.key
    assert backwards.null_share == pytest.approx(choice.null_share)
    frame = pd.DataFrame({key: labels.astype(str) for key, labels in members.items()})
    assert qt.choose_member(frame).key == choice.key
    assert qt.choose_member(qt.Ensemble(frame), keys=["groups", "pairs", "split_3"]).key in ("groups", "pairs")


def test_unrelated_members_are_not_supported():
    rng = np.random.default_rng(1)
    choice = qt.choose_member([rng.integers(k, size=500) for k in (2, 4, 8, 16, 32)])
    assert not choice.supported
    assert "weak" in choice.sentence


def test_the_reproduced_share_is_that_of_scikit_learn(members):
    """With one finer member: (I - E) / (H - E), from AMI with the smaller entropy as norm."""
    from sklearn.metrics import adjusted_mutual_info_score

    rng = np.random.default_rng(2)
    noisy = np.where(rng.random(900) < 0.2, rng.integers(9, size=900), members["types"])
    choice = qt.choose_member({"one": members["groups"] * 0, "groups": members["groups"], "noisy": noisy})
    expected = adjusted_mutual_info_score(members["groups"], noisy, average_method="min")
    assert choice.evidence[1].reproduced == pytest.approx(expected, abs=1e-6)


def test_columns_of_anndata_are_chosen_by_key(members):
    anndata = pytest.importorskip("anndata", reason="AnnData is not installed")
    obs = pd.DataFrame({key: pd.Categorical(labels) for key, labels in members.items()})
    adata = anndata.AnnData(X=np.zeros((900, 1)), obs=obs.set_index(obs.index.astype(str).astype(object)))
    assert qt.choose_member(adata, keys=list(members)).key == "types"
    with raises("anndata-keys"):
        qt.choose_member(adata)


def test_too_few_members_or_clusters_raise(members):
    with raises("few-members"):
        qt.choose_member([members["types"], members["groups"]])
    with raises("one-cluster"):
        qt.choose_member([[0, 0, 0]] * 3)
    # Members of one resolution: none was chosen for a reason.
    with raises("no-finer-member"):
        qt.choose_member([np.arange(90) % 3, np.arange(90) // 30, np.arange(90) // 10 % 3])


def test_the_table_and_the_figure_show_every_member(members):
    choice = qt.choose_member(members)
    assert choice.to_frame()["key"].tolist() == list(members)
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    ax = qt.plot.choose_member(choice)
    assert {text.get_text() for text in ax.texts} == set(members) - {"split_4"}
    # Members can be passed as they are.
    again = qt.plot.choose_member(qt.Ensemble(members))
    assert again.get_title() == ax.get_title()
    plt.close("all")
