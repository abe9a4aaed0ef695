"""A packet store that is fed by frames: their tags say which queue, grants come by chance."""

import random
from collections import Counter, deque
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.store.layouts import (
    EventKind,
    StoreConfig,
    commit_layout,
    row_layout,
    size_layout,
)
from precog_hw.store.packet_store import EVENTS, PacketStore
from precog_hw.stream.packet import packet_signature
from precog_hw.stream.queue import Queue
from precog_models.store.packet_store import Outcome, Packet
from precog_models.store.packet_store import PacketStore as Golden
from precog_sim.rtl.packet_block import Wire

__all__ = ["OPEN", "QUEUES", "Replay", "StoreBench", "frames", "packed"]

#: A packet's queue is its time's remainder by this, its label the quotient.
QUEUES = 1 << 15

#: Ports of a bench that grants at once and drops what has no room.
OPEN = {"limit": 0, "pause": 0, "chance": 256}


class StoreBench(wiring.Component):
    """The store, and someone who grants what it asks for, in any order.

    A frame's queue stands in the time that travels with it.
    """

    def __init__(self, config: StoreConfig, *, relaxed: bool = False) -> None:
        self._config, self._relaxed = config, relaxed
        count = config.count_bits
        super().__init__(
            {
                "i": In(packet_signature(config.width)),
                "o": Out(packet_signature(config.width)),
                "quota": In(count),
                "limit": In(count),
                "pause": In(1),
                "chance": In(9),  # 256ths, of a grant or another turn in each cycle
                "again_stb": In(1),  # what is asked for is forgotten and asked for again
                "quota_stb": In(1),
                "quota_qp": In(range(config.qps)),
                "quota_of": In(count),
                "look_go": In(1),
                "look_qp": In(range(config.qps)),
                "look_stb": Out(1),
                "look": Out(row_layout(config)),
                "log_stb": Out(1),
                "log": Out(commit_layout(config)),
                "free": Out(count),
                "shared": Out(count),
                "ready": Out(1),
                **{name: Out(1) for name in EVENTS},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.store = store = PacketStore(config, relaxed=self._relaxed)
        m.submodules.asked = asked = Queue(size_layout(config), config.qps)
        wiring.connect(m, wiring.flipped(self.i), store.i)
        wiring.connect(m, store.o, wiring.flipped(self.o))
        m.d.comb += [
            store.qp.eq(self.i.payload.user.time),
            store.quota.eq(self.quota),
            store.limit.eq(self.limit),
            store.pause.eq(self.pause),
            store.i_quota.valid.eq(self.quota_stb),
            store.i_quota.payload.qp.eq(self.quota_qp),
            store.i_quota.payload.quota.eq(self.quota_of),
            store.i_look.valid.eq(self.look_go),
            store.i_look.payload.eq(self.look_qp),
            self.look_stb.eq(store.look_stb),
            self.look.eq(store.look),
            self.log_stb.eq(store.log.valid),
            self.log.eq(store.log.payload),
            *(getattr(self, n).eq(getattr(store, n)) for n in ("free", "shared", "ready")),
            *(getattr(self, name).eq(store.events[n]) for n, name in enumerate(EVENTS)),
        ]
        # A register that shifts by chance, and what it says: grant, forget, or later.
        noise = Signal(32, init=0x1234567)
        m.d.sync += noise.eq((noise << 1) ^ (noise[31] ^ noise[21] ^ noise[1] ^ noise[0]))
        lucky, turns = Signal(), Signal()
        granted = Signal()
        m.d.comb += [
            lucky.eq((noise[3:11] < self.chance) | granted),
            store.i_grant.payload.eq(asked.o.payload.qp),
            store.i_again.payload.eq(asked.o.payload.qp),
            asked.i.payload.eq(store.o_request.payload),
            asked.i.valid.eq(store.o_request.valid),
            store.o_request.ready.eq(asked.i.ready),
        ]
        with m.If(self.again_stb & (noise[12:17] == 0) & ~granted):
            m.d.comb += [
                store.i_again.valid.eq(asked.o.valid),
                asked.o.ready.eq(store.i_again.ready),
            ]
        with m.Elif(lucky):
            m.d.comb += [
                store.i_grant.valid.eq(asked.o.valid),
                asked.o.ready.eq(store.i_grant.ready),
            ]
            m.d.sync += granted.eq(asked.o.valid & ~store.i_grant.ready)
        with m.Elif(noise[13] & ~store.o_request.valid & asked.i.ready):
            m.d.comb += [
                turns.eq(asked.o.valid),
                asked.i.valid.eq(turns),
                asked.i.payload.eq(asked.o.payload),
                asked.o.ready.eq(1),
            ]
        return m


def frames(rng: random.Random, config: StoreConfig, count: int, *, few: bool) -> list[Wire]:
    """Frames of few or of all queues, of one byte to a little more than the longest."""
    cell = config.cell_bytes
    busy = rng.sample(range(config.qps), min(config.qps, 2 if few else config.qps))
    made = []
    for _ in range(count):
        size = rng.choice(
            [
                rng.randrange(1, 3),
                rng.randrange(1, config.width // 8 + 2),
                rng.randrange(1, 3 * cell),
                cell * rng.randrange(1, config.most + 1) + rng.randrange(-1, 2),
                rng.randrange(1, config.longest + config.width // 8 + 1),
            ]
        )
        made.append(
            Wire(rng.randbytes(size), rng.random() < 0.2, rng.choice(busy), rng.getrandbits(8))
        )
    return made


def packed(config: StoreConfig, row: Any) -> int:
    """A golden row as the bits of `row_layout`."""
    layout, golden = row_layout(config), vars(row)
    cells = -(-row.head.size // config.cell_bytes)
    values = {"packets": len(row.packets), "queued": row.queued, "tail": row.tail}
    values |= {name: golden[name] for name in ("own", "borrowed", "drops")}
    values |= {"head": row.head.cell, "bytes": row.head.size, "cells": cells}
    values |= {"label": row.head.label}
    return sum(values[name] << field.offset for name, field in layout)


class Replay:
    """The golden store behind the log.

    Attributes
    ----------
    came : deque of Wire
        What went in and is not appended.
    queues : list of deque of Wire
        What is stored.
    left : list of Wire
        What must come out, in order.
    """

    def __init__(self, config: StoreConfig) -> None:
        self.config = config
        self.golden = Golden(config.qps, config.cell_bytes, config.longest)
        self.came: deque[Wire] = deque()
        self.queues: list[deque[Wire]] = [deque() for _ in range(config.qps)]
        self.left: list[Wire] = []
        self.seen: Counter[str] = Counter()
        self.quotas: dict[int, int] = {}
        self.used = self.most_used = 0  # cells
        self._layout = commit_layout(config)
        self._fields = {name: field for name, field in self._layout}

    def __call__(self, word: int) -> None:
        """An event took effect."""
        did = self._layout.from_bits(word)
        event, qp = did.event, did.event.qp
        golden, row = self.golden, self.golden.rows[did.event.qp]
        held = row.own + row.borrowed
        kind = EventKind(event.kind)
        if kind is EventKind.APPEND:
            wire = self.came[0]
            assert wire.time & QUEUES - 1 == qp
            outcome = golden.append(
                qp,
                Packet(event.cell, len(wire.data), wire.time // QUEUES),
                quota=did.quota,
                limit=did.limit,
                may_wait=bool(event.may_wait),
                memory=event.outcome.value != Outcome.MEMORY,
            )
            assert outcome == event.outcome.value, (outcome, event)
            self.seen[outcome.name] += 1
            if outcome is not Outcome.WAITS:
                self.came.popleft()
            if outcome is Outcome.STORED:
                assert (event.bytes, event.cells) == (len(wire.data), golden.cells(event.bytes))
                self.queues[qp].append(wire)
        elif kind is EventKind.POP:
            packet = golden.pop(qp)
            assert packet is not None, f"QP {qp} was granted and has no packet"
            wire = self.queues[qp].popleft()
            assert packet.size == len(wire.data)
            self.left.append(wire)
        elif kind is EventKind.HEAD:
            assert golden.advance(qp) == (event.cell, event.bytes, event.label)
        self.seen[kind.name] += 1
        field = self._fields["row"]
        bits = word >> field.offset & (1 << field.width) - 1
        assert bits == packed(self.config, row), (kind.name, qp, row, did.row)
        assert golden.shared == did.shared
        self.used += row.own + row.borrowed - held
        self.most_used = max(self.most_used, self.used)
