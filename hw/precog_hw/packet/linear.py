"""XOR networks from functions: CRCs in one cycle of any width, from the golden models."""

from collections.abc import Callable
from functools import cache

from amaranth.hdl import Cat, Value

__all__ = ["xor_network"]


@cache
def _columns(function: Callable[[int], int], bits: int) -> tuple[int, ...]:
    """`function(0)`, then what each input bit changes."""
    zero = function(0)
    return (zero, *(function(1 << n) ^ zero for n in range(bits)))


def xor_network(
    function: Callable[[int], int], value: Value, bits_out: int, *, fold: bool = False
) -> Value:
    """The value of `function`, which must be affine over GF(2), of a hardware value.

    Latency: none. Cost: for each output bit a tree over the input bits that it depends on, some
    ``n / 3`` LUT4 for n of them.

    Parameters
    ----------
    function : callable
        From a number of ``len(value)`` bits to one of `bits_out`; f(a) ^ f(b) ^ f(c) = f(a ^ b ^ c)
        for all numbers, as CRCs are. Give a module's function, not a lambda: results are kept.
    value : Value
    bits_out : int
    fold : bool
        First add up input bits that change the same: one level more, and far less where the value
        is long and the result short. A remainder by a polynomial of n bits has a period of
        2**n - 1 bits at most.

    Raises
    ------
    ValueError
        A result does not fit `bits_out`.
    """
    zero, *columns = _columns(function, len(value))
    widest = max([zero, *columns], default=0)
    if widest >> bits_out:
        raise ValueError(f"results must fit {bits_out} bits, not be as large as {widest:#x}")
    if fold:
        alike: dict[int, int] = {}
        for n, column in enumerate(columns):
            alike[column] = alike.get(column, 0) | 1 << n
        value, columns = Cat((value & taps).xor() for taps in alike.values()), list(alike)
    outputs = []
    for row in range(bits_out):
        # A mask, not a list of bits: simulators take the parity of a word at once.
        taps = sum((column >> row & 1) << n for n, column in enumerate(columns))
        outputs.append((value & taps).xor() ^ (zero >> row & 1))
    return Cat(outputs)
