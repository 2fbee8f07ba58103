"""Print which module of the package imports which: `python tools/imports.py`.

Every import counts, whether at the top of a file, inside a function, for types only, by a name of the package itself
(`import quorate; quorate.WEAC`) or by text (`import_module("quorate.reliability")`). Modules are listed from the
bottom layer to the top, each with what it imports. Imports that point upwards come last; the exit code is then 1.
"""

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "quorate"
SOURCE = Path(__file__).resolve().parents[1] / "src" / PACKAGE

# From the bottom to the top: a module imports only from rows above its own (or its own row). A package whose modules
# belong to several layers is listed by module; the longest matching prefix counts.
LAYERS = [
    ["__version__", "errors"],
    ["_utils", "_runtime", "_kernels"],
    ["persistence.archive", "integrations"],
    ["columns"],
    ["labels", "overlaps"],
    ["patterns", "label_checks"],
    ["ensemble"],
    [
        "soft_ensemble",
        "member_families",
        "reliability",
        "numerics.kmeans",
        "numerics.block_lanczos",
        "numerics.cells",
        "numerics.mutual_information",
    ],
    ["row_similarity", "cluster_similarity"],
    ["certainty", "random_walks", "analysis.scores"],
    ["numerics"],
    ["graphs"],
    ["analysis.choose_k", "analysis.clusters", "analysis.compare"],
    ["persistence.method_arrays"],
    ["algorithms"],
    ["analysis"],
    ["datasets"],
    [
        "features.clusterers",
        "features.generators",
        "features.labeling",
        "features.sampling",
        "features.scaling",
        "features.member_fitting",
        "features.pool",
    ],
    ["persistence.member_arrays"],
    ["features"],
    ["persistence.fitted_methods"],
    ["tables.io"],
    ["persistence.feature_models"],
    ["tables"],
    ["persistence"],
    ["reporting"],
    ["explorer"],
    ["benchmarking"],
    ["paper"],
    ["cli", "__main__"],
]


def layer_of(module: str) -> int:
    """Return the height of a module's layer: that of the longest prefix of its name in `LAYERS`."""
    parts = module.split(".")[1:]
    for end in range(len(parts), 0, -1):
        prefix = ".".join(parts[:end])
        for height, names in enumerate(LAYERS):
            if prefix in names:
                return height
    raise LookupError(f"{module} is not in LAYERS")


@functools.cache
def module_files() -> dict[str, Path]:
    """Return the file of every module, but for the package itself, which only lists names."""
    files = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if parts:
            files[".".join([PACKAGE, *parts])] = path
    return files


@functools.cache
def public_names() -> dict[str, str]:
    """Return the module in which each name of the package itself lives, from its stub."""
    names = {}
    for node in ast.parse((SOURCE / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.ImportFrom):
            inside = f"{PACKAGE}.{node.module}" if node.module else PACKAGE
            for alias in node.names:
                module = f"{inside}.{alias.name}"
                names[alias.name] = module if module in module_files() else inside
    return names


def written_imports(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted name of whatever a module's code imports from the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == PACKAGE:
            yield f"{PACKAGE}.{node.attr}"
        elif isinstance(node, ast.Call) and "import_module" in ast.dump(node.func):
            yield from (str(value.value) for value in node.args if isinstance(value, ast.Constant))


def imported_modules(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, wherever in the file."""
    files, public = module_files(), public_names()
    found = set()
    for name in written_imports(ast.parse(path.read_text())):
        parts = name.split(".")
        if parts[0] != PACKAGE or len(parts) == 1:
            continue
        if len(parts) == 2 and name not in files:
            name = public.get(parts[1], name)
        found.add(name if name in files or name.count(".") == 1 else name.rpartition(".")[0])
    return found


def import_graph() -> dict[str, set[str]]:
    """Return what each module imports from the package."""
    return {module: imported_modules(path) - {module} for module, path in module_files().items()}


def upward_imports(graph: dict[str, set[str]]) -> list[str]:
    """Return the imports that point from a lower layer to a higher one."""
    return [
        f"{module} imports {imported}"
        for module, several in graph.items()
        for imported in sorted(several)
        if layer_of(imported) > layer_of(module)
    ]


# Documented in spite of the underscore: named tuples, `os._exit`, `sys._getframe`, empty frames of Dask.
PUBLIC_UNDERSCORES = {"_asdict", "_replace", "_exit", "_getframe", "_meta"}


def private_uses() -> list[str]:
    """Return where a module uses a private attribute or imports a private name of another module."""
    return [
        f"{module}:{node.lineno} {ast.unparse(node)}"
        for module, path in module_files().items()
        for tree in [ast.parse(path.read_text())]
        for node in ast.walk(tree)
        if _private_names(node) - PUBLIC_UNDERSCORES - _own_names(tree)
    ]


def _private_names(node: ast.AST) -> set[str]:
    """Return the private names of something else that a node uses; modules such as `_kernels` are not private."""
    if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
        names = {node.attr}
    elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
        names = {alias.name for alias in node.names if f"{node.module}.{alias.name}" not in module_files()}
    else:
        names = set()
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


@functools.cache
def _own_names(tree: ast.AST) -> frozenset[str]:
    """Return the names of functions, fields and attributes that a module defines, or inherits and extends."""
    nodes = list(ast.walk(tree))
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    fields = {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    own = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "super()")
    }
    return frozenset(defined | fields | own)


def main() -> int:
    """Print the graph by layers, and what breaks their order."""
    graph = import_graph()
    for height, names in enumerate(LAYERS):
        print(f"\n{height:2}  {', '.join(names)}")
        for module in (module for module in graph if layer_of(module) == height):
            imported = sorted(name.removeprefix(f"{PACKAGE}.") for name in graph[module])
            print(f"      {module.removeprefix(f'{PACKAGE}.')} <- {', '.join(imported) or 'nothing'}")
    upward = upward_imports(graph)
    modules, edges = len(graph), sum(map(len, graph.values()))
    print(f"\n{modules} modules, {edges} imports, {len(upward)} upwards")
    print("\n".join(upward), end="")
    return 1 if upward else 0


if __name__ == "__main__":
    sys.exit(main())
