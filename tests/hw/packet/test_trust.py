# amaranth: UnusedElaboratable=no
"""What may have an effect: the gateware against its golden model, verdicts early and late."""

import random
from collections import deque
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from precog_hw.packet.trust import Trust
from precog_models.packet.trust import Trust as Golden
from precog_models.packet.trust import TrustConfig
from precog_spec.frames.opcodes import CNP

from .bench import run

SLOTS, VERDICTS, TIMES = 8, 4, 1 << 40
ACK, SEND = 0x11, 0x04


class Record(NamedTuple):
    """A packet at its end."""

    slot: int
    opcode: int
    t: int
    known: bool = True
    error: bool = False
    dropped: bool = False
    ok: bool = True

    def payload(self) -> dict[str, Any]:
        """`finished_layout`."""
        return {
            "decided": {"slot": self.slot, "known": self.known, "dropped": self.dropped},
            "error": self.error,
            "parsed": {"descriptor": {"opcode": self.opcode}, "time": self.t},
        }

    def golden(self) -> Any:
        """As much of a `Received` as is looked at."""
        slot = self.slot if self.known else None
        return SimpleNamespace(slot=slot, descriptor=SimpleNamespace(**self._asdict()))


def records(rng: random.Random, count: int, gap: int) -> list[Record]:
    """CNPs of few queue pairs, some close together; time goes on, and around once."""
    t, made = TIMES - count * gap // 4, []
    for _ in range(count):
        t = (t + rng.choice([0, 1, 1, gap // 3, gap // 2, gap - 1, gap])) % TIMES
        dropped = rng.random() < 0.1
        made.append(
            Record(
                rng.randrange(3),
                rng.choice([CNP, CNP, CNP, ACK, SEND]),
                t,
                known=not dropped and rng.random() < 0.85,
                error=rng.random() < 0.1,
                dropped=dropped,
                ok=rng.random() < 0.7,
            )
        )
    return made


@pytest.mark.parametrize(
    ("checked", "gate", "relaxed"),
    [(True, True, False), (True, False, False), (False, True, False), (True, True, True)],
)
def test_exact(checked: bool, gate: bool, relaxed: bool, seed: int, volume: int) -> None:
    rng, gap = random.Random(seed), 90
    dut = Trust(SLOTS, VERDICTS if checked else 0, relaxed=relaxed)
    golden = Golden(SLOTS, TrustConfig(icrc_gate=gate, cnp_gap=gap))
    packets = records(rng, 400 * volume, gap)
    judged: deque[Record] = deque(packets)
    acted = 0

    async def source(ctx: Any) -> None:
        ctx.set(dut.config, {"icrc_gate": gate, "cnp_gap": gap})
        for packet in packets:
            ctx.set(dut.i.valid, 0)
            for _ in range(rng.choice([0, 0, 0, 1, 9]) + 20 * relaxed):
                await ctx.tick()
            ctx.set(dut.i.payload, packet.payload())
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)

    async def verdicts(ctx: Any) -> None:
        for n, packet in enumerate(packets):
            if packet.dropped or not checked:
                continue
            # No more ahead of their records than there is room, nor before they are decided.
            while n - (len(packets) - len(judged)) >= VERDICTS or rng.random() < 0.3:
                await ctx.tick()
            ctx.set(dut.verdict, packet.ok)
            ctx.set(dut.verdict_stb, 1)
            await ctx.tick()
            ctx.set(dut.verdict_stb, 0)

    async def sink(ctx: Any) -> None:
        nonlocal acted
        offered = None
        while judged:
            ready = rng.random() < 0.6
            ctx.set(dut.o.ready, ready)
            sampled = ctx.tick().sample(
                dut.o.valid, dut.o.payload, dut.refused_icrc, dut.refused_cnp
            )
            _, _, valid, out, icrc, cnp = await sampled
            if offered is not None:
                assert (valid, out) == (1, offered), "an offer must stay until it is taken"
            offered = out if valid and not ready else None
            if not (valid and ready):
                assert not icrc
                assert not cnp
                continue
            packet = judged.popleft()
            before = golden.refused_icrc, golden.refused_cnp
            right = not packet.dropped and (packet.ok or not gate)
            acts = golden.acts(packet.golden(), packet.t, right=right or not checked)
            assert (out.decided.slot, out.parsed.time) == (packet.slot, packet.t)
            assert (out.right, out.acts) == (right or not checked, acts)
            assert (icrc, cnp) == (golden.refused_icrc - before[0], golden.refused_cnp - before[1])
            acted += acts
        assert not ctx.get(dut.o.valid)

    run(dut, source, verdicts, sink, cycles=40_000 * volume)
    assert acted
    assert golden.refused_cnp > 10
    assert (golden.refused_icrc > 20) == (checked and gate)


def test_a_reset_forgets_the_last_cnp() -> None:
    dut = Trust(SLOTS, 0)
    acts: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.config, {"icrc_gate": 1, "cnp_gap": 1000})
        ctx.set(dut.o.ready, 1)
        for n, reset in enumerate([None, None, 6, 5, None]):
            if reset is not None:
                ctx.set(dut.i_reset.payload, reset)
                ctx.set(dut.i_reset.valid, 1)
                await ctx.tick().until(dut.i_reset.ready)
                ctx.set(dut.i_reset.valid, 0)
            ctx.set(dut.i.payload, Record(5, CNP, 10 + n).payload())
            ctx.set(dut.i.valid, 1)
            (out,) = await ctx.tick().sample(dut.o.payload).until(dut.i.ready)
            ctx.set(dut.i.valid, 0)
            acts.append(out.acts)

    run(dut, bench, cycles=200)
    assert acts == [1, 0, 0, 1, 0]


def test_a_flood_of_cnps_keeps_no_reset_out() -> None:
    """One follows the other: a reset goes between two, and the second finds what it did."""
    dut = Trust(SLOTS, 0)
    acts: list[tuple[int, int]] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.config, {"icrc_gate": 1, "cnp_gap": 1000})
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.i.payload, Record(5, CNP, 10).payload())
        ctx.set(dut.i.valid, 1)
        resets = 0
        for cycle in range(200):
            ctx.set(dut.i_reset.payload, 5)
            ctx.set(dut.i_reset.valid, cycle > 60 + 30 * resets)
            if ctx.get(dut.i.ready):
                acts.append((ctx.get(dut.o.payload.acts), resets))
            resets += ctx.get(dut.i_reset.valid) and ctx.get(dut.i_reset.ready)
            await ctx.tick()

    run(dut, bench, cycles=300)
    assert [after for act, after in acts if act] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("opcode", "cycles"), [(ACK, 0), (SEND, 0), (CNP, Trust.CNP_CYCLES)])
def test_latency(opcode: int, cycles: int) -> None:
    """From the later one of record and verdict to what may act."""
    dut, waited = Trust(SLOTS, VERDICTS), []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.config.icrc_gate, 1)
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.i.payload, Record(2, opcode, 7).payload())
        ctx.set(dut.i.valid, 1)
        for _ in range(9):
            assert not ctx.get(dut.o.valid)
            await ctx.tick()
        ctx.set(dut.verdict, 1)
        ctx.set(dut.verdict_stb, 1)
        await ctx.tick()
        ctx.set(dut.verdict_stb, 0)
        for n in range(9):
            if ctx.get(dut.o.valid):
                assert ctx.get(dut.o.payload.acts)
                waited.append(n)
                return
            await ctx.tick()

    run(dut, bench, cycles=60)
    assert waited == [cycles]
