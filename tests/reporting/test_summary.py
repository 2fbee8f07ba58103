"""Summaries: one schema, whether the patterns are in memory or read in blocks."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import quorate as qt
from quorate.ensemble import pattern_codes
from quorate.reporting import Origin, summarize
from quorate.reporting.summary import summarize_blocks
from quorate.tables.out_of_core import pattern_blocks
from quorate.tables.out_of_core.block_consensus import fit_blocks


@pytest.fixture
def ensemble():
    random = np.random.default_rng(0)
    truth = np.arange(240) // 80
    members = [np.where(random.random(240) < 0.15, random.integers(0, 3, 240), truth) for _ in range(8)]
    return qt.Ensemble(members)


def in_blocks(ens, monkeypatch):
    """Return the same ensemble with its patterns in a store."""
    monkeypatch.setattr(pattern_blocks, "BLOCK", 7)
    codes, counts = pattern_codes(ens), ens.row_counts
    store = SimpleNamespace(n_patterns=len(codes), read=lambda start, stop: (codes[start:stop], counts[start:stop]))
    return pattern_blocks.StoredEnsemble(ens.names, ens.levels, ens.noise, ens.n_rows, store)


@pytest.mark.parametrize("k", [3, "auto"])
def test_summary_of_blocks_has_the_same_schema(ensemble, monkeypatch, k):
    method = qt.LWGP(k)
    whole = summarize(method.fit(ensemble), Origin(), n_clusters=[3])
    blocks = summarize_blocks(fit_blocks(method, in_blocks(ensemble, monkeypatch)), Origin())
    json.dumps(blocks)
    assert blocks.keys() == whole.keys()
    for part in ("source", "method", "choice", "structure", "reliability", "repeat"):
        assert blocks[part].keys() == whole[part].keys(), part
    (answer,) = blocks["answers"]
    expected = next(answer for answer in whole["answers"] if answer["k"] == 3)
    assert answer.keys() == expected.keys()
    assert [cluster["size"] for cluster in answer["clusters"]] == [c["size"] for c in expected["clusters"]]
    assert blocks["source"]["missing"] == whole["source"]["missing"] == 0
    assert blocks["members"] == whole["members"]
    assert blocks["headline"] == whole["headline"]
