"""Several tables combined by their row IDs."""

import numpy as np
import pandas as pd
import pytest

import quorate as qt
from quorate.cli import main, run
from support import raises


@pytest.fixture
def analysts(tmp_path):
    """Three tables of the same 60 samples in different orders; the last one has clustered only 50 of them."""
    random = np.random.default_rng(0)
    truth = np.arange(60) % 3
    frames = {}
    for number, name in enumerate(("alice", "bob", "carol")):
        labels = np.where(random.random(60) < 0.1, random.integers(0, 3, 60), truth)
        frame = pd.DataFrame({"sample": [f"s{i:02d}" for i in range(60)], "cluster": labels})
        frames[name] = frame.sample(frac=1, random_state=number)[: 50 if name == "carol" else 60]
        frames[name].to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path, frames


def test_tables_are_joined_by_their_ids(analysts):
    folder, frames = analysts
    paths = [str(folder / f"{name}.csv") for name in frames]
    assert main(["combine", *paths, "--id", "sample", "-k", "3", "-q", "-o", str(folder / "out.csv")]) == 0
    written = pd.read_csv(folder / "out.csv")
    assert written["sample"].tolist() == frames["alice"]["sample"].tolist()
    aligned = [frame.set_index("sample")["cluster"].reindex(written["sample"]) for frame in frames.values()]
    labels = np.column_stack([column.to_numpy() for column in aligned])
    assert qt.evaluate(written["consensus"], qt.consensus(labels, 3).labels).ari == 1


def test_equal_names_are_preceded_by_the_file(analysts, capsys):
    folder, frames = analysts
    assert main(["weigh", str(folder / "alice.csv")]) == 0
    capsys.readouterr()
    assert main(["combine", *(str(folder / f"{name}.csv") for name in frames), "-k", "3", "--json"]) == 0
    assert '"alice_cluster"' in capsys.readouterr().out


def test_ids_must_be_unique_and_present(analysts):
    folder, frames = analysts
    pd.concat([frames["bob"], frames["bob"][:3]]).to_csv(folder / "twice.csv", index=False)
    frames["bob"][["cluster"]].assign(other=frames["bob"]["cluster"]).to_csv(folder / "without.csv", index=False)
    with raises("duplicate-id"):
        run(["combine", str(folder / "alice.csv"), str(folder / "twice.csv"), "--id", "sample"])
    with raises("no-id"):
        run(["combine", str(folder / "alice.csv"), str(folder / "without.csv")])
