"""Change the package's code in small ways, one at a time, and see whether the nearest tests notice.

    python tools/mutate.py MODULE [MODULE ...] [--per-module N] [--timeout SECONDS] [--results FILE]

A mutant differs from a module of `quorate` in one comparison, sum or product, number, or truth value. Its tests run in
a process of their own on a copy of the package. Verdicts are appended to FILE as they come; a mutant that is there
already is not run again.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "quorate"
TESTS = {
    "kmeans.py": ["test_kmeans.py"],
    "_kernels/lloyd.py": ["test_kmeans.py"],
    "scale/blocks.py": ["test_tables.py -k blocks_of_patterns"],
    "scale/blockwise.py": ["test_tables.py -k blocks_of_patterns"],
    "linkage.py": ["test_linkage.py"],
    "crowd.py": ["test_crowd.py"],
    "links.py": ["test_links.py", "test_baselines.py -k 'wct or srs'"],
    "tcut.py": ["test_tcut.py"],
    "patterns.py": ["test_ensemble.py", "test_growing.py"],
}
_COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def mutate(node: ast.AST) -> str | None:
    """Change one node in place and say how, or return None where there is nothing to change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        node.ops[0] = _COMPARISONS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _ARITHMETIC:
        node.op = _ARITHMETIC[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert | ast.USub):
        node.op = ast.UAdd()
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        node.value = not node.value
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        node.value = node.value + 1
    else:
        return None
    return ast.unparse(node)


def places(tree: ast.Module) -> Iterator[int]:
    """Yield the numbers of nodes that can be changed, in the order of `ast.walk`; types and texts are left alone."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        annotations = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        skipped |= {id(part) for annotation in annotations if annotation for part in ast.walk(annotation)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in skipped and mutate(copy.deepcopy(node)) is not None:
            yield number


def mutant(source: str, number: int) -> tuple[str, str]:
    """Return the source with one node changed, and a line that says where and how."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[number]
    before, line = ast.unparse(node), getattr(node, "lineno", 0)
    after = mutate(node)
    return ast.unparse(tree), f"line {line}: {before} -> {after}"


def verdict(folder: Path, module: str, timeout: float) -> str:
    """Return what the nearest tests say about the package in a folder: killed, survived or timeout."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
    for tests in TESTS[module]:
        name, *choice = tests.split(" ", 1)
        command = f"{sys.executable} -m pytest -x -q -n 0 -p no:cacheprovider tests/{name} {' '.join(choice)}"
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=timeout, shell=True)
        except subprocess.TimeoutExpired:
            return "timeout"
        if done.returncode not in (0, 5):
            return "killed"
    return "survived"


def main() -> None:
    """Run what is not in the results yet, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", choices=TESTS)
    parser.add_argument("--per-module", type=int, default=30)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--results", type=Path, default=Path("mutants.jsonl"))
    arguments = parser.parse_args()
    known = (
        [json.loads(line) for line in arguments.results.read_text().splitlines()] if arguments.results.exists() else []
    )
    with tempfile.TemporaryDirectory() as temporary:
        copied = Path(temporary) / "quorate"
        shutil.copytree(SOURCE, copied, ignore=shutil.ignore_patterns("__pycache__"))
        for module in arguments.modules:
            source = (SOURCE / module).read_text()
            if verdict(Path(temporary), module, arguments.timeout) != "survived":
                sys.exit(f"The tests of {module} fail without any change.")
            numbers = list(places(ast.parse(source)))
            random.Random(0).shuffle(numbers)
            for number in numbers[: arguments.per_module]:
                changed, what = mutant(source, number)
                if any(one["module"] == module and one["what"] == what for one in known):
                    continue
                (copied / module).write_text(changed)
                known.append(
                    {"module": module, "what": what, "verdict": verdict(Path(temporary), module, arguments.timeout)}
                )
                with arguments.results.open("a") as results:
                    results.write(json.dumps(known[-1]) + "\n")
            (copied / module).write_text(source)
    for module in arguments.modules:
        found = [one["verdict"] for one in known if one["module"] == module]
        print(f"{module}: {len(found) - found.count('survived')} of {len(found)} noticed")


if __name__ == "__main__":
    main()
