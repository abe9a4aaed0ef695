"""The RTL in the demo: vectors against the golden model, then the incast with the RTL deciding."""

from dataclasses import dataclass

import numpy as np

from precog_host.device import Device
from precog_models.image import Image
from precog_sim.demo.progress import Stages
from precog_sim.loop import Comparison, LoopSetup, compare, run_in_loop
from precog_sim.network import Record, Result, incast
from precog_sim.report import data, series
from precog_sim.rtl.exactness import Campaign
from precog_sim.rtl.library import RtlNic
from precog_sim.rtl.transport import RtlTransport
from precog_spec.config import PRESETS

__all__ = ["TARGET_US", "Steered", "run_series", "steer"]

TARGET_US = 5.0
_VECTORS_PER_BATCH = 10_000


@dataclass(frozen=True, eq=False)
class Steered:
    """What the RTL did.

    Parameters
    ----------
    vectors : RtlVsGolden
    loop : Loop
    first_difference : str
        The first mismatch in words; empty if there is none.
    with_rtl, pid : Result
        The incast under LSTM + PID decided by the RTL, and under PID decided by the golden model.
    """

    vectors: data.RtlVsGolden
    loop: data.Loop
    first_difference: str
    with_rtl: Result
    pid: Result


def steer(
    stages: Stages, image: Image, config: str, preset: str, seed: int, vectors: int
) -> Steered:
    """Verilate, compare vectors, load over AXI4-Lite, run the incast with RTL and golden."""
    with stages.stage("Amaranth to Verilog to a shared library"):
        nic = RtlNic(PRESETS[config], quiet=True)
    with stages.stage("RTL = golden, random vectors") as bar:
        campaign = Campaign(PRESETS[config], seed, nic=nic)
        while campaign.result.predictions < vectors and not campaign.result.first:
            campaign.batch(min(_VECTORS_PER_BATCH, vectors))
            bar(campaign.result.predictions, vectors)
    nic.reset()
    scenario = incast(preset)
    with_model = LoopSetup(algorithm="predpid", target_us=TARGET_US, image=image)
    record = Record(log=True, probe_us=1.0)
    with stages.stage("Load over AXI4-Lite; the RTL steers the incast"):
        device = Device(RtlTransport(nic))
        cycles, decisions = nic.cycles, nic.decisions
        rtl = run_in_loop(device, with_model, scenario, seed=seed, record=record)
        cycles, decisions = nic.cycles - cycles, nic.decisions - decisions
    with stages.stage("The same with the golden model, and PID alone"):
        with Device.open("emu:") as golden_device:
            golden = run_in_loop(golden_device, with_model, scenario, seed=seed, record=record)
        with Device.open("emu:") as pid_device:
            setup = LoopSetup(algorithm="pid", target_us=TARGET_US)
            pid = run_in_loop(pid_device, setup, scenario, seed=seed, record=record)
    comparison: Comparison = compare(rtl, golden)
    device.close()
    return Steered(
        vectors=data.RtlVsGolden(
            campaign.result.predictions, campaign.result.mismatches, (PRESETS[config].lanes,)
        ),
        loop=data.Loop(
            decisions=comparison.decisions,
            mismatches=comparison.mismatches,
            predictions_per_cpu_s=comparison.predictions / rtl.cpu_s,
            cycles_per_decision=cycles / decisions,
            lanes=PRESETS[config].lanes,
            flows=len(scenario.flows),
            seed=seed,
            transport="AXI4-Lite",
        ),
        first_difference=campaign.result.first or comparison.first,
        with_rtl=rtl,
        pid=pid,
    )


def run_series(result: Result) -> series.Run:
    """The report's curves of one run."""
    return series.Run(
        flow=result.sample_flow.astype(np.int16),
        t_us=result.sample_t_us.astype(np.float32),
        rtt_us=result.sample_rtt_us.astype(np.float32),
        rate_gbps=result.sample_rate_gbps.astype(np.float32),
        fct_ms=(result.fct_us * 1e-3).astype(np.float32),
        queue_t_us=result.probe_t_us.astype(np.float32),
        queue_kb=(result.probe_queue.max(axis=1) * 1e-3).astype(np.float32),
    )
