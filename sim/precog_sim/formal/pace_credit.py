"""Conservation of credit: at every grant the gaps of all packets before it have passed.

`pace_rows` and `pace_whole` with an account for the watched queue pair's row. A packet's credit
is its gap: its bytes on the wire at its rate, rounded up (`tests/hw/pace/test_arithmetic.py`
compares that with the golden model). The account is 0 when a queue pair that is parked becomes able
to send; time takes from it, a packet's gap is added, and at every grant it is 0 or less. So from
then to any grant the bytes granted are at most what the rate has earned, and this one packet. A gap
that is made anew at a new rate counts as it then is.

What is promised beyond `RowsHarness`: a CHARGE brings what `pace.gap` proves of the gap unit, a
packet's gap behind the last due time or the time of the grant, whichever is later; between two
events of a queue pair that is not parked, and behind its due time, less than half a turn of the
clock passes (549 s at 1 ns). The account is bounded below, where that makes it too large only.
"""

from typing import Any

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant
from .pace_rows import FLUSHED, REACHED, RowsHarness, ahead_of
from .pace_whole import WholeHarness
from .past import Past
from .peek import Opened, free

__all__ = ["MUTANTS", "PROOFS"]

_PIPELINE, _GAP = "precog_hw.pace.pipeline", "precog_hw.pace.gap"
_GAP_DEPTH = 12


class _Account(RowsHarness):
    """The rows, and what the watched queue pair owes; in units of due times."""

    def watch(self, m: Module, dut: Any, did: Signal, commit: Any, before: Any) -> None:
        super().watch(m, dut, did, commit, before)
        kinds, states = self.layouts.EventKind, self.layouts.State
        row, t = commit.row, commit.t
        bits = len(row.due)
        scale, most = bits - len(t), (1 << (bits - 1)) - 1

        def signal(name: str, value: Value | None = None) -> Signal:
            made = Signal(signed(bits + 3), name=name)
            if value is not None:
                m.d.comb += made.eq(value)
            return made

        known, last, granted = Signal(), Signal.like(t, name="last"), Signal.like(t, name="granted")
        since = Mux(known, last, t)
        passed = signal("passed", (t - since)[: len(t)] << scale)
        waited = signal("waited", (t - granted)[: len(t)] << scale)  # since the grant
        due = signal("due_at_last", ahead_of(before.due, since).as_signed())
        now = signal("due_now", due - passed)
        owed_last = signal("owed_at_last")
        owed = signal("owed", Mux(owed_last - passed < -2 * most, -2 * most, owed_last - passed))
        held = signal("held")
        m.d.comb += owed_last.eq(Mux(known, held, due))  # at first as much as may be
        new = signal("new_due", ahead_of(commit.argument[:bits], t).as_signed())
        gap = signal("some_gap", free(bits - 1))
        paid = signal("paid", Mux(now + gap > -waited, now + gap, -waited))

        busy, was_due = before.state != states.PARKED, before.state == states.READY
        charges = did & (commit.kind == kinds.CHARGE)
        retimes = did & (commit.kind == kinds.RETIME) & before.changed
        grants = did & (commit.kind == kinds.GRANT) & ~dut.refused
        m.d.comb += [
            Assume(~(did & busy) | (now >= -most)),
            Assume(~charges | ((new == paid) & (new >= -most))),
            Assume(~retimes | (new >= -most)),
            Assume(known | ~was_due | (due <= 0)),
            Assert(~grants | (owed <= 0), "the gaps of all packets before have passed"),
            Assert(~(known & busy) | (owed_last <= due), "due when it is paid for"),
            Assert(~(known & was_due) | (due <= 0), "who is ready was due"),
            Cover(grants & known & (owed == 0) & (gap != 0)),
        ]
        with m.If(did):
            m.d.sync += [known.eq(1), last.eq(t), held.eq(owed)]
            with m.If(~busy & (row.state != states.PARKED)):
                m.d.sync += held.eq(0)
            with m.Elif(charges):
                m.d.sync += held.eq(owed + gap)
            with m.Elif(retimes):
                m.d.sync += held.eq(owed + new - now)
            with m.If(grants):
                m.d.sync += granted.eq(t)


class _WholeAccount(_Account, WholeHarness):
    """The account in wire mode."""

    def __init__(self, *, any_rows: bool) -> None:
        WholeHarness.__init__(self, any_rows=any_rows)


class GapHarness(wiring.Component):
    """`GapUnit`, its fields of full length, with free inputs."""

    def __init__(self) -> None:
        from precog_hw.pace.gap import GapUnit, gap_layout

        self._dut = GapUnit(2)
        super().__init__({"job": In(gap_layout(2)), "stb": In(1)})

    def elaborate(self, platform: object) -> Module:
        from precog_hw.pace.layouts import DUE_BITS, GAP_BITS
        from precog_spec.contract import TICK_FRAC_BITS

        m = Module()
        dut, inner = self._dut, Opened(self._dut)
        m.submodules.dut = inner.fragment
        past = Past(m)
        m.d.comb += [dut.i.valid.eq(self.stb), dut.i.payload.eq(self.job)]
        layout = dut.i.payload.shape()
        job, valid = inner["job6"], inner["valid6"]
        ahead, t = (
            job[layout[name].offset : layout[name].offset + layout[name].width]
            for name in ("ahead", "t")
        )
        rounded = inner["rounded"]
        saturates = inner["beyond"] | rounded[-1]
        gap = Mux(saturates, (1 << GAP_BITS) - 1, rounded[:GAP_BITS])
        late = (-ahead)[:DUE_BITS]
        left = Mux(gap > late, gap - late, 0)
        due = ((t << TICK_FRAC_BITS) + left)[:DUE_BITS]
        before, was = past(past(due, "due1"), "due2"), past(past(valid, "valid1"), "valid2")
        ticks = Signal(2)
        m.d.sync += ticks.eq(Mux(ticks == 2, 2, ticks + 1))
        m.d.comb += [
            Assume((ahead == 0) | ahead[-1]),  # it was due when it was granted
            Assert((ticks != 2) | (dut.o.valid == was)),
            Assert((ticks != 2) | ~was | (dut.o.payload.due == before), "not before the grant"),
        ]
        return m


def _grant_mode() -> _Account:
    return _Account(any_rows=False)


def _wire_mode() -> _WholeAccount:
    return _WholeAccount(any_rows=False)


def _grant_any() -> _Account:
    return _Account(any_rows=True)


def _wire_any() -> _WholeAccount:
    return _WholeAccount(any_rows=True)


_CLAIM = "bytes granted are at most what the rate has earned, and one packet"
PROOFS = (
    Proof("pace.credit", _grant_mode, Mode.INDUCTION, FLUSHED, f"for ever: {_CLAIM}", quick=False),
    Proof(
        "pace.whole-credit",
        _wire_mode,
        Mode.INDUCTION,
        FLUSHED,
        f"wire mode, for ever: {_CLAIM}",
        quick=False,
    ),
    Proof("pace.credit-any", _grant_any, Mode.BOUNDED, REACHED, f"any rows: {_CLAIM}", quick=False),
    Proof(
        "pace.whole-credit-any",
        _wire_any,
        Mode.BOUNDED,
        REACHED,
        f"wire mode, from any rows: {_CLAIM}",
        quick=False,
    ),
    Proof("pace.gap", GapHarness, Mode.INDUCTION, _GAP_DEPTH, "due + gap, or the grant's time"),
)
MUTANTS = (
    Mutant(
        "pace.credit-any",
        _PIPELINE,
        "v.wake | (c.rates & c.due & c.faster)",
        "v.wake | (c.rates & c.faster)",
        "a faster rate forgives a pending gap",
    ),
    Mutant(
        "pace.credit-any",
        _PIPELINE,
        "v.pushes.eq(c.due & v.sends), v.files.eq(~(c.due & v.sends))",
        "v.pushes.eq(v.sends), v.files.eq(~v.sends)",
        "a queue pair that was charged is ready, due or not",
    ),
    Mutant(
        "pace.whole-credit-any",
        _PIPELINE,
        "c.rouses.eq(e.kind.matches(*rouses) & (row.state == State.PARKED))",
        "c.rouses.eq(e.kind.matches(*rouses) & (row.state != State.SENDING))",
        "a request ends a pending gap",
    ),
    Mutant(
        "pace.gap",
        _GAP,
        "Mux(late & ~behind[-1], 0, behind[:DUE_BITS])",
        "Mux(late, 0, behind[:DUE_BITS])",
        "a packet that was granted late costs nothing",
        quick=True,
    ),
    *(
        Mutant(
            proof,
            _PIPELINE,
            "with m.Elif(v.wake | (c.rates & c.due & c.faster)):",
            "with m.Elif(c.rates & c.due & c.faster):",
            "who wakes has saved credit since it was last due",
            quick=proof == "pace.credit",
        )
        for proof in ("pace.credit", "pace.whole-credit")
    ),
)
