"""What the CPS stages keep of each QP slot and each destination, in block RAM.

Rules and state are those of `precog_models.packet.cps_state.CpsSlot`.
Throughput: a TX request, an RX request, an echo, an arrival, a host's write and a predicted score
in every cycle.
"""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowMemory
from precog_hw.stream.delay import DelayLine
from precog_spec.carried import source_bits
from precog_spec.contract import CarriedScore
from precog_spec.frames.cps import NS_BITS, TIME_BITS
from precog_spec.frames.headers import PSN_BITS

from .mark_echo import MarkEcho
from .turnaround import Turnaround
from .turnaround_search import TurnaroundSearch

__all__ = [
    "DESTINATIONS",
    "SCORE",
    "CpsSlots",
    "rx_row_layout",
    "slot_config_layout",
    "tx_row_layout",
]

DESTINATIONS = 256  # that a NIC has enables for
MODE_BITS = 2
SCORE = data.StructLayout({"value": unsigned(7), "valid": unsigned(1)})  # 0..100


def slot_config_layout(
    destinations: int, *, predicted: bool = False, port: bool = False
) -> data.StructLayout:
    """A slot's row as the host writes it; `predicted`: it has a `CarriedScore`, too.

    With `port` that may be `CarriedScore.PORT`.
    """
    return data.StructLayout(
        {
            "mode": unsigned(MODE_BITS),
            "destination": unsigned((destinations - 1).bit_length()),
            "score": SCORE,
            **({"source": unsigned(source_bits(port=port))} if predicted else {}),
        }
    )


def tx_row_layout() -> data.StructLayout:
    """What a packet to be sent is told."""
    return data.StructLayout(
        {
            "mode": unsigned(MODE_BITS),
            "enable": unsigned(1),  # the destination's
            "score": SCORE,
            "echo": SCORE,
            "turnaround": unsigned(TIME_BITS),  # ns, for an answer with the request's PSN
            "turnaround_valid": unsigned(1),  # such a packet is among the last four
            "marked": unsigned(1),  # the acknowledgement echoes a mark
        }
    )


def rx_row_layout(destinations: int) -> data.StructLayout:
    """What a received packet is told."""
    return data.StructLayout(
        {
            "mode": unsigned(MODE_BITS),
            "destination": unsigned((destinations - 1).bit_length()),
            "enable": unsigned(1),  # the destination's
            "score": SCORE,  # the slot's own
        }
    )


class CpsSlots(wiring.Component):
    """Rows of QP slots for the insertion, the extraction and the host.

    ::

        tx_slot ─┬► config ─► destination's enable ───────────────────────────────► tx_row
                 ├► echo ─────────────────────────────────────────────────────────►
                 ├► mark ─────────────────────────────────────────────────────────►
                 └► turnaround ───────────────────────────────────────────────────►
             0            1         2                                                  7

    A TX request sees what the host wrote and what echo and mark there was up to its own cycle, and
    no mark that an earlier one has taken. Two marks are one up to a cycle behind the request that
    takes them. It sees exactly the arrivals and resets that were taken 3 or more cycles before it,
    and what a reset did to a mark at once.

    Latency: 7 cycles for `tx`, 2 for `rx`. Throughput: one of each per cycle. Cost at 1024 slots
    (ECP5): 21 DP16KD, 1000 LUT4, 20 CCU2C, 40 DPR16X4, 1180 flip-flops; with `predicted` 2 DP16KD
    and 70 flip-flops more; with `marks` what `MarkEcho` costs.

    Parameters
    ----------
    slots : int
        Queue pairs, a power of two, 2 or more.
    destinations : int
        Enables, a power of two, 2 or more. All are on at power-up.
    predicted : bool
        Whether a row may have a predicted score in place of the host's.
    relaxed : bool
        Packets are apart, see `TurnaroundSearch`: `tx_psn` and `tx_ns` stay until `tx_done`, the
        members of `arrival_stb` stay for 4 more cycles, `tx` is 6 cycles, and it sees arrivals and
        resets up to its own cycle.
    enables : bool
        Whether destinations have enables; otherwise all are on, and rows name none.
    marks : bool
        Whether acknowledgements echo marks (`MarkEcho`).

    Attributes
    ----------
    tx_latency : int
        Cycles.
    marks : bool
        As given.

    Members
    -------
    config_stb : In(1)
        Host: write slot `config_slot`.
    config_slot : In(range(slots))
    config : In(slot_config_layout(destinations, predicted, port))
    predicted_stb, predicted_slot, predicted : In(1), In(range(slots)), In(SCORE)
        With `predicted`: what is sent from now on where the row's source is not the host.
    enable_stb : In(1)
        With `enables`, host: write the enable of `enable_destination`.
    enable_destination : In(range(destinations))
    enable : In(1)
    i_reset : In(stream.Signature(range(slots)))
        Host: forget the slot's echo, arrivals and mark; waits for a cycle without `echo_stb` and
        `arrival_stb`, and while an acknowledgement takes a mark.
    tx_stb : In(1)
        Ask for `tx_slot`, for a packet with `tx_psn` that leaves at `tx_ns`.
    tx_slot : In(range(slots))
    tx_psn : In(24)
    tx_ns : In(40)
    tx_takes : In(1)
        With `marks`, with `tx_stb`: it is an acknowledgement, which takes the slot's mark.
    tx_done : Out(1)
        The strobe, 7 cycles later.
    tx_row : Out(tx_row_layout())
        With `tx_done`.
    rx_slot : In(range(slots))
    rx_row : Out(rx_row_layout(destinations))
        Of the slot that `rx_slot` named 2 cycles ago.
    echo_stb : In(1)
        A score came for `echo_slot`.
    echo_slot : In(range(slots))
    echo : In(7)
    arrival_stb : In(1)
        A packet that asks for an answer came for `arrival_slot` at `arrival_ns`.
    arriving : In(1)
        With `relaxed`: `echo_stb` or `arrival_stb` may come in this cycle, which is known early; no
        reset is taken then.
    arrival_slot : In(range(slots))
    arrival_psn : In(24)
    arrival_ns : In(40)
    mark_stb : In(1)
        With `marks`: marked data came for `mark_slot`.
    mark_slot : In(range(slots))

    Raises
    ------
    ValueError
        A size is not a power of two, or smaller than 2.
    """

    TX_LATENCY = Turnaround.LATENCY
    RX_LATENCY = RowMemory.CYCLES
    ARRIVAL_CYCLES = Turnaround.ARRIVAL_CYCLES  # until requests see an arrival or a reset

    def __init__(
        self,
        slots: int,
        destinations: int = DESTINATIONS,
        *,
        predicted: bool = False,
        port: bool = False,
        relaxed: bool = False,
        enables: bool = True,
        marks: bool = False,
    ) -> None:
        for name, size in (("slots", slots), ("destinations", destinations)):
            if size < 2 or size & (size - 1):
                raise ValueError(f"{name} must be a power of two, 2 or more, not {size!r}")
        self._slots, self._destinations = slots, destinations
        self._predicted, self._relaxed, self._enables = predicted, relaxed, enables
        self.marks = marks
        self.tx_latency = self.tx_latency_of(relaxed=relaxed)
        slot = In(range(slots))
        scores = {"predicted_stb": In(1), "predicted_slot": slot, "predicted": In(SCORE)}
        host = {
            "enable_stb": In(1),
            "enable_destination": In(range(destinations)),
            "enable": In(1),
        }
        super().__init__(
            {
                "config_stb": In(1),
                "config_slot": slot,
                "config": In(slot_config_layout(destinations, predicted=predicted, port=port)),
                **(scores if predicted else {}),
                **(host if enables else {}),
                "i_reset": In(stream.Signature(range(slots))),
                "tx_stb": In(1),
                "tx_slot": slot,
                "tx_psn": In(PSN_BITS),
                "tx_ns": In(NS_BITS),
                "tx_done": Out(1),
                "tx_row": Out(tx_row_layout()),
                "rx_slot": slot,
                "rx_row": Out(rx_row_layout(destinations)),
                "echo_stb": In(1),
                "echo_slot": slot,
                "echo": In(7),
                "arrival_stb": In(1),
                "arrival_slot": slot,
                "arrival_psn": In(PSN_BITS),
                "arrival_ns": In(NS_BITS),
                **({"arriving": In(1)} if relaxed else {}),
                **({"tx_takes": In(1), "mark_stb": In(1), "mark_slot": slot} if marks else {}),
            }
        )

    @classmethod
    def tx_latency_of(cls, *, relaxed: bool) -> int:
        """Cycles from `tx_stb` to `tx_done`."""
        return TurnaroundSearch.LATENCY if relaxed else cls.TX_LATENCY

    def elaborate(self, platform: object) -> Module:
        m = Module()
        resets = Signal()
        turnaround = TurnaroundSearch(self._slots) if self._relaxed else Turnaround(self._slots)
        changes = self.echo_stb | self.arrival_stb
        taking = Signal()  # a cycle behind `tx_takes`
        free: Value = ~changes & ~taking
        if isinstance(turnaround, TurnaroundSearch):
            free = ~self.arriving & ~turnaround.busy & ~taking
            m.d.sync += Assert(self.arriving | ~changes, "changes only while arriving")
        m.d.comb += [
            self.i_reset.ready.eq(free),
            resets.eq(self.i_reset.valid & self.i_reset.ready),
        ]
        config, score = self._config(m)
        echo = self._echo(m, resets)
        marked = self._mark(m, resets, taking) if self.marks else None
        m.submodules.turnaround = turnaround
        if self._relaxed:  # an arrival may wait
            changed = Mux(resets, self.i_reset.payload, self.arrival_slot)
        else:
            changed = Mux(self.arrival_stb, self.arrival_slot, self.i_reset.payload)
        m.d.comb += [
            turnaround.arrival_stb.eq(self.arrival_stb),
            turnaround.reset_stb.eq(resets),
            turnaround.slot.eq(changed),
            turnaround.psn.eq(self.arrival_psn),
            turnaround.t1.eq(self.arrival_ns),
            turnaround.asked_slot.eq(self.tx_slot),
            turnaround.asked_psn.eq(self.tx_psn),
            turnaround.t2.eq(self.tx_ns),
        ]

        # The destination's enable, in cycle 2; then wait for the turnaround.
        enable, rx_enable = self._enable(m, config, self.rx_row)
        early = data.StructLayout({"mode": MODE_BITS, "score": SCORE, "enable": 1, "echo": SCORE})
        if self.marks:
            early = data.StructLayout({**early.members, "marked": 1})
        if isinstance(turnaround, TurnaroundSearch):
            # What was read stays in one register.
            passed, kept, strobes = Signal(early), Signal(early), Signal(self.tx_latency)
            m.d.sync += strobes.eq(Cat(self.tx_stb, strobes))
            with m.If(strobes[RowMemory.CYCLES - 1]):
                m.d.sync += kept.eq(passed)
            m.d.comb += turnaround.asked_stb.eq(self.tx_stb)
            done, delays = strobes[-1], []
        else:
            m.submodules.late = late = DelayLine(early, self.TX_LATENCY - RowMemory.CYCLES)
            m.submodules.strobe = strobe = DelayLine(1, self.TX_LATENCY, registers=True)
            passed, kept = late.i, late.o
            done, delays = strobe.o, [strobe.i.eq(self.tx_stb)]
        m.d.comb += [
            passed.mode.eq(config.mode),
            passed.score.eq(score),
            passed.enable.eq(enable),
            self.rx_row.enable.eq(rx_enable),
            passed.echo.eq(echo),
            *((passed.marked.eq(marked), self.tx_row.marked.eq(kept.marked)) if self.marks else ()),
            *delays,
            self.tx_done.eq(done),
            self.tx_row.mode.eq(kept.mode),
            self.tx_row.enable.eq(kept.enable),
            self.tx_row.score.eq(kept.score),
            self.tx_row.echo.eq(kept.echo),
            self.tx_row.turnaround.eq(turnaround.value),
            self.tx_row.turnaround_valid.eq(turnaround.valid),
        ]
        return m

    def _enable(self, m: Module, *rows: data.View) -> list[Value]:
        """Those of the destinations that rows name, in their cycle."""
        if not self._enables:
            return [Const(1) for _ in rows]
        m.submodules.enables = enables = Memory(
            shape=1,
            depth=self._destinations,
            init=[1] * self._destinations,
            attrs={"ram_style": "distributed"},
        )
        write = enables.write_port()
        reads = [enables.read_port(domain="comb") for _ in rows]
        m.d.comb += [
            write.en.eq(self.enable_stb),
            write.addr.eq(self.enable_destination),
            write.data.eq(self.enable),
            *(read.addr.eq(row.destination) for read, row in zip(reads, rows, strict=True)),
        ]
        return [read.data for read in reads]

    def _config(self, m: Module) -> tuple[data.View, data.View]:
        """The rows and what they send, once for each direction; TX in cycle 2."""
        layout = data.StructLayout(
            slot_config_layout(self._destinations).members
            | ({"predicted": 1} if self._predicted else {})
        )
        m.submodules.config = tx = RowMemory(layout, self._slots, relaxed=self._relaxed)
        m.submodules.rx_config = rx = RowMemory(layout, self._slots, relaxed=self._relaxed)
        word = Signal(layout)
        m.d.comb += [
            word[name].eq(self.config[name])
            for name in ("mode", "destination", "score")
            if self._enables or name != "destination"
        ]
        if self._predicted:
            m.d.comb += word.predicted.eq(self.config.source != CarriedScore.HOST)
        for rows, slot in ((tx, self.tx_slot), (rx, self.rx_slot)):
            m.d.comb += [
                rows.write_stb.eq(self.config_stb),
                rows.write_row.eq(self.config_slot),
                rows.write_data.eq(word),
                rows.read_row.eq(slot),
            ]
        sent, own = (
            self._score(m, name, rows) for name, rows in (("predicted", tx), ("rx_predicted", rx))
        )
        m.d.comb += [
            *(self.rx_row[n].eq(rx.read_data[n]) for n in ("mode", "destination")),
            self.rx_row.score.eq(own),
        ]
        return tx.read_data, sent

    def _score(self, m: Module, name: str, config: RowMemory) -> data.View:
        """What a row sends, in cycle 2: the host's score or the predicted one."""
        if not self._predicted:
            return config.read_data.score
        m.submodules[name] = rows = RowMemory(SCORE, self._slots, relaxed=self._relaxed)
        score = Signal(SCORE, name=f"{name}_score")
        m.d.comb += [
            rows.write_stb.eq(self.predicted_stb),
            rows.write_row.eq(self.predicted_slot),
            rows.write_data.eq(self.predicted),
            rows.read_row.eq(config.read_row),
            score.eq(Mux(config.read_data.predicted, rows.read_data, config.read_data.score)),
        ]
        return score

    def _echo(self, m: Module, resets: Signal) -> data.View:
        """The last score received, in cycle 2."""
        m.submodules.echoes = echoes = RowMemory(SCORE, self._slots, relaxed=self._relaxed)
        m.d.comb += [
            echoes.write_stb.eq(self.echo_stb | resets),
            echoes.write_row.eq(Mux(self.echo_stb, self.echo_slot, self.i_reset.payload)),
            echoes.write_data.valid.eq(self.echo_stb),
            echoes.write_data.value.eq(Mux(self.echo_stb, self.echo, 0)),
            echoes.read_row.eq(self.tx_slot),
        ]
        return echoes.read_data

    def _mark(self, m: Module, resets: Signal, taking: Signal) -> Value:
        """Whether an acknowledgement has its slot's mark, in cycle 2."""
        m.submodules.marks = marks = MarkEcho(self._slots)
        slot = Signal.like(self.tx_slot)
        m.d.sync += [taking.eq(self.tx_stb & self.tx_takes), slot.eq(self.tx_slot)]
        m.d.comb += [
            marks.mark_stb.eq(self.mark_stb),
            marks.mark_slot.eq(self.mark_slot),
            marks.take_stb.eq(taking | resets),
            marks.take_slot.eq(Mux(taking, slot, self.i_reset.payload)),
        ]
        # A reset takes a mark, too, which no packet has.
        took = Signal()
        m.d.sync += took.eq(taking)
        return marks.taken & took
