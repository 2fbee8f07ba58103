"""The package as a whole: import direction, light imports, documented examples, public names."""

import ast
import doctest
import graphlib
import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tools import code_statistics, imports

import quorate
from quorate.errors import Setting

SOURCE = Path(quorate.__file__).parent


def modules():
    return [info.name for info in pkgutil.walk_packages([str(SOURCE)], "quorate.")]


def test_imports_point_downwards():
    assert not imports.upward_imports(imports.import_graph())


def test_imports_have_no_cycles():
    graphlib.TopologicalSorter(imports.import_graph()).prepare()


def test_the_map_shows_every_module():
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
    shown = set(re.findall(r"^  (\w+)(?:\.py|/) ", text, flags=re.MULTILINE))
    rooms = {module.split(".")[1] for module in imports.module_files()} - {"__main__"}
    assert shown == rooms


def test_hidden_imports_are_seen(tmp_path):
    hidden = tmp_path / "module.py"
    hidden.write_text(
        "import quorate, importlib\n"
        "def late():\n"
        "    from quorate.persistence import saving\n"
        "    importlib.import_module('quorate.reliability')\n"
        "    return quorate.WEAC, quorate.plot, quorate.__version__\n"
    )
    seen = {
        "quorate.persistence.saving",
        "quorate.reliability",
        "quorate.algorithms.weac",
        "quorate.reporting.plot",
        "quorate.__version__",
    }
    assert imports.imported_modules(hidden) == seen
    assert imports.upward_imports({"quorate.patterns": seen})[0] == "quorate.patterns imports quorate.algorithms.weac"


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
        text = getattr(quorate, name).__doc__
        assert text, name
        assert text.lstrip()[0].isupper(), f"{name} starts with {text[:40]!r}"


def test_no_module_hides_a_public_name():
    # With lazy-loader before 0.6, an imported module replaces the public function of the same name.
    public = {f"quorate.{name}" for name in quorate.__all__ if not inspect.ismodule(getattr(quorate, name))}
    assert not public & set(modules())


def test_no_method_imports_another():
    room = "quorate.algorithms."
    graph = {name.removeprefix(room): found for name, found in imports.import_graph().items() if name.startswith(room)}
    shared = {"answer", "base", "forecasts", "graph", "method_docs", "partition", "registry", "tree"}
    methods = graph.keys() - shared
    composed = {"portfolio"}  # it is made of other methods
    found = [
        f"{name} imports {other}" for name in methods - composed for other in methods if room + other in graph[name]
    ]
    assert not found


def test_contributing_maps_the_top_level():
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
    found = {path.name + "/" * path.is_dir() for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}
    named = {line.split()[0] for line in text.partition("quorate/\n")[2].partition("```")[0].splitlines()}
    assert sorted(found - named - {"__init__.py", "__main__.py", "__pycache__/"}) == []


def test_the_top_level_holds_the_data_and_the_mathematics_of_the_paper():
    assert len([path for path in SOURCE.glob("*.py") if not path.stem.startswith("__")]) <= 14


def test_modules_do_not_use_private_names_of_others():
    assert imports.private_uses() == []


def test_results_are_kept_in_two_ways_only():
    used = {name for name, n in code_statistics.count_caches().items() if n}
    assert used == {"cached_property", "RecentCache"}


def test_errors_keep_their_parts_between_processes():
    error = quorate.errors.InputError("must be 2.", code="number", parameter="beta", hint=("Set ", Setting("alpha")))
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.code, copy.parameter, copy.hint) == (str(error), "number", "beta", error.hint)


CROSS_CUTTING = {
    *("authors", "docs", "examples", "language", "metamorphic", "package"),
    *(f"algorithms/{name}" for name in ("all_methods", "counted_calls", "differential", "new_method", "solution")),
    *("cli/bad_input", "cli/fuzz", "explorer/misuse", "explorer/page", "integrations/scverse", "kernels/comparisons"),
    "tables/label_types",
}
"""Tests of several modules, by their place in `tests`."""


def test_test_files_mirror_the_package():
    """tests/features/test_pool.py tests features/pool.py; a file named like a package tests the package."""
    folder = Path(__file__).parent
    modules = {path.relative_to(SOURCE).with_suffix("") for path in SOURCE.rglob("*.py")}
    modules |= {module.parent for module in modules}
    known = {"/".join(part.lstrip("_") for part in module.parts) for module in modules}
    for path in folder.rglob("test_*.py"):
        name = (path.parent / path.stem.removeprefix("test_")).relative_to(folder).as_posix()
        package, _, last = name.rpartition("/")
        assert name in known | CROSS_CUTTING or last == package, f"{path} has no module {name}.py"


def test_the_conda_recipe_has_the_version_and_the_dependencies_of_the_package():
    root = Path(__file__).parents[1]
    recipe = (root / "recipe" / "recipe.yaml").read_text()
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    run = recipe.partition("  run:\n")[2].partition("  # ")[0]
    declared = {re.sub(r"(>=)", r" \1", line) for line in project["dependencies"]}
    assert set(re.findall(r"^    - (.+)$", run, re.MULTILINE)) == declared | {"python >=${{ python_min }}"}
    assert f'version: "{quorate.__version__}"' in recipe
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"' in recipe
    bounds = dict(re.findall(r"- ([\w-]+) >=([\d.]+)", recipe))
    conda_names = {"duckdb": "python-duckdb", "matplotlib": "matplotlib-base"}
    for line in (line for lines in project["optional-dependencies"].values() for line in lines):
        name, _, bound = line.partition(">=")
        name = conda_names.get(name, name)
        assert bounds.get(name, bound) == bound, line


def test_types_are_checked_without_packages_that_only_some_extras_install():
    """`make types` in a plain clone installs `all`; mypy must ignore the import of any other package."""
    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())
    extras = settings["project"]["optional-dependencies"]
    (own,) = extras["all"]
    names = [*own.partition("[")[2].rstrip("]").split(","), "tables", "report"]
    lines = [*settings["project"]["dependencies"], *(line for name in names for line in extras[name])]
    installed = {re.split(r"[\[>=]", line)[0].replace("-", "_") for line in lines}
    ignored = {
        module.removesuffix(".*")
        for override in settings["tool"]["mypy"]["overrides"]
        if override.get("ignore_missing_imports")
        for module in override["module"]
    }
    trees = [ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")]
    imported = {name.partition(".")[0] for tree in trees for name in imports.written_imports(tree)}
    assert {"distributed", "pyspark"} <= imported
    assert imported - set(sys.stdlib_module_names) - installed - ignored - {"quorate"} == set()
