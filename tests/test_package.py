"""The package as a whole: import direction, light imports, documented examples, public names."""

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import quorate

SOURCE = Path(quorate.__file__).parent

# From the bottom to the top: a module imports only from rows above its own (or its own row).
LAYERS = [
    ["__version__", "errors"],
    ["_support", "_kernels"],
    ["labels", "patterns"],
    ["ensemble"],
    ["crowd", "kmeans"],
    ["links", "evidence", "scores"],
    ["linkage", "tcut"],
    ["datasets"],
    ["members"],
    ["consensus"],
    ["scale"],
    ["show"],
    ["paper"],
    ["cli", "__main__"],
]


def layer_of(module):
    name = module.split(".")[1] if "." in module else module
    for height, names in enumerate(LAYERS):
        if name in names:
            return height
    raise AssertionError(f"{module} has no place in LAYERS")


def modules():
    return [info.name for info in pkgutil.walk_packages([str(SOURCE)], "quorate.")]


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "quorate":
            if node.module == "quorate":
                yield from (f"quorate.{alias.name}" for alias in node.names)
            else:
                yield node.module


def test_imports_point_downwards():
    upward = []
    for path in SOURCE.rglob("*.py"):
        module = ".".join(["quorate", *path.relative_to(SOURCE).with_suffix("").parts])
        if module == "quorate.__init__":
            continue
        for imported in imported_modules(path):
            if layer_of(imported) > layer_of(module):
                upward.append(f"{module} imports {imported}")
    assert not upward


def test_importing_the_package_loads_nothing_heavy():
    heavy = ["numba", "sklearn", "scipy", "duckdb", "matplotlib", "pandas", "polars", "narwhals", "plotly", "typer"]
    code = f"import sys, quorate; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_estimators_load_no_more_than_they_need():
    code = "import sys, quorate; quorate.WEAC; print([name for name in ('numba', 'duckdb') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("module", modules())
def test_documented_examples_are_true(module):
    outcome = doctest.testmod(importlib.import_module(module))
    assert outcome.failed == 0


def test_public_names_exist_and_are_documented():
    assert "WEAC" in quorate.__all__
    for name in quorate.__all__:
        assert getattr(quorate, name).__doc__, name


def test_no_method_imports_another():
    shared = {"base", "graphs", "registry", "from_features", "__init__"}
    rooms = {path.stem: path for path in (SOURCE / "consensus").glob("*.py")}
    methods = rooms.keys() - shared
    found = [
        f"{name} imports {imported}"
        for name in sorted(methods)
        for imported in imported_modules(rooms[name])
        if imported.startswith("quorate.consensus.") and imported.split(".")[2] in methods
    ]
    assert not found


def test_the_top_level_holds_the_data_and_the_mathematics_of_the_paper():
    assert len([path for path in SOURCE.glob("*.py") if not path.stem.startswith("__")]) <= 13
