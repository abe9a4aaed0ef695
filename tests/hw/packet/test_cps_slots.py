# amaranth: UnusedElaboratable=no
"""Rows of CPS slots against the golden state: all ports in every cycle, on few slots."""

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from precog_hw.packet.cps_slots import CpsSlots
from precog_models.packet.cps_state import CpsSlot
from precog_models.packet.turnaround import Turnaround
from precog_spec.contract import CarriedScore
from precog_spec.frames.cps import Mode

from .bench import run

NS = 1 << 40


class Golden:
    """The golden rows; what a port does is put off until requests see it."""

    def __init__(self, slots: int, destinations: int) -> None:
        self.slots = [CpsSlot() for _ in range(slots)]
        self.enables = [True] * destinations
        self._later: deque[tuple[int, Callable[[], None]]] = deque()

    def arrive(self, cycle: int, slot: int, psn: int, ns: int) -> None:
        action = lambda: self.slots[slot].turnaround.arrived(psn, ns)  # noqa: E731
        self._later.append((cycle + CpsSlots.ARRIVAL_CYCLES, action))

    def reset(self, cycle: int, slot: int) -> None:
        def action() -> None:
            self.slots[slot].turnaround = Turnaround()

        self.slots[slot].echo = None
        self._later.append((cycle + CpsSlots.ARRIVAL_CYCLES, action))

    def settle(self, cycle: int) -> None:
        """Do what a request of this cycle sees."""
        while self._later and self._later[0][0] <= cycle:
            self._later.popleft()[1]()

    def tx_row(self, slot: int, psn: int, ns: int, enable: bool) -> dict[str, int | None]:
        row = self.slots[slot]
        return {
            "mode": int(row.mode),
            "enable": int(enable),
            "score": row.carried,
            "echo": row.echo,
            "turnaround": row.turnaround.answered(psn, ns),
        }


def shown(ctx: Any, dut: CpsSlots) -> dict[str, int | None]:
    row = ctx.get(dut.tx_row)
    return {
        "mode": row.mode,
        "enable": row.enable,
        "score": row.score.value if row.score.valid else None,
        "echo": row.echo.value if row.echo.valid else None,
        "turnaround": row.turnaround if row.turnaround_valid else None,
    }


@pytest.mark.parametrize(
    ("slots", "destinations", "cycles", "predicted"),
    [(4, 8, 1000, True), (64, 2, 200, False), (1024, 256, 200, True)],
)
def test_exact_with_latency(
    slots: int, destinations: int, cycles: int, predicted: bool, seed: int
) -> None:
    rng = random.Random(seed)
    dut = CpsSlots(slots, destinations, predicted=predicted)
    golden = Golden(slots, destinations)
    used = rng.sample(range(slots), 2)
    hosts = rng.sample(range(destinations), 2)
    psns = [rng.getrandbits(24) for _ in range(6)]
    enables: deque[tuple[int, int, bool]] = deque()
    tx: deque[tuple[int, dict[str, int | None], int]] = deque()
    rx: deque[tuple[int, int, int | None, int]] = deque()
    resetting: list[int] = []
    times = {"known": 0, "unknown": 0, "reset": 0}

    def host(ctx: Any, cycle: int) -> None:
        score = rng.choice([None, rng.randrange(101)])
        mode, destination, slot = rng.choice(list(Mode)), rng.choice(hosts), rng.choice(used)
        stb = rng.random() < 0.2
        ctx.set(dut.config_stb, stb)
        ctx.set(dut.config_slot, slot)
        given = {"value": score if score is not None else rng.getrandbits(7)}
        given["valid"] = score is not None
        source = rng.choice(list(CarriedScore)) if predicted else CarriedScore.HOST
        sources = {"source": source} if predicted else {}
        fields = {"mode": int(mode), "destination": destination, "score": given, **sources}
        ctx.set(dut.config, fields)
        if stb:
            row = golden.slots[slot]
            row.mode, row.destination, row.score = mode, destination, score
            row.predicted = source != CarriedScore.HOST
        if predicted:
            slot, stb = rng.choice(used), rng.random() < 0.3
            score = rng.choice([None, rng.randrange(101)])
            given = {"value": score or 0, "valid": score is not None}
            ctx.set(dut.predicted_stb, stb)
            ctx.set(dut.predicted_slot, slot)
            ctx.set(dut.predicted, given)
            if stb:
                golden.slots[slot].forecast = score
        changed, enable = rng.choice(hosts), rng.random() < 0.6
        stb = rng.random() < 0.1
        ctx.set(dut.enable_stb, stb)
        ctx.set(dut.enable_destination, changed)
        ctx.set(dut.enable, enable)
        if stb:  # visible in the cycle after the write
            enables.append((cycle + 1, changed, enable))

    def wire(ctx: Any, cycle: int, now: int, busy: float) -> None:
        slot, score, stb = rng.choice(used), rng.randrange(101), rng.random() < busy
        echoes = stb
        ctx.set(dut.echo_stb, stb)
        ctx.set(dut.echo_slot, slot)
        ctx.set(dut.echo, score)
        if stb:
            golden.slots[slot].echo = score
        slot, psn, stb = rng.choice(used), rng.choice(psns), rng.random() < busy
        ctx.set(dut.arrival_stb, stb)
        ctx.set(dut.arrival_slot, slot)
        ctx.set(dut.arrival_psn, psn)
        ctx.set(dut.arrival_ns, now)
        if stb:
            golden.arrive(cycle, slot, psn, now)
        if not resetting and rng.random() < 0.1:
            resetting.append(rng.choice(used))
            ctx.set(dut.i_reset.payload, resetting[0])
        ctx.set(dut.i_reset.valid, bool(resetting))
        assert ctx.get(dut.i_reset.ready) == (not echoes and not stb)
        if resetting and not echoes and not stb:
            golden.reset(cycle, resetting.pop())
            times["reset"] += 1

    async def bench(ctx: Any) -> None:
        now, busy = NS - 5000, 0.5
        for cycle in range(cycles):
            if cycle % 50 == 0:
                busy = rng.choice([0.05, 0.5, 0.9])
            now = (now + rng.choice([1, 10, 1 << 22, (1 << 24) - 1])) % NS
            host(ctx, cycle)
            wire(ctx, cycle, now, busy)
            golden.settle(cycle)
            stb, slot, psn = rng.random() < 0.9, rng.choice(used), rng.choice(psns)
            ctx.set(dut.tx_stb, stb)
            ctx.set(dut.tx_slot, slot)
            ctx.set(dut.tx_psn, psn)
            ctx.set(dut.tx_ns, now)
            asked = rng.choice(used)
            ctx.set(dut.rx_slot, asked)
            row = golden.slots[asked]
            asked_row = (int(row.mode), row.carried, row.destination)
            rx.append((cycle + CpsSlots.RX_LATENCY, *asked_row))
            # The enable is looked up behind the configuration, two cycles later.
            while enables and enables[0][0] <= cycle:
                _, changed, value = enables.popleft()
                golden.enables[changed] = value
            if stb:
                want = golden.tx_row(slot, psn, now, enable=True)
                times["unknown" if want["turnaround"] is None else "known"] += 1
                tx.append((cycle, want, golden.slots[slot].destination))
            for asked_at, want, destination in tx:
                if asked_at == cycle - 2:
                    want["enable"] = int(golden.enables[destination])
            due = bool(tx) and tx[0][0] == cycle - CpsSlots.TX_LATENCY
            assert ctx.get(dut.tx_done) == due
            if due:
                assert shown(ctx, dut) == tx.popleft()[1]
            if rx[0][0] == cycle:
                told = ctx.get(dut.rx_row)
                score = told.score.value if told.score.valid else None
                _, mode, carried, destination = rx.popleft()
                assert (told.mode, score) == (mode, carried)
                assert told.enable == golden.enables[destination]
            await ctx.tick()

    run(dut, bench, cycles=cycles + 10)
    assert min(times["known"], times["unknown"]) > 0
    assert times["reset"] > 0 or cycles < 1000


@pytest.mark.parametrize("distance", range(6))
def test_when_an_arrival_is_seen(distance: int) -> None:
    """By requests from 3 cycles after it on, and by none before."""
    dut = CpsSlots(8, 4)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.arrival_slot, 5)
        ctx.set(dut.arrival_psn, 77)
        ctx.set(dut.arrival_ns, 1000)
        ctx.set(dut.tx_slot, 5)
        ctx.set(dut.tx_psn, 77)
        ctx.set(dut.tx_ns, 1234)
        for cycle in range(distance + CpsSlots.TX_LATENCY):
            ctx.set(dut.arrival_stb, cycle == 0)
            ctx.set(dut.tx_stb, cycle == distance)
            await ctx.tick()
        assert ctx.get(dut.tx_done)
        assert shown(ctx, dut)["turnaround"] == (234 if distance >= 3 else None)
        assert CpsSlots.ARRIVAL_CYCLES == 3

    run(dut, bench, cycles=30)


@pytest.mark.parametrize(
    ("slots", "destinations", "what"),
    [(12, 4, "slots"), (1, 4, "slots"), (4, 0, "destinations"), (4, 3, "destinations")],
)
def test_configuration_error(slots: int, destinations: int, what: str) -> None:
    with pytest.raises(ValueError, match=f"{what} must be a power of two, 2 or more, not"):
        CpsSlots(slots, destinations)
