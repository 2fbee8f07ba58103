"""The methods of a comparison: registered methods, estimators, functions and external programs."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Ints
from quorate.algorithms.registry import METHODS, make_method
from quorate.errors import InputError

Labels = NDArray[np.int32]


class Contestant(Protocol):
    """A method that combines clusterings."""

    @property
    def name(self) -> str:
        """Its name in the tables."""

    @property
    def about(self) -> dict[str, Any]:
        """Everything its results depend on, as values for JSON."""

    def answer(self, labels: Labels, ks: Sequence[int], seed: int) -> Ints:
        """Return (n, ks) consensus labels of (n, M) labels; -1 is a missing label in both."""


@dataclass(frozen=True)
class Registered:
    """A registered consensus method with its parameters."""

    name: str
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def about(self) -> dict[str, Any]:
        """The method and its parameters."""
        return {"name": self.name, "method": self.method, "params": dict(self.params)}

    def answer(self, labels: Labels, ks: Sequence[int], seed: int) -> Ints:
        """Solve once, and cut at every k."""
        # One solution serves all numbers of clusters.
        method = make_method(self.method, ks[0], self.params)
        if "random_state" in method.get_params() and "random_state" not in self.params:
            method.set_params(random_state=seed)
        return method.fit(labels).sweep(ks)


@dataclass(frozen=True)
class Estimator:
    """An object with `fit_predict` over a label matrix; `n_clusters` and `random_state` are set if it has them."""

    name: str
    estimator: Any

    @property
    def about(self) -> dict[str, Any]:
        """The representation of the estimator."""
        return {"name": self.name, "estimator": repr(self.estimator)}

    def answer(self, labels: Labels, ks: Sequence[int], seed: int) -> Ints:
        """Fit a copy for every k."""
        return np.stack([self._labels(labels, k, seed) for k in ks], axis=1)

    def _labels(self, labels: Labels, k: int, seed: int) -> Ints:
        from sklearn.base import clone

        copied = clone(self.estimator, safe=False)
        if hasattr(copied, "get_params"):
            params = copied.get_params()
            settings = {"n_clusters": k, "random_state": seed}
            copied.set_params(**{name: value for name, value in settings.items() if name in params})
        return _checked(copied.fit_predict(labels), len(labels))


@dataclass(frozen=True)
class Function:
    """A function from (labels, n_clusters) to one label per row."""

    name: str
    function: Callable[..., Any] | str
    """The function, or its location: "package.module:function" or "path/to/file.py:function"."""

    @property
    def about(self) -> dict[str, Any]:
        """The location of the function."""
        where = self.function if isinstance(self.function, str) else getattr(self.function, "__qualname__", "function")
        return {"name": self.name, "function": where}

    def answer(self, labels: Labels, ks: Sequence[int], seed: int) -> Ints:
        """Call it for every k, after seeding NumPy's global random state."""
        # Looked up in every process: functions in files cannot be pickled.
        function = find_function(self.function) if isinstance(self.function, str) else self.function
        columns = []
        for k in ks:
            np.random.seed(seed)  # noqa: NPY002 - the function may use it, and results must be reproducible
            columns.append(_checked(function(labels, k), len(labels)))
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class Program:
    """An external program that reads a table of labels and writes a table with one label per row.

    Placeholders in its command line: `{labels}` is the CSV file to read (a header, one column per member, empty cells
    for missing labels), `{output}` the CSV file to write (a header, one column), `{k}` the number of clusters, and
    `{seed}` a random seed.
    """

    name: str
    command: str

    @property
    def about(self) -> dict[str, Any]:
        """The command line."""
        return {"name": self.name, "command": self.command}

    def answer(self, labels: Labels, ks: Sequence[int], seed: int) -> Ints:
        """Run it for every k."""
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "labels.csv"
            with table.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(f"member_{j}" for j in range(labels.shape[1]))
                writer.writerows([["" if value < 0 else value for value in row] for row in labels.tolist()])
            return np.stack([self._labels(table, Path(folder), len(labels), k, seed) for k in ks], axis=1)

    def _labels(self, table: Path, folder: Path, n_rows: int, k: int, seed: int) -> Ints:
        output = folder / f"answer_{k}.csv"
        values = {"labels": str(table), "output": str(output), "k": str(k), "seed": str(seed)}
        words = [word.format(**values) for word in shlex.split(self.command)]
        # The exit code decides, not what the program prints.
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not output.exists():
            message = (done.stderr or done.stdout).strip().splitlines()
            raise InputError(
                f"{words[0]} wrote no output (exit code {done.returncode}){': ' + message[-1] if message else ''}",
                code="no-program-output",
            )
        with output.open(newline="") as file:
            cells = [row[0] for row in csv.reader(file) if row][1:]
        return _checked(cells, n_rows)


def _checked(answer: Any, n_rows: int) -> Ints:
    """Return labels as integers from 0, one per row; noise (negative numbers) stays -1."""
    answer = np.asarray(answer)
    if answer.shape != (n_rows,):
        raise InputError(
            f"A method must return one label per row ({n_rows}); got shape {answer.shape}.", code="one-label"
        )
    labeled = answer >= 0 if answer.dtype.kind in "if" else np.ones(n_rows, dtype=bool)
    codes = np.full(n_rows, -1, dtype=np.int64)
    # Any labels become codes from 0.
    codes[labeled] = np.unique(answer[labeled], return_inverse=True)[1]
    return codes


def find_function(where: str) -> Callable[..., Any]:
    """Return the function at "package.module:function" or "path/to/file.py:function"."""
    module_name, _, name = where.rpartition(":")
    if module_name.endswith(".py"):
        path = Path(module_name)
        if not path.is_file():
            raise InputError(f"There is no file {module_name!r} for the method {where!r}.", code="no-file")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Registered, so that pickling finds functions of the file.
        sys.modules.setdefault(path.stem, module)
        spec.loader.exec_module(module)
    else:
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            raise InputError(f"The method {where!r} cannot be imported: {error}.", code="cannot-import") from None
    function = getattr(module, name, None)
    if not callable(function):
        raise InputError(f"{module_name!r} has no function {name!r}.", code="no-such-function")
    return function


def gather_contestants(methods: Any = None) -> list[Contestant]:
    """Return the methods to compare, under distinct names.

    Parameters
    ----------
    methods : list or mapping, optional
        Names of registered methods, optionally with parameters ("weac", "weac linkage=single"); the location of a
        function ("my_methods.py:vote"); command lines of programs ("my-program {labels} {output} {k}"); functions;
        objects with `fit_predict`; or a mapping from names to any of these. Default: every registered method.
    """
    if methods is None:
        methods = list(METHODS)
    named = methods.items() if isinstance(methods, Mapping) else [(None, method) for method in _as_list(methods)]
    contestants = [make_contestant(method, name) for name, method in named]
    names = [contestant.name for contestant in contestants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"Two methods are named {twice[0]!r}.", code="same-name", hint="Choose other names: NAME=METHOD."
        )
    if not contestants:
        raise InputError("There are no methods to compare.", code="no-methods")
    return contestants


def _as_list(methods: Any) -> list[Any]:
    return [methods] if isinstance(methods, str) or not isinstance(methods, Sequence) else list(methods)


def make_contestant(method: Any, name: str | None = None) -> Contestant:
    """Return one method to compare; see `gather_contestants` for the kinds."""
    if isinstance(method, Registered | Estimator | Function | Program):
        return method
    if not isinstance(method, str):
        if hasattr(method, "fit_predict"):
            return Estimator(name or type(method).__name__, method)
        if callable(method):
            return Function(name or str(getattr(method, "__name__", "function")), method)
        raise InputError(
            f"A method must be a name, a function or have fit_predict; got {type(method).__name__}.", code="method-kind"
        )
    if "{output}" in method:
        first = _words(method)[0]
        return Program(name or Path(first).name, method)
    if ":" in method:
        find_function(method)  # an error now is better than after hours
        return Function(name or method.rpartition(":")[2], method)
    estimator, *settings = method.split() or [""]
    params = dict(_setting(setting) for setting in settings)
    # An unknown parameter fails now, not in a worker.
    make_method(estimator, 2, params)
    return Registered(name or method, estimator, params)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise InputError(f"The command {command!r} is not valid: {str(error).lower()}.", code="bad-command") from None


def _setting(text: str) -> tuple[str, Any]:
    import ast

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(
            f"Write parameters of a method as NAME=VALUE, such as 'weac linkage=single'; got {text!r}.",
            code="name-value",
        )
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
