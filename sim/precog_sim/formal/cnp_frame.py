"""The CNP builder: for each job one frame, of the right bytes in number and order, when it is due.

`CnpBuilder` and `CnpHeaders` are the gateware, but for values: what a word of the headers is, and
what the ICRC's step makes of it, is free in every cycle. So what is proved holds for any addresses,
registers and marks; that the values are right is said by simulation against the golden model.

Each byte that leaves is followed by one two-byte word of the frame whose place is free, but
constant: it was written for this job, and leaves as it was written. By induction, hence for ever.
`near`, where mutants are caught, knows nothing of the state inside; it runs from reset with headers
of few words, which the same control walks through.
"""

from functools import partial

from .cnp_frame_harness import BUILDER, HEADERS, FrameHarness
from .engine import Mode, Proof
from .mutate import Mutant

__all__ = ["MUTANTS", "PROOFS"]

_CLAIM = "stream rules; one frame for each job, in its time, of its bytes, all written for it"
#: IPv6 or not, tags; width; cycles from reset: for a frame, at 64 bits also for a second one.
_NEAR = {
    "v4.64": ((False, 1), 64, 30),
    "v6.64": ((True, 0), 64, 28),
    "v6.8": ((True, 0), 8, 29),
}
_COVER = {8: 46, 64: 30}  # cycles
_SOON = 14  # cycles from reset in which mutants of headers of full length show
PROOFS = (
    *(
        Proof(
            f"cnp.frame.{width}",
            partial(FrameHarness, width),
            Mode.INDUCTION,
            2,
            f"for ever, any headers: {_CLAIM}",
            quick=width == 8,
            fresh=True,
        )
        for width in _COVER
    ),
    *(
        Proof(
            f"cnp.frame.near.{name}",
            partial(FrameHarness, width, kind),
            Mode.BOUNDED,
            cycles,
            f"short headers: {_CLAIM}",
            quick=False,
        )
        for name, (kind, width, cycles) in _NEAR.items()
    ),
    *(
        Proof(
            f"cnp.frame.cover.{width}",
            partial(FrameHarness, width, (True, 0)),
            Mode.COVER,
            cycles,
            "short headers: a frame leaves, and another one begins to",
            quick=width == 64,
        )
        for width, cycles in _COVER.items()
    ),
)
MUTANTS = (
    Mutant(
        "cnp.frame.near.v6.64",
        BUILDER,
        "last.eq(beat == Array((length - 1) // size",
        "last.eq(beat == Array(length // size",
        "a frame that fills its last beat has one more",
    ),
    Mutant(
        "cnp.frame.near.v6.64",
        BUILDER,
        "self.i_job.ready.eq(self.o.ready & last)",
        "self.i_job.ready.eq(last)",
        "a job goes while its frame's end is refused",
        quick=True,
    ),
    Mutant(
        "cnp.frame.near.v6.64",
        BUILDER,
        "with m.If(self.o.ready):",
        "with m.If(1):",
        "a beat that is refused is lost",
    ),
    Mutant(
        "cnp.frame.near.v6.64",
        BUILDER,
        "m.d.comb += [stores.eq(1), value.eq(~crc[16:])]",
        "m.d.comb += [stores.eq(0), value.eq(~crc[16:])]",
        "half of the ICRC is not written",
    ),
    Mutant(
        "cnp.frame.near.v6.64",
        BUILDER,
        "m.d.sync += [beat.eq(0), self.o.payload.user.time.eq(self.now)]",
        "m.d.sync += self.o.payload.user.time.eq(self.now)",
        "the second frame begins behind the first one's end",
    ),
    Mutant(
        "cnp.frame.near.v6.64",
        BUILDER,
        "stores.eq(~job.ipv6)",
        "stores.eq(1)",
        "a checksum is written over an IPv6 header",
    ),
    Mutant(
        "cnp.frame.near.v4.64",
        BUILDER,
        "(ETHERNET.size + field.byte) // 2 + job.tags * (VLAN.size // 2)",
        "(ETHERNET.size + field.byte) // 2",
        "the checksum's place does not move with tags",
    ),
    Mutant(
        "cnp.frame.near.v4.64",
        HEADERS,
        "with m.If(step == ipv6 - 1):",
        "with m.If(0):",
        "an IPv6 header follows the IPv4 header",
    ),
    Mutant(
        "cnp.frame.near.v4.64",
        HEADERS,
        "(self.job.tags == count)",
        "(self.job.tags >= count)",
        "tags are left out",
    ),
    Mutant(
        "cnp.frame.near.v6.8",
        BUILDER,
        "read.data.word_select(beat[0], 8)",
        "read.data[:8]",
        "at 8 bits the first of two bytes leaves twice",
    ),
    Mutant(
        "cnp.frame.8",
        BUILDER,
        "stores.eq(headers.valid)",
        "stores.eq(headers.covered)",
        "what no ICRC covers is not written",
        quick=True,
        cycles=_SOON,
    ),
    Mutant(
        "cnp.frame.64",
        BUILDER,
        "with m.If(stores):",
        "with m.If(stores & job.ipv6):",
        "of IPv4 nothing is written",
        cycles=_SOON,
    ),
)
