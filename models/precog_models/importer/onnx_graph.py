"""Tensors of an ONNX graph that depend on constants only.

Exporters hide weights behind small graphs; they are followed through Constant, Identity, Cast,
Unsqueeze, Squeeze, Reshape, Concat, Slice and Transpose. Nothing outside of the file is read.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from ..limits import DEPTH, DIMENSIONS, ELEMENTS, NODES, brief
from . import ModelImportError

__all__ = ["Array", "Graph", "attributes", "integer", "integer_list"]

Array = NDArray[Any]
_NAME = 64  # characters of an operator's name, and of a tensor's in a message


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """A node's attributes by name."""
    try:
        return {a.name: helper.get_attribute_value(a) for a in node.attribute}
    except (TypeError, ValueError) as error:
        raise ModelImportError(f"attributes of {node.op_type} are malformed: {error}") from error


def integer(node: onnx.NodeProto, name: str, default: int) -> int:
    """An attribute that is one integer."""
    value = attributes(node).get(name, default)
    if not isinstance(value, int):
        raise ModelImportError(f"{name} of {node.op_type} must be an integer, not {brief(value)}")
    return value


def integer_list(node: onnx.NodeProto, name: str) -> list[int] | None:
    """An attribute that is a list of integers; None if it is not given."""
    value = attributes(node).get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, int) for item in value):
        raise ModelImportError(f"{name} of {node.op_type} must be integers, not {brief(value)}")
    if len(value) > DIMENSIONS:
        raise ModelImportError(
            f"{name} of {node.op_type} must be at most {DIMENSIONS} integers, not {len(value)}"
        )
    return value


class Graph:
    """Constants of a graph, and the maker and readers of each tensor.

    Raises
    ------
    ModelImportError
        The graph has more than `NODES` nodes or tensors, or two nodes make one tensor.
    """

    def __init__(self, graph: onnx.GraphProto) -> None:
        for what, count in (
            ("nodes", len(graph.node)),
            ("stored tensors", len(graph.initializer)),
            ("inputs", len(graph.input)),
        ):
            if count > NODES:
                raise ModelImportError(f"the graph must have at most {NODES} {what}, not {count}")
        self._initializers = {i.name: i for i in graph.initializer}
        self._makers: dict[str, onnx.NodeProto] = {}
        self._readers: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            if len(node.op_type) > _NAME:
                raise ModelImportError(f"{brief(node.op_type)} must be an operator's name")
            for name in filter(None, node.output):
                if name in self._makers:
                    raise ModelImportError(f"tensor {name[:_NAME]} must be made by one node")
                self._makers[name] = node
            for name in dict.fromkeys(node.input):
                self._readers.setdefault(name, []).append(node)
        self._inputs = {i.name for i in graph.input} - set(self._initializers)
        self._known: dict[str, Array | None] = {}
        self._computed = 0

    def readers(self, name: str) -> list[onnx.NodeProto]:
        """Nodes that read a tensor."""
        return self._readers.get(name, [])

    def maker(self, name: str) -> onnx.NodeProto | None:
        """The node that makes a tensor."""
        return self._makers.get(name)

    def is_input(self, name: str) -> bool:
        """Whether a tensor is given from outside."""
        return name in self._inputs

    def input(self, node: onnx.NodeProto, position: int) -> str:
        """Name of an input that a node must have."""
        if len(node.input) <= position or not node.input[position]:
            raise ModelImportError(f"{node.op_type} must have an input at position {position}")
        return str(node.input[position])

    def output(self, node: onnx.NodeProto) -> str:
        """Name of a node's first output."""
        if not node.output:
            raise ModelImportError(f"{node.op_type} must have an output")
        return str(node.output[0])

    def integers(self, name: str, what: str) -> Array:
        """The value of a constant of integers, one for each dimension at most."""
        value = self.constant(name, what)
        if value.size > DIMENSIONS:
            raise ModelImportError(
                f"{what} must hold at most {DIMENSIONS} integers, not {value.size}"
            )
        if value.dtype.kind not in "iu":
            raise ModelImportError(f"{what} must hold integers, not {value.dtype}")
        return value

    def axes(self, node: onnx.NodeProto) -> tuple[int, ...] | None:
        """The axes that a Squeeze or Unsqueeze names, in either form."""
        name = node.input[1] if len(node.input) > 1 else ""
        given = integer_list(node, "axes")
        return _axes([None, self.integers(name, "axes") if name else None], {"axes": given})

    def slices(self, node: onnx.NodeProto) -> list[tuple[int, int, int, int]]:
        """(axis, start, end, stride) of a Slice, in either form."""
        bounds = [
            self.integers(n, "a Slice's bound").reshape(-1) if n else None for n in node.input[1:]
        ]
        given = {name: integer_list(node, name) for name in ("axes", "ends", "starts")}
        return _slices([None, *bounds], given)

    def constant(self, name: str, what: str) -> Array:
        """The value of a tensor that depends on constants only."""
        value = self._constant(name)
        if value is None:
            maker = self._makers.get(name)
            how = f"made by {maker.op_type}" if maker is not None else "an input of the graph"
            raise ModelImportError(f"{what} must be a constant, not {how}")
        return value

    def real(self, name: str, what: str) -> NDArray[np.float64]:
        """The value of a constant of real numbers."""
        value = self.constant(name, what)
        if value.dtype.kind in "bcOSU":
            raise ModelImportError(f"{what} must hold real numbers, not {value.dtype}")
        with np.errstate(all="ignore"):  # a NaN is refused by its name, later
            return np.asarray(value.astype(np.float64))

    def is_zero(self, name: str) -> bool:
        """Whether a tensor is known to be all zero, whatever its shape."""
        maker = self._makers.get(name)
        for _ in range(DEPTH):
            if maker is None or maker.op_type != "Expand":
                break
            name = self.input(maker, 0)
            maker = self._makers.get(name)
        if maker is not None and maker.op_type == "ConstantOfShape":
            value = attributes(maker).get("value")
            return value is None or not _to_array(value).any()
        constant = self._constant(name)
        return constant is not None and not constant.any()

    def _constant(self, name: str, depth: int = 0) -> Array | None:
        """The value, computed once; None where it depends on more than constants."""
        if depth > DEPTH:
            raise ModelImportError(
                f"constants must be computed by at most {DEPTH} operators in a row, without a cycle"
            )
        if name not in self._known:
            self._known[name] = self._computed_constant(name, depth)
        return self._known[name]

    def _computed_constant(self, name: str, depth: int) -> Array | None:
        if name in self._initializers:
            return _to_array(self._initializers[name])
        maker = self._makers.get(name)
        if maker is None:
            return None
        if maker.op_type == "Constant":
            value = attributes(maker).get("value")
            return None if value is None else _to_array(value)
        fold = _FOLDS.get(maker.op_type)
        if fold is None:
            return None
        arguments = [self._constant(i, depth + 1) if i else None for i in maker.input]
        if any(i and a is None for i, a in zip(maker.input, arguments, strict=True)):
            return None
        # Each fold makes at most what it is given.
        self._computed += sum(a.size for a in arguments if a is not None)
        if self._computed > ELEMENTS:
            raise ModelImportError(
                f"constants must be computed from at most {ELEMENTS} numbers in all, "
                f"{name[:_NAME]} needs more"
            )
        try:
            with np.errstate(all="ignore"):
                return fold(arguments, attributes(maker))
        except ModelImportError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ModelImportError(
                f"constant {name[:_NAME]} cannot be computed by {maker.op_type}: {error}"
            ) from error


def _to_array(tensor: Any) -> Array:
    if not isinstance(tensor, onnx.TensorProto):
        raise ModelImportError(f"a constant must be a tensor, not {brief(tensor)}")
    name = tensor.name[:_NAME]
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise ModelImportError(f"weights must be inside of the file: {name} is external")
    if len(tensor.dims) > DIMENSIONS:
        raise ModelImportError(
            f"tensor {name} must have at most {DIMENSIONS} dimensions, not {len(tensor.dims)}"
        )
    if any(length < 0 for length in tensor.dims):
        raise ModelImportError(f"tensor {name} must not have a negative dimension")
    if math.prod(tensor.dims) > ELEMENTS:
        raise ModelImportError(
            f"tensor {name} must have at most {ELEMENTS} numbers, not {math.prod(tensor.dims)}"
        )
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except KeyError:
        raise ModelImportError(
            f"tensor {name} must have a data type of ONNX, not {tensor.data_type}"
        ) from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ModelImportError(f"tensor {name} is malformed: {error}") from error


def _axes(arguments: list[Any], at: dict[str, Any]) -> tuple[int, ...] | None:
    """Axes from the second input (opset 13 and later) or from the attribute."""
    if len(arguments) > 1 and arguments[1] is not None:
        return tuple(int(a) for a in arguments[1].reshape(-1))
    axes = at.get("axes")
    return None if axes is None else tuple(axes)


def _slices(arguments: list[Any], at: dict[str, Any]) -> list[tuple[int, int, int, int]]:
    if len(arguments) == 1:  # before opset 10
        starts, ends = at.get("starts"), at.get("ends")
        axes, strides = at.get("axes"), None
    else:
        starts, ends, axes, strides = [*arguments[1:5], None, None, None][:4]
    if starts is None or ends is None:
        raise ModelImportError("a Slice must have starts and ends")
    axes = range(len(starts)) if axes is None else axes
    strides = [1] * len(starts) if strides is None else strides
    if not len(starts) == len(ends) == len(axes) == len(strides):
        raise ModelImportError("a Slice must have as many ends, axes and steps as starts")
    return [
        (int(axis), int(start), int(end), int(stride))
        for axis, start, end, stride in zip(axes, starts, ends, strides, strict=True)
    ]


def _slice(arguments: list[Any], at: dict[str, Any]) -> Array:
    data = arguments[0]
    index = [slice(None)] * data.ndim
    for axis, start, end, stride in _slices(arguments, at):
        if stride < 0:
            raise ModelImportError("a weight must not be made by a Slice that runs backwards")
        index[axis] = slice(start, end, stride)
    return np.asarray(data[tuple(index)])


_FOLDS: dict[str, Callable[[list[Any], dict[str, Any]], Array]] = {
    "Cast": lambda args, at: args[0].astype(helper.tensor_dtype_to_np_dtype(at["to"])),
    "Concat": lambda args, at: np.concatenate(args, axis=at["axis"]),
    "Identity": lambda args, at: args[0],
    "Reshape": lambda args, at: _reshape(args[0], args[1]),
    "Slice": _slice,
    "Squeeze": lambda args, at: np.squeeze(args[0], axis=_axes(args, at)),
    "Transpose": lambda args, at: np.transpose(args[0], at.get("perm")),
    "Unsqueeze": lambda args, at: np.expand_dims(args[0], _axes(args, at) or ()),
}


def _reshape(data: Array, shape: Array) -> Array:
    # A zero in ONNX's shape keeps the input's dimension.
    return data.reshape([data.shape[i] if n == 0 else int(n) for i, n in enumerate(shape)])
