# amaranth: UnusedElaboratable=no
"""The lookup that takes turns against its golden model: packets apart while the host moves keys."""

import random
from typing import Any

import pytest

from precog_hw.packet.qp_turns import QpTurns
from precog_models.packet.qp_table import Key, QpTable
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.qp_key import IPV4_MAPPED, WAYS

from .bench import run
from .test_qp_lookup import Connections, set_key, set_write

LONGEST = 12  # cycles of an answer at `rx`
_APART = 13  # cycles from a request to the next one of its port


@pytest.mark.parametrize(("slots", "ipv6"), [(4, False), (4, True), (16, True), (64, False)])
def test_exact_while_keys_move(slots: int, ipv6: bool, seed: int, volume: int) -> None:
    """`tx` answers after `LATENCY`, `rx` not later than `LONGEST`; writes wait for both."""
    if slots == 64 and volume == 1:
        pytest.skip("64 slots take Python's simulator long: only with --volume")
    rng = random.Random(seed)
    dut = QpTurns(slots, ipv6=ipv6)
    addresses = [5, 6, (1 << 128) - 6] if ipv6 else [IPV4_MAPPED + n for n in (5, 6, 0xFFFF0005)]
    connections, card = Connections(slots, rng, addresses), QpTable(slots)
    asked: dict[str, tuple[int, int | None] | None] = {"tx": None, "rx": None}
    free = {"tx": 0, "rx": 0}
    waits: dict[str, set[int]] = {"tx": set(), "rx": set()}
    found = missed = written = 0

    async def bench(ctx: Any) -> None:
        nonlocal found, missed, written
        for cycle in range(4000):
            if not connections.pending and rng.random() < 0.7:
                connections.change()
            pending = connections.pending
            ctx.set(dut.i_access.valid, bool(pending))
            if pending:
                set_write(ctx, dut.i_access.payload, pending[0])
            for port in ("tx", "rx"):
                request = asked[port]
                done = ctx.get(getattr(dut, f"{port}_done"))
                if done:
                    assert request is not None
                    began, due = request
                    waits[port].add(cycle - began)
                    assert ctx.get(getattr(dut, f"{port}_found")) == (due is not None)
                    assert ctx.get(getattr(dut, f"{port}_slot")) == (due or 0)
                    found, missed = found + (due is not None), missed + (due is None)
                    asked[port] = None
            if pending and ctx.get(dut.i_access.ready):
                card.write(pending.popleft())
                written += 1
            for port in ("tx", "rx"):
                stb = asked[port] is None and cycle >= free[port] and rng.random() < 0.2
                ctx.set(getattr(dut, f"{port}_stb"), stb)
                if stb:
                    key = connections.request(address_bits=128 if ipv6 else 32)
                    key = key._replace(direction=Direction[port.upper()])
                    set_key(ctx, getattr(dut, f"{port}_key"), key)
                    asked[port] = (cycle, card.lookup(*key))
                    free[port] = cycle + _APART
            await ctx.tick()

    run(dut, bench, cycles=4010)
    assert min(found, missed) > 50
    assert written > 100
    assert waits["tx"] == {QpTurns.LATENCY}
    assert min(waits["rx"]) == QpTurns.LATENCY
    assert max(waits["rx"]) == LONGEST


@pytest.mark.parametrize("ipv6", [True, False])
def test_the_host_reads_every_cell_while_packets_are_looked_up(ipv6: bool, seed: int) -> None:
    """One answer for each read, in the next cycle; the way that does not exist is free for ever."""
    rng = random.Random(seed)
    slots = 16
    dut, table = QpTurns(slots, ipv6=ipv6), QpTable(slots)
    writes = [
        write
        for slot in range(slots)
        for write in table.add(
            slot,
            rng.getrandbits(128) if ipv6 else IPV4_MAPPED | rng.getrandbits(32),
            *(rng.getrandbits(24) for _ in "tr"),
        )
    ]
    writes += [writes[-1]._replace(way=WAYS)]
    cells = [(way, row) for way in range(WAYS + 1) for row in range(table.row_count)]
    rng.shuffle(cells)
    answers: list[tuple[Key, int] | None] = []

    async def bench(ctx: Any) -> None:
        reading = False
        cycle = 0
        for step in range(len(writes) + len(cells) + 1):
            if step < len(writes):
                set_write(ctx, dut.i_access.payload, writes[step])
            elif step < len(writes) + len(cells):
                way, row = cells[step - len(writes)]
                ctx.set(dut.i_access.payload.read, 1)
                ctx.set(dut.i_access.payload.way, way)
                ctx.set(dut.i_access.payload.row, row)
            ctx.set(dut.i_access.valid, step < len(writes) + len(cells))
            taken = False
            while not taken:
                for n, port in enumerate(("tx", "rx")):
                    ctx.set(getattr(dut, f"{port}_stb"), cycle % 20 == 11 * n)
                    if cycle % 20 == 11 * n:
                        key = Key(Direction(n), IPV4_MAPPED | rng.getrandbits(9), 5)
                        set_key(ctx, getattr(dut, f"{port}_key"), key)
                cycle += 1
                assert ctx.get(dut.read_stb) == reading
                if reading:
                    cell = ctx.get(dut.read_cell)
                    key = Key(Direction(cell.key.direction), cell.key.remote, cell.key.qpn)
                    answers.append((key, cell.slot) if cell.valid else None)
                taken = ctx.get(dut.i_access.ready)
                reading = bool(taken and len(writes) <= step < len(writes) + len(cells))
                await ctx.tick()

    run(dut, bench, cycles=10_000)
    assert answers == [table.cell(way, row) if way < WAYS else None for way, row in cells]


@pytest.mark.parametrize("slots", [0, 1, 48])
def test_configuration_error(slots: int) -> None:
    with pytest.raises(ValueError, match=f"slots must be a power of two, 2 or more, not {slots}"):
        QpTurns(slots)
