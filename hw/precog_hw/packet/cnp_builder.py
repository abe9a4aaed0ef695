"""CNPs as packets: the answer to a data packet that a switch has marked.

InfiniBand Architecture Specification 1, annex A17; rules are those of `make_cnp` in
`precog_models.packet.cnp`: addresses swapped, VLAN tags and UDP source port kept, valid ICRC.
"""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import In, Out

from precog_hw.packet.cnp_headers import JOB, CnpHeaders, cnp_length
from precog_hw.packet.icrc_masks import ICRC_START, crc_state
from precog_hw.packet.layouts import CNP_CONFIG
from precog_hw.packet.linear import xor_network
from precog_hw.stream.packet import packet_signature
from precog_spec.contract import Fmt
from precog_spec.frames.headers import ETHERNET, ICRC_BYTES, IPV4, MAX_TAGS, VLAN

__all__ = ["CnpBuilder"]

_STATE_BITS = 8 * ICRC_BYTES
_MAX_BYTES = cnp_length(ipv6=True, tags=MAX_TAGS)
_SUM_BITS = 16 + (IPV4.size // 2 - 1).bit_length()


def _halfword_crc(value: int) -> int:
    """State after two bytes, from the state and them: ``state | bytes << 32``."""
    state, part = value & ((1 << _STATE_BITS) - 1), value >> _STATE_BITS
    return crc_state(state, part.to_bytes(2, "little"))


class CnpBuilder(wiring.Component):
    """One CNP at a time: written two bytes per cycle, then sent beat by beat without a gap.

    ::

        job ─► [two bytes of each header] ─┬─► frame memory ─► beats
                                           ├─► ICRC ───► ^
                                           └─► IPv4 checksum

    The IPv4 checksum goes in last: the ICRC does not cover it.

    Latency: from a job's offer to its first beat's `latency(ipv6, tags)` cycles: 40 for IPv4, 50
    for IPv6, 2 more for each tag. Throughput: one CNP in that time and one cycle per beat: at 512
    bits 42 cycles for IPv4 without tags. Cost: see `NotificationPoint`.

    Parameters
    ----------
    width : int
        Bits of a beat.

    Members
    -------
    i_job : In(stream.Signature(JOB))
        Taken when the CNP's last beat is.
    o : Out(packet_signature(width))
        `user`: no error, tag 0, `time` = `now` in the cycle before the first beat's offer.
    config : In(CNP_CONFIG)
        Registers; a CNP that is being written while they change may be of both states.
    now : In(40)
        Ticks.

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`.
    """

    i_job: stream.Interface
    o: stream.Interface
    config: data.View
    now: Signal

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__(
            {
                "i_job": In(stream.Signature(JOB)),
                "o": Out(packet_signature(width)),
                "config": In(CNP_CONFIG),
                "now": In(Fmt.TIME.width),
            }
        )

    @staticmethod
    def latency(ipv6: bool, tags: int) -> int:
        """Cycles from a job's offer to that of its first beat."""
        return (cnp_length(ipv6, tags) - ICRC_BYTES) // 2 + 5

    def elaborate(self, platform: object) -> Module:
        m = Module()
        job = self.i_job.payload
        row_bits = max(self._width, 16)
        halves = row_bits // 16
        m.submodules.frame = frame = Memory(
            shape=unsigned(row_bits),
            depth=-(-8 * _MAX_BYTES // row_bits),
            init=[],
            attrs={"ram_style": "distributed"},
        )
        write, read = frame.write_port(granularity=16), frame.read_port(domain="comb")

        starts = Signal()
        m.submodules.headers = headers = CnpHeaders()
        m.d.comb += [
            headers.start.eq(starts),
            headers.job.eq(job),
            headers.config.eq(self.config),
        ]

        crc = self._icrc(m, headers, starts)
        checksum = self._checksum(m, headers, starts)

        at = Signal(range(_MAX_BYTES // 2))  # two bytes to be written next
        place, value = Signal.like(at), Signal(16)
        m.d.comb += [
            place.eq(at),
            value.eq(headers.word),
            write.data.eq(value.replicate(halves)),
            write.addr.eq(place // halves),
        ]
        stores = Signal()
        with m.If(stores):
            m.d.comb += write.en.eq(1 << (place % halves))
        with m.If(starts):
            m.d.sync += at.eq(0)

        beat = Signal(range(-(-8 * _MAX_BYTES // self._width)))
        last = self._offer(m, read, beat)
        with m.FSM(name="cnp"):
            with m.State("IDLE"):
                m.d.comb += starts.eq(self.i_job.valid)
                with m.If(self.i_job.valid):
                    m.next = "HEADERS"
            with m.State("HEADERS"):
                m.d.comb += stores.eq(headers.valid)
                with m.If(headers.valid):
                    m.d.sync += at.eq(at + 1)
                    with m.If(headers.last):
                        m.next = "CHECKSUM"
            with m.State("CHECKSUM"):
                field = IPV4["checksum"]
                m.d.comb += [
                    stores.eq(~job.ipv6),
                    place.eq((ETHERNET.size + field.byte) // 2 + job.tags * (VLAN.size // 2)),
                    value.eq(checksum),
                ]
                m.next = "ICRC LOW"
            with m.State("ICRC LOW"):
                m.d.comb += [stores.eq(1), value.eq(~crc[:16])]
                m.d.sync += at.eq(at + 1)
                m.next = "ICRC HIGH"
            with m.State("ICRC HIGH"):
                m.d.comb += [stores.eq(1), value.eq(~crc[16:])]
                m.d.sync += [beat.eq(0), self.o.payload.user.time.eq(self.now)]
                m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += [self.o.valid.eq(1), self.i_job.ready.eq(self.o.ready & last)]
                with m.If(self.o.ready):
                    m.d.sync += beat.eq(beat + 1)
                    with m.If(last):
                        m.next = "IDLE"
        return m

    @staticmethod
    def _icrc(m: Module, headers: CnpHeaders, starts: Signal) -> Signal:
        """The ICRC's state after the words so far."""
        crc = Signal(_STATE_BITS)
        fed = Signal(_STATE_BITS + 16)
        m.d.comb += fed.eq(Cat(crc, headers.word | headers.mask))
        with m.If(starts):
            m.d.sync += crc.eq(ICRC_START)
        with m.Elif(headers.valid & headers.covered):
            m.d.sync += crc.eq(xor_network(_halfword_crc, fed, _STATE_BITS))
        return crc

    @staticmethod
    def _checksum(m: Module, headers: CnpHeaders, starts: Signal) -> Signal:
        """IPv4's checksum, two cycles after its last word."""
        # A ones' complement sum has no byte order; the checksum is needed only after the last word.
        total, folded, checksum = Signal(_SUM_BITS), Signal(17), Signal(16)
        with m.If(starts):
            m.d.sync += total.eq(0)
        with m.Elif(headers.valid & headers.summed):
            m.d.sync += total.eq(total + headers.word)
        m.d.sync += [
            folded.eq(total[:16] + total[16:]),
            checksum.eq(~(folded[:16] + folded[16])),
        ]
        return checksum

    def _offer(self, m: Module, read: ReadPort, beat: Signal) -> Signal:
        """The frame's beat at the output; whether it is the last one."""
        size = self._width // 8
        lengths = [cnp_length(ipv6, tags) for ipv6 in (False, True) for tags in range(MAX_TAGS + 1)]
        job, row_bits = self.i_job.payload, len(read.data)
        case = Mux(job.ipv6, MAX_TAGS + 1, 0) + job.tags
        last = Signal()
        m.d.comb += [
            last.eq(beat == Array((length - 1) // size for length in lengths)[case]),
            read.addr.eq(beat * self._width // row_bits),
            self.o.payload.data.eq(
                read.data.word_select(beat[0], 8) if self._width < row_bits else read.data
            ),
            self.o.payload.keep.eq(
                Mux(last, Array((2 << (length - 1) % size) - 1 for length in lengths)[case], ~0)
            ),
            self.o.payload.last.eq(last),
        ]
        return last
