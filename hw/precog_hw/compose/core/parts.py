"""The parts of a core, as far as its configuration has them."""

from dataclasses import dataclass

from amaranth.hdl import Module
from amaranth.lib import wiring

from precog_hw.measure.feature import Feature
from precog_hw.predict.forecast import Forecaster
from precog_hw.predict.rtt_head import RttHead
from precog_hw.predict.unit import Predictor
from precog_hw.rate.engine.engine import LawEngine
from precog_hw.rate.law_stage import LawStage
from precog_hw.rate.psched import Psched
from precog_hw.rate.unit import RateUnit
from precog_hw.stream.queue import Queue
from precog_hw.stream.through import ThroughQueue
from precog_spec.config import NicConfig

__all__ = ["BEGUN", "FLYING", "Laws", "Parts", "Shared"]

FLYING = 8  # samples between the feature unit and the decision that the queues hold
BEGUN = 16  # and with those in the feature unit


@dataclass(frozen=True)
class Laws:
    """What follows pid and predpid with `config.laws`.

    Attributes
    ----------
    stage : LawStage
    psched : Psched
    engine : LawEngine, optional
        With `config.law_cores`.
    """

    stage: LawStage
    psched: Psched
    engine: LawEngine | None


@dataclass(frozen=True)
class Shared:
    """What `Core` and `MicroCore` have in common.

    Attributes
    ----------
    m : Module
        Of the core.
    core : Core or MicroCore
    config : NicConfig
    predictor : Predictor
    laws : Laws, optional
        With `config.laws`.
    forecaster : Forecaster, optional
        With `config.forecast`.
    """

    m: Module
    core: wiring.Component
    config: NicConfig
    predictor: Predictor
    laws: Laws | None
    forecaster: Forecaster | None


@dataclass(frozen=True)
class Parts(Shared):
    """What is joined in a `Core`, and whose ports lead outside.

    Attributes
    ----------
    samples : Queue or ThroughQueue
    srtts, measured : Queue
        Samples that wait for the feature unit; S_t for the head; samples for the rate unit.
    raws : Queue, optional
        With `config.laws`: RTT and time of each sample that the rate unit will decide on.
    feature, head, rate
        Every such core has them.
    """

    samples: Queue | ThroughQueue
    srtts: Queue
    measured: Queue
    raws: Queue | None
    feature: Feature
    head: RttHead
    rate: RateUnit
