"""The lists of queue pairs that may send: each is taken, once, in order, and none is lost.

`ReadyLists` as it is, with four queue pairs and two priorities, between an input that
files any that stand in no list and an output that takes, pauses and leaves room at any time. A
model keeps each list as it should be: its members, in order. By induction, hence for ever; what the
block's own registers and its links hold of that is said below.
"""

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant
from .pace_small import LISTS, AnyRows, short_fields
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

QPS = 4
LATEST = 3  # cycles in which none is taken though one may be
_DEPTH = 12
_COVERED = 16


class ListsHarness(wiring.Component):
    """The lists and what they should be."""

    def __init__(self) -> None:
        made: list[AnyRows] = []

        def seen(shape: Any, depth: int) -> AnyRows:
            made.append(AnyRows(shape, depth, free=False))
            return made[-1]

        with (
            short_fields("ready") as (_, module),
            patch.object(module, "plain_memory", seen),
        ):
            self._dut = module.ReadyLists(QPS)
            self._inner = Opened(self._dut)
        (self._links,) = made
        super().__init__(
            {
                "put": In(range(QPS)),
                "priority": In(range(LISTS)),
                "puts": In(1),
                "pause": In(LISTS),
                "room": In(1),
                "takes": In(1),
                "garbage": In(range(QPS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dut, inner, past = self._dut, self._inner, Past(m)
        m.submodules.dut = inner.fragment
        order = [
            [Signal(range(QPS), name=f"order{p}_{n}") for n in range(QPS)] for p in range(LISTS)
        ]
        count = [Signal(range(QPS + 1), name=f"count{p}") for p in range(LISTS)]
        stands = Signal(QPS)
        m.d.comb += [
            dut.i.valid.eq(self.puts),
            dut.pause.eq(self.pause),
            dut.room.eq(self.room),
            dut.i.payload.qp.eq(self.put),
            dut.i.payload.priority.eq(self.priority),
            dut.o.ready.eq(self.takes),
            self._links.garbage.eq(self.garbage),
            Assume(~self.puts | ~stands.bit_select(self.put, 1)),
        ]

        # The lists as they should be.
        level, taken = inner["level"], dut.taken
        for p in range(LISTS):
            leaves = taken & (level == p)
            joins = self.puts & (self.priority == p)
            end = count[p] - leaves
            m.d.sync += count[p].eq(end + joins)
            for n, place in enumerate(order[p]):
                behind = order[p][n + 1] if n + 1 < QPS else place
                with m.If(joins & (end == n)):
                    m.d.sync += place.eq(self.put)
                with m.Elif(leaves):
                    m.d.sync += place.eq(behind)
            for n, place in enumerate(order[p]):
                with m.If(n < count[p]):
                    m.d.comb += stands.bit_select(place, 1).eq(1)
        self._hold(m, order, count, stands)

        firsts, lengths = Array(one[0] for one in order), Array(count)
        some = Cat(length != 0 for length in count)
        may = some & ~self.pause
        chosen = [  # in the cycle before
            past(may[p] & ~may[p + 1 :].any(), f"may{p}") for p in range(LISTS)
        ]
        gave = past.known & past(taken, "taken")
        idle = Signal(range(LATEST + 2))
        with m.If(may.any() & self.room & self.takes & ~taken):
            m.d.sync += idle.eq(Mux(idle > LATEST, idle, idle + 1))
        with m.Else():
            m.d.sync += idle.eq(0)
        m.d.comb += [
            Assert(~taken | (lengths[level] != 0), "somebody who stands in the list"),
            *(
                Assert(~(taken & (level == p)) | may_go, "of the highest that is not paused")
                for p, may_go in enumerate(chosen)
            ),
            Assert(~gave | (dut.o.valid & (dut.o.payload.qp == past(firsts[level], "first")))),
            Assert(~gave | (dut.o.payload.priority == past(level, "level")), "the first of it"),
            Assert(idle <= LATEST, "who may send is taken"),
            Cover(taken & (count[0] == QPS) & (order[0][0] == 2)),
        ]
        return m

    def _hold(
        self, m: Module, order: list[list[Signal]], count: list[Signal], stands: Signal
    ) -> None:
        """What the block's registers say of the lists."""
        inner, links = self._inner, self._links
        level, renew, after = (inner[name] for name in ("level", "renew", "after"))
        state, some, one = (inner[name] for name in ("take_state", "some", "one"))
        choose, take, follow = range(3)  # in the order in which they are written
        read = links.read_port().data
        total = sum(count, start=Value.cast(0))
        m.d.comb += [Assert(sum(stands, start=Value.cast(0)) == total, "each in one list at most")]
        m.d.comb += [
            Assert(state <= follow),
            Assert(~renew | (state == choose)),
        ]
        for p in range(LISTS):
            mine, first = level == p, order[p][0]
            stale = mine & (renew | (state == follow))  # its head is about to be renewed
            head, tail = inner[f"head{p}"], inner[f"tail{p}"]
            length = count[p]
            m.d.comb += [
                Assert(length <= QPS),
                Assert(some[p] == (length != 0)),
                Assert((length == 0) | (tail == Array(order[p])[(length - 1)[:2]])),
                Assert((length == 0) | stale | (head == first)),
                Assert((length == 0) | stale | (one[p] == (length == 1))),
                Assert(~(mine & (state == take)) | (length != 0)),
                Assert(~stale | (length != 0), "somebody is behind whom was taken"),
                Assert(~(mine & renew) | (after == first)),
                Assert(~(mine & (state == follow)) | (read == first)),
            ]
            for n in range(QPS - 1):
                linked = links[order[p][n]] == order[p][n + 1]
                m.d.comb += Assert((n + 1 >= length) | linked)


PROOFS = (
    Proof(
        "pace.lists",
        ListsHarness,
        Mode.INDUCTION,
        _DEPTH,
        "4 queue pairs, for ever: each is taken once, in order, and when it may be",
        quick=False,
    ),
    Proof("pace.lists-cover", ListsHarness, Mode.COVER, _COVERED, "four in one list, in any order"),
)

_READY = "precog_hw.pace.ready"
MUTANTS = (
    Mutant(
        "pace.lists",
        _READY,
        "(after == tail) & ~joined",
        "after == tail",
        "who joins while the second of two is looked up is forgotten",
    ),
    Mutant(
        "pace.lists",
        _READY,
        "one[n].eq(~some[n] | gone[n])",
        "one[n].eq(~some[n])",
        "who joins a list that ends in this cycle is not known to be alone",
        quick=True,
    ),
    Mutant(
        "pace.lists",
        _READY,
        "m.d.sync += some.eq((some & ~gone) | joins)",
        "m.d.sync += some.eq((some | joins) & ~gone)",
        "who joins a list that ends in this cycle is lost",
    ),
    Mutant(
        "pace.lists",
        _READY,
        "may = some & ~self.pause",
        "may = some",
        "a paused priority is taken",
    ),
)
