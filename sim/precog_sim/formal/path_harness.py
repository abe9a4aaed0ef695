"""The transmit or the receive path, put together of the gateware's wires and of stubs."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from types import SimpleNamespace
from typing import Any, NamedTuple

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from .contracts import CHAIN_CYCLES, CHAIN_REFUSALS, GAP, Beats, steadily
from .held import Pipe, Slice
from .mutate import reimported
from .packets import Claim, assert_rules, assert_stream, assume_rules
from .past import Past
from .peek import Opened
from .stubs import decision_stub, editor_stub, fifo_stub, icrc_stub, parser_stub, queue_stub

__all__ = ["Claims", "PathHarness", "Sizes"]

_HW = "precog_hw.packet"
SLOTS = 2


class Claims(StrEnum):
    """What one proof says; the others take the rules for granted."""

    RULES = "rules"
    PACKET = "packet"
    RECORD = "record"
    BEAT = "beat"


class Sizes(NamedTuple):
    """Shorter than the gateware has them, so that something happens soon after reset.

    The outputs' rules, which depend on none of them, are then not looked at.
    """

    window: int  # beats that the parser wants to see
    parser: int  # cycles
    decision: int  # cycles
    packets: int


@contextmanager
def _module(
    direction: str, width: int, sizes: Sizes | None, known: Claim
) -> Iterator[tuple[Any, Any, str]]:
    """The modules of path and stage, with stubs for parts, and the name of the decision's class.

    `TxPath` or `RxPath`, `Stage`, `Finish` and slices are the gateware.
    """
    with ExitStack() as stack:

        def load(name: str) -> Any:
            return stack.enter_context(reimported(f"{_HW}.{name}"))

        stage = load("stage")
        if sizes:
            stage.WINDOW_BYTES = sizes.window * width // 8
            stage.Stage.PACKETS = sizes.packets
        beats = -(-stage.WINDOW_BYTES * 8 // width)
        stage.Parser = parser_stub(stage.Parser, beats, sizes.parser if sizes else None)
        stage.PacketFifo = fifo_stub(stage.PacketFifo, known)
        stage.Queue = queue_stub(stage.Queue)
        stage.Editor = editor_stub(stage.Editor)
        finish = load("finish")
        finish.Queue = queue_stub(finish.Queue)
        path = load(f"{direction}_path")
        decision = {"tx": "CpsTransmit", "rx": "CpsReceive"}[direction]
        cycles = sizes.decision if sizes else None
        setattr(path, decision, decision_stub(getattr(path, decision), cycles))
        if direction == "rx":
            path.Queue = queue_stub(path.Queue)
            path.IcrcCheck = icrc_stub(path.IcrcCheck)
        yield path, stage, decision


class PathHarness(wiring.Component):
    """A path between free streams.

    Parameters
    ----------
    direction : str
        ``tx`` or ``rx``.
    width : int
    claim : Claims
    sizes : Sizes, optional
        By default the gateware's own.
    """

    def __init__(
        self, direction: str, width: int, claim: Claims, sizes: Sizes | None = None
    ) -> None:
        from precog_hw.stream.packet import beat_layout

        self._direction, self._width = direction, width
        self._claim, self._sizes = claim, sizes
        super().__init__(
            {
                "beat": In(beat_layout(width)),
                "valid": In(1),
                "ready": In(1),
                "record_ready": In(1),
                "shim_port": In(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        known: Claim = Assert if self._claim is Claims.RULES else Assume
        path = self._path(known)
        m.submodules.dut = path.inner.fragment
        past = Past(m)
        dut, record = path.dut, path.record
        m.d.comb += [
            dut.i.payload.eq(self.beat),
            dut.i.valid.eq(self.valid),
            dut.o.ready.eq(self.ready),
            record.ready.eq(self.record_ready),
            dut.config.shim_port.eq(self.shim_port),
        ]
        assume_rules(m, past, dut.i, "i")
        if self._claim is Claims.RULES and not self._sizes:
            assert_rules(m, past, dut.o, "o")
            assert_stream(m, past, record, "record")

        at = self._follow(m, known, path)
        self._account(m, known, path, at)
        self._cover(m, dut, record)
        if self._claim is not Claims.RULES:
            self._waits(m, at)
        return m

    def _path(self, known: Claim) -> SimpleNamespace:
        """The path, its record stream and its sizes."""
        tx = self._direction == "tx"
        with _module(self._direction, self._width, self._sizes, known) as (module, stage, name):
            dut = (module.TxPath if tx else module.RxPath)(self._width, SLOTS)
            decision = getattr(module, name).LATENCY
            return SimpleNamespace(
                dut=dut,
                inner=Opened(dut),
                record=dut.o_sent if tx else dut.o_received,
                latency=stage.Parser.LATENCY,
                decision=decision,
                window=-(-stage.WINDOW_BYTES * 8 // self._width),
                packets=stage.Stage.packets_of(self._width, decision),
                depth=stage.PacketFifo.rows,
            )

    def _follow(self, m: Module, known: Claim, path: SimpleNamespace) -> SimpleNamespace:
        """What is where: signals of gateware and stubs."""
        from precog_hw.stream.packet import beat_layout

        dut, inner, window = path.dut, path.inner, path.window
        latency, decision = path.latency, path.decision

        def s(name: str) -> Signal:
            return inner[f"stage.{name}"]

        number = s("parser.number")
        unread = (number != 0) & (number != window)
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
        return SimpleNamespace(
            ahead=ahead,
            begun=begun,
            flying=flying,
            number=number,
            unread=unread,
            beats=beats,
            chain=chain_ends,
            commands=commands,
            decided=decided,
            deciding=deciding,
            decision=decision,
            depth=path.depth,
            edits=edits,
            ended=ended,
            ending=ending,
            ends=ends,
            fifo=fifo,
            hold=inner["finish.hold"],
            gone=(dut.o.valid & self.ready & dut.o.payload.last) | s("editor.dropped"),
            latency=latency,
            offered=s("fifo.o__valid"),
            packets=path.packets,
            parsing=parsing,
            room=s("room"),
            recorded=path.record.valid,
            refused=refused,
            refuses=self.valid & ~dut.i.ready,
            steady=self.ready & self.record_ready,
            waited=waited,
            waiting=s("waiting"),
        )

    def _account(self, m: Module, known: Claim, path: SimpleNamespace, at: SimpleNamespace) -> None:
        """Packets that have begun: each is somewhere, and its command and its end are, too."""

        def s(name: str) -> Signal:
            return path.inner[f"stage.{name}"]

        first, waiting = s("first"), s("waiting")
        open_ = at.number != 0
        behind = Mux(at.fifo.ends != 0, at.fifo.behind, at.fifo.count + at.ahead.behind)
        m.d.comb += [
            known(first == ~open_),
            known(at.number <= path.window),
            known(waiting == at.unread + at.flying + at.edits),
            known(waiting <= at.packets),
            known(at.ends + open_ == waiting + at.commands.count, "a packet has one command"),
            known(at.begun == open_ + at.ending.count + at.ended, "a packet has one record"),
            known(~at.unread | (behind == at.number)),
            known(open_ | (behind == 0)),
            known(~at.room | (waiting < at.packets)),
            known(at.hold | (at.decided <= at.packets)),
            known(at.hold | (at.ended <= at.packets)),
            known(~at.room | (at.decided <= at.packets + 1)),
            known(~at.room | (at.ended <= at.packets + 1)),
            known(at.begun <= 2 * at.packets + 1),
            known(
                ~at.unread | (at.ends != 0) | s("fifo.i__ready"), "alone, a header is not refused"
            ),
            known(~path.inner["decide.edit_stb"] | s("edits.i__ready"), "no command is lost"),
            known(
                ~path.inner["decide.edit_stb"] | path.inner["finish.decisions.i__ready"],
                "no decision",
            ),
            *(
                []
                if self._direction == "tx"
                else [
                    known(path.inner["finish.seen.count"] == at.deciding.count + at.decided),
                    known(
                        ~s("parser.o_valid") | path.inner["finish.seen.i__ready"], "nothing parsed"
                    ),
                ]
            ),
            known(~s("parser.tail_valid") | path.inner["finish.tails.i__ready"], "no end"),
        ]

    def _cover(self, m: Module, dut: wiring.Component, record: stream.Interface) -> None:
        """Three packets and three records can leave."""
        packets_out, records_out = Signal(2), Signal(2)
        with m.If(dut.o.valid & self.ready & dut.o.payload.last & ~packets_out.all()):
            m.d.sync += packets_out.eq(packets_out + 1)
        with m.If(record.valid & self.record_ready & ~records_out.all()):
            m.d.sync += records_out.eq(records_out + 1)
        m.d.comb += Cover(packets_out.all() & records_out.all())

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
            # Beats that arrive in time may shut the stage again, for up to three cycles.
            many = (at.decided >= at.packets) | (at.ended >= at.packets)
            # A port that changes shuts it until all that has begun is edited.
            shut = Mux(many, 3, Mux(at.hold, 2, ~at.room | (at.waiting != 0)))
            left = 4 * (flying + at.ending.last) + shut + at.begun + asked
            left += offer + beat * at.beats
            whole = waits = at.refuses
            bound = 4 * (2 * at.latency + at.decision) + 2 * at.packets + 5 + most + beat * rows
        age = steadily(m, waits, at.steady, bound, "it waits")
        m.d.comb += [
            Assert((at.refused == 0) | (at.ahead.valid & at.commands.valid)),
            Assert((at.waited == 0) | (at.chain != 0)),
            Assert(~whole | (age + left <= bound), "what is left falls in every cycle"),
        ]
