"""Vectors of eight float64 values that kernels keep in registers.

Numba's loops load and store an accumulator in every step; a value of this type stays in vector registers. Rows of an
(n, 8) array are loaded, added, scaled and stored as one value each. LLVM maps them to the registers of the processor;
the arithmetic of each number is the same everywhere. With NUMBA_DISABLE_JIT=1, NumPy does the same in Python.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, extending, types
from numba.extending import models, register_model
from numba.np.arrayobj import make_array

from quorate._kernels._jit import jit

WIDTH = 8
_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_ALIGNMENT = 8  # guaranteed by NumPy
_CACHE_LINE = 64  # bytes; a row that begins with a cache line is read in one access


class _Lanes(types.Type):
    """The type of eight float64 values."""

    def __init__(self) -> None:
        super().__init__(name="quorate.Lanes")


_lanes = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, of: Any) -> None:
        super().__init__(manager, of, _VECTOR)  # type: ignore[no-untyped-call]


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return the address of a row, from an array and the number of the row."""
    array = make_array(signature.args[0])(context, builder, arguments[0])  # type: ignore[no-untyped-call]
    # Unsigned, so that numba adds no check for negative indices.
    row = context.cast(builder, arguments[1], signature.args[1], types.uintp)
    return builder.gep(builder.bitcast(array.data, _VECTOR.as_pointer()), [row])


def intrinsic(in_python: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make a function available to kernels, without its first argument; `in_python` does the same uncompiled."""
    disabled = config.DISABLE_JIT  # type: ignore[attr-defined]
    return lambda function: in_python if disabled else extending.intrinsic(function)


def _row_of(array: Any, row: int) -> Any:
    """Return a row of an (n, 8) array, or eight values of a vector, as a view."""
    return array.reshape(-1)[row * WIDTH : (row + 1) * WIDTH]


def _store_row(array: Any, row: int, value: Any) -> None:
    _row_of(array, row)[:] = value


def rows(n: int) -> Any:
    """(n, 8) uninitialized values, aligned so that each row is one cache line."""
    # One more cache line than needed, so that the first row can start at a multiple of it.
    space = np.empty(n * WIDTH + _CACHE_LINE // 8)
    begin = -space.ctypes.data % _CACHE_LINE // 8
    return space[begin : begin + n * WIDTH].reshape(n, WIDTH)


def zero_rows(n: int) -> Any:
    """(n, 8) zeros, aligned so that each row is one cache line."""
    zeros = rows(n)
    zeros[:] = 0.0
    return zeros


@intrinsic(lambda: np.zeros(WIDTH))
def zeros(typing: Any) -> Any:
    """Return eight zeros."""
    return _lanes(), lambda context, builder, signature, arguments: ir.Constant(_VECTOR, [0.0] * WIDTH)


@intrinsic(lambda array, row: _row_of(array, row).copy())
def load(typing: Any, array: Any, row: Any) -> Any:
    """Return a row of an (n, 8) array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_pointer(context, builder, signature, arguments))
        loaded.align = _ALIGNMENT
        return loaded

    return _lanes(array, row), generate


@intrinsic(_store_row)
def store(typing: Any, array: Any, row: Any, value: Any) -> Any:
    """Write a row of an (n, 8) array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _pointer(context, builder, signature, arguments)).align = _ALIGNMENT
        return context.get_dummy_value()

    return types.void(array, row, _lanes), generate


@intrinsic(np.add)
def add(typing: Any, left: Any, right: Any) -> Any:
    """Return the element-wise sum."""
    return _lanes(_lanes, _lanes), lambda context, builder, signature, arguments: builder.fadd(*arguments)


@intrinsic(np.subtract)
def subtract(typing: Any, left: Any, right: Any) -> Any:
    """Return the element-wise difference."""
    return _lanes(_lanes, _lanes), lambda context, builder, signature, arguments: builder.fsub(*arguments)


def _larger(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", left, right), left, right)


@intrinsic(np.maximum)
def larger(typing: Any, left: Any, right: Any) -> Any:
    """Return the element-wise maximum; no value may be NaN."""
    return _lanes(_lanes, _lanes), lambda context, builder, signature, arguments: _larger(builder, *arguments)


@intrinsic(np.max)
def largest(typing: Any, value: Any) -> Any:
    """Return the largest of the eight values; none may be NaN."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (maximum,) = arguments
        # Compare with the vector rotated by 4, 2 and 1: then every element is the maximum of all.
        for shift in (4, 2, 1):
            rotation = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [(i + shift) % WIDTH for i in range(WIDTH)])
            maximum = _larger(builder, maximum, builder.shuffle_vector(maximum, maximum, rotation))
        return builder.extract_element(maximum, ir.Constant(ir.IntType(32), 0))

    return types.float64(_lanes), generate


@intrinsic(np.multiply)
def scale(typing: Any, factor: Any, value: Any) -> Any:
    """Return the eight values times a number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Put the factor into element 0, then copy it to all elements.
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(undefined, arguments[0], ir.Constant(ir.IntType(32), 0))
        copies = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        return builder.fmul(builder.shuffle_vector(first, undefined, copies), arguments[1])

    return _lanes(types.float64, _lanes), generate


@jit
def highest(row):
    """Return the largest value of a vector of any length, -inf if it is empty; no value may be NaN."""
    n_eights = len(row) // WIDTH
    maximum = -np.inf
    if n_eights > 0:
        # Two independent maxima, because each comparison waits for the one before it.
        even = odd = load(row, 0)
        for i in range(n_eights // 2):
            even, odd = larger(even, load(row, 2 * i)), larger(odd, load(row, 2 * i + 1))
        maximum = largest(larger(larger(even, odd), load(row, n_eights - 1)))
    for i in range(n_eights * WIDTH, len(row)):
        maximum = max(maximum, row[i])
    return maximum
