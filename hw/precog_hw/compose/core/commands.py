"""A command is a barrier: no sample is in flight while the units take it, each once.

The feature unit admits no sample while a command waits. When all samples before it have been
decided on, each unit that it concerns takes it in a cycle of its own; the programs after the laws
and PSCHED after the programs, so that events in flight end under the old configuration.
"""

from amaranth.hdl import Cat, Signal, Value
from amaranth.lib import stream

from precog_spec.contract import Flag
from precog_spec.engine.isa import THREADS

from .parts import BEGUN, FLYING, Parts

__all__ = ["commands"]

_PATIENCE = 16384  # cycles that a restart waits for the predictor; what works ends in fewer
_UNITS = ("feature", "predictor", "restart", "rate", "laws", "programs", "psched")


def commands(parts: Parts) -> tuple[Signal, Value]:
    """Hand each command to the units.

    Returns
    -------
    halt : Signal
        No sample may begin.
    decided : Value
        All samples that the rate unit has decided on have left the core.
    """
    m, command = parts.m, parts.core.command
    payload = command.payload
    halt = Signal()
    ended = parts.rate.o.valid & parts.rate.o.ready
    quiet = _quiet(parts, halt, ended)
    overdue = _overdue(parts, halt, quiet)
    given = {name: Signal(name=f"{name}_given") for name in _UNITS}
    targets = {
        "feature": (parts.feature.clear, payload.clear),
        "predictor": (parts.predictor.i_reset, payload.clear),
        "restart": (parts.predictor.i_restart, payload.forget),
        "rate": (parts.rate.command, ~payload.forget),
    }
    decided = Signal(init=1)
    last = command
    if parts.laws is not None:
        m.d.comb += decided.eq(_deciding(parts, ended) == 0)
        stages = _of_laws(parts, given)
        targets |= stages
        last, _ = list(stages.values())[-1]
    m.d.comb += parts.core.command_stb.eq(last.valid & last.ready)
    done = []
    for name, (target, wanted) in targets.items():
        offered = Signal(name=f"{name}_offered")
        taken = offered & target.ready
        may = quiet | overdue if name == "restart" else quiet
        m.d.sync += offered.eq(may & wanted & ~given[name] & ~taken)
        m.d.comb += target.valid.eq(offered)
        with m.If(taken):
            m.d.sync += given[name].eq(1)
        with m.If(command.ready):
            m.d.sync += given[name].eq(0)
        done.append(given[name] | ~wanted)
    m.d.comb += [
        parts.feature.clear.payload.eq(payload.qp),
        parts.predictor.i_reset.payload.eq(payload.qp),
        parts.rate.command.payload.eq(payload),
        command.ready.eq(quiet & Cat(done).all() & (decided | ~payload.forget)),
    ]
    return halt, decided


def _quiet(parts: Parts, halt: Signal, ended: Value) -> Signal:
    """A command waits, and no sample is in flight up to the rate unit."""
    m, feature, command = parts.m, parts.feature, parts.core.command
    flying = Signal(range(FLYING + 8))  # samples from the feature's transfer to the decision
    begun = feature.o.valid & feature.o.ready
    m.d.sync += flying.eq(flying + begun - ended)
    quiet = Signal()
    m.d.comb += halt.eq(command.valid)
    flies = (flying != 0) | parts.rate.owing
    if parts.forecaster is not None:
        flies = flies | ~parts.forecaster.quiet
    # A command that waits stays valid: `quiet` need not look at it again.
    m.d.sync += quiet.eq(halt & feature.idle & ~flies & ~command.ready)
    return quiet


def _overdue(parts: Parts, halt: Signal, quiet: Signal) -> Value:
    """The predictor is stuck.

    A unit that works becomes quiet, and then a restart is a reset like others. A stuck one never
    does: it must be restarted first.
    """
    m, command = parts.m, parts.core.command
    stuck = Signal(range(_PATIENCE + 1))
    overdue = stuck == _PATIENCE
    with m.If(~(halt & command.payload.forget) | command.ready):
        m.d.sync += stuck.eq(0)
    with m.Elif(~quiet & ~overdue):
        m.d.sync += stuck.eq(stuck + 1)
    return overdue


def _of_laws(parts: Parts, given: dict[str, Signal]) -> dict[str, tuple[stream.Interface, Value]]:
    """The command's way through laws, programs and PSCHED: each waits for the one before it."""
    assert parts.laws is not None
    m, laws, psched, engine = parts.m, parts.laws.stage, parts.laws.psched, parts.laws.engine
    payload = parts.core.command.payload
    m.d.comb += [
        laws.command.payload.eq(payload),
        psched.command.payload.eq(payload),
    ]
    targets = {"laws": (laws.command, ~payload.forget)}
    if engine is not None:
        targets["programs"] = (engine.command, given["laws"])
        m.d.comb += [
            engine.command.payload.eq(payload),
            engine.halt.eq(given["laws"]),
        ]
    return targets | {"psched": (psched.command, given[next(reversed(targets))])}


def _deciding(parts: Parts, ended: Value) -> Signal:
    """Samples between the rate unit and the output, those of programs in flight too."""
    m, o = parts.m, parts.core.o_decision
    programs = THREADS * parts.config.law_cores
    deciding = Signal(range(BEGUN + programs + 1))
    of_sample = o.valid & o.ready & ~o.payload.flags[Flag.EVENT]
    m.d.sync += deciding.eq(deciding + ended - of_sample)
    return deciding
