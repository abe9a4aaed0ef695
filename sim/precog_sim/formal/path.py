"""The transmit and the receive path as a whole."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from functools import partial
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .contracts import CHAIN_CYCLES, CHAIN_REFUSALS, GAP, Beats, steadily
from .engine import Mode, Proof
from .held import Pipe, Slice
from .mutate import Mutant, reimported
from .packets import Claim, assert_rules, assert_stream, assume_rules
from .past import Past
from .peek import Opened
from .stubs import decision_stub, editor_stub, fifo_stub, icrc_stub, parser_stub, queue_stub

__all__ = ["MUTANTS", "PROOFS"]

_HW = "precog_hw.packet"
SLOTS = 2


class Claims(StrEnum):
    """What one proof says; the others take the rules for granted."""

    RULES = "rules"
    PACKET = "packet"
    RECORD = "record"
    BEAT = "beat"


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


class PathHarness(wiring.Component):
    """A path between free streams."""

    def __init__(self, direction: str, width: int, claim: Claims) -> None:
        from precog_hw.stream.packet import beat_layout

        self._direction, self._width, self._claim = direction, width, claim
        super().__init__(
            {"beat": In(beat_layout(width)), "valid": In(1), "ready": In(1), "record_ready": In(1)}
        )

    def elaborate(self, platform: object) -> Module:
        from precog_hw.stream.packet import beat_layout

        m = Module()
        known: Claim = Assert if self._claim is Claims.RULES else Assume
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

        def s(name: str) -> Signal:
            return inner[f"stage.{name}"]

        # What is where: signals of gateware and stubs.
        number, first, waiting, room = s("parser.number"), s("first"), s("waiting"), s("room")
        hold = inner["finish.hold"]
        open_, unread = number != 0, (number != 0) & (number != window)
        parsing = Pipe(m, known, [s(f"parser.complete_{n}") for n in range(latency)], "parsing")
        ending = Pipe(m, known, [s(f"parser.end_{n}") for n in range(latency)], "ending")
        deciding = Pipe(m, known, [inner[f"decide.stb_{n}"] for n in range(decision)], "deciding")
        taken = self.valid & dut.i.ready
        parsing.fed(taken & ((number == window - 1) | (self.beat.last & (number < window))))
        ending.fed(taken & self.beat.last)
        deciding.fed(s("parser.o_valid"))
        edits = s("edits.count")
        decided, ended = inner["finish.decisions.count"], inner["finish.tails.count"]
        fifo = Beats(*(s(f"fifo.beats_{n}") for n in ("count", "ends", "behind", "end", "gap")))
        ahead = Slice(m, known, inner, "stage.editor.slice", beat_layout(self._width))
        commands = Slice(m, known, inner, "stage.editor.commands")
        chain_ends = s("editor.chain_ends")
        refused, waited = s("editor.age_a_beat_is_refused"), s("editor.age_an_end_is_inside")

        beats, ends = fifo.count + ahead.count, fifo.ends + ahead.ends
        flying = parsing.count + deciding.count
        begun = unread + flying + decided  # and not recorded yet
        state = SimpleNamespace(
            ahead=ahead,
            begun=begun,
            beats=beats,
            chain=chain_ends,
            commands=commands,
            decided=decided,
            deciding=deciding,
            decision=decision,
            depth=depth,
            edits=edits,
            ended=ended,
            ending=ending,
            ends=ends,
            fifo=fifo,
            gone=(dut.o.valid & self.ready & dut.o.payload.last) | s("editor.dropped"),
            hold=hold,
            latency=latency,
            offered=s("fifo.o__valid"),
            packets=packets,
            parsing=parsing,
            recorded=record.valid,
            refused=refused,
            refuses=self.valid & ~dut.i.ready,
            room=room,
            steady=self.ready & self.record_ready,
            waited=waited,
        )

        # Packets that have begun: each is somewhere, and its command and its end are, too.
        behind = Mux(fifo.ends != 0, fifo.behind, fifo.count + ahead.behind)
        m.d.comb += [
            known(first == ~open_),
            known(number <= window),
            known(waiting == unread + flying + edits),
            known(waiting <= packets),
            known(ends + open_ == waiting + commands.count, "a packet has one command"),
            known(begun == open_ + ending.count + ended, "a packet has one record"),
            known(~unread | (behind == number)),
            known(open_ | (behind == 0)),
            known(~room | (waiting < packets)),
            known(hold | (decided <= packets)),
            known(hold | (ended <= packets)),
            known(~room | (decided <= packets + 1)),
            known(~room | (ended <= packets + 1)),
            known(begun <= 2 * packets + 1),
            known(~inner["decide.edit_stb"] | s("edits.i__ready"), "no command is lost"),
            known(~inner["decide.edit_stb"] | inner["finish.decisions.i__ready"], "no decision"),
            known(~s("parser.tail_valid") | inner["finish.tails.i__ready"], "no end"),
        ]

        if self._claim is not Claims.RULES:
            self._waits(m, state)
        return m

    def _waits(self, m: Module, at: SimpleNamespace) -> None:
        """What is still to be waited for, at most, while the consumers take in every cycle.

        Each bound is a sum that falls by one or more in every such cycle until what is waited for
        has come; so the wait so far and the sum are together never more than the bound.
        """
        refusals, cycles = CHAIN_REFUSALS[self._width], CHAIN_CYCLES[self._width]
        most = refusals + GAP + 4  # of the sums that say when `Patch` takes a beat
        beat = 1 << most.bit_length()
        offer = Mux(at.ahead.valid, refusals + 1 - at.refused, refusals + 2)
        offer += Mux(at.ahead.valid | at.offered, 0, GAP + 1 - at.fifo.gap)
        asked = at.commands.count == 0  # the next packet's command is still to come
        parsed = at.parsing.first + at.decision
        decided = Mux(at.deciding.first != 0, at.deciding.first, parsed)
        rows = at.depth + 4  # beats that fit before `Patch`
        if self._claim is Claims.PACKET:
            # The oldest one whose end has been taken: out, or dropped.
            command = Mux(asked, Mux(at.edits != 0, 1, decided + 1), 0)
            end = Mux(at.ahead.end != 0, at.ahead.end, at.ahead.count + at.fifo.end)
            ahead = cycles + command + offer + beat * end
            left = Mux(at.chain != 0, cycles - at.waited, ahead)
            whole = (at.chain != 0) | (at.ends != 0)
            waits = whole & ~at.gone
            bound = cycles + at.latency + at.decision + 1 + most + beat * rows
        elif self._claim is Claims.RECORD:
            # When its packet's end and its decision have come.
            left = Mux(at.ended == 0, at.ending.first, 0) + Mux(at.decided == 0, decided, 0)
            whole = (at.ended != 0) | (at.ending.count != 0)
            waits = whole & ~at.recorded
            bound = 2 * at.latency + at.decision
        else:
            # While it is refused nothing comes in, so all that is inside goes on and out.
            flying = Mux(at.parsing.last != 0, at.parsing.last + at.decision, at.deciding.last)
            left = flying + at.ending.last + at.begun + at.hold + ~at.room + asked
            left += offer + beat * at.beats
            whole = waits = at.refuses
            bound = 2 * at.latency + at.decision + 2 * at.packets + 4 + most + beat * rows
        age = steadily(m, waits, at.steady, bound, "it waits")
        m.d.comb += [
            Assert((at.refused == 0) | (at.ahead.valid & at.commands.valid)),
            Assert((at.waited == 0) | (at.chain != 0)),
            Assert(~whole | (age + left <= bound), "what is left falls in every cycle"),
        ]


def _proofs() -> Iterator[Proof]:
    for direction in ("tx", "rx"):
        for width in (8, 64):
            for claim in Claims:
                yield Proof(
                    f"path.{direction}.{claim}.{width}",
                    partial(PathHarness, direction, width, claim),
                    Mode.INDUCTION,
                    1,
                    "",
                )


PROOFS = tuple(_proofs())
MUTANTS: tuple[Mutant, ...] = ()
