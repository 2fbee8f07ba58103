"""The examples run and show what they say."""

import runpy
from pathlib import Path

import quorate as qt

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_leiden_resolutions(capsys):
    names = runpy.run_path(str(EXAMPLES / "leiden_resolutions.py"))
    names["main"]()
    assert "5 clusters of 600 cells" in capsys.readouterr().out
    adata = names["synthetic_cells"]()
    result = names["add_consensus"](adata)
    assert adata.obs["consensus"].nunique() == result.n_clusters
    columns = [name for name in adata.obs if name.startswith("leiden_")]
    alone = [qt.evaluate(adata.obs[name], adata.obs["cell_type"]).ari for name in columns]
    assert qt.evaluate(result.labels, adata.obs["cell_type"]).ari > max(alone)
