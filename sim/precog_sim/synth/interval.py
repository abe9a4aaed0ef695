"""Cycles between predictions of a full pipeline: ``python -m precog_sim.synth.interval``.

The gateware of a preset is Verilated without its packets, and samples of all its queue pairs wait.
Writes ``build/synth/interval-PRESET.json``.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from precog_host.device import Device
from precog_models.image import pretrained
from precog_sim.commit import commit_name
from precog_sim.targets import new_folder
from precog_spec.config import PRESETS

from ..rtl.library import RtlNic
from ..rtl.transport import RtlTransport

__all__ = ["image", "interval", "main"]

_ROUNDS = 64  # samples of each queue pair


def image() -> bytes:
    """A model with one input, three steps and one output."""
    return pretrained().payload


def interval(nic: RtlNic, qps: int) -> tuple[float, int]:
    """Mean cycles between decisions on predictions, and the fewest of one alone.

    Parameters
    ----------
    nic : RtlNic
        All of it is set up anew.
    qps : int
        Queue pairs that take turns; with 16 a context is ready when its turn comes.
    """
    with Device(RtlTransport(nic)) as device:
        device.model.write_set(0, image())
        device.model.map_slot(0, 0)
        for qp in range(qps):
            device.qp(qp).configure(preset="thesis", enable=True, algorithm="predpid", model_slot=0)
        n = _ROUNDS * qps
        rng = np.random.default_rng(1)
        samples = np.stack(
            [np.arange(n) % qps, rng.integers(4000, 9000, n), 5000 * np.arange(n)], axis=1
        )
        nic.batch(samples[: 8 * qps])  # contexts are made
        between = nic.batch(samples).cycles / n
        alone = min(int(nic.batch(samples[i : i + 1]).latency[0]) for i in range(min(qps, 16)))
    return between, alone


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(
        prog="python -m precog_sim.synth.interval", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--preset", default="corundum-100g", choices=sorted(PRESETS))
    parser.add_argument("--mhz", type=float, default=250.0, help="clock of the core")
    parser.add_argument("--out", type=new_folder, default="build/synth")
    given = parser.parse_args(arguments)
    if not 1 <= given.mhz <= 2000:
        parser.error(f"--mhz must be in 1..2000, not {given.mhz:g}")
    config = PRESETS[given.preset]
    core = replace(
        config, width=0, wire=0, receiver=False, senders=False, macs=0, grants=False, dsp="generic"
    )
    between, alone = interval(RtlNic(core), config.qps)
    line = {
        "preset": given.preset,
        "qps": config.qps,
        "interval_cycles": round(between, 3),
        "decision_cycles": alone,
        "mhz": given.mhz,
        "decisions_per_s": round(given.mhz * 1e6 / between),
        "commit": commit_name("hw", "models", "sim"),
    }
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / f"interval-{given.preset}.json").write_text(json.dumps(line, indent=1) + "\n")
    print(
        f"{given.preset}, {config.qps} queue pairs: a decision on a prediction in "
        f"{between:.2f} cycles, {given.mhz / between:.2f} M/s at {given.mhz:g} MHz; "
        f"alone {alone} cycles after its sample"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
