"""The plug-in that asks a law engine outside about every event of every flow, and keeps a log.

It is a law program whose functions only ask, so the kernel knows nothing of it. The engine hears
what `program_integer` lets a law hear. It also hears the sample that completes a round trip,
whether its program does or not: a card's base RTT is of samples.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from precog_models.jit import njit
from precog_sim.network.congestion import CongestionControl, LawSetup, LinkFacts
from precog_sim.network.layout import Window
from precog_sim.network.native import call_decide
from precog_sim.network.program import EVENT, SETTINGS, Program, native
from precog_sim.network.program_integer import SWEEP_NS
from precog_spec.contract import DECISION_FIELDS, Fmt
from precog_spec.engine.events import Kind
from precog_spec.law_fields import ACK_FIELDS, LEVEL_ALONE, SENDERS_AT, EventKind

__all__ = ["LOG_FIELDS", "Asking", "asking"]

_ASKED = tuple(name for name, _ in ACK_FIELDS)
_DECIDED = tuple(name for name, _ in DECISION_FIELDS)

#: Words of a row of the log: kind of event, what was asked, what was decided. A sample has qp, RTT,
#: t; another event than an acknowledgement has its code, qp, t, value.
LOG_FIELDS = ("event", *_ASKED, *_DECIDED)
_ROW = len(LOG_FIELDS)  # of 8 bytes: a row has 128
_ONE = float(1 << Fmt.RATE.frac_bits)
_NO_WINDOW = float(1 << 40)
_FULL = -1_000_000  # no answer of an engine's


@intrinsic
def _loaded(_context: Any, address: Any) -> Any:
    """The int64 at an address."""

    def codegen(_ctx: Any, builder: Any, _sig: Any, args: Any) -> Any:
        word = ir.IntType(64)
        return builder.load(builder.inttoptr(args[0], word.as_pointer()))

    return types.int64(types.int64), codegen


@intrinsic
def _stored(_context: Any, address: Any, value: Any) -> Any:
    """Put an int64 at an address."""

    def codegen(context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        builder.store(args[1], builder.inttoptr(args[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


def _ask(p: Any, e: Any, function: int, kind: int) -> None:
    """Ask about the event in the next row of the log; what is decided holds from now on.

    After an error nothing is asked any more, and the rate stays.
    """
    count = _loaded(p.log)
    if _loaded(p.log + 8) != 0:
        return
    if count >= p.room:
        _stored(p.log + 8, _FULL)
        return
    row = p.log + 128 * (count + 1)
    _stored(row, kind)
    status = call_decide(function, p.handle, row + 8, row + 64)
    _stored(p.log, count + 1)
    if status < 0 or _loaded(row + 64) != e.flow or _loaded(row + 72) <= 0:
        _stored(p.log + 8, min(status, -1))
        _stored(p.log + 16, count)
        return
    e.rate = _loaded(row + 72) / _ONE
    window = _loaded(row + 80)
    e.window = window if window > 0 else _NO_WINDOW


def _next_row(p: Any) -> int:
    """Where the next event's words stand."""
    return int(p.log + 128 * min(_loaded(p.log) + 1, p.room) + 8)


_START = """
def entry_on_start(p, s, e):
    e.due[0] = e.now + p.sweep if p.sweep > 0 else 0.0
"""
_ACK = """
def entry_on_ack(p, s, e):
    at = next_row(p)
    stored(at, e.flow)
    stored(at + 8, int(e.now) & TIME)
    stored(at + 16, max(int(e.rtt + 0.5), 1))
    stored(at + 24, e.bytes)
    stored(at + 32, e.marked)
    stored(at + 40, (e.seq // e.mtu) & PSN)
    stored(at + 48, (e.next // e.mtu) & PSN)
    ask(p, e, p.acknowledge, ACK)
"""
_SAMPLE = """
def entry_on_sample(p, s, e):
    at = next_row(p)
    stored(at, e.flow)
    stored(at + 8, max(int(e.rtt + 0.5), 1))
    stored(at + 16, int(e.now) & TIME)
    ask(p, e, p.decide, SAMPLE)
"""
_OTHER = """
def entry_on_{name}(p, s, e):
    at = next_row(p)
    stored(at, {code})
    stored(at + 8, e.flow)
    stored(at + 16, int(e.now) & TIME)
    stored(at + 24, 0)
    ask(p, e, p.happen, {kind})
{after}
"""
_SCORE = """
def entry_on_score(p, s, e):
    at = next_row(p)
    stored(at, {code})
    stored(at + 8, e.flow)
    stored(at + 16, int(e.now) & TIME)
    stored(at + 24, LEVEL_ALONE + (e.senders << SENDERS_AT))
    ask(p, e, p.happen, {kind})
"""
_EVENTS = {"cnp": EventKind.CNP, "loss": EventKind.LOSS, "timer": EventKind.SWEEP}
_PARAMETERS = np.dtype(
    [
        *((name, np.int64) for name in ("decide", "happen", "acknowledge", "handle")),
        *(("log", np.int64), ("room", np.int64), ("sweep", np.float64)),
    ]
)
_STATE = np.dtype([("_", np.int64)])


def _program(heard: frozenset[str], like: Program) -> Program:
    """The program that asks; of the events `heard`, with the settings of the law it stands for."""
    space: dict[str, Any] = {
        "__name__": "asked",
        "stored": _stored,
        "ask": _ASKS,
        "next_row": _NEXT_ROW,
        "TIME": (1 << Fmt.TIME.width) - 1,
        "PSN": (1 << 24) - 1,
        "ACK": int(Kind.ACK),
        "SAMPLE": int(Kind.SAMPLE),
        "LEVEL_ALONE": LEVEL_ALONE,
        "SENDERS_AT": SENDERS_AT,
    }
    texts = {"start": _START, "sample": _SAMPLE}
    if "ack" in heard:
        texts["ack"] = _ACK
    for name, event in _EVENTS.items():
        if name in heard:
            after = "    e.due[0] = e.now + p.sweep" if name == "timer" else ""
            kind = int(Kind[name.upper()])
            texts[name] = _OTHER.format(name=name, code=int(event), kind=kind, after=after)
    if "score" in heard:
        texts["score"] = _SCORE.format(code=int(EventKind.SCORE), kind=int(Kind.SCORE))
    records = [_PARAMETERS, _STATE, EVENT]
    code = {
        f"on_{name}": native("asked", f"on_{name}", text, space, None, records)
        for name, text in texts.items()
    }
    settings = {key: default for key, (default, _) in SETTINGS.items()}
    settings |= {key: like.settings[key] for key in ("HEADER", "ACK_BYTES", "CNP_US")}
    return Program(
        "asked",
        _STATE,
        _PARAMETERS,
        {},
        {},
        {**settings, "WINDOWED": True},
        {event: int(one.address) for event, one in code.items()},
        tuple(code.values()),
    )


_ASKS, _NEXT_ROW = njit(_ask, kept=False, _nrt=False), njit(_next_row, kept=False, _nrt=False)


@dataclass(frozen=True)
class Asking(CongestionControl):
    """The plug-in; made by `asking`.

    Attributes
    ----------
    program : Program
    record : ndarray
        Addresses of the engine's functions, and where the log is.
    rows : ndarray of int64, shape (1 + decisions, 16)
        How many rows are written, an error and the row that it is of; then the log.
    """

    retime: bool = True
    program: Program | None = None
    record: NDArray[np.void] = field(default_factory=lambda: np.zeros(1, _PARAMETERS))
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros((1, _ROW), np.int64))

    def setup(self, link: LinkFacts) -> LawSetup:
        """The kernel's view of the plug-in."""
        assert self.program is not None
        settings = self.program.settings
        return LawSetup(
            self.program,
            self.record,
            header=settings["HEADER"],
            ack_bytes=settings["ACK_BYTES"],
            window=Window.OWN,
            retime=self.retime,
            cnp_us=settings["CNP_US"],
        )

    def log(self) -> NDArray[np.int64]:
        """What was asked and decided, `LOG_FIELDS`.

        Raises
        ------
        RuntimeError
            The engine failed, or it decided for another queue pair, or the log was too short.
        """
        count, error, where = self.rows[0, :3].tolist()
        if error == _FULL:
            room = len(self.rows) - 1
            raise RuntimeError(f"log must hold more than {room} decisions: make the run smaller")
        if error:
            pairs = zip(LOG_FIELDS, self.rows[where + 1], strict=True)
            told = ", ".join(f"{name} {value}" for name, value in pairs)
            raise RuntimeError(f"device's decision {where} failed with {error}: {told}")
        return self.rows[1 : 1 + count].copy()


def asking(
    heard: frozenset[str], like: Program, start_gbps: float, room: int, **addresses: int
) -> Asking:
    """The plug-in that asks about the events `heard`, with headers and notifications as `like`.

    Parameters
    ----------
    heard : frozenset of str
        ``ack``, ``cnp``, ``loss``, ``timer``, ``score`` (the receiver's level); samples are
        always heard.
    like : Program
    start_gbps : float
    room : int
        Decisions that the log can hold.
    **addresses : int
        Of the functions decide, happen and acknowledge, and their first argument handle, as
        `precog_sim.loop.DeviceFunctions`.
    """
    rows = np.zeros((1 + room, _ROW), dtype=np.int64)  # what is never written costs no memory
    record = np.zeros(1, _PARAMETERS)
    for name in ("decide", "happen", "acknowledge", "handle"):
        record[name] = addresses[name]
    record["log"], record["room"] = rows.ctypes.data, room
    record["sweep"] = SWEEP_NS if "timer" in heard else 0.0
    program = _program(heard, like)
    return Asking(start_gbps=start_gbps, program=program, record=record, rows=rows)
