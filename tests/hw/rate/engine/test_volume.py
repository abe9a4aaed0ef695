# amaranth: UnusedElaboratable=no
"""Every law's program in the engine against the golden one, for millions of random events.

A C++ harness feeds samples, acknowledgements and other events, so that `--volume 500` makes a
million events of each law. Queue pairs are so few that events of all of them collide.
"""

import time
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.lib import data
from numpy.typing import NDArray

from precog_hw.csr.layouts import DECISION
from precog_hw.csr.qp import config_layout
from precog_hw.rate.engine.engine import LawEngine
from precog_hw.rate.law_layouts import ABOUT, LAW_ACK, LAW_EVENT
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import law_names, load
from precog_models.rate.engine.image import image_of
from precog_models.rate.engine.unit import EngineUnit
from precog_sim.rtl.event_block import pack, unpack
from precog_sim.rtl.feed_block import FeedBlock, FeedRun, feed_library
from precog_spec.config import NicConfig
from precog_spec.engine.events import EVENT_FIELDS, EVENTS, Kind
from precog_spec.law_fields import SENDERS_AT, EventKind

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("law_volume")]

Table = NDArray[np.int64]

_QPS, _BATCH = 16, 2000
_MTU, _THRESHOLD, _BUDGET = 1000, 40_000, 1000
_NAMES = [name for name, _, _ in EVENT_FIELDS]
_SENT = {
    Kind.CNP: EventKind.CNP,
    Kind.LOSS: EventKind.LOSS,
    Kind.TIMER: EventKind.SWEEP,
    Kind.SCORE: EventKind.SCORE,
}
_FACTS = {"network_base": 12.24, "mark_delay": 0.2}  # us
_TIME, _TICKS, _WORD = 1 << 40, 1 << 24, 1 << 32


def _config(cores: int) -> NicConfig:
    return NicConfig(qps=_QPS, sets=2, lanes=16, columns=1, steps=1, law_cores=cores)


@cache
def _library(cores: int) -> Path:
    return feed_library(LawEngine(_config(cores)), label=f"law engine, {cores} cores, fed")


class Pair:
    """The engine and its golden model with one law.

    A slot for each of its presets, and one where facts of the network are told.
    """

    def __init__(self, law: str, cores: int, rng: np.random.Generator) -> None:
        self.rng, self.config = rng, _config(cores)
        self.rtl, self.golden = FeedBlock(_library(cores)), EngineUnit(_QPS)
        self.golden.set_parameters(threshold=_THRESHOLD, budget=_BUDGET)
        self.rtl.poke(threshold=_THRESHOLD, budget=_BUDGET, mtu=_MTU)
        made = compile_law(load(law))
        self.kinds = [n for n, name in enumerate(EVENTS) if name in made.program.entries]
        told = made.law.with_facts({}, _FACTS)
        self.slots = [("default", told)] if told else []
        self.slots += [(preset, {}) for preset in ("default", *made.law.presets)]
        for bank, (preset, values) in enumerate(self.slots):
            image = image_of(made.program, made.law.integers(preset, 1000, **values))
            self._load(bank, image)
            self.golden.load(bank, image)
            assert self.golden.map_slot(bank, bank, enable=True)
        self.start, self.cycles, self.events = 1, 0, 0

    def _load(self, bank: int, image: Table) -> None:
        rtl = self.rtl
        rtl.pulse("begin_stb", begin_bank=bank)
        for word in image.tolist():
            rtl.pulse("word_stb", word=word)
        rtl.pulse("commit_stb", commit_crc=zlib.crc32(image.astype("<u4").tobytes()))
        rtl.tick(10)
        rtl.pulse("map_stb", map_slot=bank, map_bank=bank, map_enable=1)

    def configure(self) -> None:
        """Bounds of every queue pair anew: usual ones, or any."""
        layout = config_layout(self.config)
        for qp in range(_QPS):
            low, high = sorted((2 ** self.rng.uniform(0, 32, 2)).astype(np.int64).tolist())
            bounds = {"min_rate": 1 << 18, "max_rate": 1 << 28, "init_rate": 1 << 26}
            if self.rng.random() < 0.3:
                bounds = {"min_rate": low, "max_rate": high, "init_rate": (low + high) // 2}
            slot = int(self.rng.integers(len(self.slots)))
            config = {"enable": 1, "algorithm": 8 + slot, **bounds}
            payload = layout.const({"qp": qp, "apply": 1, "config": config}).as_bits()
            self.rtl.poke(command_payload=payload, command_valid=1)
            for _ in range(100):
                taken = self.rtl.peek("command_ready")
                self.rtl.tick()
                if taken:
                    break
            else:
                pytest.fail("a command was not taken")
            self.rtl.poke(command_valid=0)
            self.golden.configure(qp, slot, bounds)

    def traffic(self, count: int) -> tuple[Table, Table]:
        """Queue pairs, and words of events: usual ones, and every extreme of what is measured."""
        rng = self.rng

        def mixed(*columns: object) -> Table:
            table = np.stack(
                [np.broadcast_to(np.asarray(c, dtype=np.int64), count) for c in columns]
            )
            return np.asarray(table[rng.integers(len(columns), size=count), np.arange(count)])

        words = np.zeros((count, len(_NAMES)), dtype=np.int64)
        column = dict(zip(_NAMES, words.T, strict=True))
        heard = rng.choice(self.kinds, size=count)
        column["kind"][:] = np.where(rng.random(count) < 0.9, heard, rng.integers(6, size=count))
        steps = mixed(1, rng.integers(1, 300, count), rng.integers(1, 20_000, count))
        steps[rng.random(count) < 1e-4] = rng.integers(1, 1 << 28)
        column["now"][:] = self.start + np.cumsum(steps)
        self.start = int(column["now"][-1])
        assert self.start < _TIME
        kind, near = column["kind"], 4180 + rng.integers(-60, 600, count)
        is_ack, is_sample = kind == Kind.ACK, kind == Kind.SAMPLE
        far = rng.integers(1, _TICKS, count)
        rtt = mixed(near, near, near, 4180 + rng.integers(0, 60_000, count), far, 1, _TICKS - 1)
        column["rtt"][:] = np.where(is_ack | is_sample, rtt, 0)
        sent = mixed(1000, 1000, rng.integers(0, 70_000, count), rng.integers(0, _WORD, count))
        column["bytes"][:] = np.where(is_ack, sent, 0)
        column["marked"][:] = is_ack & (rng.random(count) < 0.3)
        first = column["now"] >> 10
        seq = mixed(first, first, rng.integers(_TICKS, size=count)) % _TICKS
        ahead = mixed(30, 30, rng.integers(2000, size=count), rng.integers(_TICKS, size=count))
        column["seq"][:] = np.where(is_ack, seq, 0)
        column["next"][:] = np.where(is_ack, (seq + ahead) % _TICKS, 0)
        column["score"][:] = np.where(kind == Kind.SCORE, rng.integers(101, size=count), 0)
        column["senders"][:] = np.where(kind == Kind.SCORE, rng.integers(16, size=count), 0)
        base = mixed(4180, 4180, 4180, rng.integers(_TICKS, size=count))
        column["base"][:] = np.where(is_sample, base, 0)
        said = mixed(0, rtt << 8, rng.integers(_WORD, size=count))
        column["prediction"][:] = np.where(is_sample, said, 0)
        column["predicted"][:] = column["prediction"] != 0
        column["mtu"][:] = _MTU
        column["held"][:] = int(rng.random() < 0.2)
        self.rtl.poke(hold=int(column["held"][0]))
        return rng.integers(_QPS, size=count), words

    def compare(self, count: int) -> None:
        """Let both have `count` events."""
        self.configure()
        qps, words = self.traffic(count)
        run = self._run(qps, words)
        of = unpack(ABOUT, run.ports["of"])[:, list(dict(ABOUT)).index("t")]
        places = np.searchsorted(words[:, 1], of)
        assert sorted(places.tolist()) == list(range(count))  # each is answered once
        said = unpack(DECISION, run.ports["o_payload"])
        fields = list(dict(DECISION))
        columns = [fields.index(name) for name in ("qp", "rate", "window")]
        before: dict[tuple[int, int], int] = {}
        for place, got in zip(places.tolist(), said[:, columns].tolist(), strict=True):
            qp, kind = int(qps[place]), int(words[place, 0])
            want = [qp, *self.golden.event(qp, words[place])]
            if got != want:
                event = dict(zip(_NAMES, words[place].tolist(), strict=True))
                pytest.fail(f"event {place}: qp, rate, window are {got}, not {want}, of {event}")
            stream = kind if kind in (Kind.ACK, Kind.SAMPLE) else Kind.CNP
            assert before.get((qp, stream), -1) < place, "events of a queue pair change places"
            before[qp, stream] = place
        self.cycles += run.cycles
        self.events += count
        assert run.counts[:4] == [count, 0, 0, 0]  # no trap, none by the safe law

    def _run(self, qps: Table, words: Table) -> FeedRun:
        """Let the RTL have the events, each kind by its stream."""
        rng, kind = self.rng, words[:, 0]
        column = dict(zip(_NAMES, words.T, strict=True)) | {"qp": qps, "t": words[:, 1]}
        column |= {
            "rtt_pred": column["prediction"],
            "value": column["score"] | column["senders"] << SENDERS_AT,
            "sample": kind * 0 + 1,
        }
        del column["rate"], column["window"]  # what the law below decides has no effect
        samples, acks = kind == Kind.SAMPLE, kind == Kind.ACK
        sent = np.array([_SENT.get(one, 0) for one in Kind])[kind]
        feeds = {
            "i": self._packed("i", DECISION, column, samples),
            "i_ack": self._packed("i_ack", LAW_ACK, column, acks),
            "i_event": self._packed(
                "i_event", LAW_EVENT, column | {"kind": sent}, ~samples & ~acks
            ),
        }
        about = self._packed("about", ABOUT, column, samples)
        idle, stall = ((0.0, 0.0), (0.3, 0.0), (0.0, 0.6))[int(rng.integers(3))]
        return self.rtl.run(
            feeds,
            len(qps),
            paired={"i": ("about", about)},
            watch=["of"],
            strobes="counts",
            seed=int(rng.integers(1, 1 << 30)),
            idle=idle,
            stall=stall,
        )

    def _packed(
        self, port: str, layout: data.StructLayout, column: dict[str, Table], those: Any
    ) -> NDArray[np.uint8]:
        """Rows of `those` events as a port takes them; fields that are no column are 0."""
        nothing = np.zeros(len(those), dtype=np.int64)
        table = np.stack([column.get(name, nothing) for name, _ in layout], axis=1)
        return pack(layout, table[those], self.rtl.size(port))


@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize("law", law_names())
def test_every_decision_is_golden(law: str, cores: int, seed: int, volume: int) -> None:
    """All queue pairs collide; presets, bounds, idle cycles and back-pressure change by batches.

    How four cores share events is what `test_stage` shows.
    """
    if cores > 1 and volume == 1:
        pytest.skip("only with --volume: four cores take as long to compile as all of one core")
    pair = Pair(law, cores, np.random.default_rng(seed))
    began = time.process_time()
    for _ in range(volume):
        pair.compare(_BATCH)
    pair.rtl.close()
    each, seconds = pair.cycles / pair.events, time.process_time() - began
    print(f"{law}, {cores} cores: {pair.events} events, {each:.1f} cycles each, {seconds:.0f} s")
