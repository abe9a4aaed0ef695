"""The whole NIC in wire mode, its driver, and the golden store and pacer behind its logs."""

import dataclasses
import random
from collections import defaultdict, deque
from typing import Any

from precog_host.device import Device
from precog_host.driver.profiler import QueueStatus
from precog_host.driver.wire import WireDriver
from precog_hw.compose.ports import wire_store
from precog_hw.measure.queue_layouts import queue_event_layout
from precog_hw.pace.layouts import WHOLE_REQUEST, EventKind, log_layout
from precog_hw.pace.wire_path import queues
from precog_hw.store.layouts import EventKind as StoreEvent
from precog_hw.store.layouts import commit_layout
from precog_models.store.packet_store import Outcome
from precog_sim.rtl.packet_block import Run, Wire
from precog_sim.rtl.packet_nic import PacketNic
from precog_spec.config import PRESETS, NicConfig
from precog_spec.contract import Fmt, QueueEvent
from precog_spec.frames.cps import Mode
from precog_spec.frames.opcodes import (
    ACKNOWLEDGES,
    CNP,
    RELIABLE_REQUESTS,
    SYNDROME_ACK,
    syndrome_kind,
)

from ..hw.measure.queue_bench import Replay as QueueReplay
from ..hw.pace.replay import Replay as PaceReplay
from ..hw.pace.traffic import Words
from ..hw.store.bench import QUEUES, Replay
from ..models.packet.frames import A_QP, B4, B_QP, packet

__all__ = [
    "CONFIG",
    "FULL",
    "IDLE",
    "LINK",
    "OVERHEAD",
    "RELAXED",
    "STORE",
    "TICK_PS",
    "Bench",
    "of",
    "paced",
]

CONFIG = dataclasses.replace(
    PRESETS["tiny"], width=64, receiver=True, grants=True, wire=256, profile=True, ecc=False
)
TICK_PS = 1600
#: A board's NIC: relaxed, `micro`, without IPv6 and a receiver.
RELAXED = dataclasses.replace(PRESETS["ecp5-45"], dsp="generic", profile=True)
#: A board's NIC with all blocks, for the queue pairs and cells of `CONFIG`.
FULL = dataclasses.replace(PRESETS["ecp5-85"], dsp="generic", qps=4, sets=2, wire=256)
STORE = queues(wire_store(CONFIG))
LINK = 64 / (TICK_PS * 1e-3)  # Gb/s
OVERHEAD = 24  # bytes: what the register has at reset
QUEUE_DELAY = 2  # cycles from an event of the store to the profiler's
IDLE = 30_000  # cycles without a beat after which nothing more comes at the rates of the tests


_ROCE_AT, _OPCODE_AT, _QP_AT, _PSN_AT, _SYNDROME_AT = 36, 42, 47, 51, 54


class Noting(PacketNic):
    """The pacer's log and the profiler's, of cycles in which the host talks, too."""

    def __init__(self, config: NicConfig) -> None:
        self.noted: list[tuple[int, int]] = []
        self.noted_queues: list[int] = []
        super().__init__(config, tick_ps=TICK_PS)

    def _tick(self) -> None:
        if self.block.peek("pace_log_stb"):
            self.noted.append((0, self.block.peek("pace_log")))
        if self.block.peek("queue_log_stb"):
            self.noted_queues.append(self.block.peek("queue_log"))
        super()._tick()


class Bench:
    """The NIC, the driver on it, and the golden models behind the logs.

    Parameters
    ----------
    at_reset : bool
        Everything is as the reset left it; else what has no room holds the input, and a queue
        pair's quota is most of the memory.
    config : NicConfig
        Of `CONFIG`'s sizes.

    Attributes
    ----------
    windows : set of int
        Queue pairs that have some.
    """

    def __init__(self, *, at_reset: bool = False, config: NicConfig = CONFIG) -> None:
        self.nic = Noting(config)
        self.windows: set[int] = set()
        self.pacer = PaceReplay(CONFIG.qps, overhead=OVERHEAD, whole=True)
        self._requests: deque[tuple[int, int]] = deque()
        self._acks: dict[int, deque[int]] = defaultdict(deque)
        self._layout = log_layout(CONFIG.qps)
        self._commit = Words(self._layout["commit"].shape)
        self._store = commit_layout(STORE)
        self._queue_event = queue_event_layout(CONFIG.qps)
        self._queue_events: deque[tuple[int, tuple[int, int, int]]] = deque()
        self.queues = QueueReplay(CONFIG.qps)
        self.device = Device(self.nic)
        self.store = Replay(STORE)
        self.left = 0
        if not at_reset:
            self.waiting.set_parameters(limit=0, hold=True)
            self.quota(200)

    @property
    def waiting(self) -> WireDriver:
        assert self.device.wire is not None
        return self.device.wire

    def quota(self, cells: int) -> None:
        """Of each queue pair."""
        if self.device.receiver is None:
            self.waiting.set_parameters(quota=cells)
            return
        for qp in range(CONFIG.qps):
            self.device.receiver.configure(qp, base_quota=cells)

    def bind(self, qp: int, gbps: float, *, mode: Mode = Mode.OFF, score: int = 0) -> None:
        """A queue pair at a fixed rate; its DestQP is `B_QP` + its number."""
        assert self.device.packet is not None
        self.device.packet.bind(
            qp, B4, remote_qp=B_QP + qp, local_qp=A_QP + qp, mode=mode, score=score
        )
        self.device.qp(qp).configure(
            preset="precog", enable=True, algorithm="fixed", init_gbps=gbps, min_gbps=0.001
        )

    def run(self, sent: list[bytes], *, back: list[bytes] = (), **how: Any) -> Run:  # type: ignore[assignment]
        """Frames in; all logs must be the golden models'."""
        how.setdefault("settle", IDLE)
        how["held"] = 16 * STORE.cells  # a packet that waits for room tries again and again
        self.store.came.extend(
            Wire(frame, time=self._place(frame)) for frame in sent if paced(frame) is not None
        )
        for frame in back:
            if (said := self._said(frame)) is not None:
                self._acks[said[0]].append(said[1])
        for _, word in self.nic.noted:
            self._paced(word)
        self.nic.noted.clear()
        self.hear_queues()
        run = self.nic.run(tx=[Wire(f) for f in sent], rx=[Wire(f) for f in back], **how)
        events = [
            (at, first, word)
            for first, name in enumerate(("wire_log_stb", "pace_log_stb"))
            for at, (word,) in run.events[name]
        ]
        for at, second, word in sorted(events):
            if second:
                self._paced(word)
            else:
                self._stored(at, word)
        self._queued(run)
        return run

    def hear_queues(self) -> None:
        """What happened to the queues while the host talked; no packet came or left."""
        for word in self.nic.noted_queues:
            event = self._queue_event.from_bits(word)
            assert event.kind not in (QueueEvent.ARRIVAL, QueueEvent.DEPARTURE)
            self.queues.commit(event.qp, event.kind, event.size, event.t)
        self.nic.noted_queues.clear()

    def _queued(self, run: Run) -> None:
        """Each packet that was stored or left is an event of the profiler, at its cycle's time."""
        clock = set()
        for at, (word,) in run.events["queue_log_stb"]:
            event = self._queue_event.from_bits(word)
            if event.kind in (QueueEvent.ARRIVAL, QueueEvent.DEPARTURE):
                happened = self._queue_events.popleft()
                assert happened == (at - QUEUE_DELAY, (event.qp, event.kind, event.size))
                clock.add((event.t - at) % (1 << Fmt.TIME.width))
            self.queues.commit(event.qp, event.kind, event.size, event.t)
        assert len(clock) <= 1
        assert not self._queue_events

    def check_queues(self) -> list[QueueStatus]:
        """The NIC's numbers of every queue are golden, and what the store has queued."""
        assert self.device.profiler is not None
        us, shown = self.device.identity.tick_ps / 1e6, []
        for qp in range(CONFIG.qps):
            status = self.device.profiler.queue(qp)
            self.hear_queues()
            values = self.queues.values
            assert values is not None
            waits = (self.store.golden.rows[qp + CONFIG.qps * n].queued for n in range(2))
            assert values["occupancy"] == sum(waits)
            for name in ("inter_arrival", "service"):
                values[f"{name}_us"] = values.pop(name) * us  # type: ignore[assignment]
            assert dataclasses.asdict(status) == {"qp": qp, **values}
            shown.append(status)
        self._check_queue_counters()
        return shown

    def _check_queue_counters(self) -> None:
        """Of a time in which no sample is taken: those by time go on while the host reads."""
        assert self.device.profiler is not None
        for _ in range(100):
            sampled = self.queues.sampled
            self.device.profiler.parameters()  # until what was sampled has been counted
            counters = self.device.profiler.counters()
            self.hear_queues()
            if self.queues.sampled == sampled:
                break
        seen = self.queues.seen
        assert (counters["events"], counters["samples"], self.queues.sampled) == (
            seen["ARRIVAL"] + seen["DEPARTURE"], sampled, sampled,
        )  # fmt: skip

    def _place(self, frame: bytes) -> int:
        """Queue and label of a frame that waits."""
        qp, opcode = paced(frame), frame[_OPCODE_AT]
        assert qp is not None
        label = int.from_bytes(frame[_PSN_AT : _PSN_AT + 3], "big")
        if qp in self.windows:
            label |= (opcode in RELIABLE_REQUESTS) << 24
            qp += CONFIG.qps * (opcode in ACKNOWLEDGES)
        return qp + label * QUEUES

    def _said(self, frame: bytes) -> tuple[int, int] | None:
        """What a frame from the wire acknowledges, to a queue pair with windows."""
        qp = int.from_bytes(frame[_QP_AT : _QP_AT + 3], "big") - A_QP
        if frame[_OPCODE_AT] not in ACKNOWLEDGES or qp not in self.windows:
            return None
        psn = int.from_bytes(frame[_PSN_AT : _PSN_AT + 3], "big")
        took = syndrome_kind(frame[_SYNDROME_AT]) == SYNDROME_ACK
        return qp, (psn + took) % (1 << 24)

    def _stored(self, at: int, word: int) -> None:
        """An event of the store; what it asks the pacer for, and tells the profiler."""
        left = len(self.store.left)
        self.store(word)
        did = self._store.from_bits(word)
        kind, queue = did.event.kind, did.event.qp
        stored = kind == StoreEvent.APPEND and did.event.outcome.value == Outcome.STORED
        if stored:
            came = queue % CONFIG.qps, QueueEvent.ARRIVAL, did.event.bytes
            self._queue_events.append((at, came))
        elif kind == StoreEvent.POP:
            gone = queue % CONFIG.qps, QueueEvent.DEPARTURE, len(self.store.left[left].data)
            self._queue_events.append((at, gone))
        if kind in (StoreEvent.HEAD, StoreEvent.ASK) or (stored and did.row.packets == 1):
            psn, counts = did.row.label % (1 << 24), did.row.label >> 24
            asked = {"psn": psn, "counts": counts, "size": did.row.bytes}
            asked["answers"] = queue // CONFIG.qps
            self._requests.append((queue % CONFIG.qps, int(WHOLE_REQUEST.const(asked).as_bits())))

    def _paced(self, word: int) -> None:
        """An event of the pacer; rates, windows and connections are as it says."""
        kind, qp, argument, t, row = self._commit(word, "kind", "qp", "argument", "t", "row")
        if kind in (EventKind.WINDOW, EventKind.CONFIG):
            self.pacer.asked[EventKind(kind)].append((qp, argument))
        elif kind == EventKind.REQUEST:
            # Those that were refused are in the store's log only.
            while self._requests[0] != (qp, argument):
                self._requests.popleft()
            self.pacer.asked[EventKind.REQUEST].append(self._requests.popleft())
        elif kind == EventKind.ACK:
            # One may have replaced those that waited.
            while self._acks[qp][0] != argument:
                self._acks[qp].popleft()
            self.pacer.asked[EventKind.ACK].append((qp, self._acks[qp].popleft()))
        elif kind == EventKind.RATE and not self.pacer.rates:
            self.pacer.rates.append((qp, word >> self._layout["rate"].offset))
        self.pacer.commit(kind, qp, argument, t, row)


def of(qp: int, size: int, rng: random.Random, **how: Any) -> bytes:
    """A packet of a queue pair with so many bytes of payload."""
    bth = how.pop("bth", {}) | {"dqpn": B_QP + qp}
    return packet(rng.randbytes(size), bth=bth, **how)


def paced(frame: bytes) -> int | None:
    """Whose it is, if it waits: known, not a CNP; queue pairs 1 to 3 are bound."""
    roce = frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[36:38] == b"\x12\xb7"
    qp = int.from_bytes(frame[47:50], "big") - B_QP
    return qp if roce and 1 <= qp <= 3 and frame[42] != CNP else None
