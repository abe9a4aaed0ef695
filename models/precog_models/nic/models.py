"""The models of a golden NIC: sets, slots, calibration tables, which queue pair has which."""

from collections.abc import Mapping, Sequence

import numpy as np

from precog_spec.contract import (
    CALIBRATION_KNOTS,
    HeadKind,
)

from ..predict.cps import check_knots
from ..predict.forecast import FORECAST_CONFIG, FORECAST_PARAMETERS
from ..predict.lstm import LstmWeights
from ..predict.tree_model import TreeModel, read_image
from .layout import (
    FORECAST,
    FORECASTING,
    KNOTS,
    Q_ENABLE,
    Q_FEATURE,
    Q_FORECAST_CONFIG,
    Q_MODEL_ENABLE,
    Q_MODEL_SLOT,
    Q_QUEUE_ENABLE,
    Q_QUEUE_SLOT,
    QP_SIZE,
    QP_TABLE,
    S_KIND,
    S_OUTPUTS,
    S_STEPS,
    S_VALID,
    S_VERSION,
    SET_SIZE,
    SLOT_SIZE,
    T_DEPTH,
    T_LEAVES,
    T_SOURCE,
    T_THRESHOLD,
    TENSORS,
    TREES,
    WEIGHTS,
    Ints,
    store,
)

__all__ = ["NicModels"]


class NicModels:
    """The part of a golden NIC's block in which models stand.

    Attributes
    ----------
    qps, sets : int
        Sizes of the NIC.
    block : ndarray of int64
        The NIC's block.
    """

    qps: int
    sets: int
    block: Ints

    @property
    def trees(self) -> bool:
        """Queue models are trees."""
        return bool(self.block[FORECAST] == TREES)

    def load_set(self, number: int, model: bytes | LstmWeights | TreeModel) -> None:
        """Put a model into a set and make it valid; an image that is refused leaves the set as is.

        Raises
        ------
        ValueError
            The set does not exist, the image is refused by `read_image`, or the NIC was
             made for queue models of the other kind.
        """
        if isinstance(model, bytes):
            model = read_image(model)
        if isinstance(model, TreeModel) != (self.trees and model.kind is HeadKind.QUEUE):
            kind = "a tree" if self.trees else "an LSTM"
            raise ValueError(f"a queue model must be {kind} here")
        s = self._set(number)
        if isinstance(model, TreeModel):
            tree, nodes = model.tree, len(model.tree.source)
            s[T_DEPTH] = tree.depth
            s[T_SOURCE : T_SOURCE + nodes] = tree.source
            s[T_THRESHOLD : T_THRESHOLD + nodes] = tree.threshold
            s[T_LEAVES : T_LEAVES + tree.leaves.size] = tree.leaves.reshape(-1)
        else:
            s[WEIGHTS:] = np.concatenate([getattr(model, name).reshape(-1) for name, _ in TENSORS])
        s[S_STEPS] = model.steps
        s[S_OUTPUTS] = model.outputs
        s[S_VERSION] = model.version
        s[S_KIND] = model.kind
        s[S_VALID] = 1

    def invalidate_set(self, number: int) -> None:
        """Take a set out of service, as the begin of a load does."""
        self._set(number)[S_VALID] = 0

    def map_slot(self, slot: int, number: int, *, enable: bool = True) -> None:
        """Let `slot` stand for set `number`.

        Raises
        ------
        ValueError
            The slot or the set does not exist, or an invalid set is to be enabled.
        """
        if not 0 <= slot < self.sets:
            raise ValueError(f"slot must be in 0..{self.sets - 1}, not {slot!r}")
        if enable and not self._set(number)[S_VALID]:
            raise ValueError(f"set {number} must hold a valid model before a slot is mapped to it")
        at = QP_TABLE + self.qps * QP_SIZE + slot * SLOT_SIZE
        self.block[at : at + SLOT_SIZE] = number, int(enable)

    def slot(self, slot: int) -> tuple[int, bool]:
        """The set that `slot` stands for, and whether it is enabled."""
        if not 0 <= slot < self.sets:
            raise ValueError(f"slot must be in 0..{self.sets - 1}, not {slot!r}")
        at = QP_TABLE + self.qps * QP_SIZE + slot * SLOT_SIZE
        number, enable = self.block[at : at + SLOT_SIZE].tolist()
        return number, bool(enable)

    def head_kind(self, number: int) -> HeadKind | None:
        """Kind of the head of a set's model; None without a valid one."""
        s = self._set(number)
        return HeadKind(int(s[S_KIND])) if s[S_VALID] else None

    def set_state(self, number: int) -> tuple[bool, int]:
        """Whether a set holds a valid model, and the version of what was loaded last."""
        s = self._set(number)
        return bool(s[S_VALID]), int(s[S_VERSION])

    def set_forecast(self, values: Mapping[str, int]) -> None:
        """Set some of `FORECAST_PARAMETERS`.

        Raises
        ------
        ValueError
            A name is unknown.
        """
        store(self.block[FORECASTING:QP_TABLE], FORECAST_PARAMETERS, values, "forecast parameter")

    def configure_forecast(self, qp: int, values: Mapping[str, int]) -> None:
        """Set some of `FORECAST_CONFIG` of one queue pair.

        Raises
        ------
        ValueError
            The queue pair or a name does not exist.
        """
        row = self._qp(qp)[Q_FORECAST_CONFIG:Q_FEATURE]
        store(row, FORECAST_CONFIG, values, "forecast field")

    def forecast_configuration(self, qp: int) -> dict[str, int]:
        """`FORECAST_CONFIG` of one queue pair by name."""
        row = self._qp(qp)[Q_FORECAST_CONFIG:Q_FEATURE]
        return dict(zip(FORECAST_CONFIG, row.tolist(), strict=True))

    def has_model(self, qp: int, kind: HeadKind) -> bool:
        """Whether a queue pair is enabled and names a slot that stands for a model."""
        q = self._qp(qp)
        if kind is HeadKind.QUEUE:
            named, slot = q[Q_QUEUE_ENABLE], int(q[Q_QUEUE_SLOT])
        else:
            named, slot = q[Q_MODEL_ENABLE], int(q[Q_MODEL_SLOT])
        return bool(q[Q_ENABLE] and named and slot < self.sets and self.slot(slot)[1])

    def _qp(self, qp: int) -> Ints:
        if not 0 <= qp < self.qps:
            raise ValueError(f"queue pair must be in 0..{self.qps - 1}, not {qp!r}")
        at = QP_TABLE + qp * QP_SIZE
        return self.block[at : at + QP_SIZE]

    def _set(self, number: int) -> Ints:
        if not 0 <= number < self.sets:
            raise ValueError(f"set must be in 0..{self.sets - 1}, not {number!r}")
        at = QP_TABLE + self.qps * QP_SIZE + self.sets * SLOT_SIZE + number * SET_SIZE
        return self.block[at : at + SET_SIZE]

    def set_knots(self, kind: HeadKind, knots: Sequence[int] | Ints) -> None:
        """Set the calibration table of one kind of model.

        Raises
        ------
        ValueError
            As `check_knots`.
        """
        at = KNOTS + kind * CALIBRATION_KNOTS
        self.block[at : at + CALIBRATION_KNOTS] = check_knots(knots)

    def knots(self, kind: HeadKind) -> Ints:
        """The calibration table of one kind of model; what is written to it counts."""
        at = KNOTS + kind * CALIBRATION_KNOTS
        return self.block[at : at + CALIBRATION_KNOTS]
