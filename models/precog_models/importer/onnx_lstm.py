"""ONNX graphs with one LSTM node and a linear head.

ONNX orders gate rows i, o, f, c and keeps two biases (Wb, Rb); we take i, f, g, o and their sum.
Between the LSTM and its head only operators that move data are understood; anything that computes
is refused by name.
"""

from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from numpy.typing import NDArray

from ..contract import HIDDEN, MAX_INPUTS, MAX_OUTPUTS, HeadKind
from ..float_lstm import FloatLstm
from . import ModelImportError
from .onnx_graph import Array, Graph, attributes

__all__ = ["from_onnx", "load_onnx"]

_MOVES = ("Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
_ACTIVATIONS = ["sigmoid", "tanh", "tanh"]
_IOFC_TO_IFGO = (0, 2, 3, 1)


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
        model = onnx.load_model_from_string(Path(path).read_bytes())
    except DecodeError as error:
        raise ModelImportError(f"{path} must be an ONNX file: {error}") from error
    return from_onnx(model, steps=steps, kind=kind)


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
        activations, coupled gates, sequence lengths, an initial state other than zero, another
        hidden size than 16, more than 8 inputs or 16 outputs, or no linear head.
    """
    graph = Graph(model.graph)
    try:
        return _read(graph, model, steps, kind)
    except RecursionError as error:
        raise ModelImportError("the graph must have no cycle among its constants") from error


def _read(graph: "Graph", model: onnx.ModelProto, steps: int, kind: HeadKind) -> FloatLstm:
    nodes = [node for node in model.graph.node if node.op_type == "LSTM"]
    if len(nodes) != 1:
        raise ModelImportError(f"the graph must have one LSTM node (one layer), not {len(nodes)}")
    node = nodes[0]
    _check_attributes(node)
    inputs = [*node.input, *[""] * (8 - len(node.input))]
    if inputs[4]:
        raise ModelImportError("the LSTM must run whole windows, without sequence_lens")
    for name, what in ((inputs[5], "initial_h"), (inputs[6], "initial_c")):
        if name and not graph.is_zero(name):
            raise ModelImportError(f"{what} must be zero")
    if inputs[7] and not graph.is_zero(inputs[7]):
        raise ModelImportError("the LSTM must have no peephole weights")
    w_ih = _one_direction(graph.constant(inputs[1], "W"), "W")
    w_hh = _one_direction(graph.constant(inputs[2], "R"), "R")
    if w_hh.shape != (4 * HIDDEN, HIDDEN):
        raise ModelImportError(f"hidden size must be {HIDDEN}, not {w_hh.shape[-1]}")
    if w_ih.ndim != 2 or len(w_ih) != 4 * HIDDEN or not 1 <= w_ih.shape[1] <= MAX_INPUTS:
        raise ModelImportError(f"inputs must be in 1..{MAX_INPUTS}, not {w_ih.shape[-1]}")
    bias = np.zeros(4 * HIDDEN)
    if inputs[3]:
        both = _one_direction(graph.constant(inputs[3], "B"), "B")
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
    gates = rows.astype(np.float64).reshape(4, HIDDEN, -1)[list(_IOFC_TO_IFGO)]
    return np.asarray(gates.reshape(rows.shape))


def _one_direction(array: Array, name: str) -> Array:
    if array.ndim == 0 or len(array) != 1:
        raise ModelImportError(f"{name} must hold one direction, not shape {array.shape}")
    return np.asarray(array[0])


def _check_attributes(node: onnx.NodeProto) -> None:
    given = attributes(node)
    direction = given.get("direction", b"forward").decode()
    if direction != "forward":
        raise ModelImportError(f"direction must be forward, not {direction}")
    if "clip" in given:
        raise ModelImportError("the LSTM must have no clip")
    if given.get("input_forget", 0):
        raise ModelImportError("input and forget gates must not be coupled (input_forget)")
    activations = [a.decode() for a in given.get("activations", [])]
    if activations and [a.lower() for a in activations] != _ACTIVATIONS:
        raise ModelImportError(
            f"activations must be Sigmoid, Tanh, Tanh, not {', '.join(activations)}"
        )
    hidden = given.get("hidden_size", HIDDEN)
    if hidden != HIDDEN:
        raise ModelImportError(f"hidden size must be {HIDDEN}, not {hidden}")


def _head(
    graph: Graph, lstm: onnx.NodeProto, steps: int, kind: HeadKind
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights [O, 16] and bias [O] of the Gemm, or MatMul and Add, behind the LSTM."""
    heads: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    tensors = [name for name in lstm.output if name]
    seen = set(tensors)
    while tensors:
        name = tensors.pop()
        for node in graph.readers(name):
            if node.op_type == "Gemm":
                heads.append(_gemm(graph, node, kind))
            elif node.op_type == "MatMul":
                heads.append(_matmul(graph, node, name, kind))
            elif node.op_type == "Shape":
                continue
            elif node.op_type in _MOVES:
                _check_last_step(graph, node, steps)
                tensors += [output for output in node.output if output not in seen]
                seen.update(node.output)
            else:
                raise ModelImportError(
                    f"the LSTM must lead to a linear head (Gemm or MatMul), not to {node.op_type}"
                )
    if len(heads) != 1:
        raise ModelImportError(f"the model must have one linear head, not {len(heads)}")
    weight, bias = heads[0]
    if weight.ndim != 2 or weight.shape[1] != HIDDEN or bias.shape != (len(weight),):
        raise ModelImportError(
            f"the head must be linear from {HIDDEN} inputs, not {weight.shape} and {bias.shape}"
        )
    if len(weight) > MAX_OUTPUTS:
        raise ModelImportError(f"outputs must be in 1..{MAX_OUTPUTS}, not {len(weight)}")
    return weight, bias


def _check_last_step(graph: Graph, node: onnx.NodeProto, steps: int) -> None:
    """A Gather with a single index picks a step: it must be the last."""
    if node.op_type != "Gather":
        return
    index = graph.constant(node.input[1], "a Gather's index")
    if index.size != 1 or int(index.reshape(-1)[0]) not in (-1, steps - 1):
        raise ModelImportError(f"the head must read the last of {steps} steps, not {index}")


def _check_end(graph: Graph, name: str, kind: HeadKind) -> None:
    """Nothing may compute behind the head; a queue model's softmax is the engine's own."""
    for node in graph.readers(name):
        if node.op_type == "Softmax" and kind is HeadKind.QUEUE:
            continue
        if node.op_type not in _MOVES:
            raise ModelImportError(f"the head must be the graph's end, not lead to {node.op_type}")
        for output in node.output:
            _check_end(graph, output, kind)


def _gemm(
    graph: Graph, node: onnx.NodeProto, kind: HeadKind
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    given = attributes(node)
    scales = (given.get("alpha", 1.0), given.get("beta", 1.0))
    if given.get("transA", 0) or scales != (1.0, 1.0):
        raise ModelImportError("the head's Gemm must have transA = 0, alpha = 1, beta = 1")
    weight = graph.constant(node.input[1], "the head's weights").astype(np.float64)
    if not given.get("transB", 0):
        weight = weight.T
    if len(node.input) < 3 or not node.input[2]:
        bias = np.zeros(len(weight))
    else:
        bias = graph.constant(node.input[2], "the head's bias").astype(np.float64).reshape(-1)
    _check_end(graph, node.output[0], kind)
    return weight, bias


def _matmul(
    graph: Graph, node: onnx.NodeProto, hidden: str, kind: HeadKind
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if node.input[0] != hidden:
        raise ModelImportError("the head's MatMul must have the hidden state on its left")
    weight = graph.constant(node.input[1], "the head's weights").astype(np.float64).T
    readers = graph.readers(node.output[0])
    if len(readers) == 1 and readers[0].op_type == "Add":
        (add,) = readers
        other = add.input[1] if add.input[0] == node.output[0] else add.input[0]
        bias = graph.constant(other, "the head's bias").astype(np.float64).reshape(-1)
        _check_end(graph, add.output[0], kind)
        return weight, bias
    _check_end(graph, node.output[0], kind)
    return weight, np.zeros(len(weight))
