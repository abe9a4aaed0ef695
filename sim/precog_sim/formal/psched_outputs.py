"""Claims on a decision that leaves `Psched`, and what is remembered of it for the next one."""

from typing import Any

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal, Value
from amaranth.lib import data, wiring

from precog_spec.contract import Flag
from precog_spec.law_fields import DOUBT_MAX, NO_SCORE, SCORE_MAX, ScoreCommand

from .psched_steps import FORGOTTEN, Told

__all__ = ["outputs"]


def outputs(m: Module, harness: wiring.Component, dut: Any, ghost: dict[str, Any]) -> Told:
    """Assert what holds of the watched queue pair's decisions.

    Parameters
    ----------
    m : Module
    harness : PschedHarness
        Its inputs are free.
    dut : Psched
    ghost : dict
        What the queue pair has been told, by name; a decision changes it.
    """
    _one_for_each(m, harness, dut)
    mine = dut.o.valid & harness.about.psched & (harness.decision.qp == harness.who)
    told = _told(m, harness, dut.o.payload.flags, ghost)
    _claims(m, harness.ready, mine, dut.o.payload, told, ghost)
    _remember(m, harness, mine, dut, told, ghost)
    return told


def _one_for_each(m: Module, harness: wiring.Component, dut: Any) -> None:
    about, decision, out = harness.about, harness.decision, dut.o.payload
    moved = ("rate", "window", "flags")
    others = Cat(out[n] == decision[n] for n in out.shape().members if n not in moved)
    collides = dut.o.valid & harness.commands & dut.command.ready
    m.d.comb += [
        Assert(~dut.o.valid | harness.decides, "no decision out of nothing"),
        Assert((dut.i.valid & dut.i.ready) == (dut.o.valid & dut.o.ready), "one for each"),
        Assert(~dut.o.valid | others.all(), "with its own fields"),
        Assert(~collides, "none in a command's cycle"),
        Assert(
            ~dut.o.valid | about.psched | (Value.cast(out) == Value.cast(decision)),
            "who does not ask is left alone",
        ),
    ]


def _told(m: Module, harness: wiring.Component, flags: Value, ghost: dict[str, Any]) -> Told:
    """What holds with this decision, by what the queue pair has been told so far."""
    about, decision = harness.about, harness.decision
    base = Mux(about.rated, decision.rate, ghost["base"])
    told, sample = about.score_stb, about.sample
    score = Mux(told, Mux(about.score > SCORE_MAX, SCORE_MAX, about.score), ghost["score"])
    scored = Mux(told, about.score != NO_SCORE, ghost["scored"])
    age, heard, first = Signal(40), told & (about.score != NO_SCORE), ~ghost["heard"]
    score_t = Mux(told & first, about.t, ghost["score_t"])
    congestion = Signal()
    delay = (about.rtt - decision.base)[: len(about.rtt)]
    doubt = Signal.like(ghost["doubt"], name="doubt")
    m.d.comb += [
        age.eq(Mux(told & first, 0, about.t - ghost["score_t"])),
        congestion.eq(delay >= harness.psched_delay),
        doubt.eq(ghost["doubt"]),
    ]
    with m.If(sample & congestion):
        m.d.comb += doubt.eq(0)
    with m.Elif(sample & ghost["cut"] & (ghost["doubt"] != DOUBT_MAX)):
        m.d.comb += doubt.eq(ghost["doubt"] + 1)
    # What scores must leave of the law's rate, before the bounds of the SLA. An input that is
    # told what it is, so that the solver shifts once, not in each state.
    m.d.comb += [
        Assume(harness.taken == base >> (harness.psched_cut + doubt)),
        Assume(harness.floor == base - harness.taken),
    ]
    ticks = harness.psched_score_ticks
    return Told(
        base=base,
        based=ghost["based"] | about.rated,
        score=score,
        scored=scored,
        score_t=score_t,
        age=age,
        fresh=(ticks == 0) | age[-1] | (age <= ticks),
        new_score=told,
        reduces=told & (about.command == ScoreCommand.REDUCE),
        rated=about.rated,
        held=decision.flags[Flag.HELD],
        stays=about.above & ghost["has_last"],
        sample=sample,
        heard=heard,
        congestion=congestion,
        delay=harness.psched_delay,
        since={
            "heard": ~sample & (ghost["heard"] | heard),
            "least": Mux(heard & (first | (score < ghost["least"])), score, ghost["least"]),
            "most": Mux(heard & (first | (score > ghost["most"])), score, ghost["most"]),
            "doubt": doubt,
            "cut": flags[Flag.CONGESTED] | (~sample & ghost["cut"]),
        },
        cut=harness.psched_cut,
        taken=harness.taken,
        floor=harness.floor,
        threshold=harness.psched_threshold,
        skill=harness.psched_skill,
    )


def _claims(
    m: Module,
    ready: Value,
    mine: Value,
    out: data.View,
    told: Told,
    ghost: dict[str, Any],
) -> None:
    """The decision's rate is within its bounds, and a score moves it as far as it may.

    `mine` are the cycles of its offer, `ready` those in which the consumer takes it.
    """
    flags, rate, base, floor = out.flags, out.rate, told.base, told.floor
    low, high = ghost["config"].min_rate, ghost["config"].max_rate
    last, stays = ghost["last"], told.stays

    def bounded(wanted: Value) -> Value:
        """What of it the SLA and the engine's threshold leave."""
        within = Mux(wanted > high, high, Mux(wanted < low, low, wanted))
        return Mux(stays & (last < within), last, within)

    left = bounded(floor)
    held, congested = flags[Flag.HELD], flags[Flag.CONGESTED]
    # Once it has been seen to be too old, a score stays so: an earlier time does not undo it.
    above = (told.reduces | (told.score > told.threshold)) & told.fresh & ~held
    rises = ghost["has_last"] & (rate > last)
    holds = told.scored & told.fresh & ~held
    m.d.comb += [
        Assert(~mine | ((rate >= low) & (rate <= high)), "within [min, max]"),
        Assert(
            ~mine | ~told.new_score | ~told.scored | ~above | told.skill | congested,
            "a high score acts, where skill is not asked for",
        ),
        Assert(
            ~mine | ~congested | ~rises | (rate == left),
            "above the threshold nothing rises, but to what scores must leave",
        ),
        Assert(
            ~mine | ~congested | (rate >= left),
            "scores take no more than their share, less when samples refute them",
        ),
        Assert(
            ~mine | flags[Flag.SCORED] | (rate == bounded(base)), "without a score the base law"
        ),
        Assert(~mine | ~stays | ~rises, "above the engine's threshold nothing rises at all"),
        Assert(~mine | ~flags[Flag.SCORED] | holds, "a score that holds"),
        Assert(~mine | ~told.rated | (held == told.held)),
        Cover(mine & congested & ghost["has_last"] & ready),
        Cover(mine & flags[Flag.SCORED] & (rate > base)),
        Cover(mine & stays & congested & (last < floor)),
    ]


def _remember(
    m: Module,
    harness: wiring.Component,
    mine: Value,
    dut: Any,
    told: Told,
    ghost: dict[str, Any],
) -> None:
    """What a decision that leaves changes of what the queue pair has been told."""
    about, decision = harness.about, harness.decision
    with m.If(mine & harness.ready):
        m.d.sync += [ghost["last"].eq(dut.o.payload.rate), ghost["has_last"].eq(1)]
        m.d.sync += [ghost["score"].eq(told.score), ghost["scored"].eq(told.scored)]
        m.d.sync += [ghost[name].eq(value) for name, value in told.since.items()]
        with m.If(told.sample):
            m.d.sync += [ghost[name].eq(0) for name in ("least", "most")]
        with m.If(told.new_score & ~ghost["heard"]):
            m.d.sync += ghost["score_t"].eq(about.t)
        with m.If(about.rated):
            m.d.sync += [ghost["base"].eq(decision.rate), ghost["based"].eq(1)]
    passes = dut.o.valid & harness.ready & ~about.psched & (decision.qp == harness.who)
    with m.If(passes):
        m.d.sync += [ghost["base"].eq(decision.rate), ghost["based"].eq(1)]
        m.d.sync += [ghost[name].eq(0) for name in ("has_last", *FORGOTTEN)]
