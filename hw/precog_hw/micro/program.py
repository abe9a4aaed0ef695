"""The program: a sample becomes a decision, a command a row. What it computes, and in which order
its state changes, is that of the golden models `precog_models.measure`, `predict` and `rate`.

Flags that are stored or come in are 0 or -1: a sign tells them apart. Parameters are read once in
a sample, over the register bus: the host may write them meanwhile.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from precog_spec.contract import (
    BASE_NONE,
    INVERSE_FRAC_BITS,
    MEAN_GUARD_BITS,
    MEAN_SAMPLES,
    SKILL_PART_SHIFT,
    SKILL_SHIFT,
    Flag,
    Fmt,
)

from .isa import WORD_BITS, Assembler, WordMap, wait_bits
from .registers import Place
from .writer import Writer

__all__ = ["CONFIG_WORDS", "OUTPUTS", "PORTS", "WAITS", "Program", "program"]

#: Of a queue pair's row, what a command writes; ports of the same names.
CONFIG_WORDS = (
    *("enable", "model", "from_base", "rttch", "moves", "predpid", "limited"),
    *("target", "min_rate", "max_rate", "init_rate"),
)
#: The rest of the row, zero after a reset of the queue pair.
_STATE_WORDS = (
    *("known", "srtt", "current", "previous", "start"),
    *("offset", "deviation", "side"),
    *("judged", "pred", "last_rtt", "error", "persistence"),
    *("count", "mean", "last_error", "rate"),
)
#: Parameters that are read while the predictor is at work.
_LAW_PARAMETERS = ("kp", "ki", "kd", "dmin", "dmax", "mtu")
PORTS = (
    *("is_command", "absent", "rtt", "t", "register"),
    *("valid", "late", "held", "out"),
    *("apply", "clear"),
    *CONFIG_WORDS,
)
OUTPUTS = ("rate", "window", "rtt_pred", "target", "base", "srtt", "x", "model")
#: The last one for a register, whose word is then the port of this name.
WAITS = ("begin", "request", "advice", "decided", "dropped", "commanded", "register")

_FRAC = Fmt.SRTT.frac_bits
_LIMIT_DROP = 16 - _FRAC
_DELTA_DROP = Fmt.GAIN.frac_bits + Fmt.ERR.frac_bits - Fmt.DELTA.frac_bits
_MEAN_SHIFT = 3  # of RTTch's
_SIDE_MOST = 255
_LOW_BITS = 17  # of a factor of more than 18 bits: the product is made of two


@dataclass(frozen=True)
class Program:
    """Instructions, how many bits their addresses have, and memory as it is at first."""

    instructions: list[int]
    address_bits: int
    memory: list[int]
    words: WordMap


def program(qps: int, places: Mapping[str, Place]) -> Program:
    """The program for this many queue pairs, and its memory.

    Parameters
    ----------
    qps : int
        A power of two.
    places : mapping of str to Place
        `parameter_places`.
    """
    words = WordMap(qps, (*CONFIG_WORDS, *_STATE_WORDS))
    last = max(place.word for place in places.values())
    registers = last.bit_length() + wait_bits(WAITS)
    address_bits = max((words.depth - 1).bit_length(), registers)
    assembler = Assembler(address_bits)
    w = Writer(words, assembler, PORTS, OUTPUTS, WAITS, places)
    w.label("begin")
    w.wait("begin")
    w.ld(w.port("is_command"))
    w.if_negative("command")
    w.ld(w.port("absent"))
    w.if_negative("dropped")
    w.ld(w.row("enable"))
    w.if_not_negative("dropped")
    _features(w)
    _base(w)
    _target(w)
    w.reciprocal(w.word("target"))
    _judge(w)
    for name in _LAW_PARAMETERS:
        w.parameter(name)
        w.st(w.word(name))
    w.wait("advice")
    _predicted(w)
    _choose(w)
    _law(w)
    _rate(w)
    _window(w)
    w.wait("decided")
    w.jump("begin")
    w.label("dropped")
    w.wait("dropped")
    w.jump("begin")
    _command(w)
    return Program(assembler.words(), address_bits, words.initial(), words)


def _features(w: Writer) -> None:
    """S_t of (2) and K_t of (3), `measure.feature`; asks the predictor."""
    fine, srtt, gap, held = (w.word(name) for name in ("fine", "srtt", "gap", "held"))
    sigma = w.word("sigma")
    w.ld(w.port("rtt"))
    w.shl(_FRAC)
    w.st(fine)
    w.ld(w.row("known"))
    w.if_negative("smooth")
    w.ld(fine)
    w.jump("smoothed")
    w.label("smooth")
    w.parameter("sigma")
    w.st(sigma)
    w.ld(1 << Fmt.SIGMA.frac_bits)
    w.sub(sigma)
    w.st(held)
    w.ld(w.row("srtt"))
    w.mul(held)
    w.st(held)
    w.ld(fine)
    w.mul(sigma)
    w.add(held)
    w.halved(Fmt.SIGMA.frac_bits)
    w.label("smoothed")
    w.st(w.row("srtt"))
    w.st(srtt)
    w.out("srtt")

    w.ld(fine)
    w.sub(srtt)
    w.st(gap)
    w.ld(srtt)
    w.shr(Fmt.X.frac_bits)
    w.st(held)
    w.ld(srtt)
    w.shl(Fmt.X.int_bits)
    w.sub(held)
    w.st(held)
    w.ld(gap)
    w.sub(held)
    w.if_negative("divide")
    w.ld(0)
    w.sub(gap)
    w.if_not_negative("divide")
    w.ld(Fmt.X.max)
    w.jump("divided")
    w.label("divide")
    w.reciprocal(srtt)
    w.quotient(gap)
    w.label("divided")
    w.out("x")
    w.ld(w.row("model"))
    w.out("model")
    w.wait("request")


def _base(w: Writer) -> None:
    """The base RTT, `measure.base_rtt`."""
    rtt, t = w.port("rtt"), w.port("t")
    window = w.word("window")
    current, previous, start = w.row("current"), w.row("previous"), w.row("start")
    w.ld(w.row("known"))
    w.if_not_negative("fresh")
    w.parameter("base_window")
    w.st(window)
    w.sub(1)
    w.if_negative("inside")
    w.ld(t)
    w.sub(start)
    w.wrapped(Fmt.TIME.width, WORD_BITS)
    w.if_negative("inside")
    w.sub(window)
    w.if_negative("inside")
    w.sub(window)
    w.if_not_negative("fresh")
    w.keep(current, previous)
    w.keep(rtt, current)
    w.ld(start)
    w.add(window)
    w.wrapped(Fmt.TIME.width, WORD_BITS)
    w.st(start)
    w.jump("measured")
    w.label("fresh")
    w.keep(rtt, current)
    w.keep(w.constant(BASE_NONE), previous)
    w.keep(t, start)
    w.jump("measured")
    w.label("inside")
    w.ld(current)
    w.at_most(rtt)
    w.st(current)
    w.label("measured")
    w.keep(w.constant(-1), w.row("known"))
    w.ld(current)
    w.at_most(previous)
    w.st(w.word("base"))
    w.out("base")


def _target(w: Writer) -> None:
    """The RTT target and its adjuster, `rate.target_adjuster`."""
    fine, base, nominal, target = (w.word(n) for n in ("fine", "base", "nominal", "target"))
    low, high, gap = w.word("low"), w.word("high"), w.word("gap")
    side, mean, offset = w.row("side"), w.row("deviation"), w.row("offset")
    w.ld(base)
    w.shl(_FRAC)
    w.st(high)
    w.parameter("rttch_margin")
    w.add(high)
    w.limited()
    w.st(low)
    w.ld(w.row("from_base"))
    w.if_negative("from base")
    w.ld(w.row("target"))
    w.jump("nominal")
    w.label("from base")
    w.parameter("queue_budget")
    w.add(high)
    w.limited()
    w.label("nominal")
    w.st(nominal)
    w.st(target)
    w.ld(w.row("rttch"))
    w.if_negative("adjust")
    w.ld(0)
    for state in (side, mean, offset):
        w.st(state)
    w.jump("adjusted")

    w.label("adjust")
    w.ld(high)
    w.shl(1)
    w.add(high)
    w.limited()
    w.st(high)
    w.ld(nominal)
    w.add(offset)
    w.within(low, high)
    w.st(target)
    w.ld(fine)
    w.sub(target)
    w.st(gap)
    w.ld(target)
    w.sub(fine)
    w.if_negative("above")
    w.ld(0)
    w.sub(side)
    w.if_negative("crossed")
    w.ld(side)
    w.sub(1)
    w.at_least(w.constant(-_SIDE_MOST))
    w.jump("counted")
    w.label("above")
    w.ld(side)
    w.if_negative("crossed")
    w.add(1)
    w.at_most(w.constant(_SIDE_MOST))
    w.jump("counted")
    w.label("crossed")
    w.ld(0)
    w.label("counted")
    w.st(side)
    w.ld(gap)
    w.sub(mean)
    w.halved(_MEAN_SHIFT)
    w.add(mean)
    w.st(mean)
    w.ld(side)
    w.size()
    w.st(gap)
    w.parameter("rttch_threshold")
    w.sub(gap)
    w.if_not_negative("adjusted")
    w.ld(target)
    w.add(mean)
    w.within(low, high)
    w.sub(nominal)
    w.st(offset)
    w.keep(0, side)
    w.flag(Flag.TARGET_MOVED)
    w.label("adjusted")
    w.ld(target)
    w.out("target")


def _judge(w: Writer) -> None:
    """The last prediction, by this sample: `rate.skill`."""
    w.ld(w.row("judged"))
    w.if_not_negative("not judged")
    w.ld(w.word("fine"))
    w.sub(w.row("pred"))
    w.size()
    _average(w, "error")
    w.ld(w.port("rtt"))
    w.sub(w.row("last_rtt"))
    w.size()
    w.shl(_FRAC)
    _average(w, "persistence")
    w.label("not judged")
    w.keep(w.port("rtt"), w.row("last_rtt"))


def _average(w: Writer, of: str) -> None:
    """The row's sum takes A and forgets a part of itself."""
    row, held = w.row(of), w.word("held")
    w.add(row)
    w.st(held)
    w.ld(row)
    w.shr(SKILL_SHIFT)
    w.st(row)
    w.ld(held)
    w.sub(row)
    w.st(row)


def _predicted(w: Writer) -> None:
    """RTTpred of (12), `predict.rtt_head`, and what is kept of it."""
    held = w.word("held")
    w.keep(w.port("valid"), w.row("judged"))
    w.if_negative("predicts")
    w.ld(0)
    w.jump("predicted")
    w.label("predicts")
    w.ld(w.port("out"))
    w.add(Fmt.OUT.one)
    w.at_least(w.constant(0))
    w.st(held)
    w.ld(w.word("srtt"))
    w.mul(held)
    w.shr(Fmt.OUT.frac_bits)
    w.limited()
    w.label("predicted")
    w.st(w.row("pred"))
    w.st(w.word("pred"))
    w.out("rtt_pred")


def _choose(w: Writer) -> None:
    """The law's input: the prediction, within its limits, or the RTT. `rate.unit`."""
    fine, pred, value, held = (w.word(n) for n in ("fine", "pred", "value", "held"))
    w.keep(fine, value)
    for name, flag in (("held", Flag.HELD), ("late", Flag.LATE)):
        w.ld(w.port(name))
        w.if_not_negative(f"not {name}")
        w.flag(flag)
        w.label(f"not {name}")
    w.ld(w.row("predpid"))
    w.if_not_negative("chosen")
    w.ld(w.port("valid"))
    w.if_negative("advised")
    w.ld(w.port("late"))
    w.if_negative("chosen")
    w.flag(Flag.NO_MODEL)
    w.jump("chosen")
    w.label("advised")
    w.bit("skill_monitor")
    w.if_not_negative("trusted")
    w.ld(w.row("persistence"))
    w.shr(SKILL_PART_SHIFT)
    w.add(w.row("error"))
    w.add(fine)
    w.st(held)
    w.ld(w.row("persistence"))
    w.sub(held)
    w.if_not_negative("trusted")
    w.flag(Flag.UNSKILLED)
    w.jump("chosen")
    w.label("trusted")
    w.ld(w.port("held"))
    w.if_negative("chosen")
    w.flag(Flag.PREDICTED)
    w.keep(pred, value)
    w.above("advice_clamp", "advice_limit")
    w.if_negative("chosen")
    w.st(w.word("reach"))
    w.ld(w.port("rtt"))
    w.mul(w.word("reach"))
    w.shr(_LIMIT_DROP)
    w.st(w.word("reach"))
    w.add(fine)
    w.limited()
    w.st(w.word("high"))
    w.ld(fine)
    w.sub(w.word("reach"))
    w.st(w.word("low"))
    w.ld(pred)
    w.within(w.word("low"), w.word("high"), Flag.ADVICE_CLAMPED)
    w.st(value)
    w.label("chosen")


def _law(w: Writer) -> None:
    """e(t) of (14) and the step of (15)-(18), `rate.pid`; `start` is the rate to begin from."""
    value, target, error, held = (w.word(n) for n in ("value", "target", "e", "held"))
    count, mean, last, change = w.row("count"), w.row("mean"), w.row("last_error"), w.word("change")
    w.ld(target)
    w.shr(Fmt.ERR.frac_bits - 2)
    w.st(held)
    w.ld(target)
    w.shl(5)
    w.add(target)
    w.sub(held)
    w.st(held)
    w.ld(value)
    w.sub(held)
    w.if_negative("near")
    w.ld(Fmt.ERR.max)
    w.jump("far")
    w.label("near")
    w.quotient(value)
    w.sub(Fmt.ERR.one)
    w.label("far")
    w.st(error)

    w.keep(0, change)
    w.keep(w.row("init_rate"), w.word("start"))
    w.ld(count)
    w.sub(1)
    w.if_negative("first")
    w.ld(error)
    w.sub(last)
    w.within(w.constant(Fmt.ERR.min), w.constant(Fmt.ERR.max))
    w.st(change)
    w.ld(w.row("moves"))
    w.if_not_negative("first")
    w.keep(w.row("rate"), w.word("start"))
    w.label("first")
    w.keep(error, last)
    w.ld(count)
    w.add(1)
    w.at_most(w.constant(MEAN_SAMPLES))
    w.st(count)
    w.sub(1)
    w.indexed()
    w.ld(error)
    w.shl(MEAN_GUARD_BITS)
    w.sub(mean)
    w.mul(w.inverse())
    w.halved(INVERSE_FRAC_BITS)
    w.add(mean)
    w.st(mean)
    w.shr(MEAN_GUARD_BITS)
    w.mul(w.word("ki"))
    w.st(held)
    w.ld(error)
    w.mul(w.word("kp"))
    w.add(held)
    w.st(held)
    w.ld(change)
    w.mul(w.word("kd"))
    w.add(held)
    w.halved(_DELTA_DROP)


def _rate(w: Writer) -> None:
    """The step's clamp (20), the rate (19) and its bounds: `rate.unit`.

    If a lower bound is above the upper one, the upper one holds, and whatever comes is clamped.
    """
    start, delta, held = w.word("start"), w.word("delta"), w.word("held")
    w.st(delta)
    w.ld(w.row("moves"))
    w.if_negative("moves")
    w.ld(start)
    w.jump("moved")
    w.label("moves")
    w.ld(delta)
    w.within(w.word("dmin"), w.word("dmax"), Flag.DELTA_CLAMPED)
    w.st(held)
    w.ld(start)
    w.mul(held)
    w.halved(Fmt.DELTA.frac_bits)
    w.add(start)
    w.label("moved")
    w.within(w.row("min_rate"), w.row("max_rate"), Flag.RATE_CLAMPED)
    w.st(w.row("rate"))
    w.out("rate")


def _window(w: Writer) -> None:
    """WIN, `rate.window`: the base RTT in two pieces."""
    base, high, low, held = (w.word(n) for n in ("base", "high", "low", "held"))
    w.ld(w.row("limited"))
    w.if_negative("limited")
    w.ld(0)
    w.jump("window")
    w.label("limited")
    w.ld(base)
    w.shr(_LOW_BITS)
    w.st(high)
    w.shl(_LOW_BITS)
    w.st(held)
    w.ld(base)
    w.sub(held)
    w.st(low)
    w.ld(w.row("rate"))
    w.mul(high)
    w.shl(_LOW_BITS)
    w.st(held)
    w.ld(w.row("rate"))
    w.mul(low)
    w.add(held)
    w.shr(Fmt.RATE.frac_bits)
    w.at_least(w.word("mtu"))
    w.label("window")
    w.out("window")


def _command(w: Writer) -> None:
    """What the host says of a queue pair."""
    w.label("command")
    w.ld(w.port("apply"))
    w.if_not_negative("applied")
    for name in CONFIG_WORDS:
        w.keep(w.port(name), w.row(name))
    w.label("applied")
    w.ld(w.port("clear"))
    w.if_not_negative("cleared")
    w.ld(0)
    for name in _STATE_WORDS:
        w.st(w.row(name))
    w.label("cleared")
    w.wait("commanded")
    w.jump("begin")
