"""Loading of packaged datasets by name, and of other tables of features."""

from dataclasses import dataclass
from importlib.resources import as_file, files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.checks import nearest_name
from quorate._utils.optional_imports import import_extra
from quorate.columns.column_messages import quoted
from quorate.datasets.catalog import CATALOG, LICENSE, NAMES
from quorate.errors import DamagedFileError, InputError, Setting

READERS = {".csv": "read_csv", ".tsv": "read_csv", ".txt": "read_csv", ".parquet": "read_parquet"}


@dataclass(frozen=True, repr=False)
class Dataset:
    """Features of rows and, if available, their classes."""

    name: str
    features: NDArray[np.float64]
    feature_names: tuple[str, ...]
    classes: NDArray[Any] | None
    """The class of each row, or None."""
    description: str = ""
    citation: str = ""
    license: str = ""

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 without classes."""
        return 0 if self.classes is None else len(np.unique(self.classes))

    def __repr__(self) -> str:
        rows, columns = self.features.shape
        return f"Dataset({self.name!r}: {rows} rows, {columns} features, {self.n_classes} classes)"


def load(source: Any, *, classes: str | None = None) -> Dataset:
    """Load a packaged dataset by name, or another table.

    Parameters
    ----------
    source : str, path, array, frame or Dataset
        One of `NAMES`; a CSV or Parquet file; a 2-D array, or a frame of any kind (pandas, polars, pyarrow) of
        features. A `Dataset` is returned unchanged.
    classes : str, optional
        The column of a file or frame with the classes; all other columns are features.

    Returns
    -------
    Dataset
        Features (float64), their names, classes; for packaged datasets also description, citation and license. Rows
        are in the order of the package they were built from, not of the original files.

    Examples
    --------
    >>> from quorate import datasets
    >>> datasets.load("iris")
    Dataset('iris': 150 rows, 4 features, 3 classes)
    """
    if (isinstance(source, str) and source in CATALOG) or isinstance(source, Dataset):
        if classes is not None:
            raise InputError(
                f"is only for files and frames; the dataset {source!r} has its own classes.",
                code="included-dataset",
                parameter="classes",
            )
        return source if isinstance(source, Dataset) else _load_packaged(source)
    if isinstance(source, str | PathLike):
        path = Path(source)
        return _from_columns(path.stem, _read_file(path), classes)
    # Frames of any library, through narwhals.
    if hasattr(source, "columns") or hasattr(source, "column_names"):
        import narwhals as nw

        frame = nw.from_native(source, eager_only=True)
        return _from_columns("frame", {name: frame.get_column(name).to_numpy() for name in frame.columns}, classes)
    return _from_array(source, classes)


def _load_packaged(name: str) -> Dataset:
    entry = CATALOG[name]
    with as_file(files("quorate.datasets") / "data" / f"{name}.npz") as path, np.load(path) as arrays:
        features, classes = arrays["features"].astype(np.float64), arrays["classes"]
    return Dataset(name, features, entry.feature_names, classes, entry.description, entry.citation, LICENSE)


def _read_file(path: Path) -> dict[str, NDArray[Any]]:
    """Return the columns of a CSV or Parquet file."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"There is no dataset {str(path)!r}.{nearest_name(path, NAMES)}",
            code="no-such-dataset",
            hint=f"Use one of {', '.join(NAMES)}; or an array, a frame, or a file ending in {', '.join(READERS)}.",
        )
    if not path.is_file():
        raise InputError(
            f"There is no file {str(path)!r}.",
            code="no-file",
            hint=f"Check the path; it is relative to {str(Path.cwd())!r}.",
        )
    duckdb = import_extra("duckdb", "Reading a data set from a file")
    try:
        return duckdb.execute(f"SELECT * FROM {reader}(?)", [str(path)]).fetchnumpy()
    except duckdb.Error as error:
        raise DamagedFileError(f"{str(path)!r} cannot be read as a table: {error}", code="cannot-read") from error


def _from_columns(name: str, columns: dict[str, NDArray[Any]], classes: str | None) -> Dataset:
    if classes is not None and classes not in columns:
        raise InputError(
            f"must be a column; got {classes!r}.{nearest_name(classes, columns)}",
            code="no-such-column",
            parameter="classes",
            hint=f"The columns are {', '.join(columns)}.",
        )
    truth = None if classes is None else np.asarray(columns[classes])
    features = {column: values for column, values in columns.items() if column != classes}
    # All columns are converted before any is refused, so that one message names all.
    numbers = {column: _as_numbers(values) for column, values in features.items()}
    texts = [column for column, values in numbers.items() if values is None]
    if texts:
        raise InputError(
            f"{'Column' if len(texts) == 1 else 'Columns'} {quoted(texts)} {'is' if len(texts) == 1 else 'are'} not "
            "numeric.",
            code="not-numeric",
            hint=("For a column of classes pass ", Setting("classes", texts[0]), ". Drop or encode other columns."),
        )
    return Dataset(
        name, np.column_stack([values for values in numbers.values() if values is not None]), tuple(features), truth
    )


def _as_numbers(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return a numeric column as float64, with missing values as NaN; None if it is not numeric."""
    try:
        return np.ma.filled(np.ma.asarray(values).astype(np.float64), np.nan)
    except (TypeError, ValueError):
        return None


def _from_array(source: Any, classes: str | None) -> Dataset:
    if classes is not None:
        raise InputError(
            "is the name of a column, but an array has no column names.",
            code="no-column-names",
            parameter="classes",
            hint="Pass a frame or a file.",
        )
    try:
        matrix = np.asarray(source, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"must be a name, a file, a frame or a numeric 2-D array; got {source!r}.",
            code="source",
            parameter="source",
        ) from None
    if matrix.ndim != 2:
        raise InputError(
            f"must be two-dimensional (rows x features); got {matrix.ndim} dimension(s).",
            code="source",
            parameter="source",
        )
    return Dataset("array", matrix, tuple(f"x{column}" for column in range(matrix.shape[1])), None)
