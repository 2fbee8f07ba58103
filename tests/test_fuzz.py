"""Mutated files and arguments through every command: each run answers or complains in one line, and leaves nothing.

The cases are those of benchmarks/fuzz.py, which tells one by its seed: `python -m benchmarks.fuzz --seed 123`.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.mutations import N_ROWS, originals

from quorate.benchmarking.public_pools import read_pool
from quorate.cli import main

pytest.importorskip("anndata", reason="the campaign mutates files of anndata too")

ROOT = Path(__file__).resolve().parents[1]
NO_TABLES = ("features", "model", "saved", "work")


def test_every_original_is_fine(tmp_path, capsys):
    for name, content in originals().items():
        (tmp_path / name).write_bytes(content)
        if name.endswith(".mat"):
            assert read_pool(tmp_path / name).labels.shape == (N_ROWS, 4)
        elif not name.startswith(NO_TABLES):
            assert main(["combine", str(tmp_path / name), "-k", "2", "-q", "--json"]) == 0, capsys.readouterr().err


def check_cases(first, n_cases, log):
    """Run some cases in a process of their own, and return how many were answered (0) and refused (2)."""
    command = [sys.executable, "-m", "benchmarks.fuzz", "--work", str(first), str(first + n_cases), "--log", str(log)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [case for case in told if case.get("trouble")] == []
    return Counter(case["code"] for case in told if "code" in case)


def test_mutated_files_and_arguments(tmp_path):
    codes = check_cases(0, 300, tmp_path / "log.jsonl")
    assert codes.total() == 300
    assert min(codes[0], codes[2]) > 20


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_mutated_files_and_arguments(tmp_path, part):
    assert check_cases(1000 + 500 * part, 500, tmp_path / "log.jsonl").total() == 500
