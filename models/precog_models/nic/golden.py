"""The golden NIC as an object."""

from collections.abc import Mapping, Sequence

import numpy as np

from precog_spec.contract import (
    FORECAST_FIELDS,
    PROGRAM_ALGORITHM,
    Algorithm,
    HeadKind,
)
from precog_spec.law_fields import NO_SCORE
from precog_spec.trial_fields import TRIAL_KINDS, TRIAL_STATE

from ..predict.cps import identity_knots
from ..predict.forecast import FORECAST_SCORES
from ..rate.engine.unit import EngineUnit, engine_size
from ..rate.psched import PSCHED_STATE, psched_configure, psched_reset
from ..rate.unit import QP_CONFIG
from .compiled import acknowledge_c, decide_c, happen_c
from .events import acknowledge, happen
from .forecasts import forecast, take_score
from .inference import model_at
from .laws import is_programmed
from .layout import (
    BLOCK_SIZE,
    DROPPED,
    ENGINE,
    FORECAST,
    FORECASTING,
    HEAD_WORDS,
    KNOTS,
    LATE,
    LOGGED,
    PARAMETERS,
    Q_ALGORITHM,
    Q_ENABLE,
    Q_FEATURE,
    Q_FORECAST_CONFIG,
    Q_HISTORY,
    Q_INIT_RATE,
    Q_MODEL_ENABLE,
    Q_MODEL_SLOT,
    Q_PROFILES,
    Q_PSCHED,
    Q_PSCHED_ON,
    Q_SCORES,
    Q_WIN,
    QP_TABLE,
    QPS,
    RTT_KIND,
    RTT_TRIAL,
    SETS,
    SLA,
    TREES,
    Ints,
    block_size,
    profiler_size,
    store,
)
from .models import NicModels
from .samples import Decision, decide, decide_many

__all__ = ["GoldenNic"]


class GoldenNic(NicModels):
    """A golden NIC core: sets, slots, configuration and state in one block.

    Parameters
    ----------
    qps : int
        Queue pairs.
    sets : int
        Model sets, and as many slots.
    forecast : int
        1: queue pairs may have a second model, for their profiles.
    tree : int
        1: that model is a tree, not an LSTM.
    profile : int
        1: the profiler stands in the block, too (`nic_queues`).
    law_cores : int
        1: queue pairs may run programs (`rate.engine.unit`).

    Raises
    ------
    ValueError
        A size is not positive, or there are trees without forecasts.

    Notes
    -----
    Everything is zero at first: no queue pair is enabled, and the parameters are zero; but the
    calibration tables change nothing.
    """

    def __init__(
        self,
        *,
        qps: int = 64,
        sets: int = 16,
        forecast: int = 0,
        tree: int = 0,
        profile: int = 0,
        law_cores: int = 0,
    ) -> None:
        for name, value in (("qps", qps), ("sets", sets)):
            if value < 1:
                raise ValueError(f"{name} must be positive, not {value!r}")
        self.qps = qps
        self.sets = sets
        engine = block_size(qps, sets)
        size = engine + (engine_size(qps) if law_cores else 0) + profile * profiler_size(qps)
        self.block: Ints = np.zeros(size, dtype=np.int64)
        if tree and not forecast:
            raise ValueError("forecast must be 1 with tree, not 0")
        kind = TREES if tree else forecast
        self.block[[QPS, SETS, BLOCK_SIZE, FORECAST]] = qps, sets, len(self.block), kind
        self.block[KNOTS:FORECASTING] = np.tile(identity_knots(), len(HeadKind))
        #: The law engine, where there is one: it lies in the block, too.
        self.engine: EngineUnit | None = None
        if law_cores:
            self.block[ENGINE] = engine
            self.engine = EngineUnit(qps, self.block[engine : engine + engine_size(qps)])

    @property
    def handle(self) -> int:
        """Address of the block; valid as long as this object lives."""
        return int(self.block.ctypes.data)

    @property
    def decide_address(self) -> int:
        """Address of ``int64 decide(void* block, int64* sample, int64* decision)``."""
        return int(decide_c.address)

    @property
    def event_address(self) -> int:
        """Address of ``int64 happen(void* block, int64* event, int64* decision)``."""
        return int(happen_c.address)

    @property
    def ack_address(self) -> int:
        """Address of ``int64 acknowledge(void* block, int64* ack, int64* decision)``."""
        return int(acknowledge_c.address)

    def set_parameters(self, values: Mapping[str, int]) -> None:
        """Set some of `PARAMETERS`, as integers of their formats.

        Raises
        ------
        ValueError
            A name is unknown.
        """
        store(self.block[HEAD_WORDS:SLA], PARAMETERS, values, "parameter")

    def parameters(self) -> dict[str, int]:
        """All `PARAMETERS` by name."""
        return dict(zip(PARAMETERS, self.block[HEAD_WORDS:SLA].tolist(), strict=True))

    def configure(self, qp: int, values: Mapping[str, int]) -> None:
        """Set some of `QP_CONFIG` of one queue pair.

        Raises
        ------
        ValueError
            The queue pair or a name does not exist.
        """
        q = self._qp(qp)
        store(q[:Q_FORECAST_CONFIG], QP_CONFIG, values, "configuration field")
        windowed = bool(q[Q_WIN]) and q[Q_ALGORITHM] <= Algorithm.PREDPID
        programmed = self.runs_program(qp)
        psched_configure(
            q[Q_PSCHED:Q_PROFILES], bool(q[Q_PSCHED_ON]), windowed, int(q[Q_INIT_RATE])
        )
        if self.engine is not None:
            on = programmed and q[Q_ENABLE]
            slot = int(q[Q_ALGORITHM]) - PROGRAM_ALGORITHM if on else None
            self.engine.configure(qp, slot, self.configuration(qp))

    def configuration(self, qp: int) -> dict[str, int]:
        """`QP_CONFIG` of one queue pair by name."""
        return dict(zip(QP_CONFIG, self._qp(qp)[:Q_FORECAST_CONFIG].tolist(), strict=True))

    def runs_program(self, qp: int) -> bool:
        """A queue pair's law is a program."""
        return bool(is_programmed(self.block, self._qp(qp)))

    def answering(self, qp: int) -> tuple[int, int]:
        """Set and version of the model that answers for a queue pair in time; else zeros."""
        q = self._qp(qp)
        live = model_at(self.block, q[Q_MODEL_ENABLE], q[Q_MODEL_SLOT], RTT_KIND) >= 0
        if not live or self.block[LOGGED] & LATE:
            return 0, 0
        number, _ = self.slot(int(q[Q_MODEL_SLOT]))
        return number, self.set_state(number)[1]

    def score(self, qp: int) -> int:
        """The score that counts for a queue pair; NO_SCORE without one."""
        state = self._qp(qp)[Q_PSCHED:]
        scored = state[PSCHED_STATE.index("scored")]
        return int(state[PSCHED_STATE.index("score")]) if scored else NO_SCORE

    def reset_qp(self, qp: int) -> None:
        """Forget all that was measured, predicted and decided for a queue pair."""
        q = self._qp(qp)
        q[Q_FEATURE:] = 0
        psched_reset(q[Q_PSCHED:Q_PROFILES], int(q[Q_INIT_RATE]))
        if self.engine is not None:
            self.engine.reset(qp)

    def trial(self, kind: str) -> dict[str, int]:
        """`TRIAL_STATE` of one of `TRIAL_KINDS` by name."""
        at = RTT_TRIAL + TRIAL_KINDS.index(kind) * len(TRIAL_STATE)
        state = self.block[at : at + len(TRIAL_STATE)]
        return dict(zip(TRIAL_STATE, state.tolist(), strict=True))

    def reset_trials(self) -> None:
        """Forget what both trials have counted, and their verdicts."""
        self.block[RTT_TRIAL:QP_TABLE] = 0

    def restart_predictor(self) -> None:
        """Forget the inputs of both models of every queue pair."""
        for qp in range(self.qps):
            q = self._qp(qp)
            q[Q_HISTORY:Q_PSCHED] = 0
            q[Q_PROFILES:Q_SCORES] = 0

    def decide(self, qp: int, rtt: int, t: int) -> Decision | None:
        """The decision on one sample; None if the sample is dropped."""
        decision = np.zeros(len(Decision._fields), dtype=np.int64)
        if decide(self.block, np.array([qp, rtt, t], dtype=np.int64), decision) == DROPPED:
            return None
        return Decision(*decision.tolist())

    def happen(self, kind: int, qp: int, t: int, value: int = 0) -> Decision | None:
        """The decision on one event; None if it is dropped."""
        decision = np.zeros(len(Decision._fields), dtype=np.int64)
        event = np.array([kind, qp, t, value], dtype=np.int64)
        if happen(self.block, event, decision) == DROPPED:
            return None
        return Decision(*decision.tolist())

    def acknowledge(self, ack: Sequence[int] | Ints) -> Decision | None:
        """The decision on one acknowledgement, `ACK_FIELDS`; None if it is dropped."""
        decision = np.zeros(len(Decision._fields), dtype=np.int64)
        if acknowledge(self.block, np.array(ack, dtype=np.int64), decision) == DROPPED:
            return None
        return Decision(*decision.tolist())

    def forecast(self, qp: int, t: int, x: Sequence[int]) -> dict[str, int] | None:
        """`contract.FORECAST_FIELDS` by name for one profile; None if it is dropped."""
        answer = np.zeros(len(FORECAST_FIELDS), dtype=np.int64)
        if forecast(self.block, np.array([qp, t, *x], dtype=np.int64), answer) == DROPPED:
            return None
        return dict(zip((name for name, _ in FORECAST_FIELDS), answer.tolist(), strict=True))

    def rtt_score(self, qp: int) -> int:
        """Score plus 1 of the last decision on a sample of a queue pair; 0 without one."""
        return int(self._qp(qp)[Q_SCORES + FORECAST_SCORES.index("rtt_made")])

    def take_score(self, qp: int) -> int:
        """As the function `take_score`."""
        self._qp(qp)
        return int(take_score(self.block, qp))

    def decide_many(self, samples: Ints) -> Ints:
        """Decisions [m, 8] on samples [n, 3] in order; dropped samples leave no row."""
        decisions = np.zeros((len(samples) + 1, len(Decision._fields)), dtype=np.int64)
        return decisions[: decide_many(self.block, samples, decisions)]
