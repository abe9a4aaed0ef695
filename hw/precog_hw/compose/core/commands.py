"""A command is a barrier: no sample is in flight while the units take it, each once.

The feature unit admits no sample while a command waits. When all samples before it have been
decided on, each unit that it concerns takes it in a cycle of its own; the programs after the laws
and PSCHED after the programs, so that events in flight end under the old configuration.
"""

from collections.abc import Mapping

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream

from precog_spec.contract import Flag
from precog_spec.engine.isa import THREADS

from .parts import BEGUN, FLYING, Parts, Shared

__all__ = ["commands", "laws_commands", "overdue"]

_PATIENCE = 16384  # cycles that a restart waits for the predictor; what works ends in fewer
_UNITS = ("feature", "predictor", "restart", "rate")
_OF_LAWS = ("laws", "programs", "psched")

#: A unit's command, whether it concerns the unit, and whether it may be given.
_Target = tuple[stream.Interface, Value, Value]


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
    wanted = payload.forget | parts.core.restart_waits
    late = overdue(m, halt & wanted, command.ready, quiet)
    given = {name: Signal(name=f"{name}_given") for name in (*_UNITS, *_OF_LAWS)}
    may = Signal()  # a stuck predictor is restarted first, whatever the command is
    m.d.comb += may.eq(quiet & (~late | given["restart"]))
    targets: dict[str, _Target] = {
        "feature": (parts.feature.clear, payload.clear, may),
        "predictor": (parts.predictor.i_reset, payload.clear, may),
        "restart": (parts.predictor.i_restart, payload.forget | late, quiet | late),
        "rate": (parts.rate.command, ~payload.forget, may),
    }
    decided = Signal(init=1)
    last = command
    if parts.laws is not None:
        m.d.comb += decided.eq(_deciding(parts, ended) == 0)
        stages = _of_laws(parts, given, may)
        targets |= stages
        last, *_ = list(stages.values())[-1]
    m.d.comb += parts.core.command_stb.eq(last.valid & last.ready)
    done = _give(m, command, targets, given)
    m.d.comb += [
        parts.feature.clear.payload.eq(payload.qp),
        parts.predictor.i_reset.payload.eq(payload.qp),
        parts.rate.command.payload.eq(payload),
        command.ready.eq(quiet & done & (decided | ~payload.forget)),
    ]
    return halt, decided


def laws_commands(parts: Shared, may: Value, ended: Value) -> tuple[Value, Value]:
    """Hand a command to the laws' units alone.

    Parameters
    ----------
    parts : Shared
        With laws.
    may : Value
        They may take the command that waits.
    ended : Value
        Strobe: a decision on a sample enters them.

    Returns
    -------
    done : Value
        All have taken it.
    decided : Value
        All samples whose decisions have entered them have left the core.
    """
    given = {name: Signal(name=f"{name}_given") for name in _OF_LAWS}
    targets = _of_laws(parts, given, may)
    last, *_ = list(targets.values())[-1]
    parts.m.d.comb += parts.core.command_stb.eq(last.valid & last.ready)
    decided = _deciding(parts, ended) == 0
    return _give(parts.m, parts.core.command, targets, given), decided


def _give(
    m: Module,
    command: stream.Interface,
    targets: Mapping[str, _Target],
    given: Mapping[str, Signal],
) -> Value:
    """Each unit takes the command once; says whether all that it concerns have."""
    done = []
    for name, (target, wanted, may) in targets.items():
        offered = Signal(name=f"{name}_offered")
        taken = offered & target.ready
        m.d.sync += offered.eq(may & wanted & ~given[name] & ~taken)
        m.d.comb += target.valid.eq(offered)
        with m.If(taken):
            m.d.sync += given[name].eq(1)
        with m.If(command.ready):
            m.d.sync += given[name].eq(0)
        done.append(given[name] | ~wanted)
    return Cat(done).all()


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


def overdue(m: Module, waits: Value, ended: Value, quiet: Value) -> Value:
    """The predictor is stuck: a restart that `waits` and has not `ended` has found nothing `quiet`.

    A unit that works becomes quiet, and then a restart is a reset like others. A stuck one never
    does: it must be restarted first.
    """
    stuck = Signal(range(_PATIENCE + 1))
    late = stuck == _PATIENCE
    with m.If(~waits | ended):
        m.d.sync += stuck.eq(0)
    with m.Elif(~quiet & ~late):
        m.d.sync += stuck.eq(stuck + 1)
    return late


def _of_laws(parts: Shared, given: Mapping[str, Signal], may: Value) -> dict[str, _Target]:
    """The command's way through laws, programs and PSCHED: each waits for the one before it."""
    assert parts.laws is not None
    m, laws, psched, engine = parts.m, parts.laws.stage, parts.laws.psched, parts.laws.engine
    payload = parts.core.command.payload
    m.d.comb += [
        laws.command.payload.eq(payload),
        psched.command.payload.eq(payload),
    ]
    targets: dict[str, _Target] = {"laws": (laws.command, ~payload.forget, may)}
    if engine is not None:
        targets["programs"] = (engine.command, given["laws"], may)
        m.d.comb += [
            engine.command.payload.eq(payload),
            engine.halt.eq(given["laws"]),
        ]
    return targets | {"psched": (psched.command, given[next(reversed(targets))], may)}


def _deciding(parts: Shared, ended: Value) -> Signal:
    """Samples between pid or predpid and the output, those of programs in flight too."""
    m, o = parts.m, parts.core.o_decision
    programs = THREADS * parts.config.law_cores
    deciding = Signal(range(BEGUN + programs + 1))
    of_sample = o.valid & o.ready & ~o.payload.flags[Flag.EVENT]
    m.d.sync += deciding.eq(deciding + ended - of_sample)
    return deciding
