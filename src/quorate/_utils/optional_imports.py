"""Optional packages: imported when used; a missing one raises an error with the command that installs its extra."""

import importlib
import importlib.util
from typing import Any

from quorate.errors import MissingPackageError

EXTRAS = {
    "duckdb": "tables",
    "jinja2": "report",
    "markupsafe": "report",
    "typer": "cli",
    "rich": "cli",
    "matplotlib": "plot",
    "starlette": "explore",
    "uvicorn": "explore",
    "anywidget": "notebook",
    "pyarrow": "arrow",
    "pandas": "pandas",
    "polars": "polars",
    "pyspark": "spark",
    "dask": "dask",
    "anndata": "anndata",
    "h5py": "matlab",
    "python_calamine": "excel",
    "sqlglot": "sql",
}


def import_extra(module: str, purpose: str) -> Any:
    """Import a module of an optional package; raise an error that names the extra if `purpose` lacks it."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # Another package is missing: the optional one is installed, but broken. Show the original error.
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise _missing(package, purpose) from None


def require_extra(package: str, purpose: str) -> None:
    """Raise the error of `import_extra` without importing the package, because another process will import it."""
    if not has_package(package):
        raise _missing(package, purpose)


def has_package(package: str) -> bool:
    """Return whether an optional package is installed, without importing it."""
    return importlib.util.find_spec(package) is not None


def _missing(package: str, purpose: str) -> MissingPackageError:
    return MissingPackageError(
        f"{purpose} needs the package {package}:",
        code="missing-package",
        hint=f'pip install "quorate[{EXTRAS[package]}]"',
    )
