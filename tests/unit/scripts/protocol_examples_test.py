"""The worked examples of docs/protocol/wire-format.md, computed from the page's rules alone:
nothing here comes from the C++ kernel, so that a host written from the page gets these."""

import struct
import sys
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts")]

from tributary.cases import Cases  # noqa: E402

PAGE = (ROOT / "docs/protocol/wire-format.md").read_text()
WORD = (1 << 64) - 1
MASK = (1 << 56) - 1
STEP = 0x9E3779B97F4A7D


def on_page(text):
    assert text in PAGE, f"the page does not have: {text}"


def mix(x):
    x = x + 0x9E3779B97F4A7C15 & WORD
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD
    return x ^ x >> 31


def base(cookie, rank):
    return mix(cookie << 32 | rank) & MASK or 1


def limbs_of(value):
    """(M, [T0 .. T3] as unsigned words) of a finite double."""
    bits = struct.unpack(">Q", struct.pack(">d", value))[0]
    biased, fraction = bits >> 52 & 0x7FF, bits & (1 << 52) - 1
    e = biased - 1023 if biased else -1022
    f = fraction | (1 << 52 if biased else 0)
    if f == 0:
        return -26, [0, 0, 0, 0]
    m = e // 40
    v = f << e - 40 * m + 28
    digits = [0, v % (1 << 40), (v >> 40) % (1 << 40), v >> 80]
    return m, [(-d if bits >> 63 else d) & WORD for d in digits]


def signed(word):
    return word - (1 << 64) if word >> 63 else word


def added(x, y):
    """((M, limbs), inexact) of two sums without conditions whose limbs do not overflow."""
    (ma, a), (mb, b) = (x, y) if x[0] >= y[0] else (y, x)
    d = ma - mb
    total = [a[i] + (b[i + d] if i + d <= 3 else 0) & WORD for i in range(4)]
    return (ma, total), any(b[:d])


def shown(word):
    return f"{word:016x}"


def test_signatures():
    cookie = 0x677DAABC
    bases = [base(cookie, rank) for rank in range(3)]
    on_page("base, ranks 0 to 2       " + "  ".join(f"{b:014x}" for b in bases))
    on_page(f"rank 1, piece 3          {bases[1] + 3 * STEP & MASK:014x}")
    on_page(f"three members, piece 3   {sum(bases) + 3 * 3 * STEP & MASK:014x}")


def test_mismatch():
    on_page(f"{0x12345 << 12 << 32 | 0x7 << 12:016x} 0 0 0, rc 8, opcode 0x14")


def test_doubles_as_limbs():
    for name, value in (("1.0", 1.0), ("-1.0", -1.0), ("1e300", 1e300), ("5e-324", 5e-324)):
        m, limbs = limbs_of(value)
        represented = sum(Fraction(signed(t)) * Fraction(2) ** (40 * (m - 3 + i)) for i, t in enumerate(limbs))
        assert represented == Fraction(value), name
        assert limbs[:2] == [0, 0]
        on_page(f"{name:<9} M {m:<4} 0 0 {shown(limbs[2])} {shown(limbs[3])}")


def test_sums():
    total, inexact = added(limbs_of(1.0), limbs_of(2.0**40))
    assert total == (1, [0, 0, 1, 1]) and not inexact
    on_page(f"1.0 + 2^40              M 1    {shown(0)} 0 1 1, rc 0")
    total, inexact = added(total, limbs_of(2.0**-60))
    assert not inexact
    on_page(f"... + 2^-60             M 1    {shown(total[1][0])} 0 1 1, rc 0")
    total, inexact = added(total, limbs_of(2.0**-90))
    assert inexact
    on_page(f"... + 2^-90             M 1    {shown(total[1][0])} 0 1 1, rc 5")
    value = 0.0
    for i in (3, 2, 1, 0):
        value += float(signed(total[1][i])) * 2.0 ** (40 * (total[0] - 3 + i))
    on_page(f"The third line above is {value:.0f}.")
    total, inexact = added(limbs_of(1.5), limbs_of(-0.25))
    assert total[0] == 0 and not inexact
    on_page(f"1.5 + -0.25             M 0    {shown(total[1][0])} 0 {shown(total[1][2])} {total[1][3]}, rc 0")


def test_minimum_and_maximum_with_places():
    """Rank by kind, number and index; the zeros are one number."""
    def half(operands, largest, nan_wins):
        def rank(operand):
            kind, number, index = operand
            nan = {"signalling": 0, "quiet": 1}.get(kind, 2) if nan_wins else int(kind != "number")
            return nan, 0 if kind != "number" else -number if largest else number, index
        return min(operands, key=rank)

    nan = 0x7FF8000000000000
    operands = [("quiet", 0, 5), ("number", 1.0, 2)]
    for more, rc in (([], 0), ([("signalling", 0, 9), ("quiet", 0, 1)], 4)):
        low, high = half(operands + more, False, True), half(operands + more, True, True)
        assert low[0] != "number" and high[0] != "number"
        on_page(f"{shown(nan)} {low[2]} {shown(nan)} {high[2]}, rc {rc}")
    operands = [("quiet", 0, 5), ("number", -0.0, 7), ("number", 0.0, 3)]
    low, high = half(operands, False, False), half(operands, True, False)
    on_page(f"{shown(1 << 63)} {low[2]} {shown(0)} {high[2]}, rc 0")


def main():
    report = Cases("protocol_examples")
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            with report.case("protocol_examples", name.removeprefix("test_")):
                test()
    sys.exit(report.finish())


if __name__ == "__main__":
    main()
