"""Damaged files and arguments: every command succeeds, or prints one error of one line, and leaves no file.

The cases are those of tests/fuzz.py: `python tests/fuzz.py --seed 123` runs one of them.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mutations import N_ROWS, originals
from quorate.benchmarking.public_pools import read_pool
from quorate.cli import main

pytest.importorskip("anndata", reason='needs anndata: pip install "quorate[anndata]"')

ROOT = Path(__file__).resolve().parents[2]
NO_TABLES = ("features", "model", "saved", "work")


def test_undamaged_files_are_read(tmp_path, capsys):
    for name, content in originals().items():
        (tmp_path / name).write_bytes(content)
        if name.endswith(".mat"):
            assert read_pool(tmp_path / name).labels.shape == (N_ROWS, 4)
        elif not name.startswith(NO_TABLES):
            assert main(["combine", str(tmp_path / name), "-k", "2", "-q", "--json"]) == 0, capsys.readouterr().err


def check_cases(first, n_cases, log):
    """Run cases in another process, and return how many succeeded (0) and were refused (2)."""
    command = [sys.executable, "tests/fuzz.py", "--work", str(first), str(first + n_cases), "--log", str(log)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cases = [json.loads(line) for line in log.read_text().splitlines()]
    assert [case for case in cases if case.get("failure")] == []
    return Counter(case["code"] for case in cases if "code" in case)


def test_mutated_files_and_arguments(tmp_path):
    codes = check_cases(0, 300, tmp_path / "log.jsonl")
    assert codes.total() == 300
    assert min(codes[0], codes[2]) > 20


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_mutated_files_and_arguments(tmp_path, part):
    assert check_cases(1000 + 500 * part, 500, tmp_path / "log.jsonl").total() == 500
