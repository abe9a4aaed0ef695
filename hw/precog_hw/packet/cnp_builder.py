"""CNPs as packets: the answer to a data packet that a switch has marked.

InfiniBand Architecture Specification 1, annex A17; rules are those of `make_cnp` in
`precog_models.packet.cnp`: addresses swapped, VLAN tags and UDP source port kept, valid ICRC.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, ValueLike, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.packet.icrc_check import ICRC_START, crc_state, icrc_masks
from precog_hw.packet.layouts import CNP_CONFIG
from precog_hw.packet.linear import xor_network
from precog_hw.stream.packet import packet_signature
from precog_models.contract import Fmt
from precog_models.packet.wire.cps import CNP_MARK, SCORE_NONE
from precog_models.packet.wire.headers import (
    BTH,
    CNP_PAYLOAD,
    ETHERNET,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ICRC_BYTES,
    IPV4,
    IPV4_WORDS,
    IPV6,
    MAX_TAGS,
    PROTOCOL_UDP,
    ROCE_PORT,
    UDP,
    VLAN,
)
from precog_models.packet.wire.layout import Header
from precog_models.packet.wire.opcodes import CNP

__all__ = ["JOB", "CnpBuilder"]

#: What a CNP is made of, from the packet that it answers. Bytes in order of transmission, the first
#: in the most significant place.
JOB = data.StructLayout(
    {
        "ipv6": unsigned(1),
        "tags": unsigned(2),
        "macs": unsigned(96),  # destination, source
        "vlan": unsigned(64),  # two tags
        "local": unsigned(128),
        "remote": unsigned(128),
        "udp_source": unsigned(16),
        "dest_qp": unsigned(24),  # the sender's
        "score": unsigned(8),  # for mode C
    }
)

_DEFAULT_P_KEY = 0xFFFF
_STATE_BITS = 8 * ICRC_BYTES
_UDP_BYTES = UDP.size + BTH.size + CNP_PAYLOAD.size + ICRC_BYTES
_MAX_BYTES = ETHERNET.size + MAX_TAGS * VLAN.size + IPV6.size + _UDP_BYTES
_SUM_BITS = 16 + (IPV4.size // 2 - 1).bit_length()


def _halfword_crc(value: int) -> int:
    """State after two bytes, from the state and them: ``state | bytes << 32``."""
    state, part = value & ((1 << _STATE_BITS) - 1), value >> _STATE_BITS
    return crc_state(state, part.to_bytes(2, "little"))


def _halfwords(header: Header, **values: ValueLike) -> list[Value]:
    """A header two bytes at a time, the first in bits 7:0; a field that is not named is 0."""
    fields = []
    for name, field in header.fields.items():
        value = Value.cast(values.get(name, 0))
        fields.append(Cat(value, Const(0, field.bits))[: field.bits])
    whole = Cat(reversed(fields))
    return [
        Cat(whole[end - 8 : end], whole[end - 16 : end - 8]) for end in range(len(whole), 0, -16)
    ]


class CnpBuilder(wiring.Component):
    """One CNP at a time: written two bytes per cycle, then sent beat by beat without a gap.

    ::

        job ─► [two bytes of each header] ─┬─► frame memory ─► beats
                                           ├─► ICRC ───► ^
                                           └─► IPv4 checksum

    The IPv4 checksum goes in last: the ICRC does not cover it.

    Latency: from a job's offer to its first beat's, `latency(ipv6, tags)` cycles: 40 for IPv4, 50
    for IPv6, 2 more for each tag. Throughput: one CNP in that time and one cycle per beat: at 512
    bits 42 cycles for IPv4 without tags. Cost: @COST@

    Parameters
    ----------
    width : int
        Bits of a beat.

    Members
    -------
    i_job : In(stream.Signature(JOB))
        Taken when the CNP's last beat is.
    o : Out(packet_signature(width))
        `user`: no error, tag 0, `time` = `now` when the first beat is offered.
    config : In(CNP_CONFIG)
        Registers; a change shows in the CNPs that are not being written yet.
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
        return (_length(ipv6, tags) - ICRC_BYTES) // 2 + 5

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

        # First stage: two bytes of the headers. Second stage: into the frame and the sums.
        starts, running, last_step = Signal(), Signal(), Signal()
        step = self._steps(m, job, starts, running, last_step)
        words, masks, first_covered, checksummed = self._program(job)
        word, mask = Signal(16), Signal(16)
        written, covered, summed = Signal(), Signal(), Signal()
        m.d.sync += [
            word.eq(Array(words)[step]),
            mask.eq(Array(masks)[step]),
            written.eq(running),
            covered.eq(running & (step >= first_covered)),
            summed.eq(running & (step >= checksummed.start) & (step < checksummed.stop)),
        ]

        crc, fed = Signal(_STATE_BITS), Signal(_STATE_BITS + 16)
        m.d.comb += fed.eq(Cat(crc, word | mask))
        with m.If(starts):
            m.d.sync += crc.eq(ICRC_START)
        with m.Elif(covered):
            m.d.sync += crc.eq(xor_network(_halfword_crc, fed, _STATE_BITS))

        # A ones' complement sum has no byte order; the checksum is needed only after the last word.
        total, folded, checksum = Signal(_SUM_BITS), Signal(17), Signal(16)
        with m.If(starts):
            m.d.sync += total.eq(0)
        with m.Elif(summed):
            m.d.sync += total.eq(total + word)
        m.d.sync += [
            folded.eq(total[:16] + total[16:]),
            checksum.eq(~(folded[:16] + folded[16])),
        ]

        at = Signal(range(_MAX_BYTES // 2))  # two bytes to be written next
        place, value = Signal.like(at), Signal(16)
        m.d.comb += [
            place.eq(at),
            value.eq(word),
            write.data.eq(value.replicate(halves)),
            write.addr.eq(place // halves),
        ]
        stores = Signal()
        with m.If(stores):
            m.d.comb += write.en.eq(1 << (place % halves))
        with m.If(starts):
            m.d.sync += at.eq(0)

        size = self._width // 8
        lengths = [_length(ipv6, tags) for ipv6 in (False, True) for tags in range(MAX_TAGS + 1)]
        case = Mux(job.ipv6, MAX_TAGS + 1, 0) + job.tags
        beat = Signal(range(-(-_MAX_BYTES // size)))
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

        with m.FSM(name="cnp"):
            with m.State("IDLE"):
                m.d.comb += starts.eq(self.i_job.valid)
                with m.If(self.i_job.valid):
                    m.next = "HEADERS"
            with m.State("HEADERS"):
                m.d.comb += [running.eq(1), stores.eq(written)]
                with m.If(written):
                    m.d.sync += at.eq(at + 1)
                with m.If(last_step):
                    m.next = "LAST WORD"
            with m.State("LAST WORD"):
                m.d.comb += stores.eq(1)
                m.d.sync += at.eq(at + 1)
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

    def _program(self, job: data.View) -> tuple[list[Value], list[int], int, range]:
        """Words and their ICRC masks by step, the first step of IP, the steps of IPv4."""
        config = self.config
        addresses = _halfwords(ETHERNET, destination=job.macs[:48], source=job.macs[48:])[:-1]
        vlan = _halfwords(Header("tags", ("both", 64)), both=job.vlan)
        types = Mux(job.ipv6, ETHERTYPE_IPV6, ETHERTYPE_IPV4)
        ethertype = _halfwords(Header("type", ("type", 16)), type=types)
        ipv4 = _halfwords(
            IPV4,
            version=4,
            ihl=IPV4_WORDS,
            dscp=config.dscp,
            ecn=config.ecn,
            total_length=IPV4.size + _UDP_BYTES,
            dont_fragment=1,
            ttl=config.ttl,
            protocol=PROTOCOL_UDP,
            source=job.local,
            destination=job.remote,
        )
        ipv6 = _halfwords(
            IPV6,
            version=6,
            dscp=config.dscp,
            ecn=config.ecn,
            payload_length=_UDP_BYTES,
            next_header=PROTOCOL_UDP,
            hop_limit=config.ttl,
            source=job.local,
            destination=job.remote,
        )
        udp = _halfwords(
            UDP, source_port=job.udp_source, destination_port=ROCE_PORT, length=_UDP_BYTES
        )
        bth = _halfwords(BTH, opcode=CNP, p_key=_DEFAULT_P_KEY, becn=1, dest_qp=job.dest_qp)
        marks = config.mode_c & (job.score != SCORE_NONE)
        payload = _halfwords(
            CNP_PAYLOAD, mark=Mux(marks, CNP_MARK, 0), score=Mux(marks, job.score, 0)
        )
        ethernet = [*addresses, *vlan, *ethertype]
        words = [*ethernet, *ipv4, *ipv6, *udp, *bth, *payload]
        masks = bytes(2 * len(ethernet)) + icrc_masks(False)[: IPV4.size] + icrc_masks(True)
        masks = masks.ljust(2 * len(words), b"\0")
        pairs = [int.from_bytes(masks[n : n + 2], "little") for n in range(0, len(masks), 2)]
        return words, pairs, len(ethernet), range(len(ethernet), len(ethernet) + len(ipv4))

    def _steps(
        self, m: Module, job: data.View, starts: Signal, running: Signal, last: Signal
    ) -> Signal:
        """Steps through `_program`, past the headers that the CNP does not have."""
        tag = ETHERNET["type"].byte // 2
        ethertype = tag + MAX_TAGS * VLAN.size // 2
        ipv4 = ethertype + 1
        ipv6 = ipv4 + IPV4.size // 2
        udp = ipv6 + IPV6.size // 2
        end = udp + (_UDP_BYTES - ICRC_BYTES) // 2
        step = Signal(range(end))
        m.d.comb += last.eq(running & (step == end - 1))
        with m.If(starts):
            m.d.sync += step.eq(0)
        with m.Elif(running):
            m.d.sync += step.eq(step + 1)
            for tags in range(MAX_TAGS):
                with m.If((step == tag + tags * VLAN.size // 2 - 1) & (job.tags == tags)):
                    m.d.sync += step.eq(ethertype)
            with m.If((step == ethertype) & job.ipv6):
                m.d.sync += step.eq(ipv6)
            with m.If(step == ipv6 - 1):
                m.d.sync += step.eq(udp)
        return step


def _length(ipv6: bool, tags: int) -> int:
    """Bytes of a CNP without FCS."""
    return ETHERNET.size + tags * VLAN.size + (IPV6 if ipv6 else IPV4).size + _UDP_BYTES
