"""MuData, SpatialData and scanpy: the same labels as for AnnData, written where their users look for them."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import quorate as qt
from support import raises

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    anndata = pytest.importorskip("anndata", reason="AnnData is not installed")

# AnnData copies and selects with an option that newer pandas no longer has.
pytestmark = pytest.mark.filterwarnings("ignore:The 'mode.chained_assignment' option")

KEYS = ["leiden_0.5", "leiden_1.0", "louvain"]


def cells(n=60, keys=KEYS, seed=0):
    """An AnnData object with noisy clusterings of three cell types."""
    rng = np.random.default_rng(seed)
    obs = pd.DataFrame(index=pd.Index([f"cell_{i}" for i in range(n)], dtype=object))
    for key in keys:
        labels = np.where(rng.random(n) < 0.1, rng.integers(3, size=n), np.arange(n) % 3)
        obs[key] = pd.Categorical(pd.Index(map(str, labels), dtype=object))
    features = rng.normal(size=(n, 2)).astype(np.float32)
    return anndata.AnnData(X=features, obs=obs, var=pd.DataFrame(index=pd.Index(["g", "h"], dtype=object)))


@pytest.fixture
def mudata():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("mudata", reason="MuData is not installed")


def two_modalities(mudata, rna, protein):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mudata.MuData({"rna": rna, "protein": protein})


def test_mudata_gives_the_labels_of_anndata(mudata):
    adata, other = cells(), cells(seed=1)
    mdata = two_modalities(mudata, adata, other)
    modality_keys = ["rna:leiden_0.5", "rna:louvain", "protein:leiden_0.5"]
    frame = pd.DataFrame(
        {key: (adata if key[:3] == "rna" else other).obs[key.partition(":")[2]] for key in modality_keys}
    )
    result = qt.consensus(mdata, 3, keys=modality_keys, key_added="joint")
    assert (result.labels == qt.consensus(frame, 3).labels).all()
    assert (mdata.obs["joint"].astype(int) == result.labels).all()
    assert list(mdata.uns["joint"]["params"]["keys"]) == modality_keys
    mdata.obs["own"] = adata.obs["leiden_1.0"]
    assert len(qt.consensus(mdata, 3, keys=["own", "rna:louvain"]).labels) == 60


@pytest.mark.filterwarnings("ignore")  # MuData warns when it copies
def test_one_modality_of_mudata_gives_the_labels_of_anndata(mudata):
    adata = cells()
    mdata = two_modalities(mudata, adata, cells(seed=1))
    expected = qt.consensus(adata, 3, keys=KEYS).labels
    assert (qt.consensus(mdata, 3, keys=[f"rna:{key}" for key in KEYS]).labels == expected).all()
    annotated = qt.consensus(mdata, 3, keys=[f"rna:{key}" for key in KEYS], key_added="copied", copy=True)
    assert (annotated.obs["copied"].astype(int) == expected).all()
    assert "copied" not in mdata.obs


def test_cells_outside_a_modality_have_no_label_in_it(mudata):
    adata, other = cells(), cells(seed=1)[:45].copy()
    mdata = two_modalities(mudata, adata, other)
    keys = ["rna:leiden_0.5", "rna:leiden_1.0", "protein:louvain"]
    ens = qt.consensus(mdata, 3, keys=keys).ensemble
    assert [int(np.isin(ens.row_pattern, np.flatnonzero(ens.patterns[:, j] < 0)).sum()) for j in range(3)] == [0, 0, 15]


def test_unknown_keys_of_mudata_name_the_modality_keys(mudata):
    mdata = two_modalities(mudata, cells(), cells(seed=1))
    with raises("unknown-column", parameter="keys") as caught:
        qt.consensus(mdata, 3, keys=["rna:leiden_0.6"])
    assert "'protein:louvain'" in str(caught.value)
    with raises("anndata-keys"):
        qt.consensus(mdata, 3)


class SpatialData(SimpleNamespace):
    """A stand-in with tables, for environments without SpatialData."""


SpatialData.__module__ = "spatialdata._core"


def spatial_object(tables):
    """Return a SpatialData object, or a stand-in if it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from spatialdata import SpatialData as Real
        except ImportError:
            return SpatialData(tables=tables)
        return Real(tables=tables)


def test_the_table_of_spatialdata_is_annotated():
    adata = cells()
    expected = qt.consensus(adata, 3, keys=KEYS, copy=True).obs["consensus"]
    sdata = spatial_object({"table": adata})
    qt.consensus(sdata, 3, keys=KEYS)
    assert (sdata.tables["table"].obs["consensus"] == expected).all()
    with raises("anndata-keys"):
        qt.consensus(sdata, 3)


def test_several_tables_of_spatialdata_raise():
    sdata = spatial_object({"spots": cells(), "nuclei": cells(seed=1)})
    with raises("spatialdata-tables"):
        qt.consensus(sdata, 3, keys=KEYS)
    assert len(qt.consensus(sdata.tables["nuclei"], 3, keys=KEYS).labels) == 60


@pytest.mark.filterwarnings("ignore")
def test_scanpy_draws_the_consensus_in_its_colors():
    scanpy = pytest.importorskip("scanpy", reason="scanpy is not installed")
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    adata = cells()
    adata.obsm["X_umap"] = np.asarray(adata.X)
    qt.consensus(adata, 3, keys=KEYS)
    colors = list(adata.uns["consensus_colors"])
    axes = scanpy.pl.umap(adata, color=["consensus", "consensus_confidence"], show=False)
    assert [axis.get_title() for axis in axes] == ["consensus", "consensus_confidence"]
    assert list(adata.uns["consensus_colors"]) == colors
    drawn = {matplotlib.colors.to_hex(color) for color in axes[0].collections[0].get_facecolors()}
    assert drawn == set(colors)
    plt.close("all")
