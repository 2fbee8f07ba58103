"""What the explorer gives to take away: its Python code and its command, run as they are, give the page's labels."""

import shlex

import numpy as np
import pandas as pd
import pytest

testclient = pytest.importorskip("starlette.testclient", reason='Install it with: pip install "quorate[explore]"')

from quorate.cli import main  # noqa: E402
from quorate.cli.explore import open_bench  # noqa: E402
from quorate.cli.table_source import Source  # noqa: E402
from quorate.explorer.server import make_app  # noqa: E402

QUERIES = [
    {},
    {"k": 3, "members": [0, 2, 3, 4]},
    {"method": "weac", "k": 5, "params": {"linkage": "complete", "beta": 3.5}},
    {"method": "gp-mgla", "k": 4, "weights": {"1": 0.25, "3": 0}, "params": {"alpha": 0.3}},
    {"method": "lwgp", "k": 3, "weights": {"0": 0.5}},
]


@pytest.fixture
def table():
    """Labels of words and numbers, some of them noise, under names that need quotes."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 150)
    found = {"cell id": [f"cell {i}" for i in range(150)]}
    for j, name in enumerate(["plain", "with, comma", 'it\'s "quoted"', "ünïcode", "five"]):
        codes = np.where(rng.random(150) < 0.15, rng.integers(0, 4, 150), truth)
        codes = np.where(rng.random(150) < 0.05, -1, codes)
        found[name] = [f"type {code}" for code in codes] if j == 3 else codes
    return pd.DataFrame(found)


def page_labels(source, query):
    """Return the labels, the code and the command that the page of a table has for an answer."""
    bench = open_bench(source, None, None, quiet=True)
    with testclient.TestClient(make_app(bench, "secret"), base_url="http://127.0.0.1") as client:
        post = lambda part, question: client.post(f"/secret/api/{part}", json={"tab": "t", "request": question})  # noqa: E731
        answer = post("answer", {"query": query}).json()
        saved = post("labels", {"query": query, "format": "csv"})
    return pd.read_csv(pd.io.common.BytesIO(saved.content)), answer["python"], answer["command"]


@pytest.mark.parametrize(
    ("query", "kind", "noise"), [*((query, "csv", "missing") for query in QUERIES), (QUERIES[3], "parquet", "cluster")]
)
def test_code_and_command_give_the_labels_of_the_page(table, tmp_path, monkeypatch, query, kind, noise):
    monkeypatch.chdir(tmp_path)
    file = f"my labels' table.{kind}"
    table.to_csv(file, index=False) if kind == "csv" else table.to_parquet(file)
    shown, code, command = page_labels(Source(file, id_column="cell id", noise=noise), query)
    assert shown["cell id"].tolist() == table["cell id"].tolist()

    space = {}
    exec(code, space)
    assert space["result"].labels.tolist() == shown["consensus"].tolist()

    words = shlex.split(command)
    assert words[0] == "quorate"
    assert main([*words[1:], "--quiet"]) == 0
    written = pd.read_csv(words[words.index("-o") + 1])
    assert written["cell id"].tolist() == table["cell id"].tolist()
    assert written["consensus"].tolist() == shown["consensus"].tolist()


@pytest.mark.parametrize("members", [None, [0, 5], [6], [1, 2, 6]])
def test_soft_members_of_a_table(table, tmp_path, monkeypatch, members):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    soft = {"gmm": ["gmm, 0", "gmm, 1", "gmm, 2"], "lda": ["lda_a", "lda_b"]}
    for columns in soft.values():
        table[columns] = rng.dirichlet(np.ones(len(columns)), len(table)).round(4)
    table.to_csv("soft.csv", index=False)
    source = Source("soft.csv", id_column="cell id", soft=["gmm*", "lda_*"])
    shown, code, command = page_labels(source, {"method": "lwgp", "k": 3, **({"members": members} if members else {})})
    space = {}
    exec(code, space)
    assert space["result"].labels.tolist() == shown["consensus"].tolist()
    words = shlex.split(command)
    assert main([*words[1:], "--quiet"]) == 0
    written = pd.read_csv(words[words.index("-o") + 1])
    assert written["consensus"].tolist() == shown["consensus"].tolist()
