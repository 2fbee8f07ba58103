"""The examples in the README and in the docs are run: sessions, blocks of Python, and lines of the command."""

import ctypes
import doctest
import inspect
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from docs import pages
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import quorate as qt

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
# Where a page speaks of a package that is not needed otherwise, its blocks are run if that is installed.
PACKAGES = {
    "pyspark": "pyspark",
    "dask": "distributed",
    "adata": "anndata",
    "inline": "anywidget",
    "sknetwork": "sknetwork",
}


# Tutorials need further packages; the large one takes more than 20 seconds.
TUTORIALS = {"single-cell-tutorial.md": ("scanpy", "sknetwork"), "fifty-thousand-cells.md": ("sknetwork",)}
SLOW = ("fifty-thousand-cells.md",)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in SLOW else []) for page in PAGES],
)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_examples_are_true(page):
    for package in TUTORIALS.get(page.name, ()):
        pytest.importorskip(package)
    if page.name in TUTORIALS:
        if sys.platform != "linux":
            pytest.skip("The Leiden of scikit-network draws from the C library: figures are those of Linux")
        ctypes.CDLL(None).srand(1)  # as in a new process
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.failed == 0


def test_the_tour_has_examples():
    assert doctest.testfile(str(ROOT / "docs" / "guide.md"), module_relative=False).attempted > 10


def test_the_reference_has_every_public_name_once():
    listed = re.findall(r"^   quorate\.(\w+)$", pages.reference_page(), re.MULTILINE)
    assert sorted(listed) == sorted(set(qt.__all__) - pages.MODULES.keys())


def test_the_template_of_the_reference_exists():
    """Sphinx takes its own template instead, without a warning, and pages of classes would lack their members."""
    templates = set(re.findall(r":template: (.+)", pages.reference_page()))
    assert templates
    assert [name for name in templates if not (ROOT / "docs" / "_templates" / name).exists()] == []


def test_pages_of_classes_list_attributes_once_and_no_hooks():
    hidden = set(pages.hidden_members("WEAC").split(", "))
    assert {"labels_", "dendrogram_", "linkage", "idea", "why_all_patterns"} <= hidden
    assert hidden.isdisjoint(pages.METHODS_OF_ESTIMATORS)
    assert {"n_members", "row_pattern", "derived"} <= set(pages.hidden_members("Ensemble").split(", "))
    assert pages.hidden_members("consensus") == ""


@pytest.mark.parametrize("name", [name for name in qt.__all__ if inspect.isfunction(getattr(qt, name))])
def test_public_functions_describe_their_parameters_and_have_an_example(name):
    text, parameters = inspect.getdoc(getattr(qt, name)), inspect.signature(getattr(qt, name)).parameters
    assert "Parameters\n" in text or not parameters
    assert ">>> " in text or name == "explore"  # which opens a browser


def test_the_tests_of_guarantees_exist():
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "reliability.md").read_text())
    code = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 60
    assert [name for name in named if f"def {name}(" not in code] == []


@pytest.mark.parametrize("info", qt.methods(), ids=lambda info: info.name)
def test_the_page_of_a_method_says_all_it_knows(info):
    page = pages.method_page(info)
    for text in (
        info.idea,
        info.equation,
        info.strength,
        info.weakness,
        info.when,
        info.citation,
        info.cost,
        info.exact,
    ):
        assert text in page.replace("\\|", "|")
    assert all(reason in page for reason in info.exceptions.values())


def test_every_link_of_llms_txt_is_a_page():
    links = re.findall(r"\]\(_sources/(.+?)\.txt\)", pages.llms_page())
    generated = {f"_generated/methods/{info.name}.md" for info in qt.methods()}
    assert generated <= set(links)
    assert {"guide.md", "how-to/single-cell.md"} <= set(links)
    assert [link for link in links if link not in generated and not (ROOT / "docs" / link).exists()] == []
    listed = {f"how-to/{page.name}" for page in (ROOT / "docs" / "how-to").glob("*.md")}
    assert listed <= set(links)


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of a page in a language that are not sessions with their answers."""
    fenced = re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [block for its_language, block in fenced if its_language == language and ">>>" not in block]


def commands(page: Path) -> list[str]:
    """Lines that call the command; the demo has tests of its own, and the explorer waits for a person."""
    lines = [line for block in blocks(page, "") for line in block.splitlines()]
    return [line for line in lines if re.search(r"^(\w+ .*\| )?quorate (?!demo|explore)", line)]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with what a reader of the docs would have at hand."""
    X, classes = make_blobs(120, centers=4, n_features=3, cluster_std=1.5, random_state=0)
    labels = pd.DataFrame({f"kmeans_{k}": KMeans(k, n_init=1, random_state=k).fit_predict(X) for k in (3, 5, 9)})
    labels["dbscan"] = np.where(np.arange(120) % 10 == 0, -1, classes)
    features = pd.DataFrame(X, columns=["height", "width", "depth"])
    labels.assign(**{"class": classes}).to_csv(tmp_path / "labels.csv", index=False)
    features.to_csv(tmp_path / "features.csv", index=False)
    shutil.copy(tmp_path / "features.csv", tmp_path / "data.csv")
    customers = labels.set_axis([f"c{i}" for i in range(120)]).rename_axis("customer")
    customers.to_csv(tmp_path / "february_labels.csv")
    for month, rows in (("january", slice(0, 110)), ("february", slice(5, 120))):
        customers[["kmeans_5"]].rename(columns={"kmeans_5": "consensus"})[rows].to_csv(tmp_path / f"{month}.csv")
    for k in (4, 5):
        shares = np.random.default_rng(k).dirichlet(np.ones(k), 120)
        customers[[f"gmm{k}_{c}" for c in range(k)]] = shares
    customers.to_csv(tmp_path / "customers.csv")
    (tmp_path / "labels").mkdir()
    labels.to_parquet(tmp_path / "labels" / "part.parquet")
    labels.assign(**{"class": classes}).to_csv(tmp_path / "labels.csv.gz", index=False)
    (tmp_path / "pools").mkdir()
    pool = pd.concat([labels.add_suffix(f"_{i}") for i in range(3)], axis=1)
    pool.assign(**{"class": classes}).to_csv(tmp_path / "pools" / "blobs.csv", index=False)
    (tmp_path / "vote.py").write_text("def majority(labels, n_clusters):\n    return labels[:, 0]\n")
    monkeypatch.chdir(tmp_path)
    return {"qt": qt, "X": X, "labels": labels, "classes": classes}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_blocks_of_python_run(page, desk, monkeypatch):
    code = "\n".join(blocks(page, "python"))
    for word, package in PACKAGES.items():
        if word in code:
            pytest.importorskip(package)
    if "pyspark" in code and not shutil.which("java"):
        pytest.skip("Spark needs Java")
    if "pyspark" in code or "dask" in code:  # engines live as long as their process
        guarded = "if __name__ == '__main__':\n" + textwrap.indent(code, "    ")
        Path("page.py").write_text(guarded)
        assert run([sys.executable, "page.py"]) == ""
        assert list(Path("labels_with_consensus").glob("*.parquet"))
        return
    if "adata" in code:
        import anndata

        keys = [f"leiden_{resolution}" for resolution in (0.3, 0.5, 0.8, 1.2, 2.0)]
        obs = pd.DataFrame({key: desk["labels"]["kmeans_5"].astype(str).to_numpy() for key in keys})
        desk["adata"] = anndata.AnnData(desk["X"], obs=obs.set_index(obs.index.astype(str)))
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    before = set(desk)
    exec(compile(code, page.name, "exec"), desk)
    assert set(desk) - before


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_lines_of_the_command_run(page, desk):
    for line in commands(page):
        if "-o consensus.csv" in line:
            Path("consensus.csv").unlink(missing_ok=True)
        assert run(["bash", "-c", re.sub(r"\bquorate ", f"{sys.executable} -m quorate ", line)]) or "-o" in line


def run(command: list[str]) -> str:
    """Run a command as a reader would and return what it prints; it must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command[-1]}\n{done.stderr}"
    return done.stdout


R_MARK = "# ---- next block ----"


def r_blocks() -> tuple[list[str], list[str]]:
    """The blocks of R code of the page about R, and the output that the page shows after each, if any."""
    page = (ROOT / "docs" / "how-to" / "r.md").read_text(encoding="utf-8")
    pairs = re.findall(r"^```r\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", page, re.DOTALL | re.MULTILINE)
    return [code for code, _ in pairs], [output for _, output in pairs]


def test_r_prints_what_its_page_shows(tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed (Debian: r-base-core r-cran-reticulate r-bioc-consensusclusterplus)")
    for package in ("reticulate", "ConsensusClusterPlus"):
        if subprocess.run(["Rscript", "--vanilla", "-e", f"library({package})"], capture_output=True).returncode:
            pytest.skip(
                f"the R package {package} is not installed (Debian: r-cran-reticulate, r-bioc-{package.lower()})"
            )
    code, shown = r_blocks()
    script = tmp_path / "page.R"
    script.write_text(f"\ncat('{R_MARK}\\n')\n".join(code), encoding="utf-8")
    environment = {**os.environ, "RETICULATE_PYTHON": sys.executable, "PYTHONPATH": str(Path(qt.__file__).parents[1])}
    command = ["Rscript", "--vanilla", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(f"{R_MARK}\n") == shown
    assert sum(map(bool, shown)) >= 6
