"""The headers of a CNP, two bytes per cycle."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, ValueLike, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.packet.icrc_masks import icrc_masks
from precog_hw.packet.layouts import CNP_CONFIG
from precog_spec.frames.cps import CNP_MARK, SCORE_NONE
from precog_spec.frames.headers import (
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
from precog_spec.frames.layout import Header
from precog_spec.frames.opcodes import CNP

__all__ = ["JOB", "CnpHeaders", "cnp_length"]

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
_UDP_BYTES = UDP.size + BTH.size + CNP_PAYLOAD.size + ICRC_BYTES


def cnp_length(ipv6: bool, tags: int) -> int:
    """Bytes of a CNP without FCS."""
    return ETHERNET.size + tags * VLAN.size + (IPV6 if ipv6 else IPV4).size + _UDP_BYTES


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


class CnpHeaders(wiring.Component):
    """A CNP from its first byte to the ICRC, which is not part of it; IPv4 checksum 0.

    Latency: the first word stands in `word` 2 cycles after `start`. Throughput: one word per cycle,
    without a pause. Cost: see `NotificationPoint`.

    Members
    -------
    start : In(1)
        Strobe: begin, at the earliest in the cycle after `last`.
    job : In(JOB)
        Must hold until `last`.
    config : In(CNP_CONFIG)
        As above, or the CNP may be of both states.
    valid : Out(1)
        The others count.
    last : Out(1)
        No word follows.
    word : Out(16)
        Two bytes, the first in bits 7:0.
    mask : Out(16)
        Ones in the bits that the ICRC does not cover.
    covered : Out(1)
        The word belongs to IP or what follows.
    summed : Out(1)
        The word belongs to an IPv4 header.
    """

    start: In(1)
    job: In(JOB)
    config: In(CNP_CONFIG)
    valid: Out(1)
    last: Out(1)
    word: Out(16)
    mask: Out(16)
    covered: Out(1)
    summed: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words, masks, (tags, ethertype, ipv4, ipv6, udp) = self._program()
        step = Signal(range(len(words)))
        running = Signal()
        final = Signal()
        m.d.comb += final.eq(step == len(words) - 1)
        with m.If(self.start):
            m.d.sync += [step.eq(0), running.eq(1)]
        with m.Elif(running):
            # On to the next header that the CNP has.
            m.d.sync += [step.eq(step + 1), running.eq(~final)]
            for count in range(MAX_TAGS):
                with m.If((step == tags - 1 + count * VLAN.size // 2) & (self.job.tags == count)):
                    m.d.sync += step.eq(ethertype)
            with m.If((step == ethertype) & self.job.ipv6):
                m.d.sync += step.eq(ipv6)
            with m.If(step == ipv6 - 1):
                m.d.sync += step.eq(udp)
        m.d.sync += [
            self.valid.eq(running),
            self.last.eq(final),
            self.word.eq(Array(words)[step]),
            self.mask.eq(Array(masks)[step]),
            self.covered.eq(step >= ipv4),
            self.summed.eq((step >= ipv4) & (step < ipv6)),
        ]
        return m

    def _program(self) -> tuple[list[Value], list[int], list[int]]:
        """Words, ICRC masks, and the first word of tags, EtherType, IPv4, IPv6 and UDP."""
        config, job = self.config, self.job
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
        sections = (addresses, vlan, ethertype, ipv4, ipv6, [*udp, *bth, *payload])
        words = [word for section in sections for word in section]
        starts = [sum(map(len, sections[:n])) for n in range(1, len(sections))]
        masks = bytes(2 * starts[2]) + icrc_masks(False)[: IPV4.size] + icrc_masks(True)
        masks = masks.ljust(2 * len(words), b"\0")
        pairs = [int.from_bytes(masks[n : n + 2], "little") for n in range(0, len(masks), 2)]
        return words, pairs, starts
