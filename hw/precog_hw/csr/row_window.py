"""One row of many, as a register block shows it: memory of configurations and command sequencer.

::

    CSR window ─► [configurations] ─► o ─► their user
        ▲                │
        └── load ◄───────┘

After reset every row gets its initial configuration and is cleared: the sequencer walks over them.
A sweep clears every row and leaves its configuration; commands of the host go between its steps.
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory

__all__ = ["RowWindow", "row_command_layout"]


def row_command_layout(layout: data.StructLayout, rows: int) -> data.StructLayout:
    """What leaves a window: which commands, for which row, and its configuration."""
    return data.StructLayout(
        {
            "row": unsigned(max(1, (rows - 1).bit_length())),
            "apply": unsigned(1),
            "clear": unsigned(1),
            "fetch": unsigned(1),
            "config": layout,
        }
    )


class _Work:
    """The command at work, the host's when it comes during a step of the sweep, and both walks."""

    def __init__(self, row_bits: int) -> None:
        self.row = Signal(row_bits)
        self.apply = Signal()
        self.clear = Signal()
        self.fetch = Signal()
        self.walking = Signal(init=1)
        self.strobe = Signal()  # of the host
        self.exists = Signal()  # the row that it names
        self.waits = Signal()  # the host's command, while a step of the sweep is done
        self.ask = Signal(
            data.StructLayout({"apply": 1, "clear": 1, "fetch": 1, "row": row_bits}),
        )
        self.swept = Signal(row_bits)  # the row that is next
        self.last = Signal()  # the sweep's step is the last one


class RowWindow(wiring.Component):
    """Carries commands on rows out and keeps the rows' configuration.

    Latency: a command reaches `o` 3 cycles after its strobe, during a sweep once the row at work
    is done; `busy` falls once it was taken. After reset it is busy for `rows` commands. Throughput:
    one command at a time.
    Cost: a memory of `rows` configurations, and 70 flip-flops.

    Parameters
    ----------
    layout : data.StructLayout
        A row's configuration.
    rows : int
        Rows, 1 or more.
    init : dict, optional
        Configuration after reset; zeros without it.
    sweep_applies : bool
        A sweep's commands are `apply`, too, of the configuration that is there.

    Members
    -------
    index : In(16)
        Row that a command is for.
    fetch, apply, clear : In(1)
        Strobes; those of one cycle are one command.
    window : In(layout)
        Configuration that `apply` writes.
    busy : Out(1)
        A command is being executed.
    ready : Out(1)
        The walk after reset is over.
    range_error, overrun : Out(1)
        Strobes: a command for a row that does not exist; a command while busy. Both are ignored.
    load : Out(1)
        `fetch` replaces the window by `loaded`.
    loaded : Out(layout)
    o : Out(stream.Signature(row_command_layout(layout, rows)))
        Commands, with the configuration that is kept.
    captured : Out(1)
        The cycle in which the configuration is read for `o`: it offers it in the next one.
    wiped : Out(1)
        The walk writes row `o.payload.row`.
    sweep : In(1)
        Strobe: clear every row, from the first one, also while that is being done.
    sweeping : Out(1)
        A sweep is not over.
    of_sweep : Out(1)
        What `o` offers is the sweep's.

    Usage
    -----
    ::

        layout = data.StructLayout({"rate": 32})
        m.submodules.rows = rows = RowWindow(layout, rows=64, init={"rate": 1})
        m.d.comb += [
            rows.index.eq(row),
            rows.window.rate.eq(word),
            rows.apply.eq(word_stb),
            rows.o.ready.eq(1),  # rows.o.payload.config.rate goes to rows.o.payload.row
        ]
    """

    o: stream.Interface

    def __init__(
        self,
        layout: data.StructLayout,
        rows: int,
        init: dict[str, Any] | None = None,
        *,
        sweep_applies: bool = False,
    ) -> None:
        self._layout, self._rows, self._init = layout, rows, init or {}
        self._sweep_applies = sweep_applies
        super().__init__(
            {
                "index": In(16),
                "fetch": In(1),
                "apply": In(1),
                "clear": In(1),
                "window": In(layout),
                "busy": Out(1),
                "ready": Out(1),
                "range_error": Out(1),
                "overrun": Out(1),
                "load": Out(1),
                "loaded": Out(layout),
                "o": Out(stream.Signature(row_command_layout(layout, rows))),
                "captured": Out(1),
                "wiped": Out(1),
                "sweep": In(1),
                "sweeping": Out(1),
                "of_sweep": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = self._rows
        # No cycle has a write and a read.
        m.submodules.configs = configs = plain_memory(self._layout, rows)
        write, read = configs.write_port(), configs.read_port()

        command = self.o.payload
        at = _Work(len(command.row))
        m.d.comb += [
            at.strobe.eq(self.fetch | self.apply | self.clear),
            write.addr.eq(at.row),
            write.data.eq(Mux(at.walking, self._layout.const(self._init), self.window.as_value())),
            read.addr.eq(at.row),
            read.en.eq(self.captured),
            self.loaded.eq(read.data),
            command.row.eq(at.row),
            command.apply.eq(at.apply),
            command.clear.eq(at.clear),
            command.fetch.eq(at.fetch),
            command.config.eq(read.data),
            at.exists.eq(self.index < rows),
            self.busy.eq(at.waits | ~self.of_sweep),
            self.ready.eq(~at.walking),
            self.wiped.eq(at.walking & write.en),
            self.overrun.eq(at.strobe & self.busy),
            self.range_error.eq(at.strobe & ~self.busy & ~at.exists),
        ]
        with m.If(at.strobe & ~self.busy & at.exists):
            m.d.sync += [
                at.waits.eq(1),
                at.ask.apply.eq(self.apply),
                at.ask.clear.eq(self.clear),
                at.ask.fetch.eq(self.fetch),
                at.ask.row.eq(self.index),
            ]
        with m.FSM(name="command"):
            with m.State("WALK"):  # the first state after reset
                m.d.sync += [at.apply.eq(1), at.clear.eq(1)]
                m.next = "WRITE"
            self._choose(m, at)
            with m.State("WRITE"):
                m.d.comb += write.en.eq(at.apply)
                m.next = "READ"
            with m.State("READ"):
                m.d.comb += self.captured.eq(1)
                m.next = "ISSUE"
            self._issue(m, at)
        with m.If(self.sweep):
            m.d.sync += [at.swept.eq(0), at.last.eq(0), self.sweeping.eq(1)]
        return m

    def _choose(self, m: Module, at: _Work) -> None:
        """IDLE: the host's command comes before a step of the sweep."""
        with m.State("IDLE"):
            m.d.comb += self.busy.eq(at.waits)
            with m.If(at.waits):
                m.d.sync += [
                    at.row.eq(at.ask.row),
                    at.apply.eq(at.ask.apply),
                    at.clear.eq(at.ask.clear),
                    at.fetch.eq(at.ask.fetch),
                    at.waits.eq(0),
                    self.of_sweep.eq(0),
                ]
                m.next = "WRITE"
            with m.Elif(at.strobe):
                m.d.sync += [
                    at.row.eq(self.index),
                    at.apply.eq(self.apply),
                    at.clear.eq(self.clear),
                    at.fetch.eq(self.fetch),
                    at.waits.eq(0),
                    self.of_sweep.eq(0),
                ]
                with m.If(at.exists):
                    m.next = "WRITE"
            with m.Elif(self.sweeping):
                m.d.sync += [
                    at.row.eq(at.swept),
                    at.apply.eq(self._sweep_applies),
                    at.clear.eq(1),
                    at.fetch.eq(0),
                    self.of_sweep.eq(1),
                    at.swept.eq(at.swept + 1),
                    at.last.eq(at.swept == self._rows - 1),
                ]
                m.next = "READ"

    def _issue(self, m: Module, at: _Work) -> None:
        """ISSUE: offer the command; the walk after reset and the sweep end with their last row."""
        with m.State("ISSUE"):
            m.d.comb += self.o.valid.eq(1)
            with m.If(self.o.ready):
                m.d.comb += self.load.eq(at.fetch)
                m.next = "IDLE"
                with m.If(self.of_sweep & at.last):
                    m.d.sync += self.sweeping.eq(0)
                with m.If(at.walking):
                    m.d.sync += at.row.eq(at.row + 1)
                    m.next = "WALK"
                    with m.If(at.row == self._rows - 1):
                        m.d.sync += at.walking.eq(0)
                        m.next = "IDLE"
