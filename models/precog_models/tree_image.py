"""A decision tree in a file (`model_file`), as `image` is for LSTMs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import MAX_OUTPUTS, TREE_DEPTH, HeadKind

from .image import Image, find, pretrained_names
from .limits import brief
from .model_file import (
    ModelFile,
    ModelImageError,
    check_tensors,
    integer,
    read_bytes,
    read_file,
)
from .predict.tree import Tree
from .predict.tree_model import TreeModel, pack_tree, unpack_tree

__all__ = ["TreeImage", "find_any", "load_any"]


def _tensor_spec(depth: int, outputs: int) -> dict[str, tuple[tuple[int, ...], str]]:
    """Name: (shape, dtype) of every tensor in a file."""
    nodes = (1 << depth) - 1
    return {
        "source": ((nodes,), "uint8"),
        "threshold": ((nodes,), "int16"),
        "leaves": ((nodes + 1, outputs), "uint16"),
    }


@dataclass(frozen=True, eq=False)
class TreeImage(ModelFile):
    """A validated tree and its data card.

    Parameters
    ----------
    model : TreeModel
    card : dict
        As of every `ModelFile`.
    """

    model: TreeModel
    card: dict[str, Any] = field(default_factory=dict)

    @property
    def header(self) -> TreeModel:
        """The tree."""
        return self.model

    @property
    def payload(self) -> bytes:
        """The canonical 2048 bytes that the driver writes to a weight set."""
        return pack_tree(self.model)

    def cell(self) -> dict[str, Any]:
        """What of the architecture is not in every image's header."""
        return {"cell": "tree", "depth": self.model.tree.depth}

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The file's tensors by name."""
        tree = self.model.tree
        leaves = np.ascontiguousarray(tree.leaves[:, : self.model.outputs])
        values = {"source": tree.source, "threshold": tree.threshold, "leaves": leaves}
        spec = _tensor_spec(tree.depth, self.model.outputs)
        return {name: values[name].astype(dtype) for name, (_, dtype) in spec.items()}

    @classmethod
    def from_parts(cls, tensors: Mapping[str, NDArray[Any]], meta: dict[str, Any]) -> "TreeImage":
        """The model of a file's tensors and metadata; `ValueError` where it is none."""
        arch = meta.get("architecture")
        if not isinstance(arch, dict) or arch.get("cell") != "tree":
            found = arch.get("cell") if isinstance(arch, dict) else arch
            raise ModelImageError(f"cell must be 'tree' here, not {brief(found)}")
        if arch.get("head") != HeadKind.QUEUE.name.lower():
            raise ModelImageError(f"a tree's head must be queue, not {brief(arch.get('head'))}")
        depth, outputs = integer(arch, "depth"), integer(arch, "outputs")
        for name, value, high in (("depth", depth, TREE_DEPTH), ("outputs", outputs, MAX_OUTPUTS)):
            if not 1 <= value <= high:
                raise ModelImageError(f"{name} must be in 1..{high}, not {brief(value)}")
        check_tensors(tensors, _tensor_spec(depth, outputs))
        leaves = np.zeros((1 << depth, MAX_OUTPUTS), dtype=np.int64)
        leaves[:, :outputs] = tensors["leaves"]
        tree = Tree(
            tensors["source"].astype(np.int64), tensors["threshold"].astype(np.int64), leaves
        )
        model = TreeModel(tree, outputs=outputs, version=integer(meta, "version"))
        for name in ("inputs", "steps"):
            if integer(arch, name) != getattr(model, name):
                raise ModelImageError(
                    f"{name} must be {getattr(model, name)}, as the tree looks at them, "
                    f"not {brief(arch[name])}"
                )
        image = cls(model, meta["card"])
        unpack_tree(image.payload)
        return image


def load_any(path: str | Path) -> Image | TreeImage:
    """Read and check a file of either kind.

    Raises
    ------
    ModelImageError, OSError
        As `Image.load`.
    """
    data = read_file(path)
    try:
        arch = read_bytes(data)[1].get("architecture")
        is_tree = isinstance(arch, dict) and arch.get("cell") == "tree"
        return TreeImage.from_bytes(data) if is_tree else Image.from_bytes(data)
    except ModelImageError as error:
        raise ModelImageError(f"{path}: {error}") from error


def find_any(model: str) -> Image | TreeImage:
    """The model that a user means: the name of a shipped one, or a file of either kind.

    Raises
    ------
    ModelImageError, OSError
        As `image.find`.
    """
    if model in pretrained_names() or not Path(model).exists():
        return find(model)
    return load_any(model)
