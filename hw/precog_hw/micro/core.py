"""The NIC core on a small processor: as `precog_hw.core.Core` is, with a fraction of its LUTs.

::

    i_sample ─► [queue] ─► [machine] ── x, model ─► [predictor]
                            │ ▲  ▲                     │ out
    command ────────────────┤ │  └──── [or late] ◄─────┘
    registers ◄─────────────┘ └─► [other laws] ─► [law engine] ─► [PSCHED] ─► o_decision
    i_event ───────────────────────────┘

The golden model is `precog_models.nic`. The forecaster shares the predictor, as there.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from precog_hw.compose.core.commands import laws_commands, overdue
from precog_hw.compose.core.decisions import decisions, made_laws
from precog_hw.compose.core.forecasts import answers, forecasts
from precog_hw.compose.core.parts import Shared
from precog_hw.compose.core.ports import core_ports
from precog_hw.csr.axil import RegisterBus
from precog_hw.csr.layouts import SAMPLE
from precog_hw.passing import pass_ports
from precog_hw.predict.forecast import Forecaster
from precog_hw.predict.unit import Predictor
from precog_hw.rate.deadline import AdviceDeadline
from precog_hw.rate.engine.engine import LawEngine
from precog_hw.rate.layouts import MODEL
from precog_hw.stream.queue import Queue
from precog_spec.config import NicConfig
from precog_spec.contract import Algorithm, Fmt
from precog_spec.registers.identity import Identity
from precog_spec.registers.precog import build_map

from .isa import WORD_BITS
from .machine import Machine
from .program import PORTS, WAITS, program
from .registers import parameter_places

__all__ = ["MicroCore"]

_SAMPLES = 4  # that wait
_OWED = 15  # samples whose advice is still in the predictor: it holds fewer


def _advice_layout(config: NicConfig) -> data.StructLayout:
    """What the predictor says of a sample, and for the trace which model does."""
    said = {"valid": 1, "late": 1, "out": signed(Fmt.OUT.width)}
    return data.StructLayout(said | ({"model": MODEL} if config.trace else {}))


class MicroCore(wiring.Component):
    """From a sample to its decision, for all queue pairs, one sample after the other.

    Latency: of a sample that meets no other one `MOST_CYCLES` at most, and what the predictor takes
    longer than the program between `REQUEST_CYCLES` and its wait for advice. Throughput: one
    sample in that time. A decision that does not wait longer for its advice
    is there `LATE_CYCLES` after the deadline at most. Decisions of programs take the engine's time
    longer, those that a score may move `Psched`'s.
    Cost (preset ``ecp5-25``, its modules mapped one by one): one multiplier, 8 block RAMs, 2556
    LUT4, 58 CCU2C, 733 flip-flops, and the predictor.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Members
    -------
    As `precog_hw.core.Core` has them, and
    registers : Out(RegisterBus)
        Over which it reads the parameters, each once in a sample; of `parameters` it takes only
        what concerns the advice on its way.
    """

    i_sample: stream.Interface
    o_decision: stream.Interface
    dropped: Signal
    command: stream.Interface
    restart_waits: Signal
    hold: Signal
    command_stb: Signal
    parameters: data.View
    registers: wiring.PureInterface

    REGISTER_CYCLES = 12
    """From asking for a register to its word, at most: a host's access goes first."""
    MOST_CYCLES = 2419
    """From a sample's turn to its decision, what the predictor makes it wait not counted."""
    REQUEST_CYCLES = 441
    """From a sample's turn to the predictor's request, at most."""
    LATE_CYCLES = 980
    """From the advice, or its deadline, to the decision, at most."""

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        self._predictor = Predictor(config)
        self._map = build_map(config, Identity(0))
        self._engine = LawEngine(config) if config.law_cores else None
        self._forecaster = Forecaster(config) if config.forecast else None
        super().__init__(
            core_ports(config, self._predictor, self._engine, self._forecaster)
            | {"registers": Out(RegisterBus(self._map.address_bits))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        code = program(config.qps, parameter_places(self._map))
        m.submodules.samples = samples = Queue(SAMPLE, _SAMPLES, block=True)
        m.submodules.machine = machine = Machine(code, dsp=config.dsp)
        m.submodules.predictor = predictor = self._predictor
        m.submodules.deadline = deadline = AdviceDeadline(_OWED, _advice_layout(config))
        pass_ports(m, self, predictor, Predictor.outer_ports(config))
        wiring.connect(m, wiring.flipped(self.i_sample), samples.i)

        waits = {name: machine.waits[n] for n, name in enumerate(WAITS)}
        there = {name: Signal(name=f"{name}_there") for name in WAITS}
        m.d.comb += machine.there.eq(Cat(there[name] for name in WAITS))
        laws = made_laws(m, config, self._engine)
        if self._engine is not None:
            m.submodules.law_engine = self._engine
        shared = Shared(m, self, config, predictor, laws, self._forecaster)
        is_command = self._begin(shared, samples, deadline, waits, there)
        self._ask(shared, machine, waits, there)
        advice, held = self._advised(shared, deadline, waits, there)
        self._decide(shared, machine, samples, waits, there)
        if laws is not None:
            said = Mux(advice.valid, advice.model.as_value(), 0) if config.trace else Const(0)
            decisions(shared, said)
        register = self._read(m, machine, waits, there)

        sample, command = samples.o.payload, self.command.payload
        absent = sample.qp >= config.qps
        ports = {
            "is_command": _flag(is_command),
            "absent": _flag(absent),
            "rtt": sample.rtt,
            "t": sample.t,
            "register": register,
            "valid": _flag(advice.valid),
            "late": _flag(advice.late),
            "held": _flag(held),
            "out": advice.out,
            "apply": _flag(command.apply),
            "clear": _flag(command.clear),
            **self._configured(),
        }
        m.d.comb += [
            machine.qp.eq(Mux(is_command, command.qp, sample.qp)),
            *(machine.ports[name].eq(ports[name]) for name in PORTS),
        ]
        return m

    def _configured(self) -> dict[str, Value]:
        """What the host says of a queue pair, as the program keeps it."""
        config = self.command.payload.config
        predpid = config.algorithm == Algorithm.PREDPID
        moves = predpid | (config.algorithm == Algorithm.PID)
        exists = config.model_slot < self._config.sets
        return {
            "enable": _flag(config.enable),
            "model": Cat(config.model_slot[: self._config.set_bits], config.model_enable & exists),
            "from_base": _flag(config.target_mode),
            "rttch": _flag(config.rttch),
            "moves": _flag(moves),
            "predpid": _flag(predpid),
            "limited": _flag(config.win & (config.algorithm <= Algorithm.PREDPID)),
            **{name: config[name] for name in ("target", "min_rate", "max_rate", "init_rate")},
        }

    def _read(
        self, m: Module, machine: Machine, waits: dict[str, Value], there: dict[str, Signal]
    ) -> Signal:
        """The word of the register that was waited for last."""
        bus, asked, word = self.registers, Signal(name="register_asked"), Signal(32)
        m.d.comb += [
            bus.stb.eq(waits["register"] & ~asked),
            bus.addr.eq(machine.register),
            there["register"].eq(bus.ack),
        ]
        m.d.sync += asked.eq(waits["register"] & ~bus.ack)
        with m.If(bus.ack):
            m.d.sync += word.eq(bus.rdata)
        return word

    def _begin(
        self,
        shared: Shared,
        samples: Queue,
        deadline: AdviceDeadline,
        waits: dict[str, Value],
        there: dict[str, Signal],
    ) -> Signal:
        """A command, once no advice is owed, or a sample; says which."""
        m, payload, predictor = shared.m, self.command.payload, self._predictor
        is_command, begun = Signal(), Signal()
        rests = waits["begin"] & ~deadline.owing
        if shared.forecaster is not None:
            rests &= shared.forecaster.quiet
        command = self.command.valid & ~payload.forget & rests
        m.d.comb += [
            begun.eq(command | (samples.o.valid & ~self.command.valid)),
            there["begin"].eq(begun),
        ]
        with m.If(waits["begin"]):
            m.d.sync += is_command.eq(command)

        forgets = self.command.valid & (payload.forget | self.restart_waits)
        given = Signal()
        late = overdue(m, forgets, given, rests)
        offered = Signal()
        taken = offered & predictor.i_restart.ready
        m.d.comb += predictor.i_restart.valid.eq(offered)
        m.d.sync += [
            offered.eq(forgets & ((rests & payload.forget) | late) & ~given & ~taken),
            given.eq((given | taken) & ~self.command.ready),
        ]

        # A reset of the queue pair's inputs, when the program has done the rest.
        cleared = Signal()
        reset = predictor.i_reset
        asks = waits["commanded"] & payload.clear & ~cleared
        done = waits["commanded"] & (cleared | ~payload.clear)
        restarted = given & rests & payload.forget
        executed = [self.command_stb.eq(done)]
        m.d.sync += cleared.eq(asks & reset.ready)
        if shared.laws is not None:
            entering = shared.laws.stage.i
            passed, decided = laws_commands(shared, done, entering.valid & entering.ready)
            with m.If(cleared & ~passed):
                m.d.sync += cleared.eq(1)
            done &= passed
            restarted &= decided
            executed = []  # by PSCHED
        m.d.comb += [
            reset.valid.eq(asks),
            reset.payload.eq(payload.qp),
            there["commanded"].eq(done),
            *executed,
            self.command.ready.eq(done | restarted),
        ]
        return is_command

    def _ask(
        self, shared: Shared, machine: Machine, waits: dict[str, Value], there: dict[str, Signal]
    ) -> None:
        """The request, and then its input."""
        m, predictor, feeds = shared.m, self._predictor, Signal()
        request, model = predictor.i_req, machine.values.model
        wants = waits["request"] & ~feeds
        m.d.comb += [
            request.valid.eq(wants),
            request.payload.qp.eq(machine.qp),
            request.payload.slot.eq(model),
            request.payload.enable.eq(model[self._config.set_bits]),
            there["request"].eq(request.ready & ~feeds),
            predictor.i_x.valid.eq(feeds),
            predictor.i_x.payload[0].eq(machine.values.x),
        ]
        asked, fed = request.valid, predictor.i_x.ready
        if shared.forecaster is not None:
            sample = stream.Signature(data.StructLayout({"k": machine.values.x.shape()})).create()
            m.d.comb += [sample.valid.eq(feeds), sample.payload.k.eq(machine.values.x)]
            asks = forecasts(shared, wants, sample)
            m.d.comb += request.valid.eq(wants | asks)
            with m.If(asks):
                m.d.comb += request.payload.eq(shared.forecaster.o_req.payload)
            asked, fed = wants, sample.ready
        with m.If(asked & request.ready):
            m.d.sync += feeds.eq(1)
        with m.Elif(fed):
            m.d.sync += feeds.eq(0)

    def _advised(
        self,
        shared: Shared,
        deadline: AdviceDeadline,
        waits: dict[str, Value],
        there: dict[str, Signal],
    ) -> tuple[data.View, Signal]:
        """Advice, and whether it is held, as they were when the sample's had come."""
        m, predictor = shared.m, self._predictor
        advice, held = Signal(_advice_layout(self._config)), Signal()
        given, taken = answers(shared, deadline.i.ready)
        if self._config.trace:
            model = deadline.i.payload.model
            m.d.comb += [
                model.set.eq(predictor.o_rsp.payload.set),
                model.version.eq(predictor.version),
            ]
        m.d.comb += [
            deadline.cycles.eq(self.parameters.advice_deadline),
            deadline.i.valid.eq(given),
            deadline.i.payload.valid.eq(predictor.o_rsp.payload.live),
            deadline.i.payload.out.eq(predictor.o_rsp.payload.out[0]),
            predictor.o_rsp.ready.eq(taken),
            deadline.o.ready.eq(waits["advice"]),
            there["advice"].eq(deadline.o.valid),
        ]
        with m.If(waits["advice"]):
            m.d.sync += [
                advice.eq(deadline.o.payload),
                held.eq(self.hold | self.parameters.advice_hold),
            ]
        return advice, held

    def _decide(
        self,
        shared: Shared,
        machine: Machine,
        samples: Queue,
        waits: dict[str, Value],
        there: dict[str, Signal],
    ) -> None:
        """The decision leaves, or there is none, and the sample goes."""
        m, out = shared.m, self.o_decision
        if shared.laws is not None:
            out, raw = shared.laws.stage.i, shared.laws.stage.i_raw
            m.d.comb += [
                raw.valid.eq(out.valid),
                raw.payload.rtt.eq(samples.o.payload.rtt),
                raw.payload.t.eq(samples.o.payload.t),
                raw.payload.psched.eq(self._runs_psched(m, samples.o.payload.qp)),
            ]
        told = ("rate", "window", "rtt_pred", "target", "base", "srtt")
        m.d.comb += [
            out.valid.eq(waits["decided"]),
            out.payload.qp.eq(samples.o.payload.qp),
            out.payload.flags.eq(machine.flags),
            *(out.payload[name].eq(machine.values[name]) for name in told),
            there["decided"].eq(out.ready),
            there["dropped"].eq(1),
            self.dropped.eq(waits["dropped"]),
            samples.o.ready.eq((out.valid & out.ready) | self.dropped),
        ]

    def _runs_psched(self, m: Module, qp: Value) -> Value:
        """Whether a queue pair does, a cycle later."""
        m.submodules.entries = entries = Memory(shape=1, depth=self._config.qps, init=[])
        write, read = entries.write_port(), entries.read_port()
        command = self.command.payload
        m.d.comb += [
            write.en.eq(self.command.valid & self.command.ready & command.apply),
            write.addr.eq(command.qp),
            write.data.eq(command.config.psched),
            read.addr.eq(qp),
        ]
        return read.data


def _flag(value: Value) -> Value:
    """0, or a number below it."""
    return Cat(Const(0, WORD_BITS - 1), value).as_signed()
