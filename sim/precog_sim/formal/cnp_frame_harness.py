"""The CNP builder between free jobs and an arbitrary consumer; see `cnp_frame`."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

from amaranth.hdl import Array, Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from .mutate import reimported
from .packets import assert_rules, assume_stream
from .past import Past
from .peek import Opened, free

__all__ = ["BUILDER", "HEADERS", "FrameHarness"]

HEADERS, BUILDER = "precog_hw.packet.cnp_headers", "precog_hw.packet.cnp_builder"
_TAG_WORDS = 2
_ICRC_WORDS = 2
#: Cycles from the last word of the headers' place in the frame to the first beat, and from a word's
#: place to its being written.
_SENDS, _WRITES = 5, 2


class Sections(NamedTuple):
    """Words of two bytes in each part of the headers, and the IPv4 checksum's place in its own."""

    addresses: int
    tags: int
    ethertype: int
    ipv4: int
    ipv6: int
    udp: int
    checksum: int

    def words(self, ipv6: bool, tags: int) -> int:
        """Of a CNP before the ICRC."""
        network = self.ipv6 if ipv6 else self.ipv4
        return self.addresses + _TAG_WORDS * tags + self.ethertype + network + self.udp


_SHORT = Sections(addresses=1, tags=4, ethertype=1, ipv4=2, ipv6=3, udp=1, checksum=1)


def _real() -> Sections:
    from precog_spec.frames import headers as wire

    return Sections(
        addresses=wire.ETHERNET.size // 2 - 1,
        tags=wire.MAX_TAGS * wire.VLAN.size // 2,
        ethertype=1,
        ipv4=wire.IPV4.size // 2,
        ipv6=wire.IPV6.size // 2,
        udp=(wire.UDP.size + wire.BTH.size + wire.CNP_PAYLOAD.size) // 2,
        checksum=wire.IPV4["checksum"].byte // 2,
    )


@contextmanager
def _builder(short: bool) -> Iterator[Any]:
    """The builder's module, values free; with `short` headers of few words."""
    headers: Any
    module: Any
    with reimported(HEADERS) as headers:
        program = headers.CnpHeaders._program

        def any_words(self: Any) -> tuple[list[Value], list[int], list[int]]:
            if short:
                starts = [sum(_SHORT[:n]) for n in range(1, 6)]
                count = sum(_SHORT[:6])
            else:
                words, _, starts = program(self)
                count = len(words)
            return [free(16)] * count, [0] * count, starts

        def short_length(ipv6: bool, tags: int) -> int:
            return 2 * (_SHORT.words(ipv6, tags) + _ICRC_WORDS)

        headers.CnpHeaders._program = any_words
        if short:
            headers.cnp_length = short_length
        with reimported(BUILDER) as module:
            module.xor_network = lambda function, value, bits: free(bits)
            if short:
                module.ETHERNET = SimpleNamespace(size=2 * (_SHORT.addresses + _SHORT.ethertype))
                module.IPV4 = {"checksum": SimpleNamespace(byte=2 * _SHORT.checksum)}
            yield module


class FrameHarness(wiring.Component):
    """The builder between free jobs and an arbitrary consumer.

    Parameters
    ----------
    width : int
    kind : (bool, int), optional
        One job after another, all of IPv6 or not and of this many tags, with headers of few words.
    """

    def __init__(self, width: int, kind: tuple[bool, int] | None = None) -> None:
        from precog_spec.contract import Fmt

        self._width, self._kind = width, kind
        self._sections = _SHORT if kind else _real()
        super().__init__(
            {
                "ipv6": In(1),
                "tags": In(2),
                "valid": In(1),
                "ready": In(1),
                "now": In(1 if kind else Fmt.TIME.width),
                "place": In(6),  # of the word that is followed
            }
        )

    def elaborate(self, platform: object) -> Module:
        from precog_spec.frames.headers import MAX_TAGS

        m = Module()
        views: list[Any] = []

        def opened(**options: Any) -> Memory:
            """The frame with one more port, through which the proof sees a row."""
            memory = Memory(**options)
            views.append(memory.read_port(domain="comb"))
            return memory

        with _builder(self._kind is not None) as module, patch.object(module, "Memory", opened):
            dut = module.CnpBuilder(self._width)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        past, job = Past(m), dut.i_job.payload
        m.d.comb += [
            job.ipv6.eq(self.ipv6),  # the rest is only in words, which are free
            job.tags.eq(self.tags),
            dut.i_job.valid.eq(self.valid),
            dut.o.ready.eq(self.ready),
            dut.now.eq(self.now),
            Assume(self.tags <= MAX_TAGS),
            Assume(~past.known | (self.place == past(self.place, "place"))),
        ]
        assume_stream(m, past, dut.i_job, "job")
        if self._kind:
            ipv6, tags = self._kind
            m.d.comb += Assume(self.valid & (self.ipv6 == ipv6) & (self.tags == tags))
        assert_rules(m, past, dut.o, "o")

        # What the frame of this job must be.
        kinds = [(ipv6, tags) for ipv6 in (False, True) for tags in range(MAX_TAGS + 1)]
        words = [self._sections.words(ipv6, tags) for ipv6, tags in kinds]
        lengths = [2 * (count + _ICRC_WORDS) for count in words]
        size = self._width // 8
        case = Mux(job.ipv6, MAX_TAGS + 1, 0) + job.tags
        count = Array(words)[case]
        beats = Array(-(-length // size) for length in lengths)[case]
        keep = Array((1 << ((length - 1) % size + 1)) - 1 for length in lengths)[case]

        # Cycles since it was offered; in the last of these the frame leaves.
        age = Signal(8)
        sent = Signal(8)
        beat, sends = dut.o.payload, age == count + _SENDS
        gives = dut.o.valid & self.ready
        ends = gives & beat.last
        with m.If(age == 0):
            m.d.sync += age.eq(self.valid)
        with m.Elif(ends):
            m.d.sync += age.eq(0)
        with m.Elif(~sends):
            m.d.sync += age.eq(age + 1)
        m.d.sync += sent.eq(Mux(ends, 0, sent + gives))
        stamp = Signal.like(self.now)
        with m.If(age == count + _SENDS - 1):
            m.d.sync += stamp.eq(self.now)
        m.d.comb += [
            Assert(dut.o.valid == sends, "a frame for each job, when it is due"),
            Assert((self.valid & dut.i_job.ready) == ends, "a job goes with its frame's end"),
            Assert(~sends | (beat.last == (sent == beats - 1)), "of the right number of beats"),
            Assert(~(sends & beat.last) | (beat.keep == keep), "and bytes"),
            Assert(~sends | ((beat.user.error == 0) & (beat.user.tag == 0))),
            Assert(~sends | (beat.user.time == stamp), "of the time of its first beat"),
        ]
        at = SimpleNamespace(
            age=age,
            beat=beat,
            beats=beats,
            count=count,
            ends=ends,
            inner=inner,
            job=job,
            sends=sends,
            sent=sent,
            view=views[0],
        )
        self._word(m, at)
        if not self._kind:
            self._invariants(m, at)
        begins = Signal()  # a second frame
        with m.If(ends):
            m.d.sync += begins.eq(1)
        m.d.comb += [Cover(ends), Cover(begins & dut.o.valid)]
        return m

    def _word(self, m: Module, at: SimpleNamespace) -> None:
        """One word of the frame: what is written to its place, and what leaves from there."""
        age, count, place = at.age, at.count, self.place
        word, written = Signal(16), Signal()
        sections = self._sections
        checksum = sections.addresses + sections.ethertype + sections.checksum
        with m.If((place < count) & (age == place + _WRITES)):
            m.d.sync += [word.eq(at.inner["headers.word"]), written.eq(1)]
        checks = ~at.job.ipv6 & (place == checksum + _TAG_WORDS * at.job.tags)
        with m.If(checks & (age == count + 2)):
            m.d.sync += word.eq(at.inner["checksum"])
        for n in range(_ICRC_WORDS):
            with m.If((place == count + n) & (age == count + 3 + n)):
                m.d.sync += [word.eq(~at.inner["crc"].word_select(n, 16)), written.eq(1)]
        with m.If(at.ends):
            m.d.sync += written.eq(0)

        data = at.beat.data
        if self._width < 16:
            row, shown = place, data
            here, must = at.sent // 2 == place, word.word_select(at.sent[0], 8)
            kept = at.view.data
        else:
            lanes = self._width // 16
            row, lane = place // lanes, place % lanes
            here, must = at.sent == row, word
            shown, kept = (value.word_select(lane, 16) for value in (data, at.view.data))
        inside = place < count + _ICRC_WORDS
        due = Mux(place < count, place + _WRITES, place + 3)
        m.d.comb += [
            at.view.addr.eq(row),
            Assert(~(at.sends & inside & here) | (shown == must), "it leaves as it was written"),
            Assert(~(at.sends & inside) | written, "and was written for this job"),
        ]
        if not self._kind:
            m.d.comb += [
                Assume(place < self._sections.words(True, 2) + _ICRC_WORDS),
                Assert(kept == word),
                Assert(written == ((age > due) & inside)),
            ]

    def _invariants(self, m: Module, at: SimpleNamespace) -> None:
        """Where the builder's state machine and its headers are in each cycle."""
        age, count, inner, job, sections = at.age, at.count, at.inner, at.job, self._sections
        state, written, step = inner["cnp_state"], inner["at"], inner["headers.step"]
        running, valid = inner["headers.running"], inner["headers.valid"]
        ethertype = sections.addresses + _TAG_WORDS * job.tags
        k = Signal(8)  # the word whose step it is
        skipped = Mux(k < ethertype, 0, sections.tags - _TAG_WORDS * job.tags)
        skipped += Mux(job.ipv6 & (k > ethertype), sections.ipv4, 0)
        skipped += Mux(~job.ipv6 & (k > ethertype + sections.ipv4), sections.ipv6, 0)
        m.d.comb += [
            k.eq(age - 1),
            Assert(age <= count + _SENDS),
            Assert((age == 0) | self.valid),
            Assert((age != 0) | (state == 0)),
            Assert(~((age > 0) & (age <= count + 1)) | (state == 1)),
            *(Assert((age != count + n) | (state == n)) for n in range(2, _SENDS + 1)),
            Assert((state != 1) | (written == Mux(age < _WRITES, 0, age - _WRITES))),
            Assert(((state != 2) & (state != 3)) | (written == count)),
            Assert((state != 4) | (written == count + 1)),
            Assert(Mux(at.sends, (inner["beat"] == at.sent) & (at.sent < at.beats), at.sent == 0)),
            Assert(running == ((age > 0) & (age <= count))),
            Assert(~running | (step == k + skipped)),
            Assert(valid == ((age > 1) & (age <= count + 1))),
            Assert(~valid | (inner["headers.last"] == (age == count + 1))),
        ]
