"""AnnData objects: recognized, combined by keys of obs, and asked for keys at once."""

import os
import signal
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import quorate as qt
from quorate.integrations.anndata import is_annotated
from support import raises, warns

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    anndata = pytest.importorskip("anndata", reason="AnnData is not installed")

KEYS = ["leiden_0.5", "leiden_1.0", "louvain"]


def as_objects(texts):
    """Return texts as AnnData can save them with any pandas."""
    return pd.Index(list(texts), dtype=object)


@pytest.fixture
def adata():
    rng = np.random.default_rng(0)
    types = np.arange(60) % 3
    obs = pd.DataFrame({"n_genes": rng.random(60)}, index=as_objects(f"cell_{i}" for i in range(60)))
    for key in KEYS:
        labels = np.where(rng.random(60) < 0.1, rng.integers(3, size=60), types)
        obs[key] = pd.Categorical(as_objects(map(str, labels)))
    return anndata.AnnData(X=np.zeros((60, 2), dtype=np.float32), obs=obs, var=pd.DataFrame(index=as_objects("gh")))


def test_the_answer_is_written_next_to_the_members(adata):
    result = qt.consensus(adata, 3, keys=KEYS, key_added="joint")
    plain = qt.consensus(adata.obs[KEYS], 3)
    assert (result.labels == plain.labels).all()
    assert (adata.obs["joint"].astype(int) == plain.labels).all()
    assert str(adata.obs["joint"].dtype) == "category"
    assert np.allclose(adata.obs["joint_confidence"], plain.confidence)
    assert np.allclose(adata.obs["joint_margin"], plain.margin)
    assert adata.obs["joint_runner_up"].cat.codes.tolist() == plain.runner_up.tolist()
    assert list(adata.uns["joint"]["params"]["keys"]) == KEYS
    assert np.allclose(adata.uns["joint"]["weights"], plain.member_weights)
    assert np.allclose(adata.uns["joint"]["trust"], qt.trust(plain.ensemble))


def test_what_is_written_can_be_saved(adata, tmp_path):
    qt.consensus(adata, 3, "weac", keys=KEYS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata.write_h5ad(tmp_path / "cells.h5ad")
        again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert (again.obs["consensus"].astype(str) == adata.obs["consensus"].astype(str)).all()
    assert again.uns["consensus"]["params"]["method"] == "weac"
    assert list(again.uns["consensus_colors"]) == list(adata.uns["consensus_colors"])


def test_categories_are_text_and_each_has_a_color(adata):
    qt.consensus(adata, 3, keys=KEYS)
    for key in ("consensus", "consensus_runner_up"):
        assert adata.obs[key].cat.categories.tolist() == ["0", "1", "2"]
        assert len(set(adata.uns[f"{key}_colors"])) == 3


def test_a_copy_is_annotated_and_the_original_is_not(adata):
    columns = list(adata.obs.columns)
    annotated = qt.consensus(adata, 3, keys=KEYS, copy=True)
    assert list(adata.obs.columns) == columns
    assert not adata.uns
    assert (annotated.obs["consensus"].astype(int) == qt.consensus(adata.obs[KEYS], 3).labels).all()
    with raises("anndata-only", parameter="copy"):
        qt.consensus(adata.obs[KEYS], 3, copy=True)


def test_backed_objects_give_the_same_labels(adata, tmp_path):
    expected = qt.consensus(adata, 3, keys=KEYS, copy=True).obs["consensus"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata.write_h5ad(tmp_path / "cells.h5ad")
        backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    qt.consensus(backed, 3, keys=KEYS)
    assert backed.isbacked
    assert (backed.obs["consensus"] == expected).all()
    with raises("backed-copy", parameter="copy"):
        qt.consensus(backed, 3, keys=KEYS, copy=True)
    backed.file.close()


def test_every_method_accepts_a_seed_and_random_ones_record_it(adata):
    plain = qt.consensus(adata, 3, keys=KEYS).labels
    assert (qt.consensus(adata, 3, keys=KEYS, random_state=5).labels == plain).all()
    assert "random_state" not in adata.uns["consensus"]["params"]
    qt.consensus(adata, 3, "hbgf", keys=KEYS, random_state=5, init="random")
    params = adata.uns["consensus"]["params"]
    assert (params["random_state"], params["init"], params["n_clusters"]) == (5, "random", 3)


def test_ids_of_an_earlier_result_are_categories_with_their_own_colors(adata):
    before = qt.consensus(adata, 3, keys=KEYS).labels + 4
    qt.consensus(adata, 3, keys=KEYS, like=before, key_added="again")
    assert adata.obs["again"].cat.categories.tolist() == ["4", "5", "6"]
    assert (adata.obs["again"].astype(int) == before).all()
    assert set(adata.obs["again_runner_up"].dropna()) <= {"4", "5", "6"}
    assert not set(adata.uns["again_colors"]) & set(adata.uns["consensus_colors"])


def test_abstaining_leaves_doubtful_cells_without_a_cluster(adata):
    result = qt.consensus(adata, 3, keys=KEYS, abstain=0.9)
    assert (adata.obs["consensus"].isna() == (result.confidence < 0.9)).all()
    assert 0 < adata.obs["consensus"].isna().sum() < 60


def test_cells_without_labels_have_no_cluster(adata):
    adata.obs.loc["cell_5", KEYS] = np.nan
    with warns("rows-without-labels"):
        qt.consensus(adata, 3, keys=KEYS)
    assert adata.obs["consensus"].isna().sum() == 1


def test_the_command_reads_h5ad(adata, tmp_path, capsys):
    from quorate.cli import main

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata.write_h5ad(tmp_path / "cells.h5ad")
    source, target = str(tmp_path / "cells.h5ad"), str(tmp_path / "a.csv")
    assert main(["combine", source, "--members", ",".join(KEYS), "-k", "3", "-o", target]) == 0
    answer = pd.read_csv(target)
    assert list(answer["obs_names"]) == list(adata.obs_names)
    assert (answer["consensus"] == qt.consensus(adata.obs[KEYS], 3).labels).all()
    (tmp_path / "broken.h5ad").write_bytes(b"no such thing")
    assert main(["combine", str(tmp_path / "broken.h5ad")]) == 2
    assert "is not an AnnData file" in capsys.readouterr().err


def test_a_library_that_crashes_on_a_file_takes_nothing_along(tmp_path, monkeypatch):
    from quorate.tables.io import untrusted_files

    def crash(file):
        os.kill(os.getpid(), signal.SIGSEGV)

    monkeypatch.setattr(untrusted_files, "_read_obs", crash)
    with raises("damaged-file"):
        untrusted_files.load_obs(tmp_path / "cells.h5ad", "cells.h5ad")


@pytest.mark.parametrize("call", [lambda a: qt.consensus(a, 14), qt.Ensemble, lambda a: qt.WEAC(3).fit(a), qt.ncai])
def test_without_keys_one_message_names_the_candidates(adata, call):
    with raises("anndata-keys"):
        call(adata)


def test_bad_keys_are_named_and_nothing_is_written(adata):
    columns = list(adata.obs.columns)
    with raises("unknown-column", parameter="keys"):
        qt.consensus(adata, 3, keys=["leiden_0.6", "louvain"])
    with raises("key-added"):
        qt.consensus(adata, 3, keys=KEYS, key_added="louvain")
    with raises("choice"):
        qt.consensus(adata, 3, "no-such", keys=KEYS)
    with raises("anndata-only"):
        qt.consensus(adata.obs[KEYS], 3, keys=KEYS)
    assert list(adata.obs.columns) == columns
    assert not adata.uns


def test_it_is_recognized_without_importing_it(adata):
    assert is_annotated(adata)
    assert not is_annotated(adata.obs)
    assert sys.modules["quorate.integrations.anndata"].__dict__.get("anndata") is None
