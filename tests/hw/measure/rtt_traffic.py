"""Packets of few connections for the RTT collector, and their replay through the golden model."""

import random
from collections import deque
from typing import Any

from precog_hw.measure.rtt_collector import RttCollector
from precog_hw.measure.rtt_events import EventKind
from precog_models.measure.rtt_collector import NO_TURNAROUND
from precog_models.measure.rtt_collector import RttCollector as Golden
from precog_models.packet.parser import Descriptor
from precog_spec.contract import Outcome
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.opcodes import ACKNOWLEDGES, is_reliable

__all__ = ["ACK", "RESPONSE", "SEND", "Traffic"]

PSNS, TIMES = 1 << 24, 1 << 40
SEND, WRITE_MIDDLE, READ, RESPONSE, ACK, ATOMIC, ATOMIC_ACK = 4, 7, 0x0C, 0x0E, 0x11, 0x13, 0x12
RNR, RESERVED, NAK = 1, 2, 3
UC, UD, CNP, XRC_SEND, XRC_ACK = 0x24, 0x64, 0x81, 0xA4, 0xB1
PLAIN = (ACK, ATOMIC_ACK, XRC_ACK)
REQUESTS = (SEND, SEND, SEND, WRITE_MIDDLE, READ, ATOMIC, XRC_SEND, UC, UD, CNP, ACK, 0xFF)
ANSWERS = (ACK, ACK, ACK, RESPONSE, ATOMIC_ACK, XRC_ACK, SEND, CNP, 0x31)
SYNDROMES = (0x1F, 0x00, 0x1F, 0x2E, 0x60, 0x62, 0x40, 0x80)


class Traffic:
    """Packets of few connections, what the golden makes of them, and what was seen."""

    def __init__(self, dut: RttCollector, golden: Golden, slots: list[int], seed: int) -> None:
        self.rng = random.Random(seed)
        self.dut, self.golden, self.slots = dut, golden, slots
        self.psn = {slot: PSNS - self.rng.randrange(40) for slot in slots}
        self.now = TIMES - 2000
        self.pending: dict[EventKind, deque[tuple[int, Descriptor, int, int, int | None]]] = {
            EventKind.TX: deque(), EventKind.RX: deque()
        }  # fmt: skip
        self.samples: deque[tuple[int, int, int]] = deque()
        self.resets: deque[int] = deque()
        self.seen = dict.fromkeys(Outcome, 0)
        self.kinds: list[EventKind] = []
        self.taken = self.scores = 0
        self._acked: tuple[int, int] | None = None  # that is to be told in this cycle
        self._acks: tuple[int, int] | None = None  # and in the next
        self._rtts: deque[int | None] = deque([None] * RttCollector.RTT_CYCLES)

    def tick(self) -> None:
        """One cycle of time; sometimes much more."""
        self._acked, self._acks = self._acks, None
        step = 1 if self.rng.random() < 0.995 else self.rng.choice([300, 1 << 25, 1 << 39])
        self.now = (self.now + step) % TIMES

    def _stamp(self) -> int:
        """Not quite in order between the directions."""
        return (self.now - self.rng.randrange(4)) % TIMES

    def request(self, ctx: Any) -> None:
        rng = self.rng
        slot, opcode = rng.choice(self.slots), rng.choice(REQUESTS)
        back = rng.choice([0] * 12 + [1, 2, 5])
        psn = (self.psn[slot] - back) % PSNS
        length = rng.choice([0, 1, 256, 257, 4096, 4097, rng.getrandbits(14), rng.getrandbits(32)])
        packet = Descriptor(
            Direction.TX, False, False, Reason.NONE, opcode=opcode, psn=psn,
            ack_req=rng.random() < 0.6, dma_length=length,
        )  # fmt: skip
        t = self._stamp()
        if is_reliable(opcode) and opcode not in ACKNOWLEDGES:
            span = -(-length // self.golden.mtu[slot]) if opcode == READ else 1
            self.psn[slot] = (psn + max(1, span)) % PSNS
        ctx.set(
            self.dut.i_tx.payload,
            {"slot": slot, "opcode": opcode, "psn": psn, "ack_req": int(packet.ack_req)}
            | {"dma_length": length, "t": t},
        )
        self.next_tx = (slot, packet, t, 0, None)

    def answer(self, ctx: Any) -> None:
        rng = self.rng
        slot, opcode = rng.choice(self.slots), rng.choice(ANSWERS)
        psn = (self.psn[slot] - rng.choice([0, 1, 1, 1, 2, 3, 6, rng.randrange(PSNS)])) % PSNS
        packet = Descriptor(
            Direction.RX, False, False, Reason.NONE, opcode=opcode, psn=psn,
            syndrome=rng.choice(SYNDROMES),
        )  # fmt: skip
        t = self._stamp()
        turnaround = rng.choice([NO_TURNAROUND, 0, 3, 9, 1000, rng.getrandbits(32)])
        score = rng.choice([None, None, rng.randrange(101)])
        ctx.set(
            self.dut.i_rx.payload,
            {"slot": slot, "opcode": opcode, "psn": psn, "syndrome": packet.syndrome, "t": t}
            | {"turnaround": max(0, turnaround), "turnaround_valid": int(turnaround >= 0)}
            | {"score": {"value": score or 0, "valid": int(score is not None)}},
        )
        self.next_rx = (slot, packet, t, turnaround, score)

    def took(self, kind: EventKind) -> None:
        """A packet went in; those that do not count must not come out."""
        event = self.next_tx if kind is EventKind.TX else self.next_rx
        _, packet, _, _, score = event
        counts = is_reliable(packet.opcode) and (
            (packet.opcode in ACKNOWLEDGES) == (kind is EventKind.RX)
        )
        if counts and packet.opcode in PLAIN and kind is EventKind.RX:
            counts = packet.syndrome >> 5 & 3 != RESERVED
        if counts and kind is EventKind.RX:
            refuses = packet.opcode in PLAIN and packet.syndrome >> 5 & 3 in (RNR, NAK)
            self._acks = event[0], packet.psn if refuses else (packet.psn + 1) % PSNS
        if counts or (score is not None and packet.opcode not in ACKNOWLEDGES):
            self.pending[kind].append(event)
        else:
            before = dict(self.golden.counts)
            self._replay(kind, event)
            assert before == self.golden.counts

    def _replay(self, kind: EventKind, event: tuple[int, Descriptor, int, int, int | None]) -> None:
        slot, packet, t, turnaround, _ = event
        if kind is EventKind.TX:
            self.golden.sent(slot, packet, t)
            return
        rtt = self.golden.received(slot, packet, t, turnaround)
        if rtt is not None:
            self.samples.append((slot, rtt, t))

    def watch(self, ctx: Any) -> None:
        """Replay what took effect in this cycle, and compare what is told of it."""
        told = ctx.get(self.dut.acked_slot), ctx.get(self.dut.acked_psn)
        assert (told if ctx.get(self.dut.acked_stb) else None) == self._acked
        rtt = self._rtts.popleft()
        assert rtt is None or ctx.get(self.dut.rtt) == rtt
        made = self.golden.counts[Outcome.SAMPLE]
        self._commit(ctx)
        sampled = self.golden.counts[Outcome.SAMPLE] != made
        self._rtts.append(self.samples[-1][1] if sampled else None)

    def _commit(self, ctx: Any) -> None:
        commit = ctx.get(self.dut.commit)
        if not ctx.get(self.dut.commit_stb):
            assert commit.outcome == 0
            assert not commit.score.valid
            return
        kind = EventKind(commit.kind)
        before = dict(self.golden.counts)
        score = None
        if kind is EventKind.RESET:
            assert commit.slot == self.resets.popleft()
            self.golden.reset(commit.slot)
        elif kind is EventKind.SWEEP:
            self.golden.sweep(commit.slot, commit.t)
        else:
            side = EventKind.TX if kind is EventKind.TX else EventKind.RX
            event = self.pending[side].popleft()
            assert (commit.slot, commit.t) == (event[0], event[2])
            assert (kind is EventKind.SCORE) == (
                side is EventKind.RX and event[1].opcode not in ACKNOWLEDGES
            )
            self._replay(side, event)
            score = None if Outcome.REFUSED_PSN in self.golden.outcome else event[4]
        did = Outcome(0)
        for bit, count in self.golden.counts.items():
            if count != before[bit]:
                did |= bit
                self.seen[bit] += 1
        assert Outcome(commit.outcome) == did
        assert (commit.score.value if commit.score.valid else None) == score
        self.scores += score is not None
        self.kinds.append(kind)

    def receive(self, ctx: Any, ready: bool) -> None:
        """Take a sample if there is one."""
        ctx.set(self.dut.o.ready, ready)
        if ready and ctx.get(self.dut.o.valid):
            sample = ctx.get(self.dut.o.payload)
            assert (sample.qp, sample.rtt, sample.t) == self.samples.popleft()
            self.taken += 1
