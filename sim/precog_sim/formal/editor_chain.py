"""The editor as a whole: what its parts promise, put together by the gateware's own wires."""

from functools import partial
from typing import Any, NamedTuple

from amaranth.hdl import Assert, Const, Cover, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from .contracts import CHAIN_CYCLES, CHAIN_REFUSALS, Beats, chain_rules
from .editor_rules import OUT_CYCLES, REFUSALS
from .engine import Mode, Proof
from .held import Slice
from .mutate import Mutant, reimported
from .packets import assert_rules, assert_stream, assume_rules, assume_stream
from .past import Past
from .peek import Opened
from .stubs import beat_queue_stub, part_stub, patch_stub

__all__ = ["MUTANTS", "PROOFS"]

_EDITOR = "precog_hw.packet.editor"
_QUEUES = {"patch": "patched", "grow": "grown"}


class _Inner(NamedTuple):
    """A stream between two parts, by its signals."""

    valid: Value
    ready: Value
    payload: Any


class _Gated(NamedTuple):
    """What goes into a part, and waits for its queue.

    Attributes
    ----------
    i : _Inner
        As the part sees it.
    go : Value
        It may.
    held : Value
        Beats in the queue and on their way into it.
    """

    i: _Inner
    go: Value
    held: Value


def _gated(
    m: Module, past: Past, inner: Opened, name: str, before: _Inner, queue: Beats, most: int
) -> _Gated:
    """The gate before a part that puts in at most this many beats: its queue never refuses."""
    from precog_hw.packet.editor import _LOW

    room, offered = inner[f"{name}_room"], inner[f"{name}_offered"]
    extra, out = inner[f"{name}.extra_{name}"], inner[f"{name}.o__valid"]
    i = _Inner(before.valid & (room | offered), before.ready, before.payload)
    held = queue.count + out
    assert_stream(m, past, i, f"{name}.i")
    refuses = ~inner[f"{_QUEUES[name]}.i__ready"]
    m.d.comb += [
        Assert(~(out & refuses), f"the queue behind {name} has room for the next beat"),
        Assert(~room | (queue.count <= _LOW + 1)),
        Assert(~offered | (held <= _LOW + 2 + extra)),
        Assert(held <= _LOW + 3 + most + extra),
    ]
    return _Gated(i, room | offered, held)


class EditorHarness(wiring.Component):
    """The editor, its parts replaced by what they are proved to keep.

    Parameters
    ----------
    direction : str
        ``tx`` or ``rx``.
    width : int
    """

    def __init__(self, direction: str, width: int) -> None:
        from precog_hw.packet.layouts import EDIT
        from precog_hw.stream.packet import beat_layout

        self._tx, self._width = direction == "tx", width
        super().__init__(
            {
                "beat": In(beat_layout(width)),
                "valid": In(1),
                "edit": In(EDIT),
                "edit_valid": In(1),
                "ready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        from precog_hw.packet.editor import _LOW
        from precog_hw.packet.grow import growing_layout
        from precog_hw.packet.patch import COMMAND, patched_layout
        from precog_hw.stream.packet import beat_layout
        from precog_spec.frames.descriptor import Direction

        m = Module()
        width = self._width
        with reimported(_EDITOR) as module:
            editor: Any = module
            editor.Patch = patch_stub(editor.Patch, width)
            editor.Queue = beat_queue_stub(editor.Queue)
            editor.Grow = part_stub(editor.Grow, "grow", width)
            editor.Shrink = part_stub(editor.Shrink, "shrink", width)
            dut = editor.Editor(width, Direction.TX if self._tx else Direction.RX)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        past = Past(m)
        m.d.comb += [
            dut.i.payload.eq(self.beat),
            dut.i.valid.eq(self.valid),
            dut.i_edit.payload.eq(self.edit),
            dut.i_edit.valid.eq(self.edit_valid),
            dut.o.ready.eq(self.ready),
        ]
        assume_rules(m, past, dut.i, "i")
        assume_stream(m, past, dut.i_edit, "edit")
        assert_rules(m, past, dut.o, "o")
        commands = _Inner(
            inner["commands.o__valid"],
            inner["patch.i_edit__ready"],
            data.View(COMMAND, inner["commands.o__payload"]),
        )
        behind = "grow" if self._tx else "shrink"
        most = REFUSALS[behind][width]
        layout = (growing_layout if self._tx else patched_layout)(width)
        patched = _beats(inner, "patched")
        sliced = _Inner(
            inner["slice.o__valid"],
            inner["patch.i__ready"],
            data.View(beat_layout(width), inner["slice.o__payload"]),
        )
        first = _gated(m, past, inner, "patch", sliced, patched, 0)
        beats = sliced._replace(ready=sliced.ready & first.go)
        chain = chain_rules(m, Assert, beats, commands, dut.o, width)

        dropped, given = Signal(2), Signal(2)
        with m.If(chain.dropped & ~dropped.all()):
            m.d.sync += dropped.eq(dropped + 1)
        with m.If(dut.o.valid & self.ready & dut.o.payload.last & ~given.all()):
            m.d.sync += given.eq(given + 1)
        m.d.comb += Cover(dropped.all() & given.all())

        # Each part's promises, and each queue's, from its stub; gates and slices are the gateware.
        Slice(m, Assert, inner, "slice", beat_layout(width))
        Slice(m, Assert, inner, "commands")
        owed = {name: inner[f"{name}.owed_{name}"] for name in ("patch", behind)}
        age = inner[f"{behind}.age_a_whole_packet_leaves_{behind}"]
        refused = inner[f"{behind}.age_a_beat_is_taken_by_{behind}"]
        out = OUT_CYCLES[behind][width]
        ends = sum(owed.values(), patched.ends)

        # What is still to be waited for, at most, while the consumer takes in every cycle: until
        # the first beat of the queue is taken, `head`, and, whenever it may be, each one's `beat`.
        offered: Value = inner["patched.o__valid"]
        head: Value
        last_ends: Value
        last_end: Value
        if self._tx:
            grown = _beats(inner, "grown")
            payload = data.View(layout, inner["patched.o__payload"])
            waiting = _Inner(offered, inner["grow.i__ready"], payload)
            second = _gated(m, past, inner, "grow", waiting, grown, most)
            last_ends, last_end = grown.ends, grown.end
            offered, ends = second.i.valid, ends + last_ends
            fill = second.held + most - inner["grow.extra_grow"]
            drained = Mux(grown.count <= _LOW, 1, 1 + fill - _LOW)
            head, beat = Mux(second.go, 0, drained) + most + 1 - refused, 6 + 3 * most
            leaves, inside = 2 * out + _LOW + 3 + 2 * most, 2 * (out - age) + grown.count
        else:
            head, beat = Const(1), 1
            leaves, inside = Const(out), out - age
            last_ends = last_end = Const(0)
        position = (patched.end - 1)[: len(patched.end)]
        before = Mux(patched.ends != 0, beat * position + head, beat * (patched.count + 1) + 1)
        left = Mux(owed[behind] != 0, inside, before + leaves)
        left = Mux(last_ends != 0, last_end, left)
        over = first.held - _LOW - 1
        taken = Mux(patched.count <= _LOW, 1, beat * over[: len(first.held)] + head + 1)
        stuck = beats.valid & ~beats.ready & commands.valid
        m.d.comb += [
            Assert(chain.ends == ends),
            Assert((refused == 0) | offered),
            Assert((chain.ends == 0) | (chain.waited + left <= CHAIN_CYCLES[width])),
            Assert(~stuck | (~first.go & (chain.refused + taken <= CHAIN_REFUSALS[width]))),
        ]
        return m


def _beats(inner: Opened, name: str) -> Beats:
    """What is in the stub of a queue."""
    return Beats(*(inner[f"{name}.beats_{n}"] for n in ("count", "ends", "behind", "end", "gap")))


_CLAIM = "the editor, of any parts that keep their promises: one command a packet, none lost, "
PROOFS = (
    *(
        Proof(
            f"editor.chain.{direction}.{width}",
            partial(EditorHarness, direction, width),
            Mode.INDUCTION,
            1,
            f"for ever, {_CLAIM}a beat is refused for at most {CHAIN_REFUSALS[width]} cycles, an "
            f"end leaves within {CHAIN_CYCLES[width]}",
            fresh=True,
        )
        for direction in ("tx", "rx")
        for width in (8, 64)
    ),
    Proof(
        "editor.chain.near",
        partial(EditorHarness, "tx", 64),
        Mode.BOUNDED,
        8,
        "the same from reset",
        quick=False,
    ),
    Proof(
        "editor.chain.full",
        partial(EditorHarness, "tx", 64),
        Mode.BOUNDED,
        14,
        "the same, long enough that a gate shuts",
        quick=False,
    ),
    Proof(
        "editor.chain.cover",
        partial(EditorHarness, "tx", 64),
        Mode.COVER,
        14,
        "packets leave while others are dropped",
        quick=False,
    ),
)
MUTANTS = (
    Mutant(
        "editor.chain.near",
        _EDITOR,
        "queue.i.valid.eq(patch.o.valid)",
        "queue.i.valid.eq(patch.o.valid & ~queue.o.valid)",
        "a beat is lost that comes while another one waits",
        quick=True,
    ),
    Mutant(
        "editor.chain.near",
        _EDITOR,
        "grow.o.ready.eq(1)",
        "grow.o.ready.eq(0)",
        "the packet with the shim is not taken",
    ),
    Mutant(
        "editor.chain.full",
        _EDITOR,
        "go = room | offered",
        "go = room",
        "what was offered to a part is taken back",
    ),
    Mutant(
        "editor.chain.full",
        _EDITOR,
        "room.eq(queue.level <= _LOW)",
        "room.eq(1)",
        "a part goes on while its queue is full",
    ),
    *(
        Mutant(
            f"editor.chain.{direction}.{width}",
            _EDITOR,
            "queue.i.valid.eq(patch.o.valid)",
            "queue.i.valid.eq(patch.o.valid & ~queue.o.valid)",
            "a beat is lost that comes while another one waits",
            quick=(direction, width) == ("rx", 8),
            cycles=8,
        )
        for direction in ("tx", "rx")
        for width in (8, 64)
    ),
)
