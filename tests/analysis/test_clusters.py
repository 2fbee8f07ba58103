"""Names of consensus clusters from the text labels of their members."""

import json

import numpy as np
import pytest

import quorate as qt
from quorate.cli import main

ALICE = ["B cells"] * 5 + ["T cells"] * 5
BOB = ["B cells"] * 4 + ["NK cells"] + ["T cells"] * 5


def test_equal_texts_of_members_add_up_by_weight():
    result = qt.consensus([ALICE, BOB, [0] * 5 + [1] * 5], 2, "eac", weights=[1.0, 3.0, 2.0])
    first, second = result.clusters
    assert first.name == "B cells"
    assert dict(first.label_shares) == pytest.approx({"B cells": (5 + 3 * 4) / 20, "NK cells": 3 / 20})
    assert second.label_shares == (("T cells", 1.0),)


@pytest.mark.filterwarnings("ignore::quorate.QuorateWarning")
def test_missing_labels_and_members_without_weight_do_not_count():
    partly = [None] * 3 + ["B"] * 2 + ["T"] * 5
    result = qt.consensus([ALICE, partly], 2, "eac", weights=[0.0, 1.0])
    # Three rows have no label from a member of positive weight.
    assert [cluster.label_shares for cluster in result.clusters] == [(("T", 1.0),), (("B", 1.0),)]


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], ["0", "0", "12", "12"], ["-1.5", "-1.5", "2", "2"]])
def test_labels_that_are_numbers_give_no_names(labels):
    result = qt.consensus([labels, [0, 0, 1, 1]], 2)
    assert [cluster.name for cluster in result.clusters] == [None, None]
    assert "name" not in result.to_frame()


def test_only_the_three_commonest_texts_are_listed():
    texts = ["a"] * 4 + ["b"] * 3 + ["c"] * 2 + ["d"]
    result = qt.consensus([texts, [0] * 10], 1, "eac")
    assert dict(result.clusters[0].label_shares) == pytest.approx({"a": 0.4, "b": 0.3, "c": 0.2})


def test_frames_have_the_name_of_each_row():
    result = qt.consensus([ALICE, BOB], 2, "eac", abstain=0.99)
    names = result.to_frame()["name"]
    assert names.isna().tolist() == (result.labels < 0).tolist()
    assert 0 < names.isna().sum() < 10
    assert all(name == ALICE[row] for row, name in names.dropna().items())


@pytest.mark.filterwarnings("ignore::quorate.QuorateWarning")
def test_names_do_not_depend_on_the_order_of_rows():
    order = np.random.default_rng(0).permutation(10)
    shuffled = [[member[i] for i in order] for member in (ALICE, BOB)]
    first, second = qt.consensus([ALICE, BOB], 2), qt.consensus(shuffled, 2)
    assert [c.label_shares for c in first.clusters] == [c.label_shares for c in second.clusters]


def test_the_command_shows_names(tmp_path, capsys):
    table = tmp_path / "cells.csv"
    table.write_text("alice,bob\n" + "".join(f"{a},{b}\n" for a, b in zip(ALICE, BOB, strict=True)))
    assert main(["combine", str(table), "-k", "2", "--members", "alice,bob"]) == 0
    out = capsys.readouterr().out
    assert "T cells 100%" in out
    assert "B cells 90%" in out
    assert main(["combine", str(table), "-k", "2", "--members", "alice,bob", "--json"]) == 0
    (answer,) = (a for a in json.loads(capsys.readouterr().out)["answers"] if a["k"] == 2)
    assert answer["clusters"][0]["label_shares"] == [["B cells", 0.9], ["NK cells", 0.1]]
