"""Gateware fixed point gives the same integers as the models'."""

from amaranth.hdl import Module, Signal, signed, unsigned
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from precog_hw.fixed import quantize, shape
from precog_models import fixed as golden
from precog_models.fixed import Overflow, Rounding
from precog_spec.contract import Q

formats = st.builds(Q, st.integers(1, 6), st.integers(0, 8), st.booleans())


@settings(max_examples=60, deadline=None)
@given(
    bits=st.integers(2, 20),
    is_signed=st.booleans(),
    frac_bits=st.integers(0, 12),
    to=formats,
    rounding=st.sampled_from(Rounding),
    overflow=st.sampled_from(Overflow),
    data=st.data(),
)
def test_quantize_is_the_models(bits, is_signed, frac_bits, to, rounding, overflow, data):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    some = st.lists(st.integers(low, high), min_size=8, max_size=8)
    numbers = [low, high, 0, *data.draw(some)]

    m = Module()
    value = Signal(signed(bits) if is_signed else unsigned(bits))
    result = Signal(shape(to))
    m.d.comb += result.eq(quantize(value, frac_bits, to, rounding=rounding, overflow=overflow))
    seen = []

    async def bench(ctx):
        for number in numbers:
            ctx.set(value, number)
            await ctx.delay(1e-9)
            seen.append(ctx.get(result))

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()
    expected = golden.quantize(numbers, frac_bits, to, rounding=rounding, overflow=overflow)
    assert seen == expected.tolist()


def test_shape_has_the_formats_width_and_sign():
    assert shape(Q(3, 12)) == signed(16)
    assert shape(Q(24, 8, signed=False)) == unsigned(32)
