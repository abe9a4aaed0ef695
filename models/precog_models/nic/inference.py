"""The model of a queue pair, and its outputs: an LSTM's or a tree's."""

from precog_spec.contract import HIDDEN, MAX_INPUTS, MAX_OUTPUTS, MAX_STEPS

from ..jit import njit
from ..predict.lstm import forward
from ..predict.tree import tree_leaf
from .layout import (
    BIAS,
    FORECAST,
    GATES,
    HEAD_BIAS,
    HEAD_WEIGHTS,
    INPUT_WEIGHTS,
    INPUTS,
    KNOTS,
    OUTPUTS,
    QP_SIZE,
    QP_TABLE,
    QPS,
    S_KIND,
    S_OUTPUTS,
    S_STEPS,
    S_VALID,
    SET_SIZE,
    SETS,
    SH_H,
    SH_L,
    SH_X,
    SLOT_ENABLE,
    SLOT_SET,
    SLOT_SIZE,
    T_DEPTH,
    T_LEAVES,
    T_SOURCE,
    T_THRESHOLD,
    WEIGHTS,
    Ints,
)

__all__ = ["model_at", "run_lstm", "run_tree"]


@njit
def model_at(block: Ints, enable: int, slot: int, kind: int) -> int:
    """Where the set begins that a queue pair's `slot` stands for; -1 without a valid model.

    With forecasts the model's head must be of `kind`.
    """
    if not enable or slot >= block[SETS]:
        return -1
    slots = QP_TABLE + block[QPS] * QP_SIZE
    at = slots + slot * SLOT_SIZE
    enabled, number = block[at + SLOT_ENABLE], block[at + SLOT_SET]
    at = slots + block[SETS] * SLOT_SIZE + number * SET_SIZE
    if not enabled or not block[at + S_VALID]:
        return -1
    if block[FORECAST] and block[at + S_KIND] != kind:
        return -1
    return int(at)


@njit
def run_lstm(block: Ints, history: Ints, model: Ints) -> None:
    """Run `model` over the history [8, inputs]; the outputs are at ``block[OUTPUTS:]``."""
    steps, inputs = model[S_STEPS], history.shape[1]
    x = block[INPUTS:OUTPUTS].reshape(MAX_STEPS, MAX_INPUTS)
    for step in range(steps):
        x[step, :inputs] = history[MAX_STEPS - steps + step]
        x[step, inputs:] = 0
    forward(
        model[WEIGHTS:INPUT_WEIGHTS].reshape(GATES, HIDDEN),
        model[INPUT_WEIGHTS:BIAS].reshape(GATES, MAX_INPUTS),
        model[BIAS:SH_H],
        model[SH_H:SH_X],
        model[SH_X:HEAD_WEIGHTS],
        model[HEAD_WEIGHTS:HEAD_BIAS].reshape(MAX_OUTPUTS, HIDDEN),
        model[HEAD_BIAS:SH_L],
        model[SH_L:SET_SIZE],
        x,
        steps,
        model[S_OUTPUTS],
        block[OUTPUTS:KNOTS],
    )


@njit
def run_tree(history: Ints, model: Ints, p: Ints) -> None:
    """The distribution `p` that the tree `model` has for the history [8, inputs]."""
    depth = model[T_DEPTH]
    nodes = (1 << depth) - 1
    source = model[T_SOURCE : T_SOURCE + nodes]
    leaf = tree_leaf(source, model[T_THRESHOLD : T_THRESHOLD + nodes], depth, history)
    p[:] = model[T_LEAVES + leaf * MAX_OUTPUTS : T_LEAVES + (leaf + 1) * MAX_OUTPUTS]
