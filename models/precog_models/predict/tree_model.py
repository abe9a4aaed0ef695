"""A tree as a device takes it: its header's facts, and its image of 2048 bytes (`contract`)."""

import struct
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import (
    CONTRACT_HASH,
    HEADER_OFFSET,
    IMAGE_BYTES,
    MAX_INPUTS,
    MAX_OUTPUTS,
    MAX_STEPS,
    PROBABILITY,
    PROFILE_INPUTS,
    ROW_BYTES,
    TREE_BINS_STORED,
    TREE_DEPTH,
    TREE_LEAF_WORDS,
    TREE_SMALL_BITS,
    TREE_SOURCE_ROW,
    TREE_THRESHOLD_ROW,
    Cell,
    HeadKind,
)

from .lstm import LstmWeights, unpack
from .tree import Tree

__all__ = ["TreeFault", "TreeModel", "pack_tree", "read_image", "tree_fault", "unpack_tree"]

Ints = NDArray[np.int64]

_HEADER = struct.Struct("<BBBBIIBB10x")
_CELL_AT = HEADER_OFFSET + 12
_LEAVES = 1 << TREE_DEPTH
_LEAF_ROWS = slice(0, TREE_THRESHOLD_ROW)
_THRESHOLD_ROWS = slice(TREE_THRESHOLD_ROW, TREE_SOURCE_ROW)
_SMALL = (1 << TREE_SMALL_BITS) - 1
_LAST_NIBBLES = 4  # of the bin that has no field: in words 1 to 4
_FLIPS = np.arange(1, MAX_OUTPUTS)  # bin ^ top of what a leaf stores


class TreeFault(ValueError):
    """A leaf that does not sum to 1, or a node that looks at what there is not."""


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A tree with a queue head.

    Parameters
    ----------
    tree : Tree
    outputs : int
        Bins; those beyond have no probability in any leaf.
    version : int
    contract_hash : int

    Attributes
    ----------
    inputs, steps : int
        What it is fed: the profiler's inputs, and as many steps as it looks back.

    Raises
    ------
    ValueError
        A number is outside its range, the tree looks at an input that there is not, or a leaf has
        two bins of exactly a half, which an image cannot say.
    """

    tree: Tree
    outputs: int = MAX_OUTPUTS
    version: int = 0
    contract_hash: int = CONTRACT_HASH

    kind: ClassVar[HeadKind] = HeadKind.QUEUE
    inputs: ClassVar[int] = len(PROFILE_INPUTS)

    def __post_init__(self) -> None:
        if not 1 <= self.outputs <= MAX_OUTPUTS:
            raise ValueError(f"outputs must be in 1..{MAX_OUTPUTS}, not {self.outputs!r}")
        if not 0 <= self.version < 1 << 32:
            raise ValueError(f"version must be a 32-bit unsigned number, not {self.version!r}")
        if self.contract_hash != CONTRACT_HASH:
            raise ValueError(
                f"contract hash must be {CONTRACT_HASH:#010x}, not {self.contract_hash:#010x}: "
                "the model was made for other formats, distill it again"
            )
        worst = int((self.tree.source % MAX_INPUTS).max())
        if worst >= self.inputs:
            raise ValueError(f"tree must look at inputs 0..{self.inputs - 1}, not at {worst}")
        if self.tree.leaves[:, self.outputs :].any():
            raise ValueError(f"leaves must be zero from bin {self.outputs} on")
        halves = (self.tree.leaves > _SMALL).sum(axis=1) > 1
        if halves.any():
            raise ValueError(
                f"leaf {int(np.argmax(halves))} must not have two bins of a half: take 1 from one"
            )

    @property
    def steps(self) -> int:
        """Steps that it looks at."""
        return 1 + int(self.tree.source.max()) // MAX_INPUTS


def read_image(image: bytes) -> LstmWeights | TreeModel:
    """The model of an image of either kind.

    Raises
    ------
    ValueError
        As `unpack` or, where the header names a tree, `unpack_tree`.
    """
    is_tree = len(image) == IMAGE_BYTES and image[_CELL_AT] == Cell.TREE
    return unpack_tree(image) if is_tree else unpack(image)


def pack_tree(model: TreeModel) -> bytes:
    """The image of a tree: 2048 bytes in `contract`'s layout."""
    tree = model.tree
    rows = np.zeros((IMAGE_BYTES // ROW_BYTES, ROW_BYTES), dtype=np.uint8)
    words = np.zeros((_LEAVES, TREE_LEAF_WORDS), dtype=np.int64)
    top = tree.leaves.argmax(axis=1)
    small = np.take_along_axis(tree.leaves, top[:, None] ^ _FLIPS, axis=1)
    fields = small[:, :TREE_BINS_STORED].reshape(-1, TREE_LEAF_WORDS, 2)
    count = len(top)
    words[:count] = fields[:, :, 0] | fields[:, :, 1] << TREE_SMALL_BITS
    nibbles = np.zeros((count, TREE_LEAF_WORDS), dtype=np.int64)
    nibbles[:, 0] = top
    last = small[:, TREE_BINS_STORED, None]
    nibbles[:, 1 : 1 + _LAST_NIBBLES] = last >> 4 * np.arange(_LAST_NIBBLES) & 15
    words[:count] |= nibbles << 28
    rows[_LEAF_ROWS] = np.frombuffer(words.astype("<u4").tobytes(), np.uint8).reshape(-1, ROW_BYTES)
    nodes = np.zeros(_LEAVES, dtype="<i2")
    nodes[: len(tree.threshold)] = tree.threshold
    rows[_THRESHOLD_ROWS] = np.frombuffer(nodes.tobytes(), np.uint8).reshape(-1, ROW_BYTES)
    rows[TREE_SOURCE_ROW, : len(tree.source)] = tree.source
    header = _HEADER.pack(
        model.inputs,
        model.steps,
        model.outputs,
        model.kind,
        model.version,
        model.contract_hash,
        Cell.TREE,
        tree.depth,
    )
    return rows.tobytes()[:HEADER_OFFSET] + header


def _leaf_words(image: bytes) -> Ints:
    rows = np.frombuffer(image, dtype="<u4").reshape(-1, ROW_BYTES // 4)
    return rows[_LEAF_ROWS].astype(np.int64).reshape(_LEAVES, TREE_LEAF_WORDS)


def _stored_bins(words: Ints) -> tuple[Ints, Ints]:
    """Of leaves' words [n, 7] the most likely bins [n], and the others' probabilities [n, 15]."""
    nibbles = words >> 28
    last = (nibbles[:, 1 : 1 + _LAST_NIBBLES] << 4 * np.arange(_LAST_NIBBLES)).sum(axis=1)
    fields = np.stack([words & _SMALL, words >> TREE_SMALL_BITS & _SMALL], axis=2)
    small = np.concatenate([fields.reshape(len(words), TREE_BINS_STORED), last[:, None]], axis=1)
    return nibbles[:, 0], small


def tree_fault(image: bytes) -> str | None:
    """What the hardware refuses a tree for, whatever its depth; golden model of its check.

    None: every leaf sums to 1, and every node looks at a step and an input that there are.
    """
    _, small = _stored_bins(_leaf_words(image))
    over = small.sum(axis=1) > PROBABILITY.one
    if over.any():
        leaf = int(np.argmax(over))
        return f"leaf {leaf} must sum to {PROBABILITY.one}, not {int(small[leaf].sum())} and more"
    source = np.frombuffer(image, np.uint8).reshape(-1, ROW_BYTES)[TREE_SOURCE_ROW].astype(int)
    steps = image[HEADER_OFFSET + 1]
    wrong = (source // MAX_INPUTS >= steps) | (source % MAX_INPUTS >= len(PROFILE_INPUTS))
    if wrong.any():
        node = int(np.argmax(wrong))
        return (
            f"node {node} must look at one of {steps} steps of {len(PROFILE_INPUTS)} inputs, "
            f"not at {int(source[node])}"
        )
    return None


def unpack_tree(image: bytes) -> TreeModel:
    """The tree of an image.

    Raises
    ------
    ValueError
        Wrong length, header field, depth or contract hash, a non-zero unused byte, or another
        spelling than `pack_tree`'s; `TreeFault` for a leaf or a node.
    """
    if len(image) != IMAGE_BYTES:
        raise ValueError(f"a model image must have {IMAGE_BYTES} bytes, not {len(image)}")
    header = _HEADER.unpack_from(image, HEADER_OFFSET)
    _, steps, outputs, kind, version, contract_hash, cell, depth = header
    if cell != Cell.TREE or kind != HeadKind.QUEUE:
        raise ValueError(f"cell and head must be {int(Cell.TREE)} and 1, not {cell} and {kind}")
    if not 1 <= depth <= TREE_DEPTH:
        raise ValueError(f"tree depth must be in 1..{TREE_DEPTH}, not {depth}")
    for name, value, high in (("steps", steps, MAX_STEPS), ("outputs", outputs, MAX_OUTPUTS)):
        if not 1 <= value <= high:
            raise ValueError(f"{name} must be in 1..{high}, not {value}")
    if contract_hash != CONTRACT_HASH:
        raise ValueError(f"contract hash must be {CONTRACT_HASH:#010x}, not {contract_hash:#010x}")
    fault = tree_fault(image)
    if fault is not None:
        raise TreeFault(fault)
    count = 1 << depth
    top, small = _stored_bins(_leaf_words(image)[:count])
    leaves = np.zeros((count, MAX_OUTPUTS), dtype=np.int64)
    np.put_along_axis(leaves, top[:, None] ^ _FLIPS, small, axis=1)
    np.put_along_axis(leaves, top[:, None], PROBABILITY.one - small.sum(axis=1)[:, None], axis=1)
    rows = np.frombuffer(image, np.uint8).reshape(-1, ROW_BYTES)
    nodes = np.frombuffer(rows[_THRESHOLD_ROWS].tobytes(), "<i2")
    tree = Tree(
        source=rows[TREE_SOURCE_ROW, : count - 1].astype(np.int64),
        threshold=nodes[: count - 1].astype(np.int64),
        leaves=leaves,
    )
    model = TreeModel(tree, outputs=outputs, version=version, contract_hash=contract_hash)
    if pack_tree(model) != image:
        raise ValueError(
            "a tree's image must have one spelling: zero what is unused, let the most likely bin "
            "be the one that is not stored, and the steps be those that it looks at"
        )
    return model
