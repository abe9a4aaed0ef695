"""The host's registers of several NICs behind one AXI4-Lite interface."""

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.axil import AxiLite, Resp

__all__ = ["ADDRESS_BITS", "AppControl"]

ADDRESS_BITS = 32


class AppControl(wiring.Component):
    """One AXI4-Lite slave, whose address space is divided among several.

    NIC n has the addresses from n * 2**`address_bits` on; every access beyond the last one's is
    refused with SLVERR and reads as 0, like those to a hole in a NIC's own map.

    Latency: 2 cycles for a request and 1 for its answer. Throughput: one read and one write may be
    outstanding. Cost: about 180 flip-flops.

    Parameters
    ----------
    count : int
        NICs, 1 or more.
    address_bits : int
        Width of a NIC's byte address.

    Members
    -------
    s_axil : In(AxiLite(32))
    m_axil : Out
        Members of `AxiLite(address_bits)`, each `count` times side by side, NIC 0 in the low bits.

    Raises
    ------
    ValueError
        `count` is too small, or the NICs do not fit 32 bits of address.
    """

    def __init__(self, count: int, address_bits: int) -> None:
        if count < 1:
            raise ValueError(f"count of NICs must be 1 or more, not {count!r}")
        if (count << address_bits).bit_length() > ADDRESS_BITS:
            raise ValueError(
                f"{count} NICs with {address_bits} bits of address must fit {ADDRESS_BITS} bits"
            )
        self._count = count
        self._address_bits = address_bits
        single = AxiLite(address_bits).members
        super().__init__(
            {
                "s_axil": In(AxiLite(ADDRESS_BITS)),
                "m_axil": Out(
                    wiring.Signature(
                        {name: member.flow(member.shape * count) for name, member in single.items()}
                    )
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        s, to = self.s_axil, self.m_axil
        aw, ar = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
        awprot, arprot = Signal(3), Signal(3)
        w = Signal(32 + 4)
        aw_full, w_full, ar_full = Signal(), Signal(), Signal()
        m.d.comb += [s.awready.eq(~aw_full), s.wready.eq(~w_full), s.arready.eq(~ar_full)]
        with m.If(s.awvalid & s.awready):
            m.d.sync += [aw_full.eq(1), aw.eq(s.awaddr), awprot.eq(s.awprot)]
        with m.If(s.wvalid & s.wready):
            m.d.sync += [w_full.eq(1), w.eq(Cat(s.wdata, s.wstrb))]
        with m.If(s.arvalid & s.arready):
            m.d.sync += [ar_full.eq(1), ar.eq(s.araddr), arprot.eq(s.arprot)]
        with m.If(s.bvalid & s.bready):
            m.d.sync += [s.bvalid.eq(0), aw_full.eq(0), w_full.eq(0)]
        with m.If(s.rvalid & s.rready):
            m.d.sync += [s.rvalid.eq(0), ar_full.eq(0)]

        count, low = self._count, self._address_bits
        m.d.comb += [
            to.awaddr.eq(aw[:low].replicate(count)),
            to.awprot.eq(awprot.replicate(count)),
            to.araddr.eq(ar[:low].replicate(count)),
            to.arprot.eq(arprot.replicate(count)),
            to.wdata.eq(w[:32].replicate(count)),
            to.wstrb.eq(w[32:].replicate(count)),
        ]
        writes, reads = aw_full & w_full & ~s.bvalid, ar_full & ~s.rvalid
        self._ask(m, writes, aw, "aw", "b")
        self._ask(m, writes, aw, "w", "b")
        self._ask(m, reads, ar, "ar", "r")
        with m.If(self._answered(m, writes, aw, "b")):
            m.d.sync += [s.bvalid.eq(1), s.bresp.eq(self._pick(aw, to.bresp, 2, Resp.SLVERR))]
        with m.If(self._answered(m, reads, ar, "r")):
            m.d.sync += [
                s.rvalid.eq(1),
                s.rresp.eq(self._pick(ar, to.rresp, 2, Resp.SLVERR)),
                s.rdata.eq(self._pick(ar, to.rdata, 32, 0)),
            ]
        return m

    def _chosen(self, address: Value) -> list[Value]:
        """Which NIC an address is in."""
        place = address[self._address_bits :]
        return [place == n for n in range(self._count)]

    def _ask(self, m: Module, wanted: Value, address: Value, channel: str, answer: str) -> None:
        """Offer a request on one channel until it is taken, once."""
        valid, ready = (getattr(self.m_axil, f"{channel}{end}") for end in ("valid", "ready"))
        asked = Signal(name=f"{channel}_asked")
        m.d.comb += valid.eq(Cat(self._chosen(address)) & (wanted & ~asked).replicate(self._count))
        with m.If((valid & ready).any()):
            m.d.sync += asked.eq(1)
        done = getattr(self.s_axil, f"{answer}valid") & getattr(self.s_axil, f"{answer}ready")
        with m.Elif(done):
            m.d.sync += asked.eq(0)

    def _answered(self, m: Module, wanted: Value, address: Value, channel: str) -> Value:
        """The answer is there; at once where there is no NIC."""
        chosen = Cat(self._chosen(address))
        valid, ready = (getattr(self.m_axil, f"{channel}{end}") for end in ("valid", "ready"))
        m.d.comb += ready.eq(chosen & wanted.replicate(self._count))
        return wanted & (~chosen.any() | (valid & ready).any())

    def _pick(self, address: Value, values: Value, width: int, other: int) -> Value:
        """The chosen NIC's value."""
        chosen = Cat(self._chosen(address))
        parts = [
            values.word_select(n, width) & chosen[n].replicate(width) for n in range(self._count)
        ]
        nowhere = Array([other, 0])[chosen.any()]
        value: Value = nowhere
        for part in parts:
            value = value | part
        return value
