# amaranth: UnusedElaboratable=no
"""Rows of CPS slots against the golden state: all ports in every cycle, on few slots."""

import random
from collections import deque
from collections.abc import Callable
from functools import partial
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

        self.slots[slot].echo, self.slots[slot].marked = None, False
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
            "marked": 0,
        }

    def take(self, slot: int) -> int:
        """An acknowledgement's mark."""
        row = self.slots[slot]
        had, row.marked = row.marked, False
        return int(had)


def shown(ctx: Any, dut: CpsSlots) -> dict[str, int | None]:
    row = ctx.get(dut.tx_row)
    return {
        "mode": row.mode,
        "enable": row.enable,
        "score": row.score.value if row.score.valid else None,
        "echo": row.echo.value if row.echo.valid else None,
        "turnaround": row.turnaround if row.turnaround_valid else None,
        "marked": row.marked,
    }


class Bench:
    """Stimuli for all ports in every cycle, and what the golden rows say of the answers."""

    def __init__(
        self, slots: int, destinations: int, *, predicted: bool, marks: bool, seed: int
    ) -> None:
        rng = self.rng = random.Random(seed)
        self.predicted, self.marks = predicted, marks
        self.dut = CpsSlots(slots, destinations, predicted=predicted, port=predicted, marks=marks)
        self.golden = Golden(slots, destinations)
        self.used = rng.sample(range(slots), 2)
        self.hosts = rng.sample(range(destinations), 2)
        self.psns = [rng.getrandbits(24) for _ in range(6)]
        self.enables: deque[tuple[int, int, bool]] = deque()
        self.tx: deque[tuple[int, dict[str, int | None], int]] = deque()
        self.rx: deque[tuple[int, int, int | None, int]] = deque()
        self.resetting: list[int] = []
        self.taking = False  # the request of the last cycle was an acknowledgement's
        self.took: int | None = None  # it had the mark of this slot
        self.times = {"known": 0, "unknown": 0, "reset": 0, "marked": 0, "free": 0}

    def host(self, ctx: Any, cycle: int) -> None:
        """Writes of configurations, predicted scores and enables."""
        rng, dut, predicted = self.rng, self.dut, self.predicted
        score = rng.choice([None, rng.randrange(101)])
        mode, destination, slot = (
            rng.choice(list(Mode)),
            rng.choice(self.hosts),
            rng.choice(self.used),
        )
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
            row = self.golden.slots[slot]
            row.mode, row.destination, row.score = mode, destination, score
            row.predicted = source != CarriedScore.HOST
        if predicted:
            slot, stb = rng.choice(self.used), rng.random() < 0.3
            score = rng.choice([None, rng.randrange(101)])
            given = {"value": score or 0, "valid": score is not None}
            ctx.set(dut.predicted_stb, stb)
            ctx.set(dut.predicted_slot, slot)
            ctx.set(dut.predicted, given)
            if stb:
                self.golden.slots[slot].forecast = score
        changed, enable = rng.choice(self.hosts), rng.random() < 0.6
        stb = rng.random() < 0.1
        ctx.set(dut.enable_stb, stb)
        ctx.set(dut.enable_destination, changed)
        ctx.set(dut.enable, enable)
        if stb:  # visible in the cycle after the write
            self.enables.append((cycle + 1, changed, enable))

    def wire(self, ctx: Any, cycle: int, now: int, busy: float) -> None:
        """Echoes, marks, arrivals and resets, which wait for the first and the last of these."""
        rng, dut = self.rng, self.dut
        slot, score, stb = rng.choice(self.used), rng.randrange(101), rng.random() < busy
        echoes = stb
        ctx.set(dut.echo_stb, stb)
        ctx.set(dut.echo_slot, slot)
        ctx.set(dut.echo, score)
        if stb:
            self.golden.slots[slot].echo = score
        slot, psn, stb = rng.choice(self.used), rng.choice(self.psns), rng.random() < busy
        ctx.set(dut.arrival_stb, stb)
        ctx.set(dut.arrival_slot, slot)
        ctx.set(dut.arrival_psn, psn)
        ctx.set(dut.arrival_ns, now)
        if stb:
            self.golden.arrive(cycle, slot, psn, now)
        free = not echoes and not stb and not self.taking
        fresh = set()
        if self.marks:
            # A mark in the cycle of a reset, or of the taking, goes with one that was there.
            slot, marked = rng.choice(self.used), rng.random() < busy
            ctx.set(dut.mark_stb, marked)
            ctx.set(dut.mark_slot, slot)
            if marked and slot != self.took:
                fresh = set() if self.golden.slots[slot].marked else {slot}
                self.golden.slots[slot].marked = True
        if not self.resetting and rng.random() < 0.1:
            self.resetting.append(rng.choice(self.used))
            ctx.set(dut.i_reset.payload, self.resetting[0])
        ctx.set(dut.i_reset.valid, bool(self.resetting))
        assert ctx.get(dut.i_reset.ready) == free
        if self.resetting and free:
            slot = self.resetting.pop()
            self.golden.reset(cycle, slot)
            self.golden.slots[slot].marked = slot in fresh
            self.times["reset"] += 1

    def ask(self, ctx: Any, cycle: int, now: int) -> None:
        """A question of each direction, and the answer that is to come."""
        rng, dut = self.rng, self.dut
        stb, slot, psn = rng.random() < 0.9, rng.choice(self.used), rng.choice(self.psns)
        ctx.set(dut.tx_stb, stb)
        ctx.set(dut.tx_slot, slot)
        ctx.set(dut.tx_psn, psn)
        ctx.set(dut.tx_ns, now)
        takes = self.marks and rng.random() < 0.5
        if self.marks:
            ctx.set(dut.tx_takes, takes)
        self.taking, self.took = stb and takes, None
        asked = rng.choice(self.used)
        ctx.set(dut.rx_slot, asked)
        row = self.golden.slots[asked]
        asked_row = (int(row.mode), row.carried, row.destination)
        self.rx.append((cycle + CpsSlots.RX_LATENCY, *asked_row))
        # The enable is looked up behind the configuration, two cycles later.
        while self.enables and self.enables[0][0] <= cycle:
            _, changed, value = self.enables.popleft()
            self.golden.enables[changed] = value
        if stb:
            want = self.golden.tx_row(slot, psn, now, enable=True)
            if takes:
                want["marked"] = self.golden.take(slot)
                self.took = slot if want["marked"] else None
                self.times["marked" if want["marked"] else "free"] += 1
            self.times["unknown" if want["turnaround"] is None else "known"] += 1
            self.tx.append((cycle, want, self.golden.slots[slot].destination))
        for asked_at, want, destination in self.tx:
            if asked_at == cycle - 2:
                want["enable"] = int(self.golden.enables[destination])

    def check(self, ctx: Any, cycle: int) -> None:
        """Answers that are due, and no others."""
        dut = self.dut
        due = bool(self.tx) and self.tx[0][0] == cycle - CpsSlots.TX_LATENCY
        assert ctx.get(dut.tx_done) == due
        if due:
            assert shown(ctx, dut) == self.tx.popleft()[1]
        if self.rx[0][0] == cycle:
            told = ctx.get(dut.rx_row)
            score = told.score.value if told.score.valid else None
            _, mode, carried, destination = self.rx.popleft()
            assert (told.mode, score) == (mode, carried)
            assert told.enable == self.golden.enables[destination]

    async def run(self, ctx: Any, cycles: int) -> None:
        """All ports in every cycle."""
        now, busy = NS - 5000, 0.5
        for cycle in range(cycles):
            if cycle % 50 == 0:
                busy = self.rng.choice([0.05, 0.5, 0.9])
            now = (now + self.rng.choice([1, 10, 1 << 22, (1 << 24) - 1])) % NS
            self.host(ctx, cycle)
            self.wire(ctx, cycle, now, busy)
            self.golden.settle(cycle)
            self.ask(ctx, cycle, now)
            self.check(ctx, cycle)
            await ctx.tick()


@pytest.mark.parametrize(
    ("slots", "destinations", "cycles", "predicted", "marks"),
    [(4, 8, 1000, True, True), (64, 2, 200, False, False), (1024, 256, 200, True, True)],
)
def test_exact_with_latency(
    slots: int, destinations: int, cycles: int, predicted: bool, marks: bool, seed: int
) -> None:
    bench = Bench(slots, destinations, predicted=predicted, marks=marks, seed=seed)
    run(bench.dut, partial(bench.run, cycles=cycles), cycles=cycles + 10)
    assert min(bench.times["known"], bench.times["unknown"]) > 0
    assert bench.times["reset"] > 0 or cycles < 1000
    assert not marks or min(bench.times["marked"], bench.times["free"]) > 0


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
