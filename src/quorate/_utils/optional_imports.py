"""Packages that only some features need: imported when used, and named with the extra that installs them."""

import importlib
import importlib.util
from typing import Any

from quorate.errors import QuorateError

EXTRAS = {
    "matplotlib": "plot",
    "starlette": "explore",
    "uvicorn": "explore",
    "pyarrow": "arrow",
    "polars": "polars",
    "pyspark": "spark",
    "dask": "dask",
    "anndata": "anndata",
    "h5py": "matlab",
    "python_calamine": "excel",
}


def import_extra(module: str, purpose: str) -> Any:
    """Return an optional package's module, or say which extra brings what `purpose` needs."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise _missing(package, purpose) from None


def require_extra(package: str, purpose: str) -> None:
    """Complain as `import_extra` does, without importing the package: another process will."""
    if importlib.util.find_spec(package) is None:
        raise _missing(package, purpose)


def _missing(package: str, purpose: str) -> QuorateError:
    return QuorateError(
        f"{purpose} needs the package {package}, which is not installed. "
        f'Install it with: pip install "quorate[{EXTRAS[package]}]"'
    )
