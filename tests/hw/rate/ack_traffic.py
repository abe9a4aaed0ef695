"""Connections that send, are acknowledged and send again, before the rings of their packets."""

import random
from collections import deque
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring

from precog_hw.measure.losses import Losses
from precog_hw.measure.rtt_collector import RttCollector
from precog_hw.measure.rtt_events import EventKind
from precog_hw.rate.ack_events import AckEvents
from precog_models.measure.ack_ring import Ack
from precog_models.measure.rtt_collector import NO_TURNAROUND
from precog_models.measure.rtt_collector import RttCollector as Golden
from precog_models.packet.parser import Descriptor
from precog_spec.config import NicConfig
from precog_spec.contract import PROGRAM_ALGORITHM
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.law_fields import RING_PLACES

__all__ = ["AckTraffic", "Measured", "command"]

PSNS, TIMES = 1 << 24, 1 << 40
SEND, WRITE_MIDDLE, READ, RESPONSE, ACK = 4, 7, 0x0C, 0x0E, 0x11
_LISTENS = 4  # cycles after its commit in which an event finds whether its queue pair listens


class Measured(wiring.Component):
    """The collector before acknowledgements and losses, with the ports of all."""

    def __init__(self, config: NicConfig, *, relaxed: bool = False) -> None:
        self.collector = RttCollector(
            config.qps, acks=True, sweep_cycles=64, queue_depth=4, relaxed=relaxed
        )
        self.acks = AckEvents(config)
        self.losses = Losses(config.qps, relaxed=relaxed)
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.collector = collector = self.collector
        m.submodules.acks = acks = self.acks
        m.submodules.losses = losses = self.losses
        m.d.comb += [
            losses.commit_stb.eq(collector.commit_stb),
            *(getattr(losses, n).eq(collector.commit[n]) for n in ("kind", "slot", "t", "ack")),
            acks.commit_stb.eq(collector.commit_stb),
            acks.floor.eq(collector.floor),
            collector.o.ready.eq(1),
            *(acks.commit[name].eq(collector.commit[name]) for name in acks.commit.shape().members),
        ]
        return m


class _Connection:
    """A sender, and a receiver that acknowledges one packet in `every`."""

    def __init__(self, rng: random.Random) -> None:
        # PSNs: the next new one, the first that is not acknowledged, the one that is sent next.
        self.next = self.acked = (PSNS - rng.randrange(60)) % PSNS
        self.again = self.next
        # It acknowledges one packet in `every`, and has at most `window` in flight.
        self.every = rng.choice([1, 1, 4, 16])
        self.window = rng.choice([1, 4, RING_PLACES, 40])


class AckTraffic:
    """Packets of all connections, and what the golden model makes of them.

    Parameters
    ----------
    dut : Measured
    golden : Golden
        With a ring.
    seed : int

    Attributes
    ----------
    told : list of int
        Acknowledgements that each event of the gateware stands for.
    lost, losses : list
        Queue pairs and times of losses, of gateware and golden model.
    """

    def __init__(self, dut: Measured, golden: Golden, seed: int) -> None:
        assert golden.ring is not None
        self.rng = random.Random(seed)
        self.dut, self.golden, self.ring = dut, golden, golden.ring
        self.slots = len(golden.mtu)
        self.connections = [_Connection(self.rng) for _ in range(self.slots)]
        self.now = TIMES - 3000
        self.pending: dict[EventKind, deque[tuple[Any, ...]]] = {
            EventKind.TX: deque(), EventKind.RX: deque(), EventKind.RESET: deque()
        }  # fmt: skip
        # None is a reset: nothing of before is told with what follows.
        self.made: list[deque[tuple[int, Ack] | None]] = [deque() for _ in range(self.slots)]
        self.told: list[int] = []
        self.lost: list[tuple[int, int]] = []
        self.losses: list[tuple[int, int]] = []
        self.merged = self.count = 0
        self._late: deque[list[tuple[EventKind, int, int]]] = deque([[] for _ in range(_LISTENS)])

    # --- packets ---------------------------------------------------------------------------------

    def request(self) -> tuple[dict[str, int], tuple[Any, ...]] | None:
        """A packet to the wire, of a connection that may send: new ones, or from a loss on."""
        rng, slot = self.rng, self.rng.randrange(self.slots)
        of = self.connections[slot]
        if rng.random() < 0.005:
            of.again = of.acked  # the time-out: all again
        if (of.again - of.acked) % PSNS >= of.window:
            return None
        psn, opcode = of.again, rng.choice([SEND, SEND, WRITE_MIDDLE])
        if rng.random() < 0.02 and of.again == of.next != of.acked:  # one of them once more
            psn = (of.acked + rng.randrange((of.next - of.acked) % PSNS)) % PSNS
        size, span = rng.choice([0, 1, 256, 4096, rng.getrandbits(12)]), 1
        if rng.random() < 0.05 and psn == of.next:
            opcode, size = READ, rng.randrange(1 << 13)
            span = max(1, -(-size // self.golden.mtu[slot]))
        if psn == of.again:
            of.again = (psn + span) % PSNS
        if (of.again - of.next) % PSNS < PSNS // 2:
            of.next = of.again
        packet = Descriptor(
            Direction.TX, False, False, Reason.NONE, opcode=opcode, psn=psn, ack_req=False,
            dma_length=size, payload=0 if opcode == READ else size,
        )  # fmt: skip
        event = slot, packet, self.now
        return {"slot": slot, "opcode": opcode, "psn": psn, "dma_length": size}, event

    def answer(self) -> tuple[dict[str, Any], tuple[Any, ...]] | None:
        """A packet from the wire: mostly the acknowledgement that is due."""
        rng, slot = self.rng, self.rng.randrange(self.slots)
        of, chance = self.connections[slot], self.rng.random()
        flying = (of.next - of.acked) % PSNS
        opcode, syndrome = ACK, 0x1F
        if chance < 0.93:
            if flying < rng.choice([of.every, 1]):
                return None
            psn = of.acked = (of.acked + min(of.every, flying)) % PSNS
            psn = (psn - 1) % PSNS
        elif chance < 0.96:
            # NAKs, one of them with a reserved bit, or an RNR NAK: all again from there.
            syndrome = rng.choice([0x60, 0x60, 0xE0, 0x61, 0x2E])
            psn = of.again = (of.acked + rng.randrange(flying + 1)) % PSNS
            of.acked = psn
        else:
            psn = (of.acked + rng.choice([-1, -2, 0, 5, rng.randrange(PSNS)])) % PSNS
            opcode, syndrome = rng.choice([ACK, RESPONSE]), rng.choice([0x1F, 0x80, 0x00])
        packet = Descriptor(
            Direction.RX, False, False, Reason.NONE, opcode=opcode, psn=psn, syndrome=syndrome
        )
        turnaround = rng.choice([NO_TURNAROUND, 0, 3, 9, 1000, rng.getrandbits(32)])
        mark = rng.random() < 0.3
        fields = {"slot": slot, "opcode": opcode, "psn": psn, "syndrome": syndrome, "mark": mark}
        fields |= {"turnaround": max(0, turnaround), "turnaround_valid": int(turnaround >= 0)}
        return fields, (slot, packet, self.now, turnaround, mark)

    def release(self, slot: int) -> None:
        """The slot's queue pair goes, another one comes."""
        self.connections[slot] = _Connection(self.rng)

    # --- the golden model ------------------------------------------------------------------------

    def watch(self, ctx: Any, commanded: tuple[int, bool] | None) -> None:
        """A cycle: what is committed in it, and who listens from now on."""
        collector = self.dut.collector
        commits = []
        if ctx.get(collector.commit_stb):
            commit = ctx.get(collector.commit)
            commits.append((EventKind(commit.kind), int(commit.slot), int(commit.t)))
        self._late.append(commits)
        if commanded is not None:
            slot, on = commanded
            self.ring.listen(slot, on=on)
        for kind, slot, t in self._late.popleft():
            self._replay(kind, slot, t)
        self.merged += ctx.get(self.dut.acks.merged)
        losses = self.dut.losses
        if ctx.get(losses.lost_stb):
            self.lost.append((ctx.get(losses.lost_slot), ctx.get(losses.lost_t)))

    def _replay(self, kind: EventKind, slot: int, t: int) -> None:
        self.count += 1
        if kind is EventKind.SWEEP:
            self.golden.sweep(slot, t)
        elif kind is EventKind.RESET:
            assert self.pending[kind].popleft() == (slot,)
            self.golden.reset(slot)
            self.made[slot].append(None)
        elif kind is EventKind.TX:
            of, packet, sent = self.pending[kind].popleft()
            assert (of, sent) == (slot, t)
            self.golden.sent(slot, packet, t)
            self._lose(slot, t)
        else:
            of, packet, came, turnaround, mark = self.pending[kind].popleft()
            assert (of, came) == (slot, t)
            self.golden.received(slot, packet, t, turnaround, marked=mark)
            self._lose(slot, t)
            if self.golden.ack is not None:
                self.made[slot].append((t, self.golden.ack))

    def _lose(self, slot: int, t: int) -> None:
        if self.golden.lost:
            self.losses.append((slot, t))

    def take(self, ctx: Any) -> None:
        """An event of the gateware: it stands for the oldest acknowledgements not told."""
        event = ctx.get(self.dut.acks.o.payload)
        total = marked = count = 0
        while True:
            assert self.made[event.qp], f"event of queue pair {event.qp} is of no acknowledgement"
            made = self.made[event.qp].popleft()
            if made is None:
                total = marked = 0
                continue
            t, ack = made
            count += 1
            total, marked = (total + ack.bytes) % (1 << 32), marked | ack.marked
            if (event.t, event.rtt, event.seq, event.next) == (t, ack.rtt, ack.seq, ack.next):
                break
        assert (event.bytes, event.marked) == (total, marked)
        self.told.append(count)


def command(ctx: Any, dut: AckEvents, slot: int, *, on: bool) -> None:
    """The queue pair runs a program from this cycle on, or none."""
    ctx.set(dut.command_stb, 1)
    ctx.set(
        dut.command,
        {"qp": slot, "apply": 1, "config": {"enable": 1, "algorithm": PROGRAM_ALGORITHM * on}},
    )
