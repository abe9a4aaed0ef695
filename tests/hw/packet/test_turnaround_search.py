"""The turnaround that is searched, against its golden model: arrivals and resets at any time."""

import random
from typing import Any

import pytest

from precog_hw.packet.cps_slots import CpsSlots
from precog_hw.packet.turnaround_search import TurnaroundSearch
from precog_models.packet.turnaround import Turnaround

from .bench import run

NS = 1 << 40
_ARRIVALS_APART = 1 + 2 * TurnaroundSearch.ARRIVAL_STAYS


@pytest.mark.parametrize("slots", [2, 4, 32])
def test_a_request_sees_what_came_up_to_its_cycle(slots: int, seed: int) -> None:
    rng = random.Random(seed)
    dut = TurnaroundSearch(slots)
    golden = [Turnaround() for _ in range(slots)]
    used = rng.sample(range(slots), 2)
    psns = [rng.getrandbits(24) for _ in range(5)]
    seen = {"known": 0, "unknown": 0, "saturated": 0, "reset": 0, "late": 0}

    async def bench(ctx: Any) -> None:
        now, request, arrival = NS - 5000, None, None
        asks = comes = 0  # cycles until the next one may come
        for cycle in range(6000):
            now = (now + rng.choice([1, 10, 1 << 22, (1 << 24) - 1])) % NS
            if request and request[0] == cycle:
                expected = request[1]
                assert ctx.get(dut.valid) == (expected is not None)
                if expected is not None:
                    assert ctx.get(dut.value) == expected
                    seen["saturated"] += expected == (1 << 24) - 1
                seen["known" if expected is not None else "unknown"] += 1
                request = None
            # What came earlier and what comes now is seen by a request of this cycle.
            busy = ctx.get(dut.busy)
            stb = not comes and rng.random() < 0.3
            ctx.set(dut.arrival_stb, stb)
            if stb:
                arrival = rng.choice(used), rng.choice(psns), now
                golden[arrival[0]].arrived(*arrival[1:])
                comes = _ARRIVALS_APART
                seen["late"] += busy
            elif comes <= _ARRIVALS_APART - TurnaroundSearch.ARRIVAL_STAYS - 1:
                arrival = rng.randrange(slots), rng.getrandbits(24), rng.getrandbits(40)
            comes -= comes > 0
            assert arrival is not None
            resets = not stb and not busy and rng.random() < 0.02
            ctx.set(dut.reset_stb, resets)
            if resets:
                arrival = rng.choice(used), *arrival[1:]
                golden[arrival[0]] = Turnaround()
                seen["reset"] += 1
            ctx.set(dut.slot, arrival[0])
            ctx.set(dut.psn, arrival[1])
            ctx.set(dut.t1, arrival[2])
            asked = not asks and rng.random() < 0.4
            ctx.set(dut.asked_stb, asked)
            ctx.set(dut.asked_slot, rng.randrange(slots))
            if asked:
                slot, psn = rng.choice(used), rng.choice(psns)
                ctx.set(dut.asked_slot, slot)
                ctx.set(dut.asked_psn, psn)
                ctx.set(dut.t2, now)
                request = cycle + dut.LATENCY, golden[slot].answered(psn, now)
                asks = dut.LATENCY
            asks -= asks > 0
            await ctx.tick()

    run(dut, bench, cycles=6010)
    assert min(seen.values()) > 10


def test_rows_of_slots_whose_packets_are_apart(seed: int) -> None:
    """`tx_row` is complete after `tx_latency` cycles, also of a slot named for one cycle."""
    rng = random.Random(seed)
    dut = CpsSlots(4, 8, relaxed=True)

    async def bench(ctx: Any) -> None:
        for slot in range(4):
            score = {"value": 10 + slot, "valid": 1}
            ctx.set(dut.config_stb, 1)
            ctx.set(dut.config_slot, slot)
            ctx.set(dut.config, {"mode": slot, "destination": slot, "score": score})
            await ctx.tick()
        ctx.set(dut.config_stb, 0)
        for slot in rng.choices(range(4), k=20):
            psn, before, after = rng.getrandbits(24), rng.getrandbits(30), rng.getrandbits(23)
            ctx.set(dut.arriving, 1)
            ctx.set(dut.arrival_stb, 1)
            ctx.set(dut.arrival_slot, slot)
            ctx.set(dut.arrival_psn, psn)
            ctx.set(dut.arrival_ns, before)
            ctx.set(dut.i_reset.valid, 1)
            ctx.set(dut.i_reset.payload, slot ^ 1)
            assert not ctx.get(dut.i_reset.ready)
            await ctx.tick()
            ctx.set(dut.arriving, 0)
            ctx.set(dut.arrival_stb, 0)
            ctx.set(dut.tx_stb, 1)
            ctx.set(dut.tx_slot, slot)
            assert ctx.get(dut.i_reset.ready)
            await ctx.tick()
            ctx.set(dut.tx_stb, 0)
            ctx.set(dut.tx_slot, slot ^ 1)
            ctx.set(dut.tx_psn, psn)
            ctx.set(dut.tx_ns, before + after)
            for left in reversed(range(dut.tx_latency - 1)):
                assert not ctx.get(dut.tx_done)
                assert ctx.get(dut.i_reset.ready) == (left == 0)  # the last arrival has been read
                await ctx.tick()
            ctx.set(dut.i_reset.valid, 0)
            assert ctx.get(dut.tx_done)
            row = ctx.get(dut.tx_row)
            assert (row.mode, row.score.value, row.turnaround_valid) == (slot, 10 + slot, 1)
            assert row.turnaround == after

    run(dut, bench, cycles=400)
