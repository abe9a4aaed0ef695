"""Lengths and Internet checksums of a packet that is edited: RFC 1624 equation 3, pipelined.

    HC' = ~(~HC + ~m + m')    in ones' complement, for every word m that becomes m'

A length that grows by n adds ~m + m + n = 0xFFFF + n, whatever it was: n alone in ones' complement.
The same holds of IPv4's DSCP, whose lowest bit counts 4.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.frames.cps import SHIM

from ..stream.delay import DelayLine
from .layouts import BECN_AT, Edit

__all__ = ["LATENCY", "UPDATED", "UPDATE_REQUEST", "HeaderUpdate"]

LATENCY = 5  # cycles
_DSCP_LSB = 2  # the two bits below are ECN's

#: A packet's fields as they are, and what is to be done. Words have their values in the standards.
UPDATE_REQUEST = data.StructLayout(
    {
        "edit": Edit,  # KEEP: only `resv` changes
        "becn": unsigned(1),  # and BECN in it becomes 1, with INSERT, too; 0 with REMOVE
        "dscp_step": signed(7),  # by which IPv4's DSCP grows; 0 with REMOVE
        "ip_length": unsigned(16),
        "ip_checksum": unsigned(16),
        "udp_length": unsigned(16),
        "udp_checksum": unsigned(16),
        "port_old": unsigned(16),  # INSERT and REMOVE
        "port_new": unsigned(16),
        "shim": unsigned(8 * SHIM.size),  # what goes in or out, first byte most significant
        "resv_old": unsigned(16),  # KEEP; both without what `becn` says
        "resv_new": unsigned(16),
    }
)

#: The fields as they are to be.
UPDATED = data.StructLayout(
    {
        "ip_length": unsigned(16),
        "ip_checksum": unsigned(16),  # means nothing for IPv6
        "udp_length": unsigned(16),
        "udp_checksum": unsigned(16),
    }
)


class HeaderUpdate(wiring.Component):
    """New lengths and checksums for insertion, removal, mode R and another DSCP.

    ::

        i ─► 8 words ─► [4 sums] ─► [2 sums] ─► [sum] ─► [carries added] ─► [again] ─► o

    Equal to the golden model for lengths that stay in 16 bits. A UDP checksum of 0 (none) stays 0.

    Latency: `LATENCY` cycles. Throughput: one packet per cycle; it cannot be stopped. Cost: 187
    LUT4, 112 carry cells, 233 flip-flops and 13 LUT RAM cells, at any width of the stream.

    Parameters
    ----------
    stays : bool
        `i` stays until `o` has been looked at: nothing waits in LUT RAM.

    Members
    -------
    i_stb : In(1)
    i : In(UPDATE_REQUEST)
    o_stb : Out(1)
    o : Out(UPDATED)
    """

    i_stb: In(1)
    i: In(UPDATE_REQUEST)
    o_stb: Out(1)
    o: Out(UPDATED)

    def __init__(self, *, stays: bool = False) -> None:
        self._stays = stays
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i = self.i
        insert, remove = i.edit == Edit.INSERT, i.edit == Edit.REMOVE
        resized = insert | remove

        # The UDP length counts twice: it stands in the pseudo-header too.
        words = [i.shim.word_select(n, 16) for n in range(SHIM.size // 2)]
        moved = [Mux(insert, word, Mux(remove, _not(word), 0)) for word in words]
        old, new = Mux(resized, i.port_old, i.resv_old), Mux(resized, i.port_new, i.resv_new)
        sums = [
            _registered(m, _not(i.udp_checksum) + _grown(insert, remove, 2 * SHIM.size, i.becn)),
            _registered(m, _not(old) + new),
            _registered(m, moved[0] + moved[1]),
            _registered(m, moved[2] + moved[3]),
        ]
        sums = [_registered(m, sums[0] + sums[1]), _registered(m, sums[2] + sums[3])]
        total = _registered(m, sums[0] + sums[1])
        carried = _registered(m, total[:16] + total[16:])
        grown = Mux(insert, SHIM.size, 0) + (i.dscp_step << _DSCP_LSB)
        ip_grown = Mux(remove, Const(0xFFFF - SHIM.size, 16), _ones_complement(grown))
        ip_sum = _registered(m, _not(i.ip_checksum) + ip_grown)

        # What is ready earlier waits for the rest.
        m.submodules.lengths = lengths = DelayLine(
            data.StructLayout({"ip": unsigned(16), "udp": unsigned(16)}), LATENCY, stays=self._stays
        )
        m.submodules.ip_checksum = ip_checksum = DelayLine(16, LATENCY - 1, stays=self._stays)
        m.submodules.none = none = DelayLine(1, LATENCY - 1, stays=self._stays)
        growth = Mux(insert, SHIM.size, Mux(remove, -SHIM.size, 0))
        strobes = Signal(LATENCY)
        m.d.sync += strobes.eq(Cat(self.i_stb, strobes[:-1]))
        m.d.comb += [
            lengths.i.ip.eq(i.ip_length + growth),
            lengths.i.udp.eq(i.udp_length + growth),
            ip_checksum.i.eq(_not(ip_sum[:16] + ip_sum[16:])),
            none.i.eq(i.udp_checksum == 0),
            self.o_stb.eq(strobes[-1]),
            self.o.ip_length.eq(lengths.o.ip),
            self.o.udp_length.eq(lengths.o.udp),
            self.o.ip_checksum.eq(ip_checksum.o),
        ]
        field = _not(carried[:16] + carried[16:])
        with m.If(none.o):
            m.d.sync += self.o.udp_checksum.eq(0)
        with m.Elif(carried == 0xFFFF):  # its complement would say that there is none
            m.d.sync += self.o.udp_checksum.eq(0xFFFF)
        with m.Else():
            m.d.sync += self.o.udp_checksum.eq(field)
        return m


def _grown(insert: Value, remove: Value, size: int, becn: Value) -> Value:
    """`size`, its negative or nothing in ones' complement, and BECN, whose bit `size` lacks."""
    resized = Mux(insert, Const(size, 16), Mux(remove, Const(0xFFFF - size, 16), 0))
    return resized | (becn << BECN_AT)


def _ones_complement(number: Value) -> Value:
    """A signed number in 16 bits."""
    sign = number[-1]
    return ((number - sign) & 0xFFFF)[:16]


def _not(word: Value) -> Value:
    """Ones' complement of 16 bits."""
    return ~word[:16]


def _registered(m: Module, value: Value) -> Signal:
    register = Signal(value.shape())
    m.d.sync += register.eq(value)
    return register
