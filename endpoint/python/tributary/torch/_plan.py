"""Which calls of torch.distributed the network takes, in which form, and why it does not take the others. Pure.

    operator               types                                    frames carry
    SUM                    int8 to int64, uint8                     the same; sums wrap
                           float64, float32, float16, bfloat16      the same; or, where they have to be reproducible,
                                                                    exponents and fixed-point numbers (_fixed.py)
    AVG                    the four floats                          as SUM, then divided by the number of ranks
    MIN MAX                all of these                             the same; a NaN at any rank gives a NaN
    BAND BOR BXOR          integers                                 the same
    broadcast, barrier     every type                               bytes, nothing

All ranks of a correct program plan alike: a plan depends on nothing but the call and settings that are compared.
"""

from __future__ import annotations

import dataclasses

INTEGERS = {"int8": 1, "uint8": 1, "int16": 2, "int32": 4, "int64": 8}
FLOATS = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
BITWISE = {"BAND": "and", "BOR": "or", "BXOR": "xor"}
SHORT_FRAMES = {"int64", "float64"}  # what frames of 84 bytes carry
# Specials of a fixed-point sum are counted in fields of ten bits.
MOST_RANKS_OF_FIXED = 1023

# Why a call is left to the inner backend; in this order in the table of calls.
OPERATOR = "the network does not have its operator"
TYPE = "the network does not have its type"
SPARSE = "its tensor is not dense"
EMPTY = "it has no elements"
SEVERAL = "it has several tensors"
WIDE_FRAMES = "its type needs wide frames, and the group has none"
TOO_MANY_RANKS = "reproducible sums are for at most 1023 ranks"
FUNCTION = "the network does not have its function"
ONE_NODE = "its ranks are on one node"
SWITCHED_OFF = "TRIBUTARY_TORCH=off"
NO_GROUP = "its ranks got no group of the fabric"
FASTER = "the inner backend was measured to be faster"
MEASURED = "the inner backend was measured"


@dataclasses.dataclass(frozen=True)
class Plan:
    type: str  # of torch, "float32"
    op: str  # of tributary, "sum"
    fixed: bool = False  # by exponents and fixed-point numbers
    divide: bool = False  # by the number of ranks, at the end


def plan_reduction(op: str, dtype: str, *, ranks: int, wide_frames: bool, reproducible: bool) -> Plan | str:
    """A plan, or the reason why there is none. `op`: as torch.distributed.ReduceOp names it."""
    if dtype not in INTEGERS and dtype not in FLOATS:
        return TYPE
    if op in BITWISE:
        name = BITWISE[op] if dtype in INTEGERS else None
    elif op in ("MIN", "MAX"):
        name = op.lower() + ("_nan" if dtype in FLOATS else "")
    elif op == "SUM" or (op == "AVG" and dtype in FLOATS):
        name = "sum"
    else:
        name = None
    if name is None:
        return OPERATOR
    fixed = name == "sum" and dtype in FLOATS and reproducible
    if not wide_frames and (fixed or dtype not in SHORT_FRAMES):
        return WIDE_FRAMES
    if fixed and ranks > MOST_RANKS_OF_FIXED:
        return TOO_MANY_RANKS
    return Plan(dtype, name, fixed, op == "AVG")
