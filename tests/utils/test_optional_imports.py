"""Without its optional packages, the core combines arrays, and everything else names the extra to install."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import quorate as qt
from quorate import cli
from quorate._runtime.progress import track
from quorate._utils.optional_imports import EXTRAS
from quorate.errors import MissingPackageError

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MEMBERS = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]


@pytest.fixture
def core_only(monkeypatch):
    """Hide every optional package."""
    for name in list(sys.modules):
        if name.partition(".")[0] in EXTRAS:
            monkeypatch.setitem(sys.modules, name, None)
    for name in EXTRAS:
        monkeypatch.setitem(sys.modules, name, None)


def csv_file(folder):
    (folder / "labels.csv").write_text("a,b\n1,1\n1,2\n2,2\n")
    return folder / "labels.csv"


NEEDS = {
    "consensus_file": ("tables", lambda folder: qt.consensus_file(csv_file(folder), folder / "out.csv")),
    "save": ("tables", lambda folder: qt.save(qt.Ensemble(MEMBERS), folder)),
    "load": ("tables", lambda folder: qt.load(folder)),
    "datasets.load": ("tables", lambda folder: qt.datasets.load(csv_file(folder))),
    "cluster_file": ("arrow", lambda folder: qt.cluster_file(csv_file(folder), folder / "out.csv")),
    "report": ("report", lambda folder: qt.report(qt.consensus(MEMBERS, 2), folder / "report.html")),
    "progress": ("cli", lambda folder: qt.progress().__enter__()),
    "progress=True": ("cli", lambda folder: list(track([1], 1, "Working", True))),
    "plot": ("plot", lambda folder: qt.plot.agreement(MEMBERS)),
    "explore": ("explore", lambda folder: qt.explore(MEMBERS, open_browser=False)),
    "explore inline": ("notebook", lambda folder: qt.explore(MEMBERS, inline=True)),
    "to_sql": ("sql", lambda folder: qt.consensus(MEMBERS, 2).to_sql("duckdb")),
    "to_frame": ("pandas", lambda folder: qt.consensus(MEMBERS, 2).to_frame()),
}


@pytest.mark.parametrize("need", NEEDS)
def test_what_needs_an_extra_names_it_in_one_sentence(core_only, tmp_path, need):
    extra, call = NEEDS[need]
    with pytest.raises(MissingPackageError) as caught:
        call(tmp_path)
    assert caught.value.code == "missing-package"
    assert re.fullmatch(rf'[^.:]+ needs the package \w+: pip install "quorate\[{extra}\]"', str(caught.value))


@pytest.mark.parametrize("arguments", [[], ["--version"], ["combine", "labels.csv"]])
def test_the_command_without_its_extra_prints_one_sentence(core_only, capsys, arguments):
    assert cli.main(arguments) == cli.BAD_INPUT
    assert capsys.readouterr().err == 'Error: The quorate command needs the package typer: pip install "quorate[cli]"\n'


CORE_ONLY = """
import sys, warnings

class Hidden:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Hidden)
import numpy as np, quorate as qt
result = qt.consensus({members}, 2)
result.estimator.save(sys.argv[1])
assert (qt.load(sys.argv[1]).predict(np.array({members}).T) == result.labels).all()
warnings.simplefilter("ignore", qt.QuorateWarning)
qt.ConsensusClustering(2, n_members=5, random_state=0).fit(np.arange(60.0).reshape(30, 2))
print(result.labels.tolist())
"""


def test_the_core_combines_arrays(tmp_path):
    code = CORE_ONLY.format(names=set(EXTRAS), members=MEMBERS)
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "result.npz"], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[0, 0, 0, 0, 1, 1]\n", 0), done.stderr


def test_no_bar_is_shown_unless_requested_or_possible(core_only, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert list(track([1, 2], 2, "Working", None)) == [1, 2]


def test_every_extra_is_declared():
    declared = PROJECT["optional-dependencies"]
    assert set(EXTRAS.values()) <= declared.keys()
    core = {re.match(r"[\w-]+", line)[0].replace("-", "_") for line in PROJECT["dependencies"]}
    assert not core & EXTRAS.keys()
