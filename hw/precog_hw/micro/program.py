"""The program: a sample becomes a decision, a command a row. What it computes, and in which order
its state changes, is that of the golden models `precog_models.measure`, `predict` and `rate`.

Flags that are stored or come in are 0 or -1: a sign tells them apart. Parameters are read once in
a sample, over the register bus: the host may write them meanwhile.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from .decision import bounded_rate, choose, judge, pid_step, predicted, window
from .isa import Assembler, WordMap, wait_bits
from .measurement import base_rtt, features, rtt_target
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
    features(w)
    base_rtt(w)
    rtt_target(w)
    w.reciprocal(w.word("target"))
    judge(w)
    for name in _LAW_PARAMETERS:
        w.parameter(name)
        w.st(w.word(name))
    w.wait("advice")
    predicted(w)
    choose(w)
    pid_step(w)
    bounded_rate(w)
    window(w)
    w.wait("decided")
    w.jump("begin")
    w.label("dropped")
    w.wait("dropped")
    w.jump("begin")
    _command(w)
    return Program(assembler.words(), address_bits, words.initial(), words)


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
