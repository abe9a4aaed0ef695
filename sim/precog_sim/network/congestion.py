"""Congestion-control plug-ins: which law decides, with which constants, window and headers.

One frozen dataclass per law; each names its preset and its source. `start_gbps` is the rate of a
new flow (None: line rate). `window` limits the bytes in flight: ``"none"``, ``"bdp"`` (line rate x
base RTT) or ``"rate"`` (the same, scaled with the flow's rate, as HPCC's codes do).
"""

from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.reference import dcqcn, dctcp, hpcc, pid, predictor, timely
from precog_models.rate.reference.common import preset_of
from precog_sim.network.ecn import Ecn
from precog_sim.network.layout import Telemetry, Window
from precog_sim.network.program import Program, program
from precog_sim.network.score_source import QueueCalls, Scores

__all__ = [
    "CongestionControl",
    "Dcqcn",
    "Dctcp",
    "Fixed",
    "Hpcc",
    "LawSetup",
    "LinkFacts",
    "Pid",
    "PredPid",
    "Timely",
]

_WINDOWS = ("none", "bdp", "rate")
_BASE_HEADER = 48  # Ethernet 14, IP 20, UDP 8, sequence and priority 6
_STAMPED_HEADER = 56  # and a time stamp
_KB = 1000
_BPS = 8e9  # bit/s of a byte per ns


@dataclass(frozen=True)
class LinkFacts:
    """What a law may know of the network: rates in bit/s, base RTT in ns, payload in bytes.

    `mark_us`: queueing delay from which switches mark all packets, 0: they mark as a law wants.
    """

    min_bps: float
    max_bps: float
    base_rtt_ns: float
    payload: int
    whole_bps: bool
    mark_us: float = 0.0

    @property
    def facts(self) -> dict[str, float]:
        """What parameters of laws may be, in us."""
        return {"network_base": self.base_rtt_ns * 1e-3, "mark_delay": self.mark_us}

    @property
    def bdp(self) -> int:
        """Line rate times base RTT, in bytes."""
        return int(self.max_bps * self.base_rtt_ns / 8e9)


_NO_PARAMETERS = np.zeros(1, np.dtype([("none", "f8")]))


@dataclass(frozen=True, eq=False)
class LawSetup:
    """What the kernel needs of a plug-in; made by `CongestionControl.setup`.

    `program` decides, with the record of its `parameters`; None: none does, or `function`.
    `ack_high`: in ns3 timing, hosts send acknowledgements even while they are paused, as the
    HPCC authors' code does under this law.
    """

    program: Program | None = None
    parameters: NDArray[np.void] = field(default_factory=_NO_PARAMETERS.copy)
    header: int = _BASE_HEADER
    ack_bytes: int = 60
    window: Window = Window.NONE
    retime: bool = False
    ecn: Ecn | None = None
    cnp_us: float = 0.0
    ack_high: bool = False
    function: int = 0
    handle: int = 0
    event_function: int = 0
    ack_function: int = 0
    tell_marks: bool = False
    sweep_us: float = 0.0
    scores: Scores | None = None
    queues: QueueCalls | None = None
    receivers: tuple[int, int] = (0, 0)

    @property
    def telemetry(self) -> Telemetry:
        """What the law's packets carry."""
        kind = self.program.settings["TELEMETRY"] if self.program else ""
        return Telemetry[kind.upper() or "NONE"]

    @property
    def bit_rate(self) -> float:
        """Bit/s of a rate of 1."""
        return 1.0 if self.program is None or self.program.settings["BIT_RATES"] else _BPS


@dataclass(frozen=True)
class CongestionControl:
    """Base of all plug-ins.

    Parameters
    ----------
    start_gbps : float or None
        Rate of a new flow, Gb/s; None: the rate of its link.
    window : str
        ``"none"``, ``"bdp"`` or ``"rate"``.
    retime : bool
        A change of rate moves the pending packet's departure; otherwise the new rate counts from
        the next packet on.
    """

    start_gbps: float | None = None
    window: str = "none"
    retime: bool = False

    def __post_init__(self) -> None:
        if self.start_gbps is not None and not self.start_gbps > 0:
            raise ValueError(f"start_gbps must be positive, not {self.start_gbps!r}")
        if self.window not in _WINDOWS:
            raise ValueError(f"window must be one of {', '.join(_WINDOWS)}, not {self.window!r}")

    @property
    def label(self) -> str:
        """Name for tables."""
        return type(self).__name__.lower()

    def parts(self, flows: int) -> tuple[tuple["CongestionControl", ...], NDArray[np.int64]]:
        """The laws of a run, and each flow's, by its place; here itself for all `flows`."""
        return (self,), np.zeros(flows, dtype=np.int64)

    def start_rates(self, top: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rates of the flows at their start; `top` are their links', all in bit/s."""
        return top.copy() if self.start_gbps is None else np.minimum(top, self.start_gbps * 1e9)

    def setup(self, link: LinkFacts) -> LawSetup:
        """The kernel's view of the plug-in on `link`."""
        raise NotImplementedError(f"{type(self).__name__} must define setup")


def _window(name: str) -> Window:
    return Window[name.upper()]


def _coded(
    name: str, table: NDArray[np.float64], **others: Any
) -> tuple[Program, NDArray[np.void]]:
    """The program `name` of `programs` and its parameters."""
    code = program(import_module(f"precog_sim.network.programs.{name}"))
    record = code.record({})
    for key, value in {"table": table, **others}.items():
        record[key] = value
    return code, record


@dataclass(frozen=True)
class Fixed(CongestionControl):
    """No control: every flow keeps its start rate."""

    def setup(self, link: LinkFacts) -> LawSetup:
        """The kernel's view of the plug-in."""
        return LawSetup(window=_window(self.window))


@dataclass(frozen=True)
class Pid(CongestionControl):
    """PID on the measured RTT (thesis 3.5; presets in `precog_models.rate.reference.pid`).

    Parameters
    ----------
    preset : str or PidParams
        Constants; ``target_us`` and ``train`` override its fields.
    target_us : float, optional
        Fixed RTT target in us.
    train : bool
        Train the gains on line, (21)-(26); the result is in `Result.gains`.
    header : int
        Header bytes of a data packet; 56 where it carries a time stamp, as in the thesis.

    Notes
    -----
    `thesis` has the settings that reproduce the thesis' program in ns3 timing; the defaults here
    are Precog's: rate changes move the pending departure, and no time stamp is sent.
    """

    start_gbps: float | None = 10.0
    retime: bool = True
    preset: str | pid.PidParams = "thesis"
    target_us: float | None = None
    train: bool = False
    header: int = _BASE_HEADER

    @classmethod
    def thesis(cls, target_us: float = 5.0, **changes: Any) -> Self:
        """The thesis' program; `changes` are further fields.

        Its rates take effect with the next packet, its packets carry TIMELY's time stamp, and a
        flow's first sample is only stored.
        """
        fields = {"retime": False, "header": _STAMPED_HEADER, "target_us": target_us, **changes}
        return cls(**fields)

    @property
    def params(self) -> pid.PidParams:
        """The preset with the overrides."""
        params = self.preset
        if isinstance(params, str):
            params = preset_of("pid", pid.PRESETS, params)
        if self.target_us is not None:
            params = replace(params, target_us=self.target_us)
        return replace(params, train=True) if self.train else params

    def setup(self, link: LinkFacts) -> LawSetup:
        """The kernel's view of the plug-in."""
        return LawSetup(
            *_coded("pid", self.params.vector(whole_bps=link.whole_bps)),
            header=self.header,
            window=_window(self.window),
            retime=self.retime,
        )


@dataclass(frozen=True, eq=False)
class PredPid(Pid):
    """LSTM + PID: the law acts on the predicted RTT (thesis 3.4, (12)).

    Parameters
    ----------
    weights : ndarray
        As `predictor.pack_weights` makes it: 1169 numbers.
    sigma : float
        EWMA weight of (2).
    steps : int
        Window of the LSTM (1..8).
    advice_limit : float
        Predictions are clamped to RTT (1 +- limit); 0: not clamped (thesis).
    """

    weights: NDArray[np.float64] | None = None
    sigma: float = 0.2
    steps: int = 3
    advice_limit: float = 0.0

    def setup(self, link: LinkFacts) -> LawSetup:
        """The kernel's view of the plug-in."""
        if self.weights is None:
            raise ValueError("weights must be given: train a model or use Pid")
        weights = np.ascontiguousarray(self.weights, dtype=np.float64)
        if weights.shape != (predictor.WEIGHTS,):
            raise ValueError(
                f"weights must have shape ({predictor.WEIGHTS},), not {weights.shape}: "
                "use predictor.pack_weights"
            )
        if not 1 <= self.steps <= predictor.MAX_STEPS:
            raise ValueError(f"steps must be in 1..{predictor.MAX_STEPS}, not {self.steps!r}")
        par = self.params.vector(
            sigma=self.sigma,
            advice_limit=self.advice_limit,
            steps=self.steps,
            whole_bps=link.whole_bps,
        )
        return LawSetup(
            *_coded("predpid", par, weights=weights),
            header=self.header,
            window=_window(self.window),
            retime=self.retime,
        )


@dataclass(frozen=True)
class Timely(CongestionControl):
    """TIMELY: presets ``paper`` (source 002), ``ns3`` and ``scaled``."""

    preset: str | timely.TimelyParams = "ns3"

    def setup(self, link: LinkFacts) -> LawSetup:
        """The kernel's view of the plug-in; 8 bytes of time stamp in every packet."""
        params = self.preset
        if isinstance(params, str):
            params = preset_of("timely", timely.PRESETS, params)
        par = params.vector(min_bps=link.min_bps, max_bps=link.max_bps, whole_bps=link.whole_bps)
        return LawSetup(
            *_coded("timely", par),
            header=_STAMPED_HEADER,
            window=_window(self.window),
            retime=self.retime,
            ecn=Ecn(400 * _KB, 1600 * _KB, 0.2),
            ack_high=True,
        )


@dataclass(frozen=True)
class Dctcp(CongestionControl):
    """DCTCP with a rate-scaled window, marking above K = 300 KB."""

    window: str = "rate"
    preset: str | dctcp.DctcpParams = "ns3"

    def setup(self, link: LinkFacts) -> LawSetup:
        """The kernel's view of the plug-in."""
        params = self.preset
        if isinstance(params, str):
            params = preset_of("dctcp", dctcp.PRESETS, params)
        par = params.vector(
            min_bps=link.min_bps,
            max_bps=link.max_bps,
            mtu=link.payload,
            whole_bps=link.whole_bps,
        )
        mark = int(params.mark_kb * _KB)
        return LawSetup(
            *_coded("dctcp", par),
            window=_window(self.window),
            retime=self.retime,
            ecn=Ecn(mark, mark),
        )


@dataclass(frozen=True)
class Hpcc(CongestionControl):
    """HPCC: 42 bytes of in-band telemetry in every packet, rate-scaled window."""

    window: str = "rate"
    retime: bool = True
    preset: str | hpcc.HpccParams = "ns3"

    def setup(self, link: LinkFacts) -> LawSetup:
        """The kernel's view of the plug-in."""
        params = self.preset
        if isinstance(params, str):
            params = preset_of("hpcc", hpcc.PRESETS, params)
        par = params.vector(
            min_bps=link.min_bps,
            max_bps=link.max_bps,
            t_ns=link.base_rtt_ns,
            window=link.bdp,
            whole_bps=link.whole_bps,
        )
        return LawSetup(
            *_coded("hpcc", par),
            header=_BASE_HEADER + 42,
            ack_bytes=88,
            window=_window(self.window),
            retime=self.retime,
            ecn=Ecn(400 * _KB, 1600 * _KB, 0.2),
        )


@dataclass(frozen=True)
class Dcqcn(CongestionControl):
    """DCQCN: presets ``paper`` and ``vendor`` (with CNPs), ``ns3`` and ``ns3-paper-timers``."""

    preset: str | dcqcn.DcqcnParams = "ns3"

    def setup(self, link: LinkFacts) -> LawSetup:
        """The kernel's view of the plug-in."""
        params = self.preset
        if isinstance(params, str):
            params = preset_of("dcqcn", dcqcn.PRESETS, params)
        par = params.vector(min_bps=link.min_bps, max_bps=link.max_bps, whole_bps=link.whole_bps)
        return LawSetup(
            *_coded("dcqcn", par, notified=params.cnp_us > 0),
            window=_window(self.window),
            retime=self.retime,
            ecn=Ecn(int(params.mark_min_kb * _KB), int(params.mark_max_kb * _KB), params.mark_max),
            cnp_us=params.cnp_us,
            ack_high=True,
        )
