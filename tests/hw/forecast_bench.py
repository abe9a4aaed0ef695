"""A Verilated core with forecasts and the golden NIC; one log holds all streams of the core."""

import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped
from tests.hw.core_bench import PARAMETERS
from tests.hw.sticking import sticking
from tests.models.predict.trees import random_tree
from tests.models.predict.weights import random_weights

from precog_hw.compose.ports import nic_map
from precog_hw.core import Core
from precog_hw.csr.layouts import DECISION, SAMPLE
from precog_hw.micro.core import MicroCore
from precog_hw.micro.registers import parameter_places
from precog_hw.predict.cps import KNOT_WRITE
from precog_hw.predict.ecc import FLIPS, last_layout
from precog_hw.predict.forecast import (
    EVENTS,
    FORECAST,
    MADE_OF,
    PROFILE,
    forecast_config_layout,
)
from precog_hw.predict.layouts import place_layout
from precog_hw.rate.law_layouts import LAW_EVENT
from precog_models.nic import Decision, GoldenNic
from precog_models.predict.lstm import pack
from precog_models.predict.tree_model import pack_tree
from precog_models.psched_presets import PSCHED_PRESETS
from precog_models.trace import forecast_record
from precog_sim.rtl.stream_block import Link, StreamBlock, stream_library
from precog_spec.config import PRESETS, NicConfig
from precog_spec.contract import NO_SCORE, HeadKind, ScoreSource
from precog_spec.registers.model_sets import LOAD_STATUS

__all__ = [
    "CONFIG",
    "LIMITS",
    "MICRO",
    "OF_PROGRAMS",
    "OF_TREES",
    "QUEUE",
    "RTT",
    "ForecastBench",
    "Log",
]

CONFIG = replace(PRESETS["tiny"], sets=4, forecast=True, trace=True, ecc=False)
OF_TREES = replace(CONFIG, tree=True, ecc=True)
MICRO = replace(CONFIG, micro=True)
OF_PROGRAMS = replace(CONFIG, law_cores=1)
SHARED = PARAMETERS | {
    f"psched_{k}": v for k, v in PSCHED_PRESETS["precog"].parameters(1000).items()
}
LIMITS = {"threshold_bin": 2, "rtt_budget": 300}
RTT, QUEUE = 0, 2  # slots: two of RTTs, two of queues

LOG = data.StructLayout(
    {
        "decided": 1,
        "decision": DECISION,
        "happened": 1,
        "event": LAW_EVENT,
        "made": 1,
        "forecast": FORECAST,
        "events": EVENTS,
        "made_of": MADE_OF,
        "wrong_head": 1,
        "scored": 1,
        "score": data.StructLayout({"qp": 2, "rtt": 1, "score": 7}),
    }
)


class Watched(wiring.Component):
    """The core; `log` shows the transfers of all its streams in a cycle, `stuck` stops its engine.

    See `sticking` for the fault. A small processor reads `SHARED` from its registers.
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        self._stuck = Signal(name="engine_stuck")
        with sticking(self._stuck):
            self._core = core = MicroCore(config) if config.micro else Core(config)
        outside = {"event_stb", "event", "wrong_head", "forecast_events", "slot_enables"}
        outside |= {"registers"}
        outside |= {f"forecast_made{part}" for part in ("", "_qp", "_rtt", "_score")}
        members = {n: m for n, m in core.signature.members.items() if n not in outside}
        members |= {"log_stb": Out(1), "log": Out(LOG), "now": In(8), "stuck": In(1)}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self._core
        for name, member in core.signature.members.items():
            if name not in self.signature.members:
                continue
            mine, its = getattr(self, name), getattr(core, name)
            if member.is_signature:
                mine = flipped(mine)
                connect(m, *((mine, its) if member.flow is In else (its, mine)))
            else:
                m.d.comb += its.eq(mine) if member.flow is In else mine.eq(its)
        if self._config.micro:
            self._answer_registers(m, core.registers)
        log = self.log
        m.d.comb += [
            self._stuck.eq(self.stuck),
            log.decided.eq(self.o_decision.valid & self.o_decision.ready),
            log.decision.eq(self.o_decision.payload),
            log.happened.eq(core.event_stb),
            log.event.eq(core.event),
            log.made.eq(self.o_forecast.valid & self.o_forecast.ready),
            log.forecast.eq(self.o_forecast.payload),
            log.events.eq(core.forecast_events),
            log.made_of.eq(core.forecast_made_of),
            log.wrong_head.eq(core.wrong_head),
            log.scored.eq(core.forecast_made),
            log.score.qp.eq(core.forecast_made_qp),
            log.score.rtt.eq(core.forecast_made_rtt),
            log.score.score.eq(core.forecast_made_score),
            self.log_stb.eq(
                Cat(log.decided, log.happened, log.made, core.forecast_events).any()
                | log.wrong_head
                | log.scored
            ),
        ]
        return m

    def _answer_registers(self, m: Module, bus: wiring.PureInterface) -> None:
        """As the bus does, some cycles later."""
        words: dict[int, int] = {}
        for name, place in parameter_places(nic_map(self._config)).items():
            word = words.get(place.word, 0)
            words[place.word] = place.field.put(word, SHARED.get(name, 0))
        init = [words.get(at, 0) for at in range(max(words) + 1)]
        m.submodules.registers = registers = Memory(shape=32, depth=len(init), init=init)
        read, on_its_way = registers.read_port(), Signal(2)
        m.d.sync += on_its_way.eq(Cat(bus.stb, on_its_way))
        m.d.comb += [
            read.addr.eq(bus.addr),
            bus.rdata.eq(read.data),
            bus.ack.eq(on_its_way[-1]),
        ]


@cache
def library(config: NicConfig) -> Path:
    label = "core with trees" if config.tree else "core with forecasts"
    return stream_library(Watched(config), label=label)


@dataclass
class Log:
    """What moved, each list in order; latencies are told by the cycles."""

    decisions: list[tuple[int, Decision]]
    events: list[tuple[int, ...]]
    forecasts: list[tuple[int, dict[str, int]]]
    dropped: int
    no_model: int
    stale: int
    wrong_head: int
    scores: list[tuple[int, int, int]]  # queue pair, whether of RTTs, score plus 1
    records: list[tuple[int, dict[str, int]]]  # of forecasts, by the contract's names


class ForecastBench:
    """Both devices, with four models and four queue pairs that run unequal laws.

    Parameters
    ----------
    seed : int
    config : NicConfig
        `CONFIG`; `OF_TREES`, whose models of queues are trees and scrubbed all the time; `MICRO`;
        `OF_PROGRAMS`, whose law engine has none, so that its queue pairs run the safe law.
    """

    def __init__(self, seed: int, config: NicConfig = CONFIG) -> None:
        self.rng = random.Random(seed)
        self.built = config
        self.dut = StreamBlock(library(config))
        self.golden = GoldenNic(qps=config.qps, sets=config.sets, forecast=1, tree=config.tree)
        rng = np.random.default_rng(seed)
        images = [pack(random_weights(rng, steps=steps)) for steps in (3, 2)]
        for steps, outputs in ((2, 16), (3, 5)):
            version = 1000 + steps
            if config.tree:
                tree = random_tree(rng, depth=2 * steps, steps=steps, version=version)
                images.append(pack_tree(tree))
                continue
            model = random_weights(rng, inputs=4, steps=steps, outputs=outputs)
            images.append(pack(replace(model, kind=HeadKind.QUEUE, version=version)))
        self.knots = [np.sort(rng.integers(0, 32769, 65)) for _ in HeadKind]
        self._begin(images)

    def _begin(self, images: Sequence[bytes]) -> None:
        dut, golden = self.dut, self.golden
        golden.set_parameters(SHARED)
        golden.set_forecast(LIMITS)
        parameters = self._layout("parameters").const(SHARED)
        dut.poke(
            parameters=int(parameters.as_bits()),
            forecast_threshold=LIMITS["threshold_bin"],
            forecast_budget=LIMITS["rtt_budget"],
        )
        if self.built.ecc:
            dut.poke(ecc_enable=1, ecc_period=8)
        for number, image in enumerate(images):
            self.load(number, image)
            self.map_slot(number, number)
        for kind in HeadKind:
            golden.set_knots(kind, self.knots[kind])
            for knot, value in enumerate(self.knots[kind].tolist()):
                fields = {"en": 1, "table": kind, "knot": knot, "value": value}
                dut.poke(forecast_put=int(KNOT_WRITE.const(fields).as_bits()))
                dut.tick()
        dut.poke(forecast_put=0)
        for qp in range(CONFIG.qps):
            self.command(qp, self.config(qp), clear=True)
            self.forecast_config(qp, ScoreSource.NONE)

    def _layout(self, name: str) -> data.Layout:
        from precog_hw.csr.layouts import PARAMETERS as layout
        from precog_hw.csr.qp import config_layout

        return {"parameters": layout, "command": config_layout(CONFIG)}[name]

    def load(self, number: int, image: bytes) -> None:
        assert self.status(number, image) == dict(LOAD_STATUS)["ok"]
        self.golden.load_set(number, image)

    def status(self, number: int, image: bytes) -> int:
        """What the device says of an image for a set."""
        dut = self.dut
        dut.pulse("begin_stb", begin_set=number)
        for at in range(0, len(image), 4):
            dut.pulse("word_stb", word=int.from_bytes(image[at : at + 4], "little"))
        dut.pulse("commit_stb", commit_crc=zlib.crc32(image))
        dut.tick(30)
        return dut.peek("status")

    def map_slot(self, slot: int, number: int) -> None:
        self.dut.pulse("map_stb", map_slot=slot, map_set=number, map_enable=1)
        self.dut.tick(5)
        self.golden.map_slot(slot, number)

    def inject(self, number: int, row: int, word: int, bits: tuple[int, int]) -> data.Const:
        """Flip two bits of a word that trees are read from, one if they are the same; the last
        error that the device shows then."""
        dut = self.dut
        place = {"set": number, "row": row, "word": word, "tree": 1}
        flips = {"first": bits[0], "second": bits[1], "double": bits[0] != bits[1]}
        dut.pulse(
            "ecc_inject_stb",
            ecc_inject_place=int(place_layout(self.built).const(place).as_bits()),
            ecc_inject_flips=int(FLIPS.const(flips).as_bits()),
        )
        for _ in range(1000):
            if not dut.peek("ecc_busy"):
                return last_layout(self.built).from_bits(dut.peek("ecc_last"))
            dut.tick()
        raise TimeoutError("the scrubber stays busy")

    def config(self, qp: int) -> dict[str, int]:
        """Unequal options for each queue pair."""
        return {
            "enable": 1,
            "algorithm": (2, 3, 4, 2)[qp],
            "target_mode": qp != 1,
            "rttch": qp & 1,
            "win": qp == 3,
            "model_enable": 1,
            "model_slot": qp & 1,
            "target": 5000 << 8,
            "min_rate": 1 << 21,
            "max_rate": 100 << 21,
            "init_rate": (10 + qp) << 21,
            "psched": qp != 3,
        }

    def command(self, qp: int, config: dict[str, int] | None, *, clear: bool) -> None:
        fields = {"qp": qp, "apply": config is not None, "clear": clear}
        layout = self._layout("command")
        payload = layout.const(fields | ({"config": config} if config else {}))
        self.dut.poke(command_payload=int(payload.as_bits()), command_valid=1)
        for _ in range(5000):
            if self.dut.peek("command_ready"):
                break
            self.dut.tick()
        else:
            raise TimeoutError("the command is not taken")
        self.dut.tick()
        self.dut.poke(command_valid=0)
        if config is not None:
            self.golden.configure(qp, config)
        if clear:
            self.golden.reset_qp(qp)

    def happen(self, *event: int) -> None:
        """An event of `law_fields.LAW_EVENT_FIELDS` from outside, and what it leads to."""
        payload = LAW_EVENT.const(dict(zip(LAW_EVENT.members, event, strict=True)))
        dut = self.dut
        dut.poke(s_event_tdata=int(payload.as_bits()), s_event_tvalid=1, m_decision_tready=1)
        while not dut.peek("s_event_tready"):
            dut.tick()
        dut.tick()
        dut.poke(s_event_tvalid=0)
        self.run(2000)

    def forecast_config(self, qp: int, source: int, **changes: int) -> None:
        config = {"queue_enable": 1, "queue_slot": QUEUE + (qp & 1), "score_source": source}
        config |= changes
        bits = forecast_config_layout(CONFIG).const(config).as_bits()
        self.dut.pulse("forecast_config_stb", forecast_config_qp=qp, forecast_config=int(bits))
        self.golden.configure_forecast(qp, config)

    def carry(self, qp: int, rtt: bool) -> None:
        """Whether packets of a queue pair want the scores of its model of RTTs."""
        self.dut.pulse("forecast_carry_stb", forecast_carry_qp=qp, forecast_carry=int(rtt))

    def profile(self, t: int, qps: Sequence[int] = (0, 1, 2, 3, 0, 1, 2, 3, 4, 65535)) -> list[int]:
        return [self.rng.choice(qps), t, *(self.rng.randint(-32768, 32767) for _ in range(4))]

    def record(self, forecast: dict[str, int], profile: Sequence[int]) -> dict[str, int]:
        """The record of a golden forecast on a profile."""
        made = forecast["cps"] != NO_SCORE
        slot = self.golden.forecast_configuration(forecast["qp"])["queue_slot"]
        number = self.golden.slot(slot)[0] if made else 0
        threshold = LIMITS["threshold_bin"]
        record = forecast_record(forecast, profile[2:], number=number, threshold=threshold)
        return {name: value for name, value in record.items() if name != "kind"}

    def run(
        self,
        cycles: int,
        samples: Sequence[tuple[int, Sequence[int]]] = (),
        profiles: Sequence[tuple[int, Sequence[int]]] = (),
        *,
        stall: float = 0.0,
        stalled: str = "o_forecast",
    ) -> Log:
        """Offer (cycle, fields); the other of decisions and forecasts is always taken."""
        ready = {"o_forecast": "m_decision_tready", "m_decision": "o_forecast_ready"}[stalled]
        self.dut.poke(**{ready: 1})
        start = self.dut.cycles
        sources = {
            "s_sample": [(start + at, _word(SAMPLE, fields)) for at, fields in samples],
            "i_profile": [(start + at, _word(PROFILE, fields)) for at, fields in profiles],
        }
        run = self.dut.run(
            cycles,
            sources,
            sink=stalled,
            monitor="log",
            clock=("now", 8),
            link=Link(stall=stall),
            seed=self.rng.getrandbits(32),
            room=10_000,
        )
        self.dut.poke(**{ready: 0})
        rows = [(cycle - start, LOG.from_bits(word)) for cycle, word in run.events]
        return Log(
            [
                (cycle, Decision(*(row.decision[n] for n in Decision._fields)))
                for cycle, row in rows
                if row.decided
            ],
            [tuple(row.event[n] for n in LAW_EVENT.members) for _, row in rows if row.happened],
            [
                (cycle, {n: row.forecast[n] for n in FORECAST.members})
                for cycle, row in rows
                if row.made
            ],
            *(
                sum(row.events[name] for _, row in rows)
                for name in ("dropped", "no_model", "stale")
            ),
            sum(row.wrong_head for _, row in rows),
            [(row.score.qp, row.score.rtt, row.score.score) for _, row in rows if row.scored],
            [(cycle, _record(row)) for cycle, row in rows if row.events.forecasts],
        )


def _record(row: data.Const) -> dict[str, int]:
    made = {"score": row.forecast.cps}
    made |= {name: row.forecast[name] for name in ("qp", "t", "version")}
    return made | {name: row.made_of[name] for name in MADE_OF.members}


def _word(layout: data.StructLayout, fields: Sequence[int]) -> int:
    return int(layout.const(dict(zip(layout.members, fields, strict=True))).as_bits())
