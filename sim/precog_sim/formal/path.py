"""The transmit and the receive path as a whole."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from amaranth.hdl import Assert, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from .contracts import Beats, CHAIN_CYCLES, CHAIN_REFUSALS, GAP, steadily
from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .packets import assert_rules, assert_stream, assume_rules, well_formed
from .past import Past
from .peek import Opened
from .stubs import decision_stub, editor_stub, fifo_stub, icrc_stub, parser_stub, queue_stub

__all__ = ["MUTANTS", "PROOFS"]

_HW = "precog_hw.packet"
SLOTS = 2


@contextmanager
def _module(direction: str, width: int) -> Iterator[Any]:
    """The path's module, with stubs for its parts; `Stage` and `Finish` are the gateware."""
    with ExitStack() as stack:

        def load(name: str) -> Any:
            return stack.enter_context(reimported(f"{_HW}.{name}"))

        stage = load("stage")
        beats = -(-stage.WINDOW_BYTES * 8 // width)
        stage.Parser = parser_stub(stage.Parser, beats)
        stage.PacketFifo = fifo_stub(stage.PacketFifo)
        stage.Queue = queue_stub(stage.Queue)
        stage.Editor = editor_stub(stage.Editor)
        finish = load("finish")
        finish.Queue = queue_stub(finish.Queue)
        path = load(f"{direction}_path")
        if direction == "tx":
            path.CpsTransmit = decision_stub(path.CpsTransmit)
        else:
            path.CpsReceive = decision_stub(path.CpsReceive)
            path.Queue = queue_stub(path.Queue)
            path.IcrcCheck = icrc_stub(path.IcrcCheck)
        yield path, stage


class Pipe:
    """A delay line of strobes: how many are under way, and when they come out.

    Attributes
    ----------
    count : Signal
    first, last : Value
        Cycles until the oldest and the youngest have left; 0: there is none.
    """

    def __init__(self, m: Module, line: list[Signal], name: str) -> None:
        # Ones in the first n registers, for each n: what moves on is known without a sum.
        sums = [Signal(range(n + 2), name=f"{name}_up_to_{n}") for n in range(len(line))]
        self._sums = sums
        self.count = sums[-1]
        self.first: Value = Const(0, 8)
        self.last: Value = Const(0, 8)
        for n, bit in enumerate(line):
            self.first = Mux(bit, len(line) - n, self.first)
        for n, bit in reversed(list(enumerate(line))):
            self.last = Mux(bit, len(line) - n, self.last)
        m.d.comb += [
            Assert(one == before + bit)
            for one, before, bit in zip(sums, [Const(0), *sums], line, strict=False)
        ]
        self._m = m

    def fed(self, stb: Value) -> None:
        """The strobe that comes in."""
        for one, before in zip(self._sums, [Const(0), *self._sums], strict=False):
            self._m.d.sync += one.eq(before + stb)


class Slice:
    """A skid buffer's content.

    Attributes
    ----------
    valid : Signal
    count : Value
    ends : Value
        Last beats in it.
    end : Value
        Position of the first, from 1; 0: none.
    behind : Value
        Beats behind the last of them; all, if there is none.
    """

    def __init__(self, m: Module, inner: Opened, path: str, layout: Any = None) -> None:
        self.valid, spare = inner[f"{path}.o__valid"], ~inner[f"{path}.ready"]
        self.count = self.valid + spare
        m.d.comb += Assert(~spare | self.valid)
        if layout is None:
            return
        front = data.View(layout, inner[f"{path}.o__payload"])
        back = data.View(layout, inner[f"{path}.spare"])
        m.d.comb += [
            Assert(~self.valid | well_formed(front)),
            Assert(~spare | well_formed(back)),
        ]
        one, two = self.valid & front.last, spare & back.last
        self.ends = one + two
        self.end = Mux(one, 1, Mux(two, 2, 0))
        self.behind = Mux(two, 0, Mux(one, spare, self.count))


class PathHarness(wiring.Component):
    """A path between free streams."""

    def __init__(self, direction: str, width: int, live: bool) -> None:
        from precog_hw.stream.packet import beat_layout

        self._direction, self._width, self._live = direction, width, live
        super().__init__(
            {"beat": In(beat_layout(width)), "valid": In(1), "ready": In(1), "record_ready": In(1)}
        )

    def elaborate(self, platform: object) -> Module:
        from precog_hw.stream.packet import beat_layout

        m = Module()
        tx = self._direction == "tx"
        with _module(self._direction, self._width) as (module, stage):
            dut = (module.TxPath if tx else module.RxPath)(self._width, SLOTS)
            inner = Opened(dut)
            latency = stage.Parser.LATENCY
            decision = (module.CpsTransmit if tx else module.CpsReceive).LATENCY
            window = -(-stage.WINDOW_BYTES * 8 // self._width)
            packets = stage.Stage.PACKETS
            depth = stage.PacketFifo.rows
        m.submodules.dut = inner.fragment
        past = Past(m)
        record = dut.o_sent if tx else dut.o_received
        m.d.comb += [
            dut.i.payload.eq(self.beat),
            dut.i.valid.eq(self.valid),
            dut.o.ready.eq(self.ready),
            record.ready.eq(self.record_ready),
        ]
        assume_rules(m, past, dut.i, "i")
        assert_rules(m, past, dut.o, "o")
        assert_stream(m, past, record, "record")
        steady = self.ready & self.record_ready

        def s(name: str) -> Signal:
            return inner[f"stage.{name}"]

        # What is where: signals of gateware and stubs.
        number, first, waiting, room = s("parser.number"), s("first"), s("waiting"), s("room")
        hold = inner["finish.hold"]
        open_, unread = number != 0, (number != 0) & (number != window)
        parsing = Pipe(m, [s(f"parser.complete_{n}") for n in range(latency)], "parsing")
        ending = Pipe(m, [s(f"parser.end_{n}") for n in range(latency)], "ending")
        deciding = Pipe(m, [inner[f"decide.stb_{n}"] for n in range(decision)], "deciding")
        taken = self.valid & dut.i.ready
        parsing.fed(taken & ((number == window - 1) | (self.beat.last & (number < window))))
        ending.fed(taken & self.beat.last)
        deciding.fed(s("parser.o_valid"))
        edits = s("edits.count")
        decided, ended = inner["finish.decisions.count"], inner["finish.tails.count"]
        fifo = Beats(
            *(s(f"fifo.beats_{n}") for n in ("count", "ends", "behind", "end", "gap"))
        )
        fifo_valid = s("fifo.o__valid")
        ahead = Slice(m, inner, "stage.editor.slice", beat_layout(self._width))
        commands = Slice(m, inner, "stage.editor.commands")
        chain_ends = s("editor.chain_ends")
        refused, waited = s("editor.age_a_beat_is_refused"), s("editor.age_an_end_is_inside")

        # Packets that have begun: each is somewhere, and its command and its end are, too.
        flying = parsing.count + deciding.count
        beats, ends = fifo.count + ahead.count, fifo.ends + ahead.ends
        begun = unread + flying + decided  # and are not recorded yet
        behind = Mux(fifo.ends != 0, fifo.behind, fifo.count + ahead.behind)
        m.d.comb += [
            Assert(first == ~open_),
            Assert(number <= window),
            Assert(waiting == unread + flying + edits),
            Assert(waiting <= packets),
            Assert(ends + open_ == waiting + commands.count, "a packet has one command"),
            Assert(begun == open_ + ending.count + ended, "a packet has one record"),
            Assert(~unread | (behind == number)),
            Assert(open_ | (behind == 0)),
            Assert(~room | (waiting < packets)),
            Assert(hold | (decided <= packets)),
            Assert(hold | (ended <= packets)),
            Assert(~room | (decided <= packets + 1)),
            Assert(~room | (ended <= packets + 1)),
            Assert(begun <= 2 * packets + 1),
            Assert(~inner["decide.edit_stb"] | s("edits.i__ready"), "no command is lost"),
            Assert(~inner["decide.edit_stb"] | inner["finish.decisions.i__ready"], "no decision"),
            Assert(~s("parser.tail_valid") | inner["finish.tails.i__ready"], "no end"),
        ]

        if not self._live:
            return m
        # What is still to be waited for, at most, while the consumers take in every cycle.
        refusals, cycles = CHAIN_REFUSALS[self._width], CHAIN_CYCLES[self._width]
        offer = Mux(ahead.valid, refusals + 1 - refused, refusals + 2)
        offer += Mux(ahead.valid | fifo_valid, 0, GAP + 1 - fifo.gap)
        beat_cycles = 1 << (refusals + GAP + 4).bit_length()
        asked = commands.count == 0  # the next packet's command is still to come
        command = Mux(
            deciding.first != 0,
            deciding.first + 1,
            Mux(parsing.first != 0, parsing.first + decision + 1, 0),
        )
        command = Mux(asked, Mux(edits != 0, 1, command), 0)
        end = Mux(ahead.end != 0, ahead.end, ahead.count + fifo.end)
        upstream = cycles + command + offer + beat_cycles * end
        within = cycles + latency + decision + 2 + refusals + GAP + 4 + beat_cycles * (depth + 4)
        given = dut.o.valid & self.ready & dut.o.payload.last
        whole = (chain_ends != 0) | (ends != 0)
        dropped = s("editor.dropped")
        age = steadily(m, whole & ~given & ~dropped, steady, within, "a packet")
        m.d.comb += [
            Assert((refused == 0) | (ahead.valid & commands.valid)),
            Assert((waited == 0) | (chain_ends != 0)),
            Assert(~whole | (age + Mux(chain_ends != 0, cycles - waited, upstream) <= within)),
        ]
        return m


def _proofs() -> Iterator[Proof]:
    for direction in ("tx", "rx"):
        for width in (8, 64):
            for live in (False, True):
                yield Proof(
                    f"path.{direction}.{'live' if live else 'rules'}.{width}",
                    partial(PathHarness, direction, width, live),
                    Mode.INDUCTION,
                    2,
                    "",
                )


PROOFS = tuple(_proofs())
MUTANTS: tuple[Mutant, ...] = ()
