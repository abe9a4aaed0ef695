"""A law engine in the network's loop: every event of every flow goes to a device with one.

The device decides over the same C functions as a device in `precog_sim.loop`: ``emu:`` or ``sim:``.
So a run with the golden engine and a run with the RTL can be compared decision for decision.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from precog_host.device import Device
from precog_models.laws.compiler.compile import Compiled, compile_law
from precog_models.laws.compiler.load import load
from precog_models.presets import LAW_PRESETS
from precog_models.rate.engine.program import Program
from precog_sim.loop import Comparison, device_functions
from precog_sim.network import Record, Result, Scenario, check_timing, run
from precog_sim.network.asking import LOG_FIELDS, asking
from precog_sim.network.prepare import link_facts
from precog_sim.network.program_integer import SWEEP_NS, integer_program
from precog_sim.rtl.transport import loop_config
from precog_spec.engine.events import Kind

__all__ = ["EngineRun", "EngineSetup", "check_rtl", "compare_engines", "run_with_engine"]

_SLOT = 0
_TICK_PS = 1000
_QUEUE_PAIR = LAW_PRESETS["precog"]
_SPARE = 4  # decisions for each packet that the log has room for


@dataclass(frozen=True)
class EngineSetup:
    """What the device is told before the run.

    Parameters
    ----------
    law : str or Path
        A law of `precog_models.laws` by its name, or a file of that language. Loaded into slot 0
        over the registers.
    preset : str
        Of its parameters.
    values : dict of str to float
        Parameters that differ from the preset's.
    start_gbps : float
        Rate of a new flow.

    Raises
    ------
    ValueError
        `start_gbps` is outside the rates of queue pairs with the preset ``precog``.
    """

    law: str | Path
    preset: str = "default"
    values: dict[str, float] = field(default_factory=dict)
    start_gbps: float = 10.0

    def __post_init__(self) -> None:
        low, high = _QUEUE_PAIR.min_gbps, _QUEUE_PAIR.max_gbps
        if not low <= self.start_gbps <= high:
            raise ValueError(f"start_gbps must be in {low:g}..{high:g}, not {self.start_gbps!r}")

    def check(self, device: Device, flows: int) -> None:
        """Refuse a device that cannot run the law for all flows.

        Raises
        ------
        ValueError
            It cannot be called from the simulator, it has no law engine or another tick than the
            simulator's 1 ns, or it has fewer queue pairs than flows.
        """
        _check_sizes(device.law is not None, device.sizes.qps, flows)
        if device.tick_ps != _TICK_PS:
            raise ValueError(
                f"device in the loop must have a tick of {_TICK_PS} ps, not {device.tick_ps} ps: "
                "leave tick_ps out"
            )
        device_functions(device)

    @cached_property
    def made(self) -> Compiled:
        """The law, compiled once: large ones take seconds.

        Raises
        ------
        ValueError
            There is no such law, or it cannot be compiled.
        """
        return compile_law(load(self.law))

    def compiled(
        self, facts: Mapping[str, float], tick_ps: int = _TICK_PS
    ) -> tuple[Program, dict[str, int | list[int]]]:
        """The law's program, and its parameters; `facts` as of `apply`.

        Raises
        ------
        ValueError
            As `made`, or there is no such preset or parameter.
        """
        law = self.made.law
        told = law.with_facts(self.values, facts)
        return self.made.program, law.integers(self.preset, tick_ps, **told)

    def apply(self, device: Device, flows: int, facts: Mapping[str, float]) -> None:
        """Load the law, and let queue pairs 0..flows-1 of `device` run it.

        `facts` of the network are told to a law that has parameters for them.

        Raises
        ------
        ValueError
            As `check`; nothing is written then.
        DeviceError
            It refused the program.
        """
        self.check(device, flows)
        assert device.law is not None
        program, values = self.compiled(facts, device.tick_ps)
        device.law.load(program, values, slot=_SLOT)
        for number in range(flows):
            device.qp(number).configure(
                preset="precog",  # `_QUEUE_PAIR`
                enable=True,
                algorithm=f"law:{_SLOT}",
                init_gbps=self.start_gbps,
            )


def check_rtl(uri: str, flows: int) -> None:
    """Refuse a simulated device, before it is built for minutes, that cannot run all flows.

    Devices of other transports are open at once: `EngineSetup.check` looks at those.

    Raises
    ------
    ValueError
        It has no law engine, fewer queue pairs than flows, or packets.
    DeviceError
        `uri` is not a configuration.
    """
    config = loop_config(uri)
    if config is not None:
        _check_sizes(config.law_cores > 0, config.qps, flows)


def _check_sizes(engine: bool, qps: int, flows: int) -> None:
    if not engine:
        raise ValueError("device must have a law engine: open it with law_cores=1")
    if flows > qps:
        raise ValueError(
            f"flows must be at most the device's {qps} queue pairs, not {flows}: "
            f"open it with qps={1 << (flows - 1).bit_length()}"
        )


@dataclass(frozen=True, eq=False)
class EngineRun:
    """A run, and every decision of it.

    Attributes
    ----------
    result : Result
    log : ndarray of int64, shape (decisions, 16)
        `LOG_FIELDS`.
    """

    result: Result
    log: NDArray[np.int64]


def run_with_engine(
    device: Device,
    setup: EngineSetup,
    scenario: Scenario,
    *,
    timing: str = "exact",
    seed: int = 0,
    record: Record | None = None,
) -> EngineRun:
    """Set `device` up and run `scenario` with its law engine deciding.

    Raises
    ------
    ValueError
        The device cannot be called from the simulator, has no law engine, is too small, or has
        another tick than the simulator's 1 ns, or there is no such law or timing.
    DeviceError
        It refused the program.
    RuntimeError
        It failed, for example its watchdog ran out, or it decided for another queue pair.
    """
    check_timing(timing)
    facts = link_facts(scenario, whole_bps=False).facts
    setup.apply(device, len(scenario.flows), facts)
    heard = frozenset(name.removeprefix("on_") for name in setup.made.law.events)
    packets = sum(-(-flow.size // scenario.payload) for flow in scenario.flows)
    sweeps = scenario.horizon_us * 1000 / SWEEP_NS * len(scenario.flows) * ("timer" in heard)
    control = asking(
        heard,
        integer_program(setup.law),
        setup.start_gbps,
        _SPARE * (packets + len(scenario.flows)) + int(sweeps),
        **asdict(device_functions(device)),
    )
    result = run(scenario, control, timing=timing, seed=seed, record=record or Record())
    return EngineRun(result, control.log())


def compare_engines(one: EngineRun, other: EngineRun) -> Comparison:
    """Compare the logs and completion times of two runs of the same scenario."""
    n = min(len(one.log), len(other.log))
    differ = one.log[:n] != other.log[:n]
    rows = np.flatnonzero(differ.any(axis=1))
    ends = one.result.fct_us, other.result.fct_us
    late = np.flatnonzero(~np.isclose(*ends, rtol=0, atol=0, equal_nan=True))
    left = abs(len(one.log) - len(other.log))
    first = ""
    if rows.size:
        row = int(rows[0])
        column = int(np.flatnonzero(differ[row])[0])
        pair = f"{one.log[row, column]} against {other.log[row, column]}"
        first = f"decision {row}, field {LOG_FIELDS[column]}: {pair}"
    elif left:
        first = f"{len(one.log)} decisions against {len(other.log)}"
    elif late.size:
        first = f"flow {late[0]} ends at {ends[0][late[0]]} against {ends[1][late[0]]} us"
    events = int((one.log[:n, 0] != Kind.SAMPLE).sum())
    return Comparison(n, 0, int(rows.size) + left + int(late.size), first, events)
