"""The header update: the lengths and checksums that it makes are those of a recomputation.

The block is the gateware as it is; a request is free in every cycle. A checksum is the ones'
complement sum of many words, of which an edit touches few. The others stand here as one free number
from 1 to 0xFFFF, their sum: folding some of the words first does not change a sum, and no header is
all zeros (IPv4 has a version, the pseudo-header of UDP a protocol). So the claims hold for headers
and packets of any size. What is assumed: the checksum that comes is right (or, for UDP, 0), the
lengths do not leave 16 bits, and of IPv4 that its checksum is not 0xFFFF, which no header has:
`CpsTransmit` refuses that.

UDP's sum has too many free words for one question. It is cut where the block has registers; from
one cut to the next nothing changes modulo 0xFFFF, and what one step proves of the registers is what
the next assumes of them, when they are free numbers:

* first: from the request to the registers behind the second addition: the checksum, lengths and
  ports or reserved bits in one, the shim in the other. For a removal the shim is part of the free
  rest here, because no word of it comes to the first;
* total: from these to the register that has the whole sum;
* last: from there to the field.
"""

from .checksum_steps import (
    HALFWAY,
    LATENCY,
    DscpHarness,
    LengthHarness,
    UdpFirstHarness,
    UdpLastHarness,
    UdpTotalHarness,
    UpdateHarness,
)
from .engine import Mode, Proof
from .mutate import Mutant

__all__ = ["MUTANTS", "PROOFS"]

_CHECKSUM = "precog_hw.packet.checksum"

_RECOMPUTED = "for ever, for arbitrary headers: update = recomputation"
_EDITS = ("INSERT", "REMOVE", "KEEP")
_STEPS: tuple[tuple[str, type[UpdateHarness], int, str], ...] = (
    ("lengths", LengthHarness, LATENCY + 2, f"lengths and IPv4 checksum: {_RECOMPUTED}"),
    ("dscp", DscpHarness, LATENCY + 2, f"IPv4 checksum for any other DSCP: {_RECOMPUTED}"),
    ("udp.first", UdpFirstHarness, HALFWAY + 2, "UDP checksum, up to the first cut"),
    ("udp.total", UdpTotalHarness, 3, "UDP checksum, from the first cut to the second"),
    (
        *("udp.last", UdpLastHarness, LATENCY + 2),
        f"UDP checksum, 0 stays 0 and a sum of 0 is sent as 0xFFFF: {_RECOMPUTED}",
    ),
)


def _proof(edit: str, name: str, harness: type[UpdateHarness], depth: int, claim: str) -> Proof:
    return Proof(
        f"checksum.{edit.lower()}.{name}",
        lambda: harness(edit),
        Mode.INDUCTION,
        depth,
        f"{edit}: {claim}",
        quick=name != "udp.first" and edit == ("KEEP" if name == "udp.total" else "INSERT"),
    )


PROOFS = (
    *(
        _proof(edit, *step)
        for edit in _EDITS
        for step in _STEPS
        if (edit, step[0]) != ("REMOVE", "dscp")  # that belongs to what leaves
    ),
    *(
        Proof(
            f"checksum.cover.{name}",
            lambda harness=harness: harness("INSERT"),  # type: ignore[misc]
            Mode.COVER,
            depth,
            "the assumptions can be met, and any result comes",
            quick=False,
        )
        for name, harness, depth, _ in _STEPS
    ),
)
MUTANTS = (
    Mutant(
        "checksum.insert.lengths",
        _CHECKSUM,
        "ip_checksum.i.eq(_not(ip_sum[:16] + ip_sum[16:]))",
        "ip_checksum.i.eq(_not(ip_sum[:16]))",
        "the IPv4 checksum's carry is lost",
        quick=True,
    ),
    Mutant(
        "checksum.remove.lengths",
        _CHECKSUM,
        "Mux(remove, Const(0xFFFF - SHIM.size, 16),",
        "Mux(remove, Const(0x10000 - SHIM.size, 16),",
        "removal subtracts in two's complement",
    ),
    *(
        Mutant(
            f"checksum.{edit}.dscp",
            _CHECKSUM,
            "((number - sign) & 0xFFFF)[:16]",
            "(number & 0xFFFF)[:16]",
            "a smaller DSCP is subtracted in two's complement",
            quick=edit == "insert",
        )
        for edit in ("insert", "keep")
    ),
    Mutant(
        "checksum.insert.udp.first",
        _CHECKSUM,
        "_grown(insert, remove, 2 * SHIM.size, i.becn)",
        "_grown(insert, remove, SHIM.size, i.becn)",
        "the length of the pseudo-header is forgotten",
    ),
    Mutant(
        "checksum.remove.udp.first",
        _CHECKSUM,
        "Mux(remove, _not(word), 0)",
        "Mux(remove, word, 0)",
        "a shim that goes out is added",
    ),
    Mutant(
        "checksum.keep.udp.first",
        _CHECKSUM,
        "_registered(m, _not(old) + new)",
        "_registered(m, old + new)",
        "the old word is added",
    ),
    Mutant(
        "checksum.insert.udp.total",
        _CHECKSUM,
        "total = _registered(m, sums[0] + sums[1])",
        "total = _registered(m, sums[0] | sums[1])",
        "the halves are joined, not added",
    ),
    Mutant(
        "checksum.insert.udp.last",
        _CHECKSUM,
        "with m.Elif(carried == 0xFFFF):",
        "with m.Elif(carried == 0x1FFFF):",
        "a sum of 0 is sent as no checksum",
        quick=True,
    ),
    Mutant(
        "checksum.insert.udp.last",
        _CHECKSUM,
        "with m.If(none.o):",
        "with m.If(0):",
        "a packet without a checksum gets one",
    ),
    Mutant(
        "checksum.insert.udp.last",
        _CHECKSUM,
        "field = _not(carried[:16] + carried[16:])",
        "field = _not(carried[:16])",
        "the last carry is lost",
    ),
    Mutant(
        "checksum.remove.udp.total",
        _CHECKSUM,
        "total = _registered(m, sums[0] + sums[1])",
        "total = _registered(m, (sums[0] + sums[1])[:-1])",
        "the greatest carry is lost",
    ),
    Mutant(
        "checksum.remove.udp.last",
        _CHECKSUM,
        "carried = _registered(m, total[:16] + total[16:])",
        "carried = _registered(m, total[:16])",
        "the first carries are lost",
    ),
    Mutant(
        "checksum.keep.lengths",
        _CHECKSUM,
        "growth = Mux(insert, SHIM.size, Mux(remove, -SHIM.size, 0))",
        "growth = Mux(insert, SHIM.size, -SHIM.size)",
        "a packet that is kept shrinks",
        quick=True,
    ),
    Mutant(
        "checksum.keep.udp.total",
        _CHECKSUM,
        "total = _registered(m, sums[0] + sums[1])",
        "total = _registered(m, sums[1])",
        "the shim alone is summed",
    ),
    Mutant(
        "checksum.keep.udp.last",
        _CHECKSUM,
        "none.i.eq(i.udp_checksum == 0)",
        "none.i.eq(i.udp_checksum[:15] == 0)",
        "a checksum of 0x8000 is none",
    ),
)
