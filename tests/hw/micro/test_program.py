"""The program: how long its longest way is, and parameters that change while it runs."""

from typing import Any

from amaranth.sim import Simulator

from precog_hw.compose.ports import nic_map
from precog_hw.micro.core import MicroCore
from precog_hw.micro.isa import WORD_BITS, Op, wait_bits
from precog_hw.micro.machine import Machine
from precog_hw.micro.program import WAITS, program
from precog_hw.micro.registers import parameter_places
from precog_spec.config import PRESETS

_PLACES = parameter_places(nic_map(PRESETS["ecp5-25"]))
_PROGRAM = program(4, _PLACES)
_BITS = _PROGRAM.address_bits
_WAIT_BITS = wait_bits(WAITS)


def decoded(instruction: int) -> tuple[Op, int]:
    return Op(instruction >> _BITS + 2), instruction & ((1 << _BITS) - 1)


def wait_of(at: int) -> str:
    return WAITS[at & ((1 << _WAIT_BITS) - 1)]


def most_cycles(op: Op, at: int) -> int:
    """Of an instruction that waits for nothing; a normalisation and its repetition go by 31."""
    match op:
        case Op.MUL:
            return 5
        case Op.SHL | Op.SHR:
            return 2 + at
        case Op.SHLN | Op.NORM:
            return 3 + 31
        case Op.WAIT if wait_of(at) == "register":
            return 2 + MicroCore.REGISTER_CYCLES
        case _:
            return 3


def longest(start: int, wait: str) -> int:
    """Cycles from instruction `start` to the one that waits for this."""
    cycles: dict[int, int] = {}  # from a place, if what is waited for is reached from there
    for here, instruction in reversed(list(enumerate(_PROGRAM.instructions))):
        op, at = decoded(instruction)
        after = [here + 1] if op is not Op.JMP else []
        if op in (Op.JMP, Op.JN, Op.JNN):
            assert at > here or at == 0, "a jump is forward, or to the next sample"
            after.append(at)
        if op is Op.WAIT and wait_of(at) == wait:
            cycles[here] = 0
        elif op is Op.WAIT and wait_of(at) in ("decided", "dropped", "commanded"):
            continue
        elif reached := [cycles[place] for place in after if place in cycles]:
            cycles[here] = most_cycles(op, at) + max(reached)
    return cycles[start]


def place_of(wait: str) -> int:
    (place,) = (
        n
        for n, instruction in enumerate(_PROGRAM.instructions)
        if decoded(instruction) == (Op.WAIT, WAITS.index(wait))
    )
    return place


def test_a_sample_takes_no_longer_than_said() -> None:
    """Without what the predictor makes it wait."""
    assert longest(0, "decided") == MicroCore.MOST_CYCLES


def test_a_prediction_is_asked_for_no_later_than_said() -> None:
    assert longest(0, "request") == MicroCore.REQUEST_CYCLES


def test_a_decision_without_advice_comes_no_later_than_said() -> None:
    assert longest(place_of("advice"), "decided") == MicroCore.LATE_CYCLES


def test_a_weight_that_changes_meanwhile_is_the_old_one_or_the_new_one() -> None:
    """RTTs that stay the same keep the smoothed one, whatever their weight is."""
    dut, rtt = Machine(program(1, _PLACES)), 1 << 23
    seen = set()
    # The other parameters' registers have the same word.

    async def main(ctx: Any) -> None:
        below = -1 << (WORD_BITS - 1)
        ctx.set(dut.there, (1 << len(WAITS)) - 1)
        ctx.set(dut.ports["is_command"], below)
        ctx.set(dut.ports["apply"], below)
        ctx.set(dut.ports["enable"], below)
        await ctx.tick().until(dut.waits[WAITS.index("commanded")])
        ctx.set(dut.ports["is_command"], 0)
        ctx.set(dut.ports["rtt"], rtt)
        for n in range(60):
            await ctx.tick().until(dut.waits[WAITS.index("begin")])
            for _ in range(n):
                await ctx.tick()
            ctx.set(dut.ports["register"], 65535 * (n & 1))
            await ctx.tick().until(dut.waits[WAITS.index("decided")])
            seen.add(ctx.get(dut.values["srtt"]))

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(main)
    sim.run()
    assert seen == {rtt << 8}
