"""ONNX graphs with one LSTM node and a linear head.

ONNX orders gate rows i, o, f, c and keeps two biases (Wb, Rb); we take i, f, g, o and their sum.
Before the LSTM, between it and its head, and behind the head only operators that move data are
understood, and only where what they do is certain; anything else is refused by name.
"""

from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from numpy.typing import NDArray

from precog_spec.contract import HIDDEN, MAX_INPUTS, MAX_OUTPUTS, HeadKind

from ..float_lstm import FloatLstm
from ..limits import DEPTH, brief
from . import ModelImportError, read_foreign
from .onnx_axes import MOVES, Axes, Axis, moved
from .onnx_graph import Array, Graph, attributes, integer

__all__ = ["from_onnx", "load_onnx"]

_LAYOUT_MOVES = ("Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")  # keep every number
_ACTIVATIONS = ["sigmoid", "tanh", "tanh"]
_ATTRIBUTES = {"activations", "clip", "direction", "hidden_size", "input_forget", "layout"}
_IOFC_TO_IFGO = (0, 2, 3, 1)
_SHOWN = 24  # characters of a name in a message, and names


def load_onnx(path: str | Path, *, steps: int = 3, kind: HeadKind = HeadKind.RTT) -> FloatLstm:
    """Read an ``.onnx`` file. Weights outside of the file are refused, not fetched.

    Parameters
    ----------
    path : path
    steps : int
        Window length T; the head must read the output of step T.
    kind : HeadKind
        What the outputs mean.

    Raises
    ------
    ModelImportError
        Not an ONNX file, or `from_onnx` refuses it.
    OSError
        There is no such file.
    """
    try:
        data = read_foreign(path)
        model = onnx.load_model_from_string(data)
        return from_onnx(model, steps=steps, kind=kind)
    except (DecodeError, UnicodeError) as error:
        raise ModelImportError(f"{path}: must be an ONNX file: {error}") from error
    except ModelImportError as error:
        raise ModelImportError(f"{path}: {error}") from error


def from_onnx(
    model: onnx.ModelProto, *, steps: int = 3, kind: HeadKind = HeadKind.RTT
) -> FloatLstm:
    """The float model of an ONNX graph.

    Parameters
    ----------
    model : onnx.ModelProto
    steps, kind
        As in `load_onnx`.

    Returns
    -------
    FloatLstm

    Raises
    ------
    ModelImportError
        More than one LSTM (layer), a direction other than forward, peepholes, a clip, other
        activations, coupled gates, layout 1, sequence lengths, an initial state other than zero,
        another hidden size than 16, more than 8 inputs or 16 outputs, an LSTM that does not read
        the graph's input as it is, or no linear head on the hidden state of the last step.
    """
    return _read(Graph(model.graph), model, steps, kind)


def _read(graph: Graph, model: onnx.ModelProto, steps: int, kind: HeadKind) -> FloatLstm:
    nodes = [node for node in model.graph.node if node.op_type == "LSTM"]
    if len(nodes) != 1:
        raise ModelImportError(f"the graph must have one LSTM node (one layer), not {len(nodes)}")
    node = nodes[0]
    _check_attributes(node)
    for position in range(3):
        graph.input(node, position)
    inputs = [*node.input, *[""] * (8 - len(node.input))]
    _check_input(graph, inputs[0])
    if inputs[4]:
        raise ModelImportError("the LSTM must run whole windows, without sequence_lens")
    for name, what in ((inputs[5], "initial_h"), (inputs[6], "initial_c")):
        if name and not graph.is_zero(name):
            raise ModelImportError(f"{what} must be zero")
    if inputs[7] and not graph.is_zero(inputs[7]):
        raise ModelImportError("the LSTM must have no peephole weights")
    w_ih = _one_direction(graph.real(inputs[1], "W"), "W")
    w_hh = _one_direction(graph.real(inputs[2], "R"), "R")
    if w_hh.ndim != 2 or len(w_hh) != 4 * w_hh.shape[1]:
        raise ModelImportError(f"R must have shape (1, 4 H, H), not {(1, *w_hh.shape)}")
    if w_hh.shape[1] != HIDDEN:
        raise ModelImportError(f"hidden size must be {HIDDEN}, not {w_hh.shape[1]}")
    if w_ih.ndim != 2 or len(w_ih) != 4 * HIDDEN:
        raise ModelImportError(
            f"W must have shape (1, {4 * HIDDEN}, inputs), not {(1, *w_ih.shape)}"
        )
    if not 1 <= w_ih.shape[1] <= MAX_INPUTS:
        raise ModelImportError(f"inputs must be in 1..{MAX_INPUTS}, not {w_ih.shape[1]}")
    bias = np.zeros(4 * HIDDEN)
    if inputs[3]:
        both = _one_direction(graph.real(inputs[3], "B"), "B")
        if both.shape != (8 * HIDDEN,):
            raise ModelImportError(f"B must have {8 * HIDDEN} numbers, not {both.shape}")
        bias = both[: 4 * HIDDEN] + both[4 * HIDDEN :]
    head_w, head_b = _head(graph, node, steps, kind)
    try:
        return FloatLstm(
            w_ih=_reorder(w_ih),
            w_hh=_reorder(w_hh),
            bias=_reorder(bias),
            head_w=head_w,
            head_b=head_b,
            steps=steps,
            kind=kind,
        )
    except ValueError as error:
        raise ModelImportError(str(error)) from error


def _reorder(rows: Array) -> NDArray[np.float64]:
    gates = rows.reshape(4, HIDDEN, -1)[list(_IOFC_TO_IFGO)]
    return np.asarray(gates.reshape(rows.shape))


def _one_direction(array: Array, name: str) -> Array:
    if array.ndim == 0 or len(array) != 1:
        raise ModelImportError(f"{name} must hold one direction, not shape {array.shape}")
    return np.asarray(array[0])


def _check_input(graph: Graph, name: str) -> None:
    """The engine computes its feature itself: nothing may change the numbers before the LSTM."""
    seen = set()
    while not graph.is_input(name):
        maker = graph.maker(name)
        if maker is None or maker.op_type not in _LAYOUT_MOVES or name in seen:
            how = f"made by {maker.op_type}" if maker is not None else "a constant"
            raise ModelImportError(f"the LSTM must read the graph's input, not what is {how}")
        seen.add(name)
        name = graph.input(maker, 0)


def _text(value: object) -> str:
    return value.decode(errors="replace")[:_SHOWN] if isinstance(value, bytes) else brief(value)


def _check_attributes(node: onnx.NodeProto) -> None:
    given = attributes(node)
    unknown = sorted(set(given) - _ATTRIBUTES)
    if unknown:
        raise ModelImportError(f"the LSTM must have no attribute {unknown[0][:_SHOWN]}")
    direction = _text(given.get("direction", b"forward"))
    if direction != "forward":
        raise ModelImportError(f"direction must be forward, not {direction}")
    layout = given.get("layout", 0)
    if layout != 0:
        raise ModelImportError(f"layout must be 0 (steps first), not {brief(layout)}")
    if "clip" in given:
        raise ModelImportError("the LSTM must have no clip")
    if given.get("input_forget", 0):
        raise ModelImportError("input and forget gates must not be coupled (input_forget)")
    listed = given.get("activations", [])
    activations = [_text(a) for a in listed] if isinstance(listed, list) else [_text(listed)]
    if activations and [a.lower() for a in activations] != _ACTIVATIONS:
        raise ModelImportError(
            f"activations must be Sigmoid, Tanh, Tanh, not {', '.join(activations[:_SHOWN])}"
        )
    hidden = given.get("hidden_size", HIDDEN)
    if hidden != HIDDEN:
        raise ModelImportError(f"hidden size must be {HIDDEN}, not {brief(hidden)}")


def _head(
    graph: Graph, lstm: onnx.NodeProto, steps: int, kind: HeadKind
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights [O, 16] and bias [O] of the Gemm, or MatMul and Add, behind the LSTM."""
    step = Axis.STEP if steps > 1 else Axis.ONE
    outputs = [*lstm.output, "", "", ""]
    if outputs[2] and any(node.op_type != "Shape" for node in graph.readers(outputs[2])):
        raise ModelImportError("the head must read the hidden state (Y or Y_h), not the cell's Y_c")
    tensors: list[tuple[str, Axes]] = [
        (outputs[0], (step, Axis.ONE, Axis.BATCH, Axis.FEATURE)),
        (outputs[1], (Axis.ONE, Axis.BATCH, Axis.FEATURE)),
    ]
    heads: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    seen = set()
    while tensors:
        name, axes = tensors.pop()
        if not name or name in seen:
            continue
        seen.add(name)
        for node in graph.readers(name):
            if node.op_type == "Shape":
                continue
            if node.op_type not in ("Gemm", "MatMul", *MOVES):
                raise ModelImportError(
                    f"the LSTM must lead to a linear head (Gemm or MatMul), not to {node.op_type}"
                )
            if node.input[0] != name or list(node.input).count(name) > 1:
                raise ModelImportError(f"{node.op_type} must have the hidden state on its left")
            if node.op_type in MOVES:
                tensors.append((graph.output(node), moved(graph, node, axes, steps, HIDDEN)))
                continue
            if axes[-1:] != (Axis.FEATURE,):
                raise ModelImportError("the head must read the 16 hidden units on the last axis")
            read = _gemm if node.op_type == "Gemm" else _matmul
            weight, bias, end = read(graph, node)
            _check_shapes(weight, bias)
            made = axes if len(weight) > 1 else (*axes[:-1], Axis.ONE)
            _check_end(graph, end, made, (steps, len(weight)), kind)
            heads.append((weight, bias))
    if len(heads) != 1:
        raise ModelImportError(f"the model must have one linear head, not {len(heads)}")
    return heads[0]


def _check_shapes(weight: NDArray[np.float64], bias: NDArray[np.float64]) -> None:
    if weight.ndim != 2 or weight.shape[1] != HIDDEN or bias.shape != (len(weight),):
        raise ModelImportError(
            f"the head must be linear from {HIDDEN} inputs, "
            f"not weights of shape {weight.shape} and a bias of shape {bias.shape}"
        )
    if not 1 <= len(weight) <= MAX_OUTPUTS:
        raise ModelImportError(f"outputs must be in 1..{MAX_OUTPUTS}, not {len(weight)}")


def _check_end(
    graph: Graph,
    name: str,
    axes: Axes,
    lengths: tuple[int, int],
    kind: HeadKind,
    depth: int = 0,
) -> None:
    """Nothing may compute behind the head; a queue model's softmax is the engine's own."""
    if depth > DEPTH:
        raise ModelImportError(f"at most {DEPTH} operators in a row may follow the head")
    readers = [node for node in graph.readers(name) if node.op_type != "Shape"]
    if not readers and Axis.STEP in axes:
        raise ModelImportError(f"the head must read the last of {lengths[0]} steps, not all")
    for node in readers:
        following = axes
        if node.op_type == "Softmax" and kind is HeadKind.QUEUE:
            at = integer(node, "axis", -1)
            if not -len(axes) <= at < len(axes) or axes[at] is not Axis.FEATURE:
                raise ModelImportError(f"Softmax must run over the outputs, not on axis {at}")
        elif node.op_type in MOVES and node.input[0] == name:
            following = moved(graph, node, axes, *lengths)
        else:
            raise ModelImportError(f"the head must be the graph's end, not lead to {node.op_type}")
        _check_end(graph, graph.output(node), following, lengths, kind, depth + 1)


_Linear = tuple[NDArray[np.float64], NDArray[np.float64], str]  # weights, bias, the result's name


def _gemm(graph: Graph, node: onnx.NodeProto) -> _Linear:
    given = attributes(node)
    scales = (given.get("alpha", 1.0), given.get("beta", 1.0))
    if given.get("transA", 0) or scales != (1.0, 1.0):
        raise ModelImportError("the head's Gemm must have transA = 0, alpha = 1, beta = 1")
    weight = _weight(graph, node)
    if not given.get("transB", 0):
        weight = weight.T
    if len(node.input) < 3 or not node.input[2]:
        bias = np.zeros(len(weight))
    else:
        bias = _bias(graph, node.input[2])
    return weight, bias, graph.output(node)


def _matmul(graph: Graph, node: onnx.NodeProto) -> _Linear:
    weight = _weight(graph, node).T
    end = graph.output(node)
    readers = graph.readers(end)
    if len(readers) == 1 and readers[0].op_type == "Add":
        (add,) = readers
        other = graph.input(add, 1) if add.input[0] == end else add.input[0]
        return weight, _bias(graph, other), graph.output(add)
    return weight, np.zeros(len(weight)), end


def _weight(graph: Graph, node: onnx.NodeProto) -> NDArray[np.float64]:
    weight = graph.real(graph.input(node, 1), "the head's weights")
    if weight.ndim != 2:
        raise ModelImportError(f"the head's weights must be a matrix, not of shape {weight.shape}")
    return weight


def _bias(graph: Graph, name: str) -> NDArray[np.float64]:
    """A bias on the last axis; axes of length one before it mean nothing."""
    bias = graph.real(name, "the head's bias")
    return bias.reshape(bias.shape[-1:]) if bias.ndim and bias.size == bias.shape[-1] else bias
