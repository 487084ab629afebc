"""Maps numpy types to forms on the wire, and defines types for forms that numpy lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._library import OPERATORS, TYPES, check, ffi, lib

Array = npt.NDArray[Any]

# Value and index of a minimum and of a maximum.
MINMAXLOC_INT64 = np.dtype([("min", "<i8"), ("min_index", "<u8"), ("max", "<i8"), ("max_index", "<u8")])
MINMAXLOC_DOUBLE = np.dtype([("min", "<f8"), ("min_index", "<u8"), ("max", "<f8"), ("max_index", "<u8")])
# A reproducible sum that is not finished.
REPSUM_STATE = np.dtype([("limbs", "<i8", 4), ("m", "i1"), ("unused", "u1", 7)])
# The upper half of a float32, in a field of its own so that it is not taken for an integer.
BFLOAT16 = np.dtype([("bfloat16", "<u2")])

_FORMS: dict[np.dtype[Any], str] = {
    np.dtype(np.int8): "INT8", np.dtype(np.uint8): "UINT8", np.dtype(np.int16): "INT16",
    np.dtype(np.uint16): "UINT16", np.dtype(np.int32): "INT32", np.dtype(np.uint32): "UINT32",
    np.dtype(np.int64): "INT64", np.dtype(np.uint64): "UINT64", np.dtype(np.float64): "DOUBLE",
    np.dtype(np.float32): "FLOAT", np.dtype(np.float16): "FLOAT16", BFLOAT16: "BFLOAT16",
    MINMAXLOC_INT64: "MINMAXLOC_INT64", MINMAXLOC_DOUBLE: "MINMAXLOC_DOUBLE", REPSUM_STATE: "REPSUM_STATE",
}


def form_of(array: Array) -> int:
    """The enum tributary_type of an array. TypeError for what the network does not reduce."""
    name = _FORMS.get(array.dtype)
    if name is None:
        known = ", ".join(str(dtype) for dtype in _FORMS if dtype.names is None)
        raise TypeError(f"arrays of {array.dtype} are not reduced; convert to one of {known}, or use BFLOAT16, "
                        "MINMAXLOC_INT64, MINMAXLOC_DOUBLE or REPSUM_STATE")
    return TYPES[name]


def as_plain(values: npt.ArrayLike) -> Array:
    """A C-contiguous array of the same values and shape: the argument itself if it is contiguous."""
    _refuse_masked(values)
    return np.asarray(values, order="C")


def check_writable(array: Any, use: str) -> Array:
    """The array, if results can be written into it; `use` begins the text of an error."""
    _refuse_masked(array)
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{use} is a {type(array).__name__}; give a numpy array: results are written into it")
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise ValueError(f"{use} must be contiguous and writeable: results are written into it")
    return array


def _refuse_masked(array: Any) -> None:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("a masked array has no values where it is masked, and the network knows no masks; give "
                        "array.filled(value), or array.data")


def operator_of(name: str) -> int:
    """The enum tributary_op of "sum", "min_nan", "repsum"..."""
    try:
        return OPERATORS[name.lower()]
    except KeyError:
        raise ValueError(f"no operator {name!r}; known are {', '.join(OPERATORS)}") from None


def bfloat16(values: npt.ArrayLike) -> Array:
    """float32 rounded to bfloat16, to nearest and even; a NaN stays a NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits + (0x7FFF + ((bits >> 16) & 1)).astype(np.uint32)) >> 16).astype(np.uint16)
    is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return np.where(is_nan, np.uint16(0x7FC0), rounded).astype(np.uint16).view(BFLOAT16)


def repsum(values: npt.ArrayLike) -> Array:
    """Reproducible sums of one number each, of float64 or float32: an array of REPSUM_STATE, of the same shape."""
    given = as_plain(values)
    states = np.empty(given.shape, REPSUM_STATE)
    check(lib.tributary_repsum_make(address(given), form_of(given), given.size, _states(states)))
    return states


def repsum_add(total: Array, part: Array) -> Array:
    """Adds the states of `part` to those of `total`, in any order with the same bits; returns `total`."""
    check_writable(total, "total")
    given = as_plain(part)
    if total.dtype != REPSUM_STATE or (given.dtype, given.shape) != (total.dtype, total.shape):
        raise ValueError(f"total has the shape {total.shape} of {total.dtype}, and part {given.shape} of {given.dtype}; "
                         "give two arrays of REPSUM_STATE of one shape")
    if np.may_share_memory(total, given):
        given = given.copy()
    check(lib.tributary_repsum_add(_states(total), _states(given), given.size))
    return total


def from_repsum(states: Array, dtype: npt.DTypeLike = np.float64) -> Array:
    """What the sums are, rounded to float64 or float32."""
    given, numbers = as_plain(states), np.empty(states.shape, dtype)
    if given.dtype != REPSUM_STATE:
        raise TypeError(f"an array of {given.dtype} has no reproducible sums; give one of REPSUM_STATE")
    check(lib.tributary_repsum_read(_states(given), given.size, address(numbers), form_of(numbers)))
    return numbers


def address(array: Array) -> Any:
    return ffi.cast("void*", array.ctypes.data)


def _states(array: Array) -> Any:
    return ffi.cast("struct tributary_repsum_state*", array.ctypes.data)


def from_bfloat16(array: Array) -> npt.NDArray[np.float32]:
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
