"""The examples run, print and draw, and show what they say."""

import runpy
from pathlib import Path

import pytest

import quorate as qt

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def pyplot(monkeypatch):
    """Matplotlib without a screen; figures are forgotten afterwards."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_prints_and_draws(path, pyplot, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    assert pyplot.get_fignums()
    assert path.read_text().startswith('"""\n'), "the gallery wants a title"


def test_the_gallery_is_large_enough():
    assert len(list(EXAMPLES.glob("*.py"))) >= 10


def test_leiden_resolutions(pyplot, capsys):
    names = runpy.run_path(str(EXAMPLES / "leiden_resolutions.py"))
    adata = names["adata"]
    columns = [name for name in adata.obs if name.startswith("leiden_")]
    alone = [qt.evaluate(adata.obs[name], adata.obs["cell_type"]).ari for name in columns]
    assert qt.evaluate(adata.obs["consensus"], adata.obs["cell_type"]).ari > max(alone)


def test_three_analysts(pyplot, capsys):
    names = runpy.run_path(str(EXAMPLES / "three_analysts.py"))
    alone = [qt.evaluate(names["segments"][name].dropna(), names["segment"][names["segments"][name].notna()]).ari
             for name in ("ana", "ben", "eva")]  # fmt: skip
    assert qt.evaluate(names["result"].labels, names["segment"]).ari > max(alone)
    agreed = names["agreed"].labels >= 0
    assert qt.evaluate(names["result"].labels[agreed], names["segment"][agreed]).ari > 0.99


def test_topic_models(pyplot, capsys):
    names = runpy.run_path(str(EXAMPLES / "topic_models.py"))
    assert qt.evaluate(names["result"].labels, names["theme"]).ari > max(names["alone"])
