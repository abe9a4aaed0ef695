"""Routines that decide: a prediction is judged, and the law makes it a rate and a window.

Each emits its instructions through a `Writer`, in the order in which `program` calls them.
"""

from precog_spec.contract import (
    INVERSE_FRAC_BITS,
    MEAN_GUARD_BITS,
    MEAN_SAMPLES,
    SKILL_PART_SHIFT,
    SKILL_SHIFT,
    Flag,
    Fmt,
)

from .writer import Writer

__all__ = ["bounded_rate", "choose", "judge", "pid_step", "predicted", "window"]

_FRAC = Fmt.SRTT.frac_bits
_LIMIT_DROP = 16 - _FRAC
_DELTA_DROP = Fmt.GAIN.frac_bits + Fmt.ERR.frac_bits - Fmt.DELTA.frac_bits
_LOW_BITS = 17  # of a factor of more than 18 bits: the product is made of two


def judge(w: Writer) -> None:
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


def predicted(w: Writer) -> None:
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


def choose(w: Writer) -> None:
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


def pid_step(w: Writer) -> None:
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


def bounded_rate(w: Writer) -> None:
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


def window(w: Writer) -> None:
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
