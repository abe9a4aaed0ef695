"""Numbers of one queue of many, as a register block shows them: the sequencer of its commands."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.window_ports import connect_window
from precog_hw.measure.queue_layouts import queue_read_layout
from precog_spec.registers.model import Register

__all__ = ["ReadWindow", "attach_rows"]


class ReadWindow(wiring.Component):
    """Carries commands on queue pairs out; unlike `RowWindow` it keeps nothing of these.

    Latency: a command reaches `o` 1 cycle after its strobe, during a sweep once the queue pair at
    work is done; `busy` falls a cycle after `done`. Throughput: one command at a time. Cost: 45
    flip-flops.

    Parameters
    ----------
    rows : int
        Queue pairs, a power of two, 2 or more.

    Members
    -------
    index : In(16)
        Queue pair that a command is for.
    fetch, clear : In(1)
        Strobes; those of one cycle are one command.
    busy : Out(1)
        A command is being executed.
    range_error, overrun : Out(1)
        Strobes: a command for one that does not exist; a command while busy. Both are ignored.
    o : Out(stream.Signature(queue_read_layout(rows)))
    done : In(1)
        The command was executed.
    sweep : In(1)
        Strobe: clear every queue pair, from the first one, also while that is being done.
    sweeping : Out(1)
        A sweep is not over.

    Usage
    -----
    ::

        m.submodules.window = window = ReadWindow(64)
        m.d.comb += [
            window.index.eq(row),
            window.fetch.eq(word_stb),
            window.o.ready.eq(1),  # a memory reads the row of window.o.payload.qp,
        ]
        m.d.sync += window.done.eq(window.o.valid)  # and has it a cycle later
    """

    o: stream.Interface

    def __init__(self, rows: int) -> None:
        self._rows = rows
        super().__init__(
            {
                "index": In(16),
                "fetch": In(1),
                "clear": In(1),
                "busy": Out(1),
                "range_error": Out(1),
                "overrun": Out(1),
                "o": Out(stream.Signature(queue_read_layout(rows))),
                "done": In(1),
                "sweep": In(1),
                "sweeping": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        strobe, exists = Signal(), Signal()
        # The host's command, when it comes during a step of the sweep; the queue pair that is next.
        waits, of_sweep, last = Signal(), Signal(), Signal()
        ask, swept = Signal.like(self.o.payload), Signal.like(self.o.payload.qp)
        m.d.comb += [
            strobe.eq(self.fetch | self.clear),
            exists.eq(self.index < self._rows),
            self.busy.eq(waits | ~of_sweep),
            self.overrun.eq(strobe & self.busy),
            self.range_error.eq(strobe & ~self.busy & ~exists),
        ]
        with m.If(strobe & ~self.busy & exists):
            m.d.sync += [waits.eq(1), ask.qp.eq(self.index), ask.clear.eq(self.clear)]  # not silent
        with m.FSM(name="command"):
            with m.State("IDLE"):
                m.d.comb += self.busy.eq(waits)
                with m.If(waits):
                    m.d.sync += [self.o.payload.eq(ask), waits.eq(0), of_sweep.eq(0)]
                    m.next = "ISSUE"
                with m.Elif(strobe):
                    m.d.sync += [
                        self.o.payload.qp.eq(self.index),
                        self.o.payload.clear.eq(self.clear),
                        self.o.payload.silent.eq(0),
                        waits.eq(0),
                        of_sweep.eq(0),
                    ]
                    with m.If(exists):
                        m.next = "ISSUE"
                with m.Elif(self.sweeping):
                    m.d.sync += [
                        self.o.payload.qp.eq(swept),
                        self.o.payload.clear.eq(1),
                        self.o.payload.silent.eq(1),
                        swept.eq(swept + 1),
                        last.eq(swept == self._rows - 1),
                        of_sweep.eq(1),
                    ]
                    m.next = "ISSUE"
            with m.State("ISSUE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "WAIT"
            with m.State("WAIT"), m.If(self.done):
                m.next = "IDLE"
                with m.If(of_sweep & last):
                    m.d.sync += self.sweeping.eq(0)
        with m.If(self.sweep):
            m.d.sync += [swept.eq(0), last.eq(0), self.sweeping.eq(1)]
        return m


def attach_rows(
    m: Module,
    bank: RegisterBank,
    block: str,
    registers: tuple[Register, ...],
    rows: int,
    look: stream.Interface,
    look_stb: Value,
    row: Value,
) -> None:
    """Put a window on rows between a bank and the block that has them.

    Parameters
    ----------
    m : Module
        Of the NIC; the window becomes its submodule.
    bank : RegisterBank
    block : str
        The register block's name, lower case.
    registers : tuple of Register
        What shows a row; each field has the name of the row's.
    rows : int
        A power of two, 2 or more.
    look : stream.Interface
        Takes the number of the row that is read.
    look_stb, row : Value
        Strobe: the row is there; it is shown from the next cycle on.
    """
    m.submodules[f"{block}_window"] = window = ReadWindow(rows)
    connect_window(m, bank, block, (), window, ("fetch",))
    kept = Signal(row.shape(), name=f"{block}_row")
    with m.If(look_stb):
        m.d.sync += kept.eq(row)
    m.d.comb += [
        look.valid.eq(window.o.valid),
        look.payload.eq(window.o.payload.qp),
        window.o.ready.eq(look.ready),
        window.done.eq(look_stb),
        *(
            getattr(bank, port(block, register.name, field.name)).eq(kept[field.name])
            for register in registers
            for field in register.fields
        ),
    ]
