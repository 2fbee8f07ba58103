"""Eight numbers at once: values that kernels keep in vector registers, which numba's own loops do not.

Rows of an (n, 8) array of float64 are loaded, added, scaled and stored as one value each. LLVM maps them to whatever
registers the processor has; the arithmetic of each number is the same everywhere.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.extending import models, register_model
from numba.np.arrayobj import make_array

from quorate._kernels._jit import jit

WIDTH = 8
_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_ALIGNMENT = 8  # what numpy promises
_LINE = 64  # bytes that are read at once: a row that begins with a line is read in one go


class _Lanes(types.Type):
    """The type of eight numbers."""

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
    row = context.cast(builder, arguments[1], signature.args[1], types.uintp)
    return builder.gep(builder.bitcast(array.data, _VECTOR.as_pointer()), [row])


def intrinsic(function: Callable[..., Any]) -> Any:
    """Return what kernels call: it takes the arguments of `function` but the first."""
    return extending.intrinsic(function)


def rows(n: int) -> Any:
    """(n, 8) numbers yet to be written, of which each row is one line of the cache."""
    space = np.empty(n * WIDTH + _LINE // 8)
    begin = -space.ctypes.data % _LINE // 8
    return space[begin : begin + n * WIDTH].reshape(n, WIDTH)


def zero_rows(n: int) -> Any:
    """(n, 8) zeros, of which each row is one line of the cache."""
    zeros = rows(n)
    zeros[:] = 0.0
    return zeros


@intrinsic
def zeros(typing: Any) -> Any:
    """Return eight zeros."""
    return _lanes(), lambda context, builder, signature, arguments: ir.Constant(_VECTOR, [0.0] * WIDTH)


@intrinsic
def load(typing: Any, array: Any, row: Any) -> Any:
    """Return a row of an (n, 8) array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_pointer(context, builder, signature, arguments))
        loaded.align = _ALIGNMENT
        return loaded

    return _lanes(array, row), generate


@intrinsic
def store(typing: Any, array: Any, row: Any, value: Any) -> Any:
    """Write a row of an (n, 8) array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _pointer(context, builder, signature, arguments)).align = _ALIGNMENT
        return context.get_dummy_value()

    return types.void(array, row, _lanes), generate


@intrinsic
def add(typing: Any, one: Any, other: Any) -> Any:
    """Return the sums of eight numbers and eight others."""
    return _lanes(_lanes, _lanes), lambda context, builder, signature, arguments: builder.fadd(*arguments)


@intrinsic
def subtract(typing: Any, one: Any, other: Any) -> Any:
    """Return the differences of eight numbers and eight others."""
    return _lanes(_lanes, _lanes), lambda context, builder, signature, arguments: builder.fsub(*arguments)


def _larger(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


@intrinsic
def larger(typing: Any, one: Any, other: Any) -> Any:
    """Return of each of eight numbers and eight others the larger; none is NaN."""
    return _lanes(_lanes, _lanes), lambda context, builder, signature, arguments: _larger(builder, *arguments)


@intrinsic
def largest(typing: Any, value: Any) -> Any:
    """Return the largest of eight numbers, none of which is NaN."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (found,) = arguments
        for shift in (4, 2, 1):
            turned = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [(i + shift) % WIDTH for i in range(WIDTH)])
            found = _larger(builder, found, builder.shuffle_vector(found, found, turned))
        return builder.extract_element(found, ir.Constant(ir.IntType(32), 0))

    return types.float64(_lanes), generate


@intrinsic
def scale(typing: Any, factor: Any, value: Any) -> Any:
    """Return eight numbers times one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(nothing, arguments[0], ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        return builder.fmul(builder.shuffle_vector(first, nothing, everywhere), arguments[1])

    return _lanes(types.float64, _lanes), generate


@jit
def highest(row):
    """Return the largest number of a row of any length, none of which is NaN; -inf of none."""
    n_eights = len(row) // WIDTH
    found = -np.inf
    if n_eights > 0:
        one = two = load(row, 0)
        for i in range(n_eights // 2):
            one, two = larger(one, load(row, 2 * i)), larger(two, load(row, 2 * i + 1))
        found = largest(larger(larger(one, two), load(row, n_eights - 1)))
    for i in range(n_eights * WIDTH, len(row)):
        found = max(found, row[i])
    return found
