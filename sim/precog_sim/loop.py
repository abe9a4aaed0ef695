"""A device in the loop: the network simulator asks it for every rate decision of every flow.

Any device that takes samples from the host serves: the golden NIC (``emu:``) and the Verilated RTL
(``sim:``) are set up by the same driver calls, and the simulator calls both through the same C
function type, so that a run with one can be compared with a run with the other, event for event.
DCQCN is told notifications, bytes sent and passing time too, by further functions.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_host.device import Device
from precog_host.driver.forecast import ForecastDriver
from precog_host.driver.law import STANDARD
from precog_host.driver.profiler import ProfilerDriver
from precog_host.emulator.device import Emulator
from precog_models.forecast.forecaster import Settings
from precog_models.image import Image
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_models.nic_queues import QUEUE_ADDRESS, VISIT_ADDRESS, follow
from precog_models.presets import law_preset
from precog_models.rate.engine.program import Program
from precog_models.rate.receiver_block import ReceiverBlock
from precog_models.tree_image import TreeImage
from precog_sim.network import (
    QUEUE_SOURCES,
    CongestionControl,
    Dcqcn,
    Loop,
    QueueCalls,
    Record,
    Result,
    Scenario,
    Scores,
    Timely,
    check_timing,
    run,
)
from precog_sim.rtl.transport import RtlTransport
from precog_spec.contract import (
    DECISION_FIELDS,
    PROFILE_CENTER,
    PROFILE_GAIN,
    PROFILE_INPUTS,
    SAMPLE_FIELDS,
    Flag,
    Fmt,
)
from precog_spec.receiver_fields import BASE_QUOTA
from precog_spec.registers.receiver import RECEIVER_PARAMETERS

__all__ = [
    "Comparison",
    "DeviceFunctions",
    "LoopSetup",
    "compare",
    "device_functions",
    "run_in_loop",
]

_QUEUE_SLOT = 1  # of the queue model; samples' models have slot 0
_LAW_SLOT = 0  # of a law that is a program
_TICK_PS = 1000  # of the samples and rates that the simulator exchanges with a device
_NAMES = tuple(name for name, _ in (*SAMPLE_FIELDS, *DECISION_FIELDS))
_FLAGS = _NAMES.index("flags")
_SWEEPS = 4  # in the shortest period of a clock that moves rates


@dataclass(frozen=True)
class LoopSetup:
    """What a device is told before the run.

    Parameters
    ----------
    preset : str
        Law preset (`precog_models.presets`): the constants of pid and predpid, and rate limits.
    algorithm : str
        ``"fixed"``, ``"pid"``, ``"predpid"``, ``"timely"`` or ``"dcqcn"``. The last two are
        programs, which are loaded into slot 0 of the device's law engine. The engine's threshold is
        out of reach then, so that the law alone decides.
    target_us : float, optional
        A fixed RTT target instead of the preset's.
    image : Image, optional
        The model; loaded into slot 0 over the registers. Required by ``predpid`` if it is to
        predict; without it every decision falls back to the base law.
    init_gbps : float or tuple of float, optional
        Rate of a new flow instead of the preset's; or of each flow by itself.
    min_gbps : float, optional
        Least rate instead of the preset's.
    rttch, win : bool
        The target adjuster; the window limit. Of pid and predpid.
    timely, dcqcn : str
        Presets of those laws.
    parameters : tuple of (str, float)
        Parameters by the device's names, in place of the presets'.
    law_values : tuple of (str, float)
        Parameters of the law's program in place of its preset's.
    scores : Scores, optional
        Senders make congestion scores, and PSCHED moves the law's rates by them; it judges them by
        the scores' own budget.
    queue_model : Image or TreeImage, optional
        What forecasts send queues, with its calibration; required by scores of queue models. Loaded
        into slot 1.
    psched : str
        Constants of PSCHED, where there are scores.
    priority : int
        Of all queue pairs, where there are scores.
    """

    preset: str = "thesis"
    algorithm: str = "predpid"
    target_us: float | None = None
    image: Image | None = None
    init_gbps: float | tuple[float, ...] | None = None
    min_gbps: float | None = None
    rttch: bool = False
    win: bool = False
    timely: str = "precog"
    dcqcn: str = "vendor"
    parameters: tuple[tuple[str, float], ...] = ()
    law_values: tuple[tuple[str, float], ...] = ()
    scores: Scores | None = None
    queue_model: Image | TreeImage | None = None
    psched: str = "precog"
    priority: int = 0

    def __post_init__(self) -> None:
        if self.forecasts and self.queue_model is None:
            raise ValueError("queue_model must be given for scores of queue models, not None")

    @property
    def forecasts(self) -> bool:
        """Whether the device forecasts send queues."""
        return self.scores is not None and self.scores.source in QUEUE_SOURCES

    @property
    def is_program(self) -> bool:
        """Whether the law is a program."""
        return self.algorithm in STANDARD

    def _values(self, device: Device) -> dict[str, int | list[int]]:
        """Parameters of the law's program; none if it is no program."""
        if not self.is_program:
            if self.law_values:
                raise ValueError(
                    f"law_values must be left out with {self.algorithm}: it is no program"
                )
            return {}
        if device.law is None:
            raise ValueError(
                f"device must have a law engine for {self.algorithm}: open it with law_cores=1"
            )
        preset = {"timely": self.timely, "dcqcn": self.dcqcn}[self.algorithm]
        return load(self.algorithm).integers(preset, device.tick_ps, **dict(self.law_values))

    def start_gbps(self, flows: int) -> tuple[float, ...]:
        """The rates at which the flows start, Gb/s.

        Raises
        ------
        ValueError
            The setup has rates for another number of flows.
        """
        if isinstance(self.init_gbps, tuple):
            if len(self.init_gbps) != flows:
                raise ValueError(
                    f"init_gbps must hold a rate for each of {flows} flows, "
                    f"not {len(self.init_gbps)}"
                )
            return self.init_gbps
        one = law_preset(self.preset).init_gbps if self.init_gbps is None else self.init_gbps
        return (one,) * flows

    def apply(self, device: Device, flows: int) -> None:
        """Load, configure and enable queue pairs 0..flows-1 of `device`.

        Raises
        ------
        ValueError
            The device has fewer queue pairs than the scenario has flows, or not the law, or there
            is no such preset, or the start rates are not the flows'; nothing is written then.
        DeviceError
            The device cannot run the model; nothing is written then.
        """
        if flows > device.sizes.qps:
            raise ValueError(
                f"flows must be at most the device's {device.sizes.qps} queue pairs, not {flows}"
            )
        values = self._values(device)
        parameters = device.shared.planned(
            self.preset,
            psched=self.psched if self.scores else None,
            **({"psched_delay_us": self.scores.budget_us} if self.scores else {}),
            **dict(self.parameters),
        )
        if self.image is not None:
            device.model.check(self.image, slot=0)
        planned = [
            device.qp(number).planned(
                preset=self.preset,
                enable=True,
                algorithm=f"law:{_LAW_SLOT}" if values else self.algorithm,
                target_us=self.target_us,
                min_gbps=self.min_gbps,
                init_gbps=start,
                rttch=self.rttch,
                win=self.win,
                model_slot=0 if self.image is not None else None,
                psched=True if self.scores else None,
                sla_priority=self.priority if self.scores else None,
            )
            for number, start in enumerate(self.start_gbps(flows))
        ]
        device.shared.write(parameters)
        if values:
            assert device.law is not None
            device.law.load(_program(self.algorithm), values, slot=_LAW_SLOT)
            device.law.configure(threshold_ticks=Fmt.RTT.max)
        if self.image is not None:
            device.model.load(self.image, slot=0)
        for number, config in enumerate(planned):
            device.qp(number).apply(config)

    def check_forecasts(self, device: Device) -> tuple[ProfilerDriver, ForecastDriver]:
        """The queue profiler and the forecasts of `device`, which `apply_forecasts` sets up.

        Raises
        ------
        ValueError
            The device has no queue profiler or makes no forecasts.
        DeviceError
            It cannot run the queue model.
        """
        if device.profiler is None or device.forecast is None:
            raise ValueError(
                "device must have a queue profiler and forecasts for scores of queue models: open "
                "it with forecast=1,profile=1"
            )
        assert self.queue_model is not None
        device.model.check(self.queue_model, slot=_QUEUE_SLOT, queue=True)
        return device.profiler, device.forecast

    def apply_forecasts(self, device: Device, flows: int, period_us: float) -> None:
        """Let `device` watch its send queues and forecast them every `period_us`.

        The network tells PSCHED the scores, when they have made their way.

        Raises
        ------
        ValueError, DeviceError
            As `check_forecasts`.
        """
        queues, forecasting = self.check_forecasts(device)
        model = self.queue_model
        assert model is not None
        device.model.load(model, slot=_QUEUE_SLOT, queue=True)
        scale = Settings.from_card(model.card).normaliser
        parts = {"center": (scale.centers, PROFILE_CENTER), "gain": (scale.gains, PROFILE_GAIN)}
        queues.set_parameters(
            period_us=period_us,
            every=0,
            **{
                f"{name}_{part}": value / form.one
                for part, (values, form) in parts.items()
                for name, value in zip(PROFILE_INPUTS, values, strict=True)
            },
        )
        for number in range(flows):
            forecasting.configure(number, model_slot=_QUEUE_SLOT, source="none")

    def control(
        self,
        flows: int,
        functions: "DeviceFunctions",
        queues: QueueCalls | None = None,
        receivers: tuple[int, int] = (0, 0),
    ) -> Loop:
        """The plug-in by which the network asks and tells the device, by its functions."""
        told = self._told(functions) if self.algorithm == "dcqcn" else {}
        like: dict[str, CongestionControl] = {
            "timely": Timely(),  # headers and marking are the same under each of its presets
            "dcqcn": Dcqcn(preset=self.dcqcn),
        }
        return Loop(
            flow_gbps=self.start_gbps(flows),
            function=functions.decide,
            handle=functions.handle,
            like=like.get(self.algorithm),
            event_function=functions.happen if told or self.scores else 0,
            tell_marks=bool(told),
            scores=self.scores,
            queues=queues,
            receivers=receivers,
            **told,
        )

    def _told(self, functions: "DeviceFunctions") -> dict[str, Any]:
        """What DCQCN must be told besides notifications, as arguments of `Loop`.

        The decrease check and the increase timer move rates, so their lateness must be small
        against their periods. Alpha's clock is left out: it acts only when a cut reads it, and what
        it missed is made up for then, exactly. It hears of bytes as of acknowledgements.
        """
        law = load("dcqcn")
        values = {one.name: one.default for one in law.parameters}
        values |= {**law.presets[self.dcqcn].values, **dict(self.law_values)}
        periods = [us for us in (values["cut_ticks"], values["rate_ticks"]) if us > 0]
        counts = values["byte_count"] > 0
        return {
            "ack_function": functions.acknowledge if counts else 0,
            "sweep_us": min(periods, default=0.0) / _SWEEPS,
        }


@cache
def _program(law: str) -> Program:
    return compile_law(load(law)).program


@dataclass(frozen=True)
class DeviceFunctions:
    """Addresses of a device's functions for samples, events and acknowledgements, and `handle`,
    their first argument."""

    decide: int
    happen: int
    acknowledge: int
    handle: int


def device_functions(device: Device) -> DeviceFunctions:
    """The functions by which compiled code asks a device.

    Raises
    ------
    ValueError
        It cannot be called from here.
    """
    transport = device.transport
    if isinstance(transport, RtlTransport):
        rtl = transport.nic
        return DeviceFunctions(rtl.address, rtl.event_address, rtl.ack_address, rtl.handle)
    if isinstance(transport, Emulator):
        nic = transport.nic
        return DeviceFunctions(nic.decide_address, nic.event_address, nic.ack_address, nic.handle)
    raise ValueError("device in the loop must be emu: or sim:, not one behind a wire")


def _queue_calls(device: Device, period_ps: int) -> QueueCalls:
    """How the device's profiler is told and asked; the emulated one's rows become the block's."""
    transport = device.transport
    if isinstance(transport, RtlTransport):
        return QueueCalls(transport.nic.queue_address, transport.nic.visit_address, period_ps)
    assert isinstance(transport, Emulator)
    assert transport.profiler is not None
    follow(transport.nic, transport.profiler.profiler)
    return QueueCalls(QUEUE_ADDRESS, VISIT_ADDRESS, period_ps)


def _receivers(flows: int) -> ReceiverBlock:
    """Receivers as they are after reset, and every queue pair asks for rate and priority.

    Cells of hosts, which quotas are of, are not simulated.
    """
    parameters = {
        field.name: field.reset for register in RECEIVER_PARAMETERS for field in register.fields
    }
    config = {"commands": 1, "boosts": 1, "grows": 0, "base_quota": BASE_QUOTA}
    return ReceiverBlock(flows, parameters, config)


def run_in_loop(
    device: Device,
    setup: LoopSetup,
    scenario: Scenario,
    *,
    timing: str = "exact",
    seed: int = 0,
    record: Record | None = None,
) -> Result:
    """Set `device` up and run `scenario` with it deciding; `Result.log` has every decision.

    Raises
    ------
    ValueError
        The device cannot be called from the simulator, is too small, or has another tick than
        the simulator's 1 ns, or there is no such timing; nothing is written then.
    DeviceError
        The device cannot run a model; nothing is written then.
    SimulationError
        The device failed, for example its watchdog ran out.
    """
    if device.tick_ps != _TICK_PS:
        raise ValueError(
            f"device in the loop must have a tick of {_TICK_PS} ps, not {device.tick_ps} ps: "
            "leave tick_ps out"
        )
    flows = len(scenario.flows)
    functions = device_functions(device)
    check_timing(timing)
    if setup.forecasts:
        setup.check_forecasts(device)
    setup.apply(device, flows)
    queues = None
    if setup.forecasts:
        period = round(scenario.base_rtt_us * 1e6 / _TICK_PS)  # as the models were trained
        setup.apply_forecasts(device, flows, period * _TICK_PS * 1e-6)
        queues = _queue_calls(device, period * _TICK_PS)
    receivers = _receivers(flows)
    control = setup.control(flows, functions, queues, (ReceiverBlock.ADDRESS, receivers.handle))
    result = run(scenario, control, timing=timing, seed=seed, record=record or Record(log=True))
    if isinstance(device.transport, Emulator) and len(result.log):
        device.transport.account(result.log[:, len(SAMPLE_FIELDS) :])
    return result


@dataclass(frozen=True)
class Comparison:
    """Two runs of one scenario, decision by decision.

    Attributes
    ----------
    decisions, predictions, events : int
        Compared; of them made on a prediction; of them made on an event that is no sample.
    mismatches : int
        Decisions whose sample, event or any decided field differs, decisions that only one run
        made, and flows that finished at another time; also forecasts, where both are kept.
    first : str
        The first difference in words; empty if there is none.
    forecasts : int
        Compared forecasts of send queues.
    """

    decisions: int
    predictions: int
    mismatches: int
    first: str
    events: int = 0
    forecasts: int = 0


def _of_events(log: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows of a log are decisions on events."""
    return np.asarray(log[:, _FLAGS] >> Flag.EVENT & 1, dtype=np.bool_)


def compare(one: Result, other: Result) -> Comparison:
    """Compare the logs and completion times of two runs of the same scenario."""
    n = min(len(one.log), len(other.log))
    differ = one.log[:n] != other.log[:n]
    rows = np.flatnonzero(differ.any(axis=1))
    # a flow that the horizon cut short has no completion time in either run
    late = np.flatnonzero(~np.isclose(one.fct_us, other.fct_us, rtol=0, atol=0, equal_nan=True))
    events = _of_events(one.log[:n])
    first = ""
    if rows.size:
        row = int(rows[0])
        column = int(np.flatnonzero(differ[row])[0])
        name = "value" if events[row] and _NAMES[column] == "rtt" else _NAMES[column]
        first = (
            f"decision {row}, field {name}: {one.log[row, column]} against {other.log[row, column]}"
        )
    elif len(one.log) != len(other.log):
        first = f"{len(one.log)} decisions against {len(other.log)}"
    elif late.size:
        first = f"flow {late[0]} ends at {one.fct_us[late[0]]} against {other.fct_us[late[0]]} us"
    made = min(len(one.forecast_log), len(other.forecast_log))
    unlike = (one.forecast_log[:made] != other.forecast_log[:made]).any(axis=1)
    left = abs(len(one.forecast_log) - len(other.forecast_log))
    if not first and (unlike.any() or left):
        row = int(np.argmax(unlike)) if unlike.any() else made
        first = f"forecast {row} differs, of {len(one.forecast_log)}, {len(other.forecast_log)}"
    flags = one.log[:n, _FLAGS]
    return Comparison(
        decisions=n,
        predictions=int((flags >> Flag.PREDICTED & 1).sum()),
        mismatches=int(rows.size)
        + abs(len(one.log) - len(other.log))
        + int(late.size)
        + int(unlike.sum())
        + left,
        first=first,
        events=int(events.sum()),
        forecasts=made,
    )
