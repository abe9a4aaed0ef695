"""The transmit and the receive path as a whole: the rules of packet streams, and no wedge.

What is proved is the gateware's own composition: `TxPath` and `RxPath`, `Stage`, `Finish` and the
editor's first slices, with their wires, counters and credits, at full size, by induction: for any
packets, tables, verdicts, idles and pauses, and for ever. The parts in it (parser, decision, the
FIFO of beats, the queues, the editor's chain) are stubs whose outputs are free in every cycle but
for what the part's own proof asserts of the gateware: the same function says it there as claim and
here as assumption (`contracts`, `strobes`, `editor_rules`):

=================== ============================================ ===================
part                proved                                       by
=================== ============================================ ===================
parser              `decide`: ``parser.8``, ``parser.64``        induction
decision            `decide`: ``decide.tx``, ``decide.rx``       induction
editor              ``editor.chain.tx.64`` and so on             induction
its three parts     `editor`: ``editor.patch.8`` and so on       induction
`Queue`, `Finish`'s `streams`: ``queue.bounded``, ``queue.rules`` 2 rows; consumers
and `Stage`'s                                                    that pause at most 2
                                                                 cycles by induction
`PacketFifo`        `beats`: ``beats.rules``                     2 rows, bounded
slices              here as they are, and ``skid.rules``         induction
=================== ============================================ ===================

`rules`: valid and payload of both outputs hold until taken, `keep` is as it must be; every packet
has one command, one decision, one end and one record, none of which meets a full queue; a beat of
the packet whose headers are being read is never refused while it is alone.

`packet`, `record`, `beat`: while both consumers take in every cycle, an end that is inside leaves
or is dropped, a record leaves, and a beat that is refused is taken, all in bounded time. In each
cycle a sum of what is still to come falls. The bounds of `packet` and `beat` are not tight: they
add up the longest waits of every beat for which there is room.

Of what slices hand on (`Patched`, in `editor_rules`) it is only argued that a slice changes
nothing of it. The ICRC's check only watches and is left out.
"""

from collections.abc import Iterator
from functools import partial

from .engine import Mode, Proof
from .mutate import Mutant
from .path_harness import Claims, PathHarness, Sizes

__all__ = ["MUTANTS", "PROOFS"]

_CLAIMS = {
    Claims.RULES: "stream rules at both outputs; each packet has one command, decision and record",
    Claims.PACKET: "an end that is inside leaves, or is dropped, in bounded time",
    Claims.RECORD: "a record leaves in bounded time",
    Claims.BEAT: "a beat that is refused is taken in bounded time",
}
_NEAR = Sizes(window=3, parser=1, decision=1, packets=2)
_NEAR_DEPTH = 9  # cycles from reset in which every mutant shows


def _proofs() -> Iterator[Proof]:
    for direction in ("tx", "rx"):
        for width in (8, 64):
            for claim, words in _CLAIMS.items():
                yield Proof(
                    f"path.{direction}.{claim}.{width}",
                    partial(PathHarness, direction, width, claim),
                    Mode.INDUCTION,
                    1,
                    f"for ever, any packets, tables and verdicts: {words}",
                    quick=(direction, width, claim) == ("tx", 64, Claims.RULES),
                    fresh=claim is Claims.RULES,
                )
        near = partial(PathHarness, direction, 64, Claims.RULES, _NEAR)
        name, words = f"path.{direction}.near", "the same, short latencies and few packets"
        yield Proof(name, near, Mode.BOUNDED, _NEAR_DEPTH, words, quick=False)
        yield Proof(
            f"path.{direction}.cover",
            near,
            Mode.COVER,
            16,
            "packets and records leave, one after another",
            quick=False,
        )


PROOFS = tuple(_proofs())
_STAGE, _FINISH, _TX, _RX = (
    f"precog_hw.packet.{name}" for name in ("stage", "finish", "tx_path", "rx_path")
)
_WAITING = """more = self.i.valid
        m.d.comb += [
            editor.i_edit.payload.eq(edits.o.payload),
            editor.i_edit.valid.eq(edits.o.valid & more),
            edits.o.ready.eq(editor.i_edit.ready & more),
        ]"""


def _own(path: str, width: int) -> Iterator[Mutant]:
    """A mutant of each proof; those that wedge take packets that fill the FIFO to show."""
    yield Mutant(
        f"{path}.{Claims.RULES}.{width}",
        _STAGE,
        "begins.eq(taken & first)",
        "begins.eq(taken)",
        "every beat counts as a packet",
        cycles=4,
    )
    yield Mutant(
        f"{path}.{Claims.PACKET}.{width}",
        _STAGE,
        "wiring.connect(m, edits.o, editor.i_edit)",
        _WAITING,
        "a packet's command waits for another packet",
        step=True,
    )
    yield Mutant(
        f"{path}.{Claims.RECORD}.{width}",
        _FINISH,
        "self.o.valid.eq(both)",
        "self.o.valid.eq(both & ~self.hold)",
        "no record leaves while too many wait",
        quick=(path, width) == ("path.tx", 8),
        step=True,
    )
    yield Mutant(
        f"{path}.{Claims.BEAT}.{width}",
        _STAGE,
        "room.eq((following != self.packets)",
        "room.eq(room & (following != self.packets)",
        "a stage that has been full stays shut",
        step=True,
    )


MUTANTS = (
    Mutant(
        "path.tx.near",
        _STAGE,
        "following.eq(waiting + begins - (edits.o.valid & edits.o.ready))",
        "following.eq(waiting + begins)",
        "a credit is lost with each packet",
        quick=True,
    ),
    Mutant(
        "path.tx.near",
        _STAGE,
        "room.eq((following != self.packets) & ~self.hold",
        "room.eq(~self.hold",
        "more packets begin than their commands have room",
    ),
    Mutant(
        "path.tx.near",
        _STAGE,
        "fifo.i.valid.eq(self.i.valid & (room | ~first))",
        "fifo.i.valid.eq(self.i.valid)",
        "a beat that is refused goes into the FIFO",
    ),
    Mutant(
        "path.tx.near",
        _STAGE,
        "1 << (held - 1).bit_length()",
        "2",
        "the FIFO is shorter than the headers",
    ),
    Mutant(
        "path.tx.near",
        _STAGE,
        "m.d.sync += first.eq(self.i.payload.last)",
        "m.d.sync += first.eq(0)",
        "only the first packet is counted",
    ),
    Mutant(
        "path.tx.near",
        _FINISH,
        "decisions.o.ready.eq(taken)",
        "decisions.o.ready.eq(self.o.ready)",
        "a decision whose packet has not ended is lost",
    ),
    Mutant(
        "path.tx.near",
        _FINISH,
        "decisions.i.valid.eq(self.decided_stb)",
        "decisions.i.valid.eq(self.decided_stb & ~self.hold)",
        "decisions that come while it holds are lost",
    ),
    Mutant(
        "path.tx.near",
        _TX,
        "finish.tail_stb.eq(stage.tail_stb)",
        "finish.tail_stb.eq(decide.edit_stb)",
        "a packet ends when it is decided",
    ),
    Mutant(
        "path.rx.near",
        _RX,
        "stage.edit_stb.eq(decide.edit_stb)",
        "stage.edit_stb.eq(decide.edit_stb & ~got.dropped)",
        "a packet that is to be dropped has no command",
    ),
    # Of the proofs for ever, at full size.
    *(
        mutant
        for direction in ("tx", "rx")
        for width in (8, 64)
        for mutant in _own(f"path.{direction}", width)
    ),
)
