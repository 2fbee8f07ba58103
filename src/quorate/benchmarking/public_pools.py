"""Pools of clusterings with known classes: label tables in files, MATLAB's files, and datasets with a recipe."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.checkpoints import fingerprint
from quorate.datasets import NAMES, load
from quorate.errors import QuorateError
from quorate.features import draw_pool
from quorate.labels import encode, split_members
from quorate.tables.io import FORMATS, ROW, open_table
from quorate.tables.io.untrusted_files import load_mat, load_npz

CLASS_NAMES = ("class", "classes", "truth", "gt", "gnd", "target")
"""What known classes are called in a file, unless said otherwise; capitals do not matter."""
LABEL_NAMES = ("labels", "members", "baseCls", "base", "E")
"""What the matrix of clusterings is called in NPZ and MATLAB files."""
_TABLE_ENDINGS = tuple(ending for name, endings in FORMATS.items() if name not in ("npy", "npz") for ending in endings)


@dataclass(frozen=True)
class Pool:
    """Clusterings of the same rows, from which ensembles are drawn, and the known classes of the rows."""

    name: str
    labels: NDArray[np.int32]
    """(n, members) labels as numbers, -1 where a member says nothing."""
    classes: NDArray[np.int64]
    """(n,) classes as numbers from 0."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.classes.max()) + 1

    def draw(self, n_members: int, draw: int, seed: int) -> NDArray[np.int32]:
        """(n, n_members) the members of one draw; the same for the same pool, numbers and seed."""
        random = np.random.default_rng([seed, zlib.crc32(self.name.encode()), n_members, draw])
        chosen = random.choice(self.labels.shape[1], n_members, replace=False)
        return np.ascontiguousarray(self.labels[:, chosen])

    def about(self) -> dict[str, Any]:
        """Return what results on this pool depend on."""
        return {"name": self.name, "labels": fingerprint(self.labels), "classes": fingerprint(self.classes)}


@dataclass(frozen=True)
class Recipe:
    """How a pool is drawn from features: members of each generator, on scaled features."""

    generators: tuple[str, ...] = ("kmeans",)
    per_generator: int = 100
    scale: str | None = "standard"


def make_pool(name: str, labels: Any, classes: Any) -> Pool:
    """Return the pool of labels of any kind (rows x members, or one vector per member) and classes of any kind."""
    vectors, _ = split_members(labels)
    columns = [encode(vector, f"member {j} of {name}", "missing") for j, vector in enumerate(vectors)]
    known = encode(np.ma.asanyarray(classes).ravel(), f"classes of {name}", "cluster").digits(slice(None))
    lengths = {len(vector) for vector in vectors}
    if lengths != {len(known)}:
        raise QuorateError(
            f"The pool {name!r} has {len(known)} classes for {min(lengths, default=0)} rows of labels. Give every row "
            "one class."
        )
    if np.any(known < 0):
        raise QuorateError(f"The pool {name!r} has rows without a class. Leave those rows out.")
    codes = np.stack([column.digits(slice(None)) for column in columns], axis=1)
    return Pool(name, codes.astype(np.int32), known.astype(np.int64))


def gather_pools(
    sources: Any, *, truth: str | None = None, recipe: Recipe | None = None, cache: Path | None = None, n_jobs: int = 1
) -> list[Pool]:
    """Return the pools that some sources stand for, under names that differ.

    Parameters
    ----------
    sources : pool, path, name, mapping, or a list of them
        A `Pool`; a file with clusterings and classes; a folder of such files; the name of a packaged dataset, from
        which members are drawn by the recipe; or a mapping from names to (labels, classes).
    truth : str, optional
        The column, or the array of a file, that holds the classes. Default: what is called `class`, `truth`, `gt`, ...
    recipe : Recipe, optional
        How members of a dataset are drawn.
    cache : path, optional
        A folder that keeps drawn members, so that an interrupted drawing goes on.
    n_jobs : int
        Processes for drawing.
    """
    pools: list[Pool] = []
    for source in _listed(sources):
        pools += _open_source(source, truth, recipe or Recipe(), cache, n_jobs)
    if not pools:
        raise QuorateError("There are no pools to compare methods on. Name a file, a folder of files or a dataset.")
    names = [pool.name for pool in pools]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise QuorateError(
            f"Two pools are named {twice[0]!r}. Rename one of the files, so that results can be told apart."
        )
    return pools


def _listed(sources: Any) -> Iterable[Any]:
    if isinstance(sources, Mapping):
        return [make_pool(str(name), *pair) for name, pair in sources.items()]
    return [sources] if isinstance(sources, str | PathLike | Pool) else list(sources)


def _open_source(source: Any, truth: str | None, recipe: Recipe, cache: Path | None, n_jobs: int) -> list[Pool]:
    if isinstance(source, Pool):
        return [source]
    path = Path(source)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in _endings())
        if not files:
            raise QuorateError(f"The folder {str(path)!r} holds no pools: no file ends in {', '.join(_endings())}.")
        return [read_pool(file, truth) for file in files]
    if path.is_file():
        return [read_pool(path, truth)]
    if str(source) in NAMES:
        return [_draw_dataset(str(source), recipe, cache, n_jobs)]
    raise QuorateError(
        f"There is no file, folder or packaged dataset {str(source)!r}. The datasets are {', '.join(NAMES)}."
    )


def _endings() -> tuple[str, ...]:
    return (".npz", ".mat", *_TABLE_ENDINGS)


def _draw_dataset(name: str, recipe: Recipe, cache: Path | None, n_jobs: int) -> Pool:
    dataset = load(name)
    path = None if cache is None else cache / f"{name}.jsonl"
    drawn = draw_pool(
        dataset, recipe.per_generator, recipe.generators, scale=recipe.scale, n_jobs=n_jobs, path=path, progress=False
    )
    return make_pool(name, drawn.labels, dataset.classes)


def read_pool(path: str | PathLike[str], truth: str | None = None) -> Pool:
    """Return the pool in a file: a table with one clustering per column, an NPZ or a MATLAB file with a matrix."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending == ".mat":
        return _from_arrays(path, load_mat(path, repr(str(path))), truth)
    if ending == ".npz":
        return _from_arrays(path, load_npz(path, str(path)), truth)
    return _from_table(path, truth)


def _from_table(path: Path, truth: str | None) -> Pool:
    with open_table(str(path)) as table:
        known = _find_name(table.columns, (truth,) if truth else CLASS_NAMES)
        if known is None:
            raise _no_classes(path, table.columns, truth)
        members = [name for name in table.columns if name != known and not _names_rows(name)]
        if not members:
            raise QuorateError(f"{str(path)!r} has no column besides its classes. A pool needs clusterings.")
        cells = ", ".join(f"{table.label(name)} AS c{j}" for j, name in enumerate([known, *members]))
        found = table.fetch(f"SELECT {cells} FROM {table.numbered} ORDER BY {ROW}")
    classes, *labels = found.values()
    return make_pool(path.stem, labels, classes)


def _names_rows(column: str) -> bool:
    return column.lower() in ("id", "row", "rowid", "row_id", "index", "")


def _from_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], truth: str | None) -> Pool:
    matrices = {name: array for name, array in arrays.items() if array.ndim == 2 and min(array.shape) > 1}
    vectors = {name: array for name, array in arrays.items() if array.size == max(array.shape, default=0) > 1}
    known = _find_name(tuple(vectors), (truth,) if truth else CLASS_NAMES)
    if known is None:
        raise _no_classes(path, tuple(arrays), truth)
    labels = _find_name(tuple(matrices), LABEL_NAMES) or (next(iter(matrices)) if len(matrices) == 1 else None)
    if labels is None:
        raise QuorateError(
            f"{str(path)!r} holds {', '.join(map(repr, arrays))}, and none of them is the matrix of clusterings, rows "
            f"x members. Call it {LABEL_NAMES[0]!r}."
        )
    return make_pool(path.stem, matrices[labels], vectors[known])


def _find_name(names: Sequence[str], wanted: Sequence[str | None]) -> str | None:
    by_lower = {name.lower(): name for name in names}
    return next((by_lower[name.lower()] for name in wanted if name and name.lower() in by_lower), None)


def _no_classes(path: Path, names: Sequence[str], truth: str | None) -> QuorateError:
    sought = repr(truth) if truth else f"any of {', '.join(CLASS_NAMES)}"
    listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return QuorateError(f"{str(path)!r} has no classes under {sought}; it holds {listed}. Name them with truth.")
