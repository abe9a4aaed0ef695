"""The trial of advice: rounds in which it is followed against rounds in which it is held.

Arithmetic and state are those of `precog_models.rate.trials`.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.trial_fields import (
    COUNT_BITS,
    DRAWS,
    FULL,
    HOLDS,
    MIX_LEFT,
    MIX_RIGHT,
    MIXES,
    ROUND_LEAST,
    SEED_BITS,
    SUM_BITS,
    TESTS,
    TRIAL_KINDS,
    TRIAL_PARAMETERS,
    TRIAL_RATE_DROP,
    Verdict,
)

__all__ = [
    "FOUND",
    "OUTCOME",
    "TRIALS",
    "AdviceTrial",
    "connect_host",
    "trial_ports",
    "tried_layout",
]

_NUMBER = Fmt.TIME.width - ROUND_LEAST
_DRAW = DRAWS.bit_length() - 1
_GAP = SUM_BITS + 4  # of the comparison, with its sign

#: What both trials share.
TRIALS = data.StructLayout({name: unsigned(bits) for name, bits in TRIAL_PARAMETERS})

#: An arm's count and sums.
_ARM = data.StructLayout(
    {
        "count": unsigned(COUNT_BITS),
        "delay": unsigned(SUM_BITS),  # ticks
        "rate": unsigned(SUM_BITS),  # RATE's format without its low bits
    }
)

#: What a trial has found.
FOUND = data.StructLayout({"verdict": unsigned(2), "follow": _ARM, "hold": _ARM})

#: What became of a decision.
OUTCOME = data.StructLayout(
    {
        "counts": unsigned(1),  # it was on a sample, and there was advice
        "rate": unsigned(Fmt.RATE.width),
    }
)


def tried_layout(config: NicConfig) -> data.StructLayout:
    """A decision that is about to be made."""
    return data.StructLayout(
        {
            "qp": unsigned(config.qp_bits),
            "t": unsigned(Fmt.TIME.width),
            "delay": unsigned(Fmt.RTT.width),  # the sample's RTT above the base RTT, ticks
        }
    )


def trial_ports(config: NicConfig) -> dict[str, wiring.Member]:
    """Members that a unit with a trial has for its host, with `config.trials`.

    They are `AdviceTrial`'s `parameters`, `found`, `clear` and `clearing`.
    """
    if not config.trials:
        return {}
    ports = {"trials": In(TRIALS), "found": Out(FOUND)}
    return ports | {"trial_clear": In(1), "trial_clearing": Out(1)}


class AdviceTrial(wiring.Component):
    """Says of each decision whether its advice is held, and counts what came of it.

    ::

        cycle 0    1         2        [3..41]     3..7    8      9
        i ─► [shift] ─► round ─► [verdict] ─► [mix] ─► draw ─► o ─► decision ─► i_outcome ─► sums

    Latency: 9 cycles from `i` to `o`, 39 more where a round begins. Throughput: a decision in 12
    cycles and those that it takes itself. Cost: 450 flip-flops, no multiplier, no memory.

    Parameters
    ----------
    config : NicConfig
    kind : str
        Of `TRIAL_KINDS`.

    Members
    -------
    i : In(stream.Signature(tried_layout(config)))
    o : Out(stream.Signature(1))
        For each of `i`: its advice is held.
    i_outcome : In(stream.Signature(OUTCOME))
        One for each of `o`; before it the next of `i` waits.
    parameters : In(TRIALS)
        To be held while a decision is in flight.
    found : Out(FOUND)
    clear : In(1)
        Strobe: forget all, before the next of `i`.
    clearing : Out(1)
        That is still to be done.
    idle : Out(1)
        No decision is in flight.
    """

    i: stream.Interface
    o: stream.Interface
    i_outcome: stream.Interface
    parameters: data.View
    found: data.View
    clear: Signal
    clearing: Signal
    idle: Signal

    def __init__(self, config: NicConfig, kind: str) -> None:
        self._kind = TRIAL_KINDS.index(kind)
        self._job = tried_layout(config)
        super().__init__(
            {
                "i": In(stream.Signature(self._job)),
                "o": Out(stream.Signature(1)),
                "i_outcome": In(stream.Signature(OUTCOME)),
                "parameters": In(TRIALS),
                "found": Out(FOUND),
                "clear": In(1),
                "clearing": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        par, found = self.parameters, self.found
        job = Signal(self._job)
        last = Signal(_NUMBER)  # round
        number = Signal(_NUMBER)
        second = Signal()
        tests = Signal()  # the decision counts
        word = Signal(SEED_BITS)
        left = Signal(range(SUM_BITS))  # steps of what is at work
        on = par[TRIAL_PARAMETERS[self._kind][0]]
        with m.If(self.clear):
            m.d.sync += self.clearing.eq(1)
        with m.FSM(name="trial") as fsm:
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += job.eq(self.i.payload)
                with m.If(self.clearing):
                    m.d.sync += [found.eq(0), last.eq(0), self.clearing.eq(self.clear)]
                with m.If(self.i.valid):
                    m.next = "SHIFT"
            with m.State("SHIFT"):
                m.d.sync += Cat(second, number).eq(job.t[ROUND_LEAST - 1 :] >> par.trial_round)
                m.next = "ROUND"
            with m.State("ROUND"):
                seed = par.trial_seed ^ Const(-self._kind, signed(SEED_BITS)).as_unsigned()
                qp = Mux(par.trial_apart, job.qp, 0)
                m.d.sync += [
                    word.eq((number ^ (qp << 16)) + seed),
                    left.eq(MIXES - 1),
                    self.o.payload.eq(0),
                    tests.eq(0),
                ]
                m.next = "OFFER"
                with m.If(on):
                    m.d.sync += last.eq(number)
                    m.next = "MIX"
                with m.If(on & (number != last)):
                    m.next = "BAR"
            self._compare(m, left)
            with m.State("MIX"):
                mixed = (word + (word << MIX_LEFT))[:SEED_BITS]
                m.d.sync += [word.eq(mixed ^ (mixed >> MIX_RIGHT)), left.eq(left - 1)]
                with m.If(left == 0):
                    m.next = "DRAW"
            with m.State("DRAW"):
                holds = Array(Const(HOLDS[verdict], _DRAW) for verdict in Verdict)[found.verdict]
                draw = word[-_DRAW:]
                m.d.sync += [
                    self.o.payload.eq(draw < holds),
                    tests.eq((draw < TESTS) | (draw >= DRAWS - TESTS)),
                ]
                m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "OUTCOME"
            self._count(m, job, tests & second)
        m.d.comb += self.idle.eq(fsm.ongoing("IDLE") & ~self.clearing)
        return m

    def _compare(self, m: Module, left: Signal) -> None:
        """BAR to VERDICT: is follow.delay hold.rate > bar follow.rate? A bit of both at a time.

        The gap is doubled in each step, so that the high bits decide: once it is beyond `bar` or
        `follow.delay`, no later bit can bring it back, and it stays.
        """
        par, found = self.parameters, self.found
        follow, hold = found.follow, found.hold
        bar = Signal(SUM_BITS + 1)
        gap, change, both = (Signal(signed(_GAP), name=n) for n in ("gap", "change", "both"))
        wins_back = found.verdict == Verdict.WORTHLESS
        with m.State("BAR"):
            m.d.sync += bar.eq(hold.delay + Mux(wins_back, 0, hold.delay >> par.trial_margin))
            m.next = "GAP"
        with m.State("GAP"):
            m.d.sync += [both.eq(follow.delay - bar), gap.eq(0), left.eq(SUM_BITS - 1)]
            m.next = "COMPARE"
        with m.State("COMPARE"):
            more, less = (arm.rate.bit_select(left, 1) for arm in (hold, follow))
            m.d.comb += change.eq(
                Mux(more, Mux(less, both, follow.delay), Mux(less, -bar, 0)),
            )
            top = gap[-3:]
            with m.If(top.all() | ~top.any()):
                m.d.sync += gap.eq((gap << 1) + change)
            m.d.sync += left.eq(left - 1)
            with m.If(left == 0):
                m.next = "VERDICT"
        with m.State("VERDICT"):
            few = (follow.count < par.trial_least) | (hold.count < par.trial_least)
            worse = ~gap[-1] & (gap != 0)
            m.d.sync += [
                found.verdict.eq(
                    Mux(
                        few,
                        Verdict.UNDECIDED,
                        Mux(worse, Verdict.WORTHLESS, Verdict.WORTH),
                    )
                ),
                left.eq(MIXES - 1),
            ]
            m.next = "MIX"

    def _count(self, m: Module, job: data.View, counts: Value) -> None:
        """OUTCOME and FADE: the arm takes a sample; a full one halves both."""
        found, outcome = self.found, self.i_outcome.payload
        arms = (found.follow, found.hold)
        old = Signal(_ARM)
        new = Signal(_ARM)
        m.d.comb += [
            old.eq(Mux(self.o.payload, found.hold.as_value(), found.follow.as_value())),
            new.count.eq(old.count + 1),
            new.delay.eq(old.delay + job.delay),
            new.rate.eq(old.rate + (outcome.rate >> TRIAL_RATE_DROP)),
        ]
        with m.State("OUTCOME"):
            m.d.comb += self.i_outcome.ready.eq(1)
            with m.If(self.i_outcome.valid):
                m.next = "IDLE"
                with m.If(outcome.counts & counts):
                    for held, arm in enumerate(arms):
                        with m.If(self.o.payload == held):
                            m.d.sync += arm.eq(new)
                    with m.If(new.count == FULL):
                        m.next = "FADE"
        with m.State("FADE"):
            for arm in arms:
                m.d.sync += [arm[name].eq(arm[name] >> 1) for name in _ARM.members]
            m.next = "IDLE"


def connect_host(m: Module, unit: wiring.Component, trial: AdviceTrial) -> None:
    """Connect a unit's `trial_ports` to its trial."""
    m.d.comb += [
        trial.parameters.eq(unit.trials),
        trial.clear.eq(unit.trial_clear),
        unit.trial_clearing.eq(trial.clearing),
        unit.found.eq(trial.found),
    ]
