"""Fixed-point formats as shapes, and rounding and saturation as gates.

The formats are `precog_spec.contract.Q`; `quantize` gives the same integers as the function of
that name in `precog_models.fixed`.
"""

from amaranth.hdl import Cat, Const, Mux, Shape, Value, signed, unsigned

from precog_spec.contract import Overflow, Q, Rounding

__all__ = ["Overflow", "Rounding", "carry_save", "quantize", "shape", "widened"]


def shape(fmt: Q) -> Shape:
    """The shape of a signal that holds a number of format `fmt`."""
    return signed(fmt.width) if fmt.signed else unsigned(fmt.width)


def widened(value: Value, bits: int) -> Value:
    """The bits of a signed number, `bits` of them."""
    return Cat(value, value[-1].replicate(bits - len(value)))


def carry_save(a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """Two numbers whose sum is that of three of one width, modulo that width.

    No carry runs: synthesis by itself puts a carry chain behind another. Cost: two LUTs a bit.
    """
    return a ^ b ^ c, Cat(Const(0, 1), ((a & b) | (a & c) | (b & c))[: len(a) - 1])


def quantize(
    value: Value,
    frac_bits: int,
    to: Q,
    *,
    rounding: Rounding = Rounding.HALF_UP,
    overflow: Overflow = Overflow.SATURATE,
) -> Value:
    """Bring a number of one scale into a format, without registers.

    Cost: an adder for rounding, a comparison of the upper bits and a multiplexer for saturation.

    Parameters
    ----------
    value : Value
        Signed or unsigned, with `frac_bits` fraction bits.
    frac_bits : int
        Fraction bits of `value`.
    to : Q
        The format of the result.
    rounding, overflow
        What to do with bits below and above the format.

    Returns
    -------
    Value
        Of shape ``shape(to)``.
    """
    drop = frac_bits - to.frac_bits
    if drop <= 0:
        whole = value << -drop
    else:
        whole = value >> drop
        up = value[drop - 1] if drop <= len(value) else value[-1] & value.shape().signed
        if rounding is Rounding.HALF_UP:
            whole = whole + up
        elif rounding is Rounding.HALF_EVEN:
            tie = ~value[: drop - 1].any()
            whole = whole + (up & (~tie | whole[0]))
    if overflow is Overflow.SATURATE:
        whole = Mux(whole > to.max, to.max, Mux(whole < to.min, to.min, whole))
    # A wider sum is cut, a narrower one extended, as an assignment to `shape(to)` would.
    sign = whole[-1] if whole.shape().signed else Const(0, 1)
    bits = Cat(whole[: to.width], sign.replicate(max(0, to.width - len(whole))))
    return bits.as_signed() if to.signed else bits
