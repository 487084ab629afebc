"""Sums of floats as fixed-point numbers, whose bits depend on neither order, tree, placement nor bucket. Pure.

For each element the ranks agree on the largest exponent E of their numbers (a MAX of one byte; of two for float64). Then
each contributes its number as an integer, in units of 2^(E - bias + 1 - precision + h), where h = ceil(log2(ranks)) bits
are room for carries, and the integers are added, which is exact:

    type                         frames carry          precision
    float32, float16, bfloat16   uint8 MAX, int32 SUM  30 bits
    float64                      uint16 MAX, int64 SUM 62 bits

An element's bits depend on the ranks' numbers for this element and on how many ranks there are, and on nothing else. With
`exponents` of a whole call there is one E for all of its elements: nothing but the integers' bytes travels, and small
numbers beside a large one lose digits; then bits depend also on what is reduced together.

Error. A number is rounded once, to the nearest unit, and the sum once, to its type. With r ranks and the largest number
of magnitude x the result is within r 2^(h - precision) x of the exact sum, and half a unit of its last place: with 8
float32 2^-24 x, which is the error of one ordinary addition.

Infinities and NaNs have the largest E of all. Elements with this E carry counts instead, in fields of ten bits: of NaNs,
of +Inf and of -Inf. A NaN anywhere, or both infinities, give a NaN.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
STEP = 1 << 15  # elements at a time: what they need stays in a processor's cache
FIELD = 10  # bits of a count of specials


@dataclasses.dataclass(frozen=True)
class Format:
    number: Any  # the float's type
    bits: Any  # an unsigned integer of its size
    fixed: Any  # the signed one, which frames carry
    exponent: Any
    mantissa: int  # stored bits of the mantissa
    precision: int  # bits of fixed-point numbers and their sums, without the sign

    @property
    def special(self) -> int:
        """The exponent of infinities and NaNs."""
        return (1 << (np.dtype(self.bits).itemsize * 8 - 1 - self.mantissa)) - 1

    @property
    def width(self) -> int:
        return np.dtype(self.bits).itemsize * 8


FLOAT32 = Format(np.float32, np.uint32, np.int32, np.uint8, 23, 30)
FLOAT64 = Format(np.float64, np.uint64, np.int64, np.uint16, 52, 62)


def format_of(array: Array) -> Format:
    return FLOAT64 if array.dtype == np.float64 else FLOAT32


def room_for(ranks: int) -> int:
    """h: bits that a sum of this many numbers may have more than each."""
    return (ranks - 1).bit_length()


def exponents(numbers: Array, whole_call: bool = False) -> Array:
    """The exponents to agree on, of a one-dimensional array; of all together if `whole_call`."""
    form = format_of(numbers)
    bits = numbers.view(form.bits)
    found = np.empty(len(numbers), form.exponent)
    for begin in range(0, len(bits), STEP):
        part = bits[begin : begin + STEP] >> form.bits(form.mantissa)
        found[begin : begin + STEP] = part & form.bits(form.special)
    return np.array([found.max()], form.exponent) if whole_call and len(found) else found


def encode(numbers: Array, agreed: Array, ranks: int) -> Array:
    """The fixed-point numbers in units of the agreed exponents: one for each element, or one for all."""
    form = format_of(numbers)
    room = room_for(ranks)
    bits = numbers.view(form.bits)
    fixed = np.empty(len(bits), form.fixed)
    one_for_all = len(agreed) != len(bits)
    for begin in range(0, len(bits), STEP):
        part = bits[begin : begin + STEP]
        largest = agreed if one_for_all else agreed[begin : begin + STEP]
        fixed[begin : begin + STEP] = _encode(form, part, largest, room)
    return fixed


def _encode(form: Format, bits: Array, largest: Array, room: int) -> Array:
    unsigned = form.bits
    exponent = (bits >> unsigned(form.mantissa)) & unsigned(form.special)
    mantissa = bits & unsigned((1 << form.mantissa) - 1)
    mantissa |= np.minimum(exponent, unsigned(1)) << unsigned(form.mantissa)  # the leading one of normal numbers
    # Subnormal numbers have the unit of the smallest normal ones.
    down = np.maximum(largest.astype(unsigned), unsigned(1)) - np.maximum(exponent, unsigned(1)) + unsigned(room)
    mantissa <<= unsigned(form.precision - form.mantissa)  # one bit more than the precision, for rounding
    mantissa >>= np.minimum(down, unsigned(form.width - 1))
    mantissa += unsigned(1)
    mantissa >>= unsigned(1)
    fixed: Array = mantissa.view(form.fixed)
    sign = bits.view(form.fixed) >> form.fixed(form.width - 1)  # 0 or -1
    fixed ^= sign
    fixed -= sign
    if (largest == form.special).any():
        is_special = np.broadcast_to(largest == form.special, fixed.shape)
        fixed[is_special] = _counts(form, bits[is_special])
    return fixed


def _counts(form: Format, bits: Array) -> Array:
    exponent = (bits >> form.bits(form.mantissa)) & form.bits(form.special)
    not_finite = exponent == form.special
    is_nan = not_finite & ((bits & form.bits((1 << form.mantissa) - 1)) != 0)
    is_negative = bits >> form.bits(form.width - 1) != 0
    field = np.where(is_nan, 0, np.where(is_negative, 2 * FIELD, FIELD))
    return np.where(not_finite, form.fixed(1) << field.astype(form.fixed), form.fixed(0)).astype(form.fixed)


def decode(sums: Array, agreed: Array, ranks: int, out: Array) -> None:
    """Writes what the sums of fixed-point numbers are into `out`, of the numbers' type."""
    form = format_of(out)
    room = room_for(ranks)
    one_for_all = len(agreed) != len(sums)
    for begin in range(0, len(sums), STEP):
        largest = agreed if one_for_all else agreed[begin : begin + STEP]
        _decode(form, sums[begin : begin + STEP], largest, room, out[begin : begin + STEP])


def _decode(form: Format, sums: Array, largest: Array, room: int, out: Array) -> None:
    # A number's value is its mantissa of 24 (53) bits in units of 2^(exponent - bias - mantissa bits).
    bias = form.special >> 1
    power = np.maximum(largest.astype(form.fixed), form.fixed(1)) + form.fixed(1 - bias + room - form.precision)
    with np.errstate(over="ignore", under="ignore"):
        np.copyto(out, sums, casting="unsafe")  # rounded here; powers of two then change the exponent alone
        half = power >> form.fixed(1)  # the whole power may be too small for a normal number
        for part in (half, power - half):
            out *= ((part + form.fixed(bias)) << form.fixed(form.mantissa)).view(form.number)
    if (largest == form.special).any():
        is_special = np.broadcast_to(largest == form.special, out.shape)
        field = (1 << FIELD) - 1
        counts = sums[is_special]
        nan, above, below = (counts & field, (counts >> FIELD) & field, (counts >> (2 * FIELD)) & field)
        infinite = np.where(above != 0, np.inf, np.where(below != 0, -np.inf, 0.0))
        out[is_special] = np.where((nan != 0) | ((above != 0) & (below != 0)), np.nan, infinite)
