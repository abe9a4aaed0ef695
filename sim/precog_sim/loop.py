"""A device in the loop: the network simulator asks it for every rate decision of every flow.

Any device that takes samples from the host serves: the golden NIC (``emu:``) and the Verilated RTL
(``sim:``) are set up by the same driver calls, and the simulator calls both through the same C
function type, so that a run with one can be compared with a run with the other, event for event.
"""

from dataclasses import dataclass

import numpy as np

from precog_host.device import Device
from precog_host.emulator import Emulator
from precog_models.contract import DECISION_FIELDS, SAMPLE_FIELDS, Flag
from precog_models.image import Image
from precog_models.presets import law_preset
from precog_sim.network import Loop, Record, Result, Scenario, run
from precog_sim.rtl.transport import RtlTransport

__all__ = ["Comparison", "LoopSetup", "compare", "run_in_loop"]

_TICK_PS = 1000  # of the samples and rates that the simulator exchanges with a device
_NAMES = tuple(name for name, _ in (*SAMPLE_FIELDS, *DECISION_FIELDS))


@dataclass(frozen=True)
class LoopSetup:
    """What a device is told before the run.

    Parameters
    ----------
    preset : str
        Law preset (`precog_models.presets`).
    algorithm : str
        ``"pid"`` or ``"predpid"``.
    target_us : float, optional
        A fixed RTT target instead of the preset's.
    image : Image, optional
        The model; loaded into slot 0 over the registers. Required by ``predpid`` if it is to
        predict; without it every decision falls back to the base law.
    init_gbps : float, optional
        Rate of a new flow instead of the preset's.
    rttch, win : bool
        The target adjuster; the window limit.
    """

    preset: str = "thesis"
    algorithm: str = "predpid"
    target_us: float | None = None
    image: Image | None = None
    init_gbps: float | None = None
    rttch: bool = False
    win: bool = False

    @property
    def start_gbps(self) -> float:
        """The rate at which flows start, Gb/s."""
        return law_preset(self.preset).init_gbps if self.init_gbps is None else self.init_gbps

    def apply(self, device: Device, flows: int) -> None:
        """Load, configure and enable queue pairs 0..flows-1 of `device`.

        Raises
        ------
        ValueError
            The device has fewer queue pairs than the scenario has flows.
        """
        if flows > device.sizes.qps:
            raise ValueError(
                f"flows must be at most the device's {device.sizes.qps} queue pairs, not {flows}"
            )
        device.apply_preset(self.preset)
        if self.image is not None:
            device.load_model(self.image, slot=0)
        for number in range(flows):
            device.qp(number).configure(
                preset=self.preset,
                enable=True,
                algorithm=self.algorithm,
                target_us=self.target_us,
                init_gbps=self.start_gbps,
                rttch=self.rttch,
                win=self.win,
                model_slot=0 if self.image is not None else None,
            )


def _entry(device: Device) -> tuple[int, int]:
    """The device's decision function and its first argument, as addresses."""
    transport = device.transport
    if isinstance(transport, RtlTransport):
        return transport.nic.address, transport.nic.handle
    if isinstance(transport, Emulator):
        return transport.nic.decide_address, transport.nic.handle
    raise ValueError("device in the loop must be emu: or sim:, not one behind a wire")


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
        the simulator's 1 ns.
    SimulationError
        The device failed, for example its watchdog ran out.
    """
    if device.tick_ps != _TICK_PS:
        raise ValueError(
            f"device in the loop must have a tick of {_TICK_PS} ps, not {device.tick_ps} ps: "
            "leave tick_ps out"
        )
    setup.apply(device, len(scenario.flows))
    function, handle = _entry(device)
    control = Loop(start_gbps=setup.start_gbps, function=function, handle=handle)
    result = run(scenario, control, timing=timing, seed=seed, record=record or Record(log=True))
    if isinstance(device.transport, Emulator) and len(result.log):
        device.transport.account(result.log[:, len(SAMPLE_FIELDS) :])
    return result


@dataclass(frozen=True)
class Comparison:
    """Two runs of one scenario, decision by decision.

    Attributes
    ----------
    decisions, predictions : int
        Compared; of them made on a prediction.
    mismatches : int
        Decisions whose sample or any decided field differs, decisions that only one run made, and
        flows that finished at another time.
    first : str
        The first difference in words; empty if there is none.
    """

    decisions: int
    predictions: int
    mismatches: int
    first: str


def compare(one: Result, other: Result) -> Comparison:
    """Compare the logs and completion times of two runs of the same scenario."""
    n = min(len(one.log), len(other.log))
    differ = one.log[:n] != other.log[:n]
    rows = np.flatnonzero(differ.any(axis=1))
    late = np.flatnonzero(one.fct_us != other.fct_us)
    first = ""
    if rows.size:
        row = int(rows[0])
        column = int(np.flatnonzero(differ[row])[0])
        first = (
            f"decision {row}, field {_NAMES[column]}: "
            f"{one.log[row, column]} against {other.log[row, column]}"
        )
    elif len(one.log) != len(other.log):
        first = f"{len(one.log)} decisions against {len(other.log)}"
    elif late.size:
        first = f"flow {late[0]} ends at {one.fct_us[late[0]]} against {other.fct_us[late[0]]} us"
    flags = one.log[:n, _NAMES.index("flags")]
    return Comparison(
        decisions=n,
        predictions=int((flags >> Flag.PREDICTED & 1).sum()),
        mismatches=int(rows.size) + abs(len(one.log) - len(other.log)) + int(late.size),
        first=first,
    )
