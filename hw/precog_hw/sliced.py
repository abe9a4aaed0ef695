"""Deep rows of state as slices that are side by side, so that no word is chosen after the RAM.

A block RAM of 16 Kibit is 16,384 x 1, 8,192 x 2, ... 1,024 x 16 bits. Synthesis fills it with wide
rows, where it has the parity bits, too, and chooses among many RAMs behind them: a multiplexer for
each bit and a decoder of writes, which double with the rows. A slice is as narrow as the depth
demands, so that one RAM holds it whole. UltraScale+ has RAMs of the same shapes.
"""

from amaranth.hdl import Elaboratable, Module, Shape, ShapeLike, Value, unsigned
from amaranth.lib.memory import Memory, ReadPort, WritePort

__all__ = ["SlicedMemory", "slice_width"]

_RAM_BITS = 1 << 14  # of a block RAM, parity aside
_PARITY_ROWS = 1 << 11  # up to which a block RAM has a ninth bit for each byte


def slice_width(depth: int) -> int | None:
    """Bits of a row of which one block RAM holds `depth` rows; None: as many as synthesis likes.

    Rows beyond 16,384 take several RAMs for each bit.
    """
    if depth < _PARITY_ROWS:
        return None
    if depth == _PARITY_ROWS:
        return _RAM_BITS // depth * 9 // 8
    return max(1, _RAM_BITS // depth)


class SlicedMemory(Elaboratable):
    """`Memory` of `slice_width(depth)` bits each, with common ports; zeros at power-up.

    Latency: 1 cycle. Throughput: as the RAM. Cost: up to an eighth more block RAMs than rows that
    are stored across, whose parity bits hold state; no logic up to 16,384 rows.

    Parameters
    ----------
    shape : ShapeLike
        Of a row.
    depth : int
        Rows, 2,048 or more.
    attrs : dict
        Of each slice.

    Raises
    ------
    ValueError
        There are fewer rows: a memory as it is will do.
    """

    def __init__(self, shape: ShapeLike, depth: int, attrs: dict[str, int | str]) -> None:
        width = slice_width(depth)
        if width is None:
            raise ValueError(
                f"depth must be {_PARITY_ROWS} or more to be sliced, not {depth}: take Memory"
            )
        self._shape, self._depth, self._attrs, self._width = shape, depth, attrs, width
        self._reads: list[ReadPort] = []
        self._writes: list[WritePort] = []

    def write_port(self) -> WritePort:
        """One more writer: `en`, `addr` and `data`, to be driven."""
        addr_width = (self._depth - 1).bit_length()
        port = WritePort.Signature(addr_width=addr_width, shape=self._shape).create()
        self._writes.append(port)
        return port

    def read_port(self) -> ReadPort:
        """One more reader: `en` and `addr`, to be driven, and `data`, a cycle later."""
        addr_width = (self._depth - 1).bit_length()
        port = ReadPort.Signature(addr_width=addr_width, shape=self._shape).create()
        self._reads.append(port)
        return port

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = Shape.cast(self._shape).width
        for low in range(0, width, self._width):
            bits = slice(low, min(low + self._width, width))
            part = Memory(
                shape=unsigned(bits.stop - low), depth=self._depth, init=[], attrs=self._attrs
            )
            m.submodules[f"bits{low}"] = part
            for port in self._writes:
                write = part.write_port()
                m.d.comb += [
                    write.en.eq(port.en),
                    write.addr.eq(port.addr),
                    write.data.eq(Value.cast(port.data)[bits]),
                ]
            for port in self._reads:
                read = part.read_port()
                m.d.comb += [
                    read.en.eq(port.en),
                    read.addr.eq(port.addr),
                    Value.cast(port.data)[bits].eq(read.data),
                ]
        return m
