"""What the axes of a tensor mean, followed through the operators of a graph that only move data.

A tensor behind the LSTM has steps, a batch, features (hidden units, then the head's outputs) and
axes of length one. An operator is understood if what each axis of its output means is certain.
Everything else is refused by name: a guess would import another model than the file holds.
"""

from enum import Enum

import onnx

from ..limits import DIMENSIONS
from . import ModelImportError
from .onnx_graph import Graph, integer, integer_list

__all__ = ["MOVES", "Axes", "Axis", "moved"]


class Axis(Enum):
    """What an axis counts."""

    STEP = "step"
    BATCH = "batch"
    FEATURE = "feature"
    ONE = "single"  #: of length one: nothing


Axes = tuple[Axis, ...]

MOVES = ("Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")


def moved(graph: Graph, node: onnx.NodeProto, axes: Axes, steps: int, features: int) -> Axes:
    """The axes of a moving operator's output.

    Parameters
    ----------
    graph : Graph
    node : onnx.NodeProto
        Its operator is one of `MOVES`.
    axes : tuple of Axis
        Of its first input.
    steps, features : int
        Lengths of an axis of steps and of one of features.

    Returns
    -------
    tuple of Axis
        Where the last step has been picked, its axis is a single one or gone.

    Raises
    ------
    ModelImportError
        It picks another step than the last, picks from the batch or the features, mixes axes, or
        depends on more than constants.
    """
    result = _moved(graph, node, axes, steps, features)
    if len(result) > DIMENSIONS:
        raise ModelImportError(
            f"{node.op_type} must make at most {DIMENSIONS} dimensions, not {len(result)}"
        )
    return result


def _moved(graph: Graph, node: onnx.NodeProto, axes: Axes, steps: int, features: int) -> Axes:
    match node.op_type:
        case "Flatten":
            at = integer(node, "axis", 1)
            at = at if at == len(axes) else _index(at, len(axes), node)
            return _one_of(axes[:at], node), _one_of(axes[at:], node)
        case "Gather":
            return _gather(graph, node, axes, steps)
        case "Reshape":
            return _reshape(graph, node, axes, {Axis.STEP: steps, Axis.FEATURE: features})
        case "Slice":
            return _slice(graph, node, axes, steps)
        case "Squeeze":
            return _squeeze(graph, node, axes)
        case "Transpose":
            perm = integer_list(node, "perm")
            if perm is None:
                return axes[::-1]
            if sorted(perm) != list(range(len(axes))):
                raise ModelImportError(f"a Transpose must permute {len(axes)} axes, not {perm}")
            return tuple(axes[i] for i in perm)
        case "Unsqueeze":
            return _unsqueeze(graph, node, axes)
    return axes


def _index(axis: int, count: int, node: onnx.NodeProto) -> int:
    if not -count <= axis < count:
        raise ModelImportError(
            f"axis of {node.op_type} must be in {-count}..{count - 1}, not {axis}"
        )
    return axis % count


def _one_of(axes: Axes, node: onnx.NodeProto) -> Axis:
    """The meaning of several merged axes; a batch that joins another axis has length one."""
    kinds = [axis for axis in axes if axis not in (Axis.ONE, Axis.BATCH)]
    if len(kinds) > 1:
        raise ModelImportError(f"{node.op_type} must not mix steps and features")
    if kinds:
        return kinds[0]
    return Axis.BATCH if Axis.BATCH in axes else Axis.ONE


def _gather(graph: Graph, node: onnx.NodeProto, axes: Axes, steps: int) -> Axes:
    at = _index(integer(node, "axis", 0), len(axes), node)
    index = graph.integers(graph.input(node, 1), "a Gather's index")
    found = [int(i) for i in index.reshape(-1)]
    if axes[at] is Axis.STEP:
        if found not in ([-1], [steps - 1]):
            raise ModelImportError(f"the head must read the last of {steps} steps, not {found}")
    elif axes[at] is not Axis.ONE or found not in ([0], [-1]):
        raise ModelImportError(
            f"a Gather must pick a step, not {found} on the {axes[at].value} axis"
        )
    return (*axes[:at], *(Axis.ONE,) * index.ndim, *axes[at + 1 :])


def _slice(graph: Graph, node: onnx.NodeProto, axes: Axes, steps: int) -> Axes:
    result = list(axes)
    for axis, start, end, stride in graph.slices(node):
        at = _index(axis, len(axes), node)
        length = {Axis.STEP: steps, Axis.ONE: 1}.get(axes[at])
        if length is not None and stride:
            kept = list(range(length))[start:end:stride]
            if kept == list(range(length)):
                continue
            if axes[at] is Axis.STEP and kept == [steps - 1]:
                result[at] = Axis.ONE
                continue
            if axes[at] is Axis.STEP:
                raise ModelImportError(f"the head must read the last of {steps} steps, not {kept}")
        elif (start, stride) == (0, 1) and end >= _ALL:
            continue
        raise ModelImportError(
            f"a Slice must pick the last step, not {start}:{end}:{stride} "
            f"on the {axes[at].value} axis"
        )
    return tuple(result)


_ALL = 2**31 - 1  # what exporters write for an open end, at least


def _squeeze(graph: Graph, node: onnx.NodeProto, axes: Axes) -> Axes:
    named = graph.axes(node)
    if named is None:
        raise ModelImportError("a Squeeze must name its axes")
    gone = {_index(axis, len(axes), node) for axis in named}
    for at in gone:
        if axes[at] in (Axis.STEP, Axis.FEATURE):
            raise ModelImportError(f"a Squeeze must not remove the {axes[at].value} axis")
    return tuple(axis for at, axis in enumerate(axes) if at not in gone)


def _unsqueeze(graph: Graph, node: onnx.NodeProto, axes: Axes) -> Axes:
    named = graph.axes(node)
    if named is None:
        raise ModelImportError("an Unsqueeze must name its axes")
    count = len(axes) + len(named)
    new = {_index(axis, count, node) for axis in named}
    if len(new) != len(named):
        raise ModelImportError(f"an Unsqueeze must name each axis once, not {list(named)}")
    old = iter(axes)
    return tuple(Axis.ONE if at in new else next(old) for at in range(count))


def _reshape(graph: Graph, node: onnx.NodeProto, axes: Axes, lengths: dict[Axis, int]) -> Axes:
    constant = graph.integers(graph.input(node, 1), "a Reshape's shape")
    shape = [int(n) for n in constant.reshape(-1)]
    wanted = [axis for axis in axes if axis is not Axis.ONE]
    result: list[Axis] = []  # from the last axis on
    for at, entry in reversed(list(enumerate(shape))):
        kept = axes[at] if entry == 0 and at < len(axes) else None  # a zero keeps the input's
        if entry == 1 or kept is Axis.ONE:
            result.append(Axis.ONE)
            continue
        if not wanted:
            if entry != -1:
                raise _mixes(shape)
            result.append(Axis.ONE)
            continue
        axis = wanted.pop()
        certain = kept is axis or entry == lengths.get(axis, entry) != 0
        if not (certain or (axis is Axis.FEATURE and entry == -1)):
            raise _mixes(shape)
        result.append(axis)
    if any(axis is not Axis.BATCH for axis in wanted):  # a batch of one may go
        raise _mixes(shape)
    return tuple(result[::-1])


def _mixes(shape: list[int]) -> ModelImportError:
    return ModelImportError(
        f"a Reshape must keep steps, batch and features apart, not make the shape {shape}"
    )
