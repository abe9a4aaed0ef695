"""Wire mode in RTL, fed by frames, and both golden models behind its logs."""

import random
from collections import defaultdict, deque
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from precog_hw.pace.layouts import WHOLE_REQUEST, EventKind, commit_layout
from precog_hw.pace.wire_path import queues
from precog_hw.store.layouts import EventKind as StoreEvent
from precog_hw.store.layouts import StoreConfig
from precog_hw.store.layouts import commit_layout as store_layout
from precog_models.store.packet_store import Outcome
from precog_sim.rtl.packet_block import PacketBlock, Run, Wire, packet_library
from precog_spec.contract import Fmt

from ..store.bench import QUEUES
from ..store.bench import Replay as StoreReplay
from .replay import Replay, config_bits
from .traffic import Words
from .wire_bench import PACED, WireBench

__all__ = ["NARROW", "OVERHEAD", "WIDE", "Bench", "first_beats"]

OVERHEAD = 24
WIDE = StoreConfig(qps=64, width=512, cells=1024, cell_bytes=128, longest=4608)
NARROW = StoreConfig(qps=64, width=64, cells=1024, cell_bytes=128, longest=4608)
QUIET = 20_000  # cycles without a beat after which nothing more comes at the rates of the tests


@cache
def library(config: StoreConfig, relaxed: bool) -> Path:
    label = f"wire mode, {config.width} bits{', relaxed' * relaxed}"
    return packet_library(WireBench(config, relaxed=relaxed), label=label)


def first_beats(run: Run) -> dict[int, np.ndarray]:
    """Cycles in which the paced packets of each queue pair began to leave."""
    found: dict[int, list[int]] = defaultdict(list)
    sink = run.sinks["m_axis"]
    for at, wire in zip(sink.first, sink.frames, strict=True):
        if wire.tag & PACED:
            found[wire.time % QUEUES].append(at)
    return {qp: np.array(times) for qp, times in found.items()}


class Bench:
    """Wire mode and both golden models behind its logs."""

    def __init__(self, config: StoreConfig, seed: int, *, relaxed: bool = False) -> None:
        self.config, self.rng = config, random.Random(seed)
        self.block = PacketBlock(library(config, relaxed))
        self.store = StoreReplay(queues(config))
        self.pacer = Replay(config.qps, overhead=OVERHEAD, whole=True)
        self.step = config.width // 8
        self.bypassed: deque[Wire] = deque()
        self.paced_out = 0
        self._commit, self._store = Words(commit_layout(config.qps)), store_layout(queues(config))
        self.block.poke(quota=config.cells // 2, limit=0, overhead=OVERHEAD)
        # After reset cells become free and slots of the wheel empty.
        self.block.tick(100 + max(config.cells, 2 * 4 * config.qps))

    def rate(self, qp: int, rate: float) -> None:
        """Bytes on the wire per tick."""
        value = Fmt.RATE.from_float(rate)
        self.pacer.rates.append((qp, value))
        self._tell("i_rate", qp, value)

    def window(self, qp: int, size: int) -> None:
        """Bytes; 0: no limit."""
        self.pacer.asked[EventKind.WINDOW].append((qp, size))
        self._tell("i_window", qp, size)

    def acknowledge(self, qp: int, psn: int) -> None:
        """All before a PSN has arrived."""
        self.pacer.asked[EventKind.ACK].append((qp, psn))
        self._tell("i_ack", qp, psn)

    def configure(self, qp: int, **fields: int) -> None:
        """A connection begins."""
        bits = config_bits(**fields)
        self.pacer.asked[EventKind.CONFIG].append((qp, bits))
        self._tell("i_config", qp, bits)

    def _tell(self, port: str, qp: int, value: int) -> None:
        block, taken = self.block, False
        bits = (self.config.qps - 1).bit_length()
        block.poke(**{f"{port}_payload": qp | value << bits, f"{port}_valid": 1})
        for _ in range(1000):
            taken = bool(block.peek(f"{port}_ready"))
            for kind in ("log", "pace_log"):
                if block.peek(f"{kind}_stb"):
                    self._follow(kind, block.peek(kind))
            block.poke(now=block.peek("now") + 1)
            block.tick()
            if taken:
                block.poke(**{f"{port}_valid": 0})
                return
        raise TimeoutError(f"{port} must be taken within 1000 cycles")

    def _follow(self, kind: str, word: int) -> None:
        """An event of the store, or of the pacer."""
        if kind == "pace_log":
            self.pacer.commit(*self._commit(word, "kind", "qp", "argument", "t", "row"))
            return
        before = len(self.store.left)
        self.store(word)
        did = self._store.from_bits(word)
        event, qp = did.event, did.event.qp
        asked = self.pacer.asked[EventKind.REQUEST]
        stored = event.kind == StoreEvent.APPEND and event.outcome.value == Outcome.STORED
        if event.kind in (StoreEvent.HEAD, StoreEvent.ASK) or (stored and did.row.packets == 1):
            psn, counts = did.row.label % (1 << 24), did.row.label >> 24
            argument = {"psn": psn, "counts": counts, "size": did.row.bytes}
            argument["answers"] = qp // self.config.qps
            bits = WHOLE_REQUEST.const(argument).as_bits()
            asked.append((qp % self.config.qps, bits))
        if event.kind == StoreEvent.POP:
            # Each grant is one packet's.
            grant = self.pacer.grants.popleft()
            queue = grant.qp + self.config.qps * grant.answers
            assert (queue, grant.size) == (qp, len(self.store.left[before].data))

    def paced(self, qp: int, size: int, *, psn: int | None = None, answers: bool = False) -> Wire:
        """A frame; with a PSN it counts against its window."""
        error = self.rng.random() < 0.1
        tag = PACED | self.rng.getrandbits(7)
        label = self.rng.getrandbits(24) if psn is None else psn | 1 << 24
        queue = qp + self.config.qps * answers
        return Wire(self.rng.randbytes(size), error, queue + label * QUEUES, tag)

    def other(self, size: int) -> Wire:
        """A frame that is not paced."""
        data = self.rng.randbytes(size)
        return Wire(data, False, self.rng.getrandbits(40), self.rng.getrandbits(7))

    def run(self, sent: list[Wire], **how: Any) -> Run:
        """All in, and out what comes: the right bytes, in order, each packet once."""
        how.setdefault("settle", QUIET)
        how["held"] = self.config.cells  # a packet in each
        self.store.came.extend(wire for wire in sent if wire.tag & PACED)
        self.bypassed.extend(wire for wire in sent if not wire.tag & PACED)
        monitors = {f"{kind}_stb": [kind] for kind in ("log", "pace_log")}
        run = self.block.run(
            {"s_axis": sent}, ["m_axis"], monitors=monitors, clocks={"now": 1}, **how
        )
        events = [
            (at, kind, word)
            for kind in ("log", "pace_log")
            for at, (word,) in run.events[f"{kind}_stb"]
        ]
        for _, kind, word in sorted(events):
            self._follow(kind, word)
        out = run.sinks["m_axis"].frames
        paced = [wire for wire in out if wire.tag & PACED]
        # One that was granted at the end of a run leaves in the next.
        assert paced == self.store.left[self.paced_out : self.paced_out + len(paced)]
        self.paced_out += len(paced)
        for wire in out:
            if not wire.tag & PACED:
                assert wire == self.bypassed.popleft()
        return run
