"""The pacer's rows in wire mode: two queues of packets, a window that the PSNs of one keep to.

What grant mode promises and is promised (`pace_rows`) holds here, too; beyond that, what
`precog_hw.pace.whole` says of requests, answers, windows and their expiry, each event's effect on
the row written out. From it follows that none wedges: a queue pair that could send is never parked,
and a window that is shut is open after two EXPIRE at the latest (`WindowExpiry` says so to all in
turn while `shuts` and `opens`, which are proved here, say that a packet waits).
"""

from typing import Any

from amaranth.hdl import Assert, Cover, Module, Mux, Signal, Value
from amaranth.lib import data

from .engine import Mode, Proof
from .mutate import Mutant
from .pace_rows import FLUSHED, REACHED, RowsHarness, units

__all__ = ["MUTANTS", "PROOFS", "WholeHarness"]

_WHOLE = "precog_hw.pace.whole"
_PIPELINE = "precog_hw.pace.pipeline"


class WholeHarness(RowsHarness):
    """`StatePipeline` of wire mode with free inputs.

    Parameters
    ----------
    any_rows : bool
        As `RowsHarness`.
    """

    def __init__(self, *, any_rows: bool) -> None:
        super().__init__(any_rows=any_rows, whole=True)

    def sends(self, row: Any) -> Value:
        waits = self.waits_of(row)
        return (waits.answer != 0) | ((waits.request != 0) & self._open(row))

    def allowed(self, row: Any) -> list[Value]:
        waits = self.waits_of(row)
        asks = waits.request != 0
        return [
            *super().allowed(row),
            waits.shut == (asks & ~self._open(row)),
            ~waits.stale | waits.shut,
            ~(asks & waits.counts) | waits.known,
        ]

    def _open(self, row: Any) -> Value:
        """For the request that waits: fewer MTUs than the window are in flight, or none."""
        flight = (row.next - row.una)[: len(row.next)]
        below = (flight << units(row)) < row.window
        return ~self.waits_of(row).counts | flight[-1] | (row.window == 0) | below

    def granted(self, m: Module, dut: Any, did: Signal, before: Any) -> None:
        """A grant is of a packet that waits, which may go, and of no other one."""
        EventKind, State = self.layouts.EventKind, self.layouts.State
        commit, row, grant = dut.commit.payload, dut.commit.payload.row, dut.o_grant.payload
        waits, after = self.waits_of(before), self.waits_of(row)
        size = Mux(grant.answers, waits.answer, waits.request)
        refused = did & (commit.kind == EventKind.GRANT) & dut.refused
        charged = Signal.like(size)  # whose packet the gap is asked for is known with the grant
        m.d.comb += charged.eq(size)
        granted = self.charged(m, dut, did, before, charged)
        both = (waits.answer != 0) & (waits.request != 0) & self._open(before)
        m.d.comb += [
            Assert(~granted | (size != 0), "never of an empty queue"),
            Assert(~granted | (grant.size == size), "all of its first packet"),
            Assert(~granted | grant.answers | self._open(before), "no request of a shut window"),
            Assert(~(granted & both) | (grant.answers == waits.turn), "in turn"),
            Assert(~(granted & both) | (after.turn == ~grant.answers), "and then the other one"),
            Assert(~granted | (after.answer == Mux(grant.answers, 0, waits.answer))),
            Assert(~granted | (after.request == Mux(grant.answers, waits.request, 0))),
            Assert(~refused | (~self.sends(before) & (row.state == State.PARKED))),
            Cover(granted & both & grant.answers),
            Cover(granted & ~grant.answers & waits.counts & (before.window == 1)),
        ]

    def watch(self, m: Module, dut: Any, did: Signal, commit: Any, before: Any) -> None:
        super().watch(m, dut, did, commit, before)
        kinds, row = self.layouts.EventKind, commit.row
        waits, after = self.waits_of(before), self.waits_of(row)
        layout = self.layouts.WHOLE_REQUEST
        asked = data.View(layout, commit.argument[: layout.size])
        psn = commit.argument[: len(row.una)]
        config = self.layouts.config_of(commit)
        is_ = {kind: did & (commit.kind == kind) for kind in kinds}
        begins = is_[kinds.CONFIG] & ~config.raises
        request = is_[kinds.REQUEST] & ~asked.answers
        answer = is_[kinds.REQUEST] & asked.answers
        counts = request & asked.counts
        ahead = (psn - before.una)[: len(row.una)]
        moves = is_[kinds.ACK] & waits.known & ~ahead[-1]
        gone = is_[kinds.EXPIRE] & waits.stale
        mine = commit.qp == self.qp
        keeps = did & ~is_[kinds.GRANT] & ~begins
        wanted = {
            "next": Mux(begins, config.psn, Mux(counts, asked.psn, before.next)),
            "una": Mux(begins, config.psn, Mux(counts & ~waits.known, asked.psn, before.una)),
        }
        wanted["una"] = Mux(moves, psn, Mux(gone, before.next, wanted["una"]))
        m.d.comb += [
            *(Assert(~did | (row[name] == value), name) for name, value in wanted.items()),
            Assert(~(keeps & ~request) | (after.request == waits.request), "requests"),
            Assert(~(keeps & ~answer) | (after.answer == waits.answer), "answers"),
            Assert(~request | (after.request == asked.size)),
            Assert(~request | (after.counts == asked.counts)),
            Assert(~answer | (after.answer == asked.size)),
            Assert(~(did & ~begins) | (after.known == (waits.known | counts)), "PSNs begin once"),
            Assert(~begins | ((after.request == 0) & (after.answer == 0) & ~after.known)),
            # None waits for ever: a mark at the first EXPIRE, an open window at the second.
            Assert(~gone | ~after.shut, "what is in flight counts as gone"),
            Assert(~is_[kinds.EXPIRE] | ~after.shut | after.stale, "who waits is marked"),
            Assert(~(did & waits.stale & after.shut & ~after.stale) | (moves & (ahead != 0))),
            Assert(mine & dut.shuts == (did & after.shut & ~waits.shut), "who waits is counted"),
            Assert(mine & dut.opens == (did & ~after.shut & waits.shut)),
            Cover(gone & (row.state == self.layouts.State.READY)),
        ]


def _rows() -> WholeHarness:
    return WholeHarness(any_rows=False)


def _any_rows() -> WholeHarness:
    return WholeHarness(any_rows=True)


_CLAIM = (
    "wire mode: a grant is of a packet that waits, behind no shut window, charged for; requests "
    "and answers in turn; PSNs and windows as written; who is shut out for two EXPIRE is let in"
)
PROOFS = (
    Proof("pace.whole", _rows, Mode.INDUCTION, FLUSHED, f"for ever: {_CLAIM}", quick=False),
    Proof("pace.whole-any", _any_rows, Mode.BOUNDED, REACHED, f"any rows: {_CLAIM}", quick=False),
    Proof("pace.whole-cover", _any_rows, Mode.COVER, REACHED, "answers in turn; an EXPIRE lets in"),
)
MUTANTS = (
    Mutant(
        "pace.whole-any",
        _WHOLE,
        "answers.eq(c.answer & (waits.turn | ~(c.some & c.open)))",
        "answers.eq(c.answer & waits.turn)",
        "an answer is granted as a request while its request is shut",
    ),
    Mutant(
        "pace.whole-any",
        _WHOLE,
        "behind = Mux(takes, d.rest[-1], d.flight[-1])",
        "behind = d.flight[-1]",
        "an acknowledgement of waiting packets does not let them go",
    ),
    Mutant(
        "pace.whole-any",
        _WHOLE,
        "new.put(m, una=row.next)",
        "new.put(m, una=row.una)",
        "an expired window opens for one cycle only",
    ),
    Mutant(
        "pace.whole-any",
        _WHOLE,
        "after.stale.eq(shut & (expires | (waits.stale & ~c.moves)))",
        "after.stale.eq(shut & waits.stale & ~c.moves)",
        "none that waits is marked",
    ),
    Mutant(
        "pace.whole-any",
        _WHOLE,
        "d.free.eq(~after.counts | (first & ~waits.known))",
        "d.free.eq(~after.counts)",
        "the first packet of a connection is measured against an old PSN",
    ),
    Mutant(
        "pace.whole-any",
        _WHOLE,
        "m.d.comb += [after.request.eq(0), after.turn.eq(1)]",
        "m.d.comb += [after.request.eq(0), after.answer.eq(0), after.turn.eq(1)]",
        "a request's grant loses the answer that waits",
    ),
    Mutant(
        "pace.whole-any",
        _PIPELINE,
        "sends |= c.answer",
        "sends |= c.answer & c.open",
        "answers wait for the window",
    ),
    Mutant(
        "pace.whole-any",
        _PIPELINE,
        "gap.size.eq(Mux(answers, c.answer_wire, c.wire))",
        "gap.size.eq(c.wire)",
        "an answer is charged for with the size of its request",
    ),
    Mutant(
        "pace.whole",
        _WHOLE,
        "new.put(m, una=asked.psn)",
        "new.put(m, una=row.una)",
        "PSNs never begin",
        quick=True,
    ),
)
