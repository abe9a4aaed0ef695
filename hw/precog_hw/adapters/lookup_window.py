"""LOOKUP's other side: the host reads and writes cells of the QP table; reset empties it."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import registers_layout
from precog_hw.packet.qp_lookup import WAYS, cell_layout, table_access_layout
from precog_spec.frames.qp_key import IPV4_MAPPED, table_rows
from precog_spec.registers.model import Access
from precog_spec.registers.packet import LOOKUP_CELL

__all__ = ["CELL_WINDOW", "LookupWindow", "to_both"]

#: A cell as the registers show it.
CELL_WINDOW = registers_layout(LOOKUP_CELL, Access.RW)


class LookupWindow(wiring.Component):
    """Carries the host's accesses out, and frees every cell after reset.

    Latency: an access is offered in the cycle after its strobe; `busy` falls when it was taken, for
    a fetch when the cell has come. After reset it is busy for some 6 x `table_rows(slots)` cycles.
    Throughput: one access at a time. Cost: 200 flip-flops.

    Parameters
    ----------
    slots : int
        Of the table, a power of two, 2 or more.
    ipv6 : bool
        Otherwise a cell's address is the IPv4 address of its last 32 bits, whatever the others say.

    Members
    -------
    row, way : In(16), In(2)
        The cell.
    fetch, apply : In(1)
        Strobes: read, write; together they write.
    window : In(CELL_WINDOW)
        What `apply` writes.
    busy, ready : Out(1)
        A command is being executed; the table is empty since reset.
    range_error, overrun : Out(1)
        Strobes: a command for a cell that does not exist; a command while busy. Both are ignored.
    load : Out(1)
        `fetch` replaces the window by `loaded`.
    loaded : Out(CELL_WINDOW)
    o : Out(stream.Signature(table_access_layout(slots)))
        To the table.
    cell_stb, cell : In
        The table's answer to a read.
    """

    o: stream.Interface
    cell: data.View

    def __init__(self, slots: int, *, ipv6: bool = True) -> None:
        self._rows, self._ipv6 = table_rows(slots), ipv6
        super().__init__(
            {
                "row": In(16),
                "way": In(2),
                "fetch": In(1),
                "apply": In(1),
                "window": In(CELL_WINDOW),
                "busy": Out(1),
                "ready": Out(1),
                "range_error": Out(1),
                "overrun": Out(1),
                "load": Out(1),
                "loaded": Out(CELL_WINDOW),
                "o": Out(stream.Signature(table_access_layout(slots))),
                "cell_stb": In(1),
                "cell": In(cell_layout(slots)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        access, walking, strobe = self.o.payload, Signal(init=1), Signal()
        window, cell = self.window, self.cell
        address = Cat(*(window[f"remote_{n}"] for n in range(4)))
        if not self._ipv6:
            address = window["remote_0"] | Const(IPV4_MAPPED, len(address))
        row, way, read = Signal.like(access.row), Signal.like(access.way), Signal()
        m.d.comb += [
            strobe.eq(self.fetch | self.apply),
            access.row.eq(row),
            access.way.eq(way),
            access.read.eq(read),
            access.cell.slot.eq(window.slot),
            access.cell.valid.eq(window.valid & ~walking),
            access.cell.key.qpn.eq(window.qpn),
            access.cell.key.direction.eq(window.direction),
            access.cell.key.remote.eq(address),
            self.loaded.slot.eq(cell.slot),
            self.loaded.valid.eq(cell.valid),
            self.loaded.qpn.eq(cell.key.qpn),
            self.loaded.direction.eq(cell.key.direction),
            *(
                self.loaded[f"remote_{n}"].eq(cell.key.remote[32 * n : 32 * n + 32])
                for n in range(4)
            ),
            self.busy.eq(1),
            self.ready.eq(~walking),
            self.overrun.eq(strobe & self.busy),
        ]
        exists = (self.row < self._rows) & (self.way < WAYS)
        with m.FSM(name="access"):
            with m.State("ISSUE"):  # the first state after reset: free the first cell
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    with m.If(walking):
                        m.d.sync += way.eq(Mux(way == WAYS - 1, 0, way + 1))
                        with m.If(way == WAYS - 1):
                            m.d.sync += row.eq(row + 1)
                            with m.If(row == self._rows - 1):
                                m.d.sync += walking.eq(0)
                                m.next = "IDLE"
                    with m.Elif(read):
                        m.next = "ANSWER"
                    with m.Else():
                        m.next = "IDLE"
            with m.State("ANSWER"), m.If(self.cell_stb):
                m.d.comb += self.load.eq(1)
                m.next = "IDLE"
            with m.State("IDLE"):
                m.d.comb += self.busy.eq(0)
                m.d.sync += [row.eq(self.row), way.eq(self.way), read.eq(~self.apply)]
                with m.If(strobe):
                    with m.If(exists):
                        m.next = "ISSUE"
                    with m.Else():
                        m.d.comb += self.range_error.eq(1)
        return m


def to_both(
    m: Module, source: stream.Interface, table: stream.Interface, copy: stream.Interface
) -> None:
    """A write of the host for two tables, which take it when they can; a read for the first.

    Its cell may come before the copy would take the read.
    """
    done = Signal(2)
    taken = [done[0] | table.ready, done[1] | copy.ready | source.payload.read]
    m.d.comb += [
        source.ready.eq(Cat(taken).all()),
        table.valid.eq(source.valid & ~done[0]),
        copy.valid.eq(source.valid & ~done[1] & ~source.payload.read),
        table.payload.eq(source.payload),
        copy.payload.eq(source.payload),
    ]
    m.d.sync += done.eq(Mux(source.valid & ~source.ready, Cat(taken), 0))
