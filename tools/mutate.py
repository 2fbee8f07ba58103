"""Change the package's code in small ways, one at a time, and see whether the nearest tests notice.

    python tools/mutate.py MODULE [MODULE ...] [--per-module N] [--lines N [N ...]] [--results FILE]

A mutant differs from a module of `quorate` in one comparison, sum or product, number, or truth value. It takes the
module's place in a copy of the package that keeps its compiled kernels. Its tests run in a fork of a process that has
imported everything but the package, the quickest first. Verdicts are appended to FILE as they come, with the processor
time they took; a mutant that in FILE is not run again, unless its line is requested.
"""

import argparse
import ast
import copy
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba
import pytest
from hypothesis import Phase, settings
from numba.core import caching

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "quorate"
KMEANS = ["tests/numerics/test_kmeans.py"]
BLOCKS = ["tests/tables/test_combining.py", "-k", "blocks_of_patterns or fit_into_memory or need_all_patterns"]
METHODS = [f"tests/algorithms/test_{name}.py" for name in ("ecpcs_hc", "lce", "pta", "srs", "tree", "wct")]
LINKAGE = ["tests/numerics/test_linkage.py", "tests/algorithms/test_lwea.py", "tests/utils/test_notebook_html.py"]
LINKAGE += ["-k", "test_linkage or (local and linked) or dendrogram"]
RELIABILITY = [
    "tests/test_reliability.py",
    "tests/numerics/test_mutual_information.py",
    "tests/algorithms/test_lwea.py",
]
RELIABILITY += ["-k", "test_reliability or test_mutual_information or certainty"]
LINKS = ["tests/test_cluster_similarity.py", "tests/numerics/test_linkage.py", *METHODS]
LINKS += ["-k", "test_cluster_similarity or rounds or nearest_group or walks or simrank or triples or dense_way"]
PATTERNS = ["tests/test_ensemble.py", "tests/persistence/test_ensemble_files.py"]
TESTS = {
    "numerics/kmeans.py": KMEANS,
    "_kernels/lloyd.py": KMEANS,
    "tables/out_of_core/pattern_blocks.py": BLOCKS,
    "tables/out_of_core/block_consensus.py": BLOCKS,
    "numerics/linkage.py": LINKAGE,
    "numerics/average_link.py": LINKAGE,
    "_kernels/merge_chain.py": ["tests/numerics/test_linkage.py"],
    "_kernels/linked_groups.py": ["tests/numerics/test_linkage.py"],
    "_kernels/nearest_groups.py": ["tests/numerics/test_linkage.py"],
    "_kernels/join_groups.py": ["tests/numerics/test_linkage.py"],
    "reliability.py": RELIABILITY,
    "numerics/mutual_information.py": RELIABILITY,
    "_kernels/chance.py": RELIABILITY,
    "_kernels/contingency.py": [*RELIABILITY[:2], "tests/test_cluster_similarity.py", *PATTERNS],
    "random_walks.py": LINKS,
    "cluster_similarity.py": LINKS,
    "_kernels/neighbor_sums.py": LINKS,
    "numerics/transfer_cut.py": ["tests/numerics/test_transfer_cut.py", "tests/algorithms/test_hbgf.py"],
    "patterns.py": PATTERNS,
    "_kernels/row_hashing.py": PATTERNS,
    "overlaps.py": PATTERNS,
}
"""The arguments of pytest for the tests nearest to each module."""
IMPORTED = ["_hypothesis_pytestplugin", "duckdb", "pandas", "polars", "pyarrow.dataset", "pyarrow.parquet"]
IMPORTED += ["scipy.cluster.hierarchy", "scipy.sparse.csgraph", "scipy.sparse.linalg", "scipy.stats"]
IMPORTED += ["sklearn.cluster", "sklearn.metrics"]
"""What tests and the package import, so that no fork has to."""
OPTIONS = [
    "-o",
    "addopts=--import-mode=importlib",
    "-m",
    "not slow",
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "_hypothesis_pytestplugin",
]
OPTIONS += ["--hypothesis-profile", "mutants", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
MEMORY = 16 << 30
DECLARING = {"strict", "frozen", "repr", "init"}  # arguments that say how something is held or checked
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
        node.ops = [_COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
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
    """Yield the numbers of nodes that can be changed, in the order of `ast.walk`; types and declarations stay."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        declared = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        declared += [node.value] if isinstance(node, ast.keyword) and node.arg in DECLARING else []
        skipped |= {id(part) for declaration in declared if declaration for part in ast.walk(declaration)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in skipped and mutate(copy.copy(node)) is not None:
            yield number


class Mutant(NamedTuple):
    """A module with one change."""

    source: str
    what: str
    """Where and how it differs."""
    line: int
    function: str | None
    """The function that differs, if any."""


def mutant(source: str, number: int) -> Mutant:
    """Return the source with one node changed."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[number]
    function = next(
        (f.name for f in ast.iter_child_nodes(tree) if isinstance(f, ast.FunctionDef) and node in ast.walk(f)), None
    )
    before, line, column = ast.unparse(node), node.lineno, node.col_offset  # type: ignore[attr-defined]
    after = mutate(node)
    return Mutant(ast.unparse(tree), f"line {line}, column {column}: {before} -> {after}", line, function)


def choose(module: str, n_mutants: int, lines: list[int], known: dict[tuple[str, str], str]) -> list[Mutant]:
    """Return all mutants of some lines, or those of the first so many, in a fixed random order, that are not known."""
    source = (SOURCE / module).read_text()
    tree = ast.parse(source)
    numbers = list(places(tree))
    random.Random(0).shuffle(numbers)
    if lines:
        nodes = list(ast.walk(tree))
        return [mutant(source, number) for number in numbers if nodes[number].lineno in lines]  # type: ignore[attr-defined]
    found = [mutant(source, number) for number in numbers[:n_mutants]]
    return [one for one in found if (module, one.what) not in known]


class Quickest:
    """A plugin of pytest that runs the tests known to be quick first, and notes how long each takes."""

    def __init__(self, notes: Path) -> None:
        self._notes = notes
        self._seconds: dict[str, float] = json.loads(notes.read_text()) if notes.exists() else {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the quickest first."""
        items.sort(key=lambda item: self._seconds.get(item.nodeid, 0.0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the time of a test, with what it prepares."""
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the notes if all went well."""
        if exitstatus == 0 and not self._notes.exists():
            self._notes.write_text(json.dumps(self._seconds))


def test_here(folder: Path, module: str, seconds: int) -> int:
    """Be the process of the tests; return the exit code of pytest."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.alarm(20 * seconds)  # for those that wait for ever
    said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT)])  # for processes that tests start
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.chdir(ROOT)
    sys.path[:0] = [str(folder), str(ROOT)]
    sys.dont_write_bytecode = True
    notes = folder / f"{module.replace('/', '.')}.json"
    return pytest.main([*OPTIONS, *TESTS[module]], plugins=[Quickest(notes)])


def run_tests(folder: Path, module: str, seconds: int) -> tuple[str, float]:
    """Run the nearest tests in a fork, on the package in a folder; return the verdict and the processor time."""
    process = os.fork()
    if not process:
        code = 1
        try:
            code = test_here(folder, module, seconds)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status, used = os.wait4(process, 0)
    code = os.waitstatus_to_exitcode(status)
    verdict = "survived" if code == 0 else "timeout" if -code in (signal.SIGXCPU, signal.SIGALRM) else "killed"
    return verdict, used.ru_utime + used.ru_stime


def trust_compiled(package: Path) -> None:
    """Let compiled kernels of a copied package count as those of the original, whatever its files hold."""
    locator = caching._SourceFileBackedLocatorMixin
    stamp = locator.get_source_stamp

    def stamp_of_original(self: Any) -> Any:
        path, self = Path(self._py_file), copy.copy(self)
        if path.is_relative_to(package):
            self._py_file = str(SOURCE / path.relative_to(package))
        return stamp(self)

    locator.get_source_stamp = stamp_of_original


def forget_compiled(package: Path, changed: str | None) -> None:
    """Remove what was compiled of a kernel, of all that call it, and of those that do, or of all kernels."""
    uses: dict[str, set[str]] = {}
    for file in (package / "_kernels").glob("*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
                uses[node.name] = uses.get(node.name, set()) | names
    stale = set(uses) if changed is None else {changed}
    while more := {name for name in uses.keys() - stale if uses[name] & stale}:
        stale |= more
    for compiled in (package / "_kernels" / "__pycache__").glob("*.nb?"):
        if compiled.name.split(".")[1].rpartition("-")[0] in stale:
            compiled.unlink()


def run_mutants(module: str, chosen: list[Mutant], folder: Path) -> Iterator[dict[str, object]]:
    """Yield what came of each mutant."""
    package = folder / "quorate"
    # Written as mutants are, so that what was compiled of a function is found by its line in all of them.
    (package / module).write_text(ast.unparse(ast.parse((SOURCE / module).read_text())))
    verdict, clean = run_tests(folder, module, seconds=600)
    if verdict != "survived":
        sys.exit(f"The tests of {module} fail without any change:\n{(folder / 'said').read_text()}")
    compiled, saved = package / "_kernels" / "__pycache__", folder / "compiled"
    shutil.copytree(compiled, saved, dirs_exist_ok=True)
    for one in chosen:
        (package / module).write_text(one.source)
        if module.startswith("_kernels/"):
            shutil.rmtree(compiled)
            shutil.copytree(saved, compiled)
            forget_compiled(package, one.function)
        verdict, seconds = run_tests(folder, module, seconds=int(5 + 2 * clean))
        by = re.findall("^(?:FAILED|ERROR) (\\S+)", (folder / "said").read_text(errors="replace"), re.MULTILINE)
        yield {"module": module, "what": one.what, "verdict": verdict, "by": by, "seconds": round(seconds, 1)}
    shutil.copy2(SOURCE / module, package / module)
    shutil.rmtree(compiled)
    shutil.copytree(saved, compiled)


def main() -> None:
    """Run what is not in the results yet, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", choices=TESTS)
    parser.add_argument("--per-module", type=int, default=40)
    parser.add_argument("--results", type=Path, default=ROOT / ".cache" / "mutants.jsonl")
    parser.add_argument("--lines", type=int, nargs="+", default=[], help="all mutants of these lines, known or not")
    arguments = parser.parse_args()
    arguments.results.parent.mkdir(exist_ok=True)
    lines = arguments.results.read_text().splitlines() if arguments.results.exists() else []
    known = {(one["module"], one["what"]): one["verdict"] for one in map(json.loads, lines)}
    for name in IMPORTED:
        importlib.import_module(name)
    numba.njit(lambda x: x)(1.0)  # prepares the compiler
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    phases = [Phase.explicit, Phase.generate]  # a failure is enough, it need not be made simple
    settings.register_profile("mutants", deadline=None, max_examples=25, database=None, derandomize=True, phases=phases)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copytree(SOURCE, folder / "quorate")
        trust_compiled(folder / "quorate")
        for module in arguments.modules:
            chosen = choose(module, arguments.per_module, arguments.lines, known)
            for one in run_mutants(module, chosen, folder) if chosen else ():
                known[module, one["what"]] = one["verdict"]
                if one["verdict"] == "survived":
                    print(module, one["what"], flush=True)
                with arguments.results.open("a") as results:
                    results.write(json.dumps(one) + "\n")
    for module in arguments.modules:
        found = [verdict for (name, _), verdict in known.items() if name == module]
        print(f"{module}: {len(found) - found.count('survived')} of {len(found)} noticed")


if __name__ == "__main__":
    main()
