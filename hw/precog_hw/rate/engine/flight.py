"""Events in flight: what is known of each one from its beginning to its decision."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import DECISION
from precog_hw.rate.law_layouts import ABOUT, BOUNDS
from precog_hw.rate.layouts import MODEL
from precog_hw.rows import FEW
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.engine.image_fields import BANKS, BUDGET_BITS
from precog_spec.engine.isa import SLOTS, THREADS

from .execute import BLOCK_RAM
from .layouts import ID_BITS, result_layout

__all__ = ["PLACES", "SPARE", "Flight", "begun_layout"]

#: Events in flight of a core: those of its threads, and one that waits for the next free thread.
PLACES = THREADS + 1
#: Cycles that an event takes in a core besides turns, and some more: 22 to start, 8 to its first
#: turn, and 22 for each event that is retired before it; and as much while it waits for a thread.
SPARE = 512
_LUT_RAM = {"ram_style": "distributed", "no_rw_check": 1}
_SLOT_BITS = (SLOTS - 1).bit_length()
_BANK_BITS = (BANKS - 1).bit_length()
_AGE_BITS = (2 * THREADS * (1 << BUDGET_BITS) + SPARE + 1).bit_length()


def begun_layout(config: NicConfig) -> data.StructLayout:
    """What is known of an event when it begins."""
    return data.StructLayout(
        {
            "qp": config.qp_bits,
            "live": 1,  # the slot has a program
            "slot": _SLOT_BITS,
            "psched": 1,
            "bank": _BANK_BITS,
            "tag": 32,
            "windows": 1,  # the program has windows
            "kind": 3,
            "held": 1,
            "above": 1,  # its RTT is above the threshold
            "rate": Fmt.RATE.width,  # in force
            "window": Fmt.WINDOW.width,
            "base": Fmt.RTT.width,
            "bounds": BOUNDS,
            "was_tagged": 1,
            "was_tag": 32,
            "decision": DECISION,
            "about": ABOUT,
            **({"rtt": Fmt.RTT.width, "marked": 1, "model": MODEL} if config.trace else {}),
        }
    )


class _State(enum.Enum, shape=2):  # type: ignore[call-arg]
    FREE = 0
    RUNS = 1  # in the core, or on its way there
    ENDED = 2


class Flight(wiring.Component):
    """A place for each event in flight; those that have ended are offered in turn.

    Each core has a place more than it has threads, so that a thread that ends an event finds the
    next one.

    An event that the core has not answered in time has ended, too: then the core is reset, and
    every event that it had has `lost` its result. Results of events that are not there are ignored.

    Latency: an event that ends is offered at most 3 cycles later, if no other is; what is known of
    it a cycle after that, and with it if `NicConfig.relaxed` and few places need no registers;
    what is said of `asked` a cycle later. Throughput: one begins in every other cycle, and one ends
    in two.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    soon, begins, begin : In(1), Out(1), In
        An event begins in the next cycle; it begins now, in the place `id`. Without a program it
        has ended at once.
    id, has_free : Out
        A place of the core of `asked` that was free a cycle ago.
    asked, clash : In, Out(1)
        A queue pair, and whether an event of it was in flight a cycle ago.
    none : Out(1)
        No event is in flight.
    banks : Out(8)
        Programs of events in flight.
    budget : In
    told_stb, told : In(1), In(result_layout)
        The core's result.
    restart : Out(1)
        The core is late: reset it.
    running : Out(9 * cores)
        Places whose event the core has, or gets.
    ended : Out(1)
        There is an event that has ended: `of`, `said`, `lost`, from a cycle later to `done_stb`.
    done_stb : In(1)
        Its place is free again.
    """

    def __init__(self, config: NicConfig) -> None:
        self._begun = begun_layout(config)
        self._result = result_layout(config.qp_bits, ecc=config.guards_programs)
        self._cores = config.law_cores
        self._places = self._cores * PLACES
        self._depth = 1 << (self._places - 1).bit_length()
        # Few rows are LUTs: block RAMs would be as many, and far from what writes them.
        self._few = self._depth <= FEW
        self._passes = config.relaxed and self._few
        super().__init__(
            {
                "soon": In(1),
                "begins": Out(1),
                "begin": In(self._begun),
                "id": Out(ID_BITS),
                "has_free": Out(1),
                "asked": In(config.qp_bits),
                "clash": Out(1),
                "none": Out(1),
                "banks": Out(BANKS),
                "budget": In(BUDGET_BITS),
                "told_stb": In(1),
                "told": In(self._result),
                "restart": Out(1),
                "running": Out(self._places),
                "ended": Out(1),
                "of": Out(self._begun),
                "said": Out(self._result),
                "lost": Out(1),
                "done_stb": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        turn = Signal(range(self._places), name="turn")
        states = [Signal(_State, name=f"state{n}") for n in range(self._places)]
        ages = [Signal(_AGE_BITS, name=f"age{n}") for n in range(self._places)]
        lost = [Signal(name=f"lost{n}") for n in range(self._places)]
        starts = [Signal(name=f"starts{n}") for n in range(self._places)]
        limit, told = Signal(_AGE_BITS, name="limit"), Signal()
        current = Signal(name="current")
        m.d.comb += [
            told.eq(self.told_stb & self.running.bit_select(self.told.id, 1)),
            current.eq(Array(state == _State.ENDED for state in states)[turn]),
            self.none.eq(Cat(state == _State.FREE for state in states).all()),
            self.running.eq(Cat(state == _State.RUNS for state in states)),
        ]
        passing = m.d.comb if self._passes else m.d.sync
        passing += [
            self.of.eq(self._kept(m, "begun", self.begins, self.id, self.begin, turn)),
            self.said.eq(self._kept(m, "said", told, self.told.id, self.told, turn)),
            self.lost.eq(Array(lost)[turn]),
            self.of.qp.eq(Array(self._occupied(m, states, starts))[turn]),
        ]
        m.d.sync += self.ended.eq(current & ~self.done_stb)
        late = Signal(self._places)
        # The core is reset a cycle after an event is late, once.
        m.d.sync += [
            limit.eq(2 * THREADS * self.budget + SPARE - 1),
            self.restart.eq(late.any() & ~self.restart),
        ]
        for n, (state, age) in enumerate(zip(states, ages, strict=True)):
            runs = state == _State.RUNS
            m.d.comb += late[n].eq(runs & (age >= limit))
            m.d.sync += age.eq(age + 1)
            with m.If(starts[n]):
                m.d.sync += [
                    state.eq(Mux(self.begin.live, _State.RUNS, _State.ENDED)),
                    age.eq(0),
                    lost[n].eq(0),
                ]
            with m.Elif(runs & self.told_stb & (self.told.id == n)):
                m.d.sync += state.eq(_State.ENDED)
            with m.Elif(runs & self.restart):
                m.d.sync += [state.eq(_State.ENDED), lost[n].eq(1)]
            with m.If(self.done_stb & (turn == n)):
                m.d.sync += state.eq(_State.FREE)
        self._choose(m, states, starts)
        self._take_turns(m, states, turn, current)
        return m

    def _choose(self, m: Module, states: list[Signal], starts: list[Signal]) -> None:
        """The place for the next event."""
        core = self.asked[: (self._cores - 1).bit_length()]
        free, is_free = Signal.like(self.id, name="free"), Signal(name="is_free")
        for n in reversed(range(self._places)):
            with m.If((states[n] == _State.FREE) & (core == n // PLACES)):
                m.d.comb += [free.eq(n), is_free.eq(1)]
        m.d.sync += [
            self.id.eq(free),
            self.has_free.eq(is_free),
            # What begins writes much: its strobes come from registers.
            self.begins.eq(self.soon),
            *(start.eq(self.soon & (free == n)) for n, start in enumerate(starts)),
        ]

    def _take_turns(self, m: Module, states: list[Signal], turn: Signal, current: Signal) -> None:
        """The place whose turn is next."""
        ended = Signal(self._places)
        m.d.comb += ended.eq(Cat(state == _State.ENDED for state in states))
        with m.If(~current | self.done_stb):
            # The first one that has ended: behind this one, or else of all.
            for n in reversed(range(self._places)):
                with m.If(ended[n]):
                    m.d.sync += turn.eq(n)
            for n in reversed(range(self._places)):
                with m.If(ended[n] & (turn < n)):
                    m.d.sync += turn.eq(n)

    def _kept(
        self, m: Module, name: str, stb: Signal, at: Signal, value: data.View, turn: Signal
    ) -> data.View:
        """A memory of something of each event, and that of the one whose turn it is."""
        attrs = _LUT_RAM if self._few else BLOCK_RAM
        m.submodules[name] = memory = Memory(
            shape=value.shape(), depth=self._depth, init=[], attrs=attrs
        )
        write = memory.write_port()
        read = memory.read_port(domain="comb" if self._passes else "sync")
        m.d.comb += [
            write.en.eq(stb),
            write.addr.eq(at),
            write.data.eq(value),
            read.addr.eq(turn),
        ]
        return read.data

    def _occupied(self, m: Module, states: list[Signal], starts: list[Signal]) -> list[Signal]:
        """Queue pairs of the events in flight; which of them and of programs there are."""
        clashes, owners, banks = [], [], 0
        for n, (state, start) in enumerate(zip(states, starts, strict=True)):
            qp = Signal.like(self.asked, name=f"qp{n}")
            bank = Signal(_BANK_BITS, name=f"bank{n}")
            live = Signal(name=f"live{n}")
            with m.If(start):
                m.d.sync += [
                    qp.eq(self.begin.qp),
                    bank.eq(self.begin.bank),
                    live.eq(self.begin.live),
                ]
            there = state != _State.FREE
            owners.append(qp)
            clashes.append(there & (qp == self.asked))
            named = Signal(BANKS, name=f"named{n}")
            m.d.comb += named.bit_select(bank, 1).eq(there & live)
            banks = banks | named
        clashes_now = Signal()
        m.d.sync += self.clash.eq(clashes_now)
        m.d.comb += [
            clashes_now.eq(Cat(clashes).any()),
            self.banks.eq(banks),
        ]
        return owners
