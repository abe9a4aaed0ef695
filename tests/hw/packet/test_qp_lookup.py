# amaranth: UnusedElaboratable=no
"""QP lookup against its golden model: both ports in every cycle while the host moves keys."""

import random
from collections import deque
from collections.abc import Sequence
from typing import Any

import pytest

from precog_hw.packet.qp_lookup import WAYS, QpLookup
from precog_models.packet.qp_table import Key, QpTable, Write
from precog_spec.frames.descriptor import Direction

from .bench import run

TX, RX = Direction.TX, Direction.RX
_NO_KEY = Key(TX, 0, 0)


class Connections:
    """Host placement in one golden table, and its writes to be done one by one."""

    def __init__(
        self, slots: int, rng: random.Random, addresses: Sequence[int] = (5, 6, (1 << 128) - 6)
    ) -> None:
        self.rng = rng
        self.addresses = addresses
        self.slots = slots
        self.host = QpTable(slots)
        self.known: list[Key] = []  # keys that were ever in the table
        self.pending: deque[Write] = deque()

    def _key(self, direction: Direction, remote: int) -> Key:
        return Key(direction, remote, self.rng.randrange(4 * self.slots))

    def change(self) -> None:
        """Add a connection, or take one out; addresses and numbers repeat, directions too."""
        slot = self.rng.randrange(self.slots)
        if self.host.remote_qp[slot] is not None:
            self.pending += self.host.remove(slot)
            return
        remote = self.rng.choice(self.addresses)
        tx, rx = self._key(TX, remote), self._key(RX, remote)
        if self.host.lookup(*tx) is None and self.host.lookup(*rx) is None:
            self.pending += self.host.add(slot, remote, tx.qpn, rx.qpn)
            self.known += [tx, rx]

    def request(self, *, address_bits: int = 128) -> Key:
        """A key of the table, one that was in it, or one that is wrong in one bit or field."""
        key = self.rng.choice(self.known[-3 * self.slots :]) if self.known else _NO_KEY
        kind = self.rng.random()
        if kind < 0.1:
            return key._replace(direction=Direction(1 - key.direction))
        if kind < 0.2:
            return key._replace(remote=key.remote ^ 1 << self.rng.randrange(address_bits))
        if kind < 0.3:
            return key._replace(qpn=key.qpn ^ 1 << self.rng.randrange(24))
        return key


def set_key(ctx: Any, view: Any, key: Key) -> None:
    ctx.set(view, {"direction": int(key.direction), "remote": key.remote, "qpn": key.qpn})


def set_write(ctx: Any, view: Any, write: Write) -> None:
    ctx.set(view.way, write.way)
    ctx.set(view.row, write.row)
    set_key(ctx, view.cell.key, write.key or _NO_KEY)
    ctx.set(view.cell.valid, write.key is not None)
    ctx.set(view.cell.slot, write.slot)


@pytest.mark.parametrize(("slots", "cycles"), [(16, 1200), (1024, 700), (4096, 300)])
def test_exact_with_latency_while_keys_move(slots: int, cycles: int, seed: int) -> None:
    rng = random.Random(seed)
    dut = QpLookup(slots)
    connections, card = Connections(slots, rng), QpTable(slots)
    awaited: dict[str, deque[tuple[int, int | None]]] = {"tx": deque(), "rx": deque()}
    found = missed = written = 0

    async def bench(ctx: Any) -> None:
        nonlocal found, missed, written
        busy, before, now = 0.0, [], []
        for cycle in range(cycles):
            if cycle % 64 == 0:
                busy = rng.choice([0.0, 0.5, 0.9])
            if not connections.pending and rng.random() < 0.7:
                connections.change()
            pending = connections.pending
            ctx.set(dut.i_access.valid, bool(pending))
            if pending:
                set_write(ctx, dut.i_access.payload, pending[0])
            asked = []
            for port in ("tx", "rx"):
                # The host's writes need cycles without a request at the first port.
                stb = rng.random() < (busy if port == "tx" else 0.95)
                key = connections.request()
                ctx.set(getattr(dut, f"{port}_stb"), stb)
                set_key(ctx, getattr(dut, f"{port}_key"), key)
                asked += [(port, key)] * stb
            for port, results in awaited.items():
                due = results.popleft()[1] if results and results[0][0] == cycle else "none"
                assert ctx.get(getattr(dut, f"{port}_done")) == (due != "none")
                if due != "none":
                    assert ctx.get(getattr(dut, f"{port}_found")) == (due is not None)
                    assert ctx.get(getattr(dut, f"{port}_slot")) == (due or 0)
                    found, missed = found + (due is not None), missed + (due is None)
            if pending and ctx.get(dut.i_access.ready):
                card.write(pending.popleft())
                written += 1
            for port, key in before:  # sees the writes up to the second cycle after it
                awaited[port].append((cycle - 2 + QpLookup.LATENCY, card.lookup(*key)))
            before, now = now, asked
            await ctx.tick()

    run(dut, bench, cycles=cycles + 10)
    assert min(found, missed) > 0
    assert written > cycles // 8


def test_sustained_at_both_ports(seed: int) -> None:
    """A full table, a request at each port in every cycle; a write waits until the first gap."""
    rng = random.Random(seed)
    slots, requests = 64, 200
    dut = QpLookup(slots)
    table = QpTable(slots)
    keys: list[Key] = []
    writes = []
    for slot in range(slots):
        remote, tx, rx = rng.getrandbits(128), rng.getrandbits(24), rng.getrandbits(24)
        writes += table.add(slot, remote, tx, rx)
        keys += [Key(TX, remote, tx), Key(RX, remote, rx)]

    async def bench(ctx: Any) -> None:
        ctx.set(dut.i_access.valid, 1)
        for write in writes:
            set_write(ctx, dut.i_access.payload, write)
            await ctx.tick().until(dut.i_access.ready)
        ctx.set(dut.i_access.valid, 0)
        set_write(ctx, dut.i_access.payload, Write(0, 0, None, 0))
        asked = [(rng.choice(keys), rng.choice(keys)) for _ in range(requests)]
        for cycle in range(requests + QpLookup.LATENCY):
            ctx.set(dut.tx_stb, cycle < requests)
            ctx.set(dut.rx_stb, cycle < requests)
            if cycle < requests:
                set_key(ctx, dut.tx_key, asked[cycle][0])
                set_key(ctx, dut.rx_key, asked[cycle][1])
            ctx.set(dut.i_access.valid, 1 < cycle <= requests + 3)
            if cycle:
                assert ctx.get(dut.i_access.ready) == (cycle == requests + 3)
            if cycle >= QpLookup.LATENCY:
                tx, rx = asked[cycle - QpLookup.LATENCY]
                assert ctx.get(dut.tx_done)
                assert ctx.get(dut.rx_done)
                assert ctx.get(dut.tx_slot) == table.lookup(*tx)
                assert ctx.get(dut.rx_slot) == table.lookup(*rx)
            await ctx.tick()

    run(dut, bench, cycles=2 * len(writes) + requests + 20)


@pytest.mark.parametrize(("other", "waits"), [(0, 1), (1, 0)])
def test_a_write_never_meets_a_read(other: int, waits: int) -> None:
    """The second port reads a row: a write to it waits for that cycle, one elsewhere does not."""
    dut = QpLookup(4)
    key = Key(RX, 9, 77)
    row = QpTable(4).rows(key)[1]

    async def bench(ctx: Any) -> None:
        set_key(ctx, dut.rx_key, key)
        ctx.set(dut.rx_stb, 1)
        await ctx.tick()
        ctx.set(dut.rx_stb, 0)
        await ctx.tick()
        ctx.set(dut.i_access.valid, 1)
        set_write(ctx, dut.i_access.payload, Write(1, row ^ other, key, 3))
        for _ in range(1 + waits):
            assert not ctx.get(dut.i_access.ready)
            await ctx.tick()
        assert ctx.get(dut.i_access.ready)

    run(dut, bench, cycles=20)


def test_the_first_way_counts(seed: int) -> None:
    """A key in two ways, which the host never leaves so with different slots."""
    key = Key(TX, random.Random(seed).getrandbits(128), 77)
    for ways in ((0, 1), (1, 2), (0, 2)):
        dut, golden = QpLookup(8), QpTable(8)
        rows = golden.rows(key)
        writes = [Write(way, rows[way], key, 3 + way) for way in ways]

        async def bench(
            ctx: Any, dut: QpLookup = dut, golden: QpTable = golden, writes: list[Write] = writes
        ) -> None:
            ctx.set(dut.i_access.valid, 1)
            for write in writes:
                golden.write(write)
                set_write(ctx, dut.i_access.payload, write)
                await ctx.tick().until(dut.i_access.ready)
            ctx.set(dut.i_access.valid, 0)
            set_key(ctx, dut.tx_key, key)
            ctx.set(dut.tx_stb, 1)
            await ctx.tick().until(dut.tx_done)
            assert ctx.get(dut.tx_slot) == golden.lookup(*key)

        run(dut, bench, cycles=40)


@pytest.mark.parametrize("slots", [0, 1, 48])
def test_configuration_error(slots: int) -> None:
    with pytest.raises(ValueError, match=f"slots must be a power of two, 2 or more, not {slots}"):
        QpLookup(slots)


def test_the_host_reads_every_cell_while_packets_are_looked_up(seed: int) -> None:
    """Exactly one answer for each read, in order; a way that does not exist is free."""
    rng = random.Random(seed)
    slots = 16
    dut, table = QpLookup(slots), QpTable(slots)
    writes = [
        write
        for slot in range(slots)
        for write in table.add(slot, rng.getrandbits(128), *(rng.getrandbits(24) for _ in "tr"))
    ]
    asked = [(way, row) for way in range(WAYS + 1) for row in range(slots)]
    rng.shuffle(asked)
    answers: list[tuple[Key, int] | None] = []

    async def watch(ctx: Any) -> None:
        async for _, _, stb, cell in ctx.tick().sample(dut.read_stb, dut.read_cell):
            if stb:
                key = Key(Direction(cell.key.direction), cell.key.remote, cell.key.qpn)
                answers.append((key, cell.slot) if cell.valid else None)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.i_access.valid, 1)
        for write in writes:
            set_write(ctx, dut.i_access.payload, write)
            await ctx.tick().until(dut.i_access.ready)
        set_write(ctx, dut.i_access.payload, Write(0, 0, Key(TX, 1, 1), 1))  # reads write nothing
        ctx.set(dut.i_access.payload.read, 1)
        for way, row in asked:
            ctx.set(dut.i_access.payload.way, way)
            ctx.set(dut.i_access.payload.row, row)
            while True:
                for side in ("tx", "rx"):
                    ctx.set(getattr(dut, f"{side}_stb"), rng.random() < 0.5)
                    set_key(ctx, getattr(dut, f"{side}_key"), Key(TX, rng.getrandbits(9), 5))
                _, _, taken = await ctx.tick().sample(dut.i_access.ready)
                if taken:
                    break
        ctx.set(dut.i_access.valid, 0)
        await ctx.tick().repeat(6)

    run(dut, bench, cycles=10_000, background=(watch,))
    assert answers == [table.cell(way, row) for way, row in asked]
