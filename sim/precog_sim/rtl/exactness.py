"""RTL = golden over millions of decisions: the same driver, the same samples, two devices.

Both NICs are set up by the same driver calls, the RTL's over AXI4-Lite: models written word by word
and checked by CRC, slots mapped, parameters and queue pairs configured. Then both get the same
samples, the RTL's through the full pipeline with random idle cycles and back-pressure. Every field
of every decision must be equal, and afterwards the counters and what the registers say about the
queue pairs. Models, maps and configurations change between batches, most queue pairs go on with
the history they have.

Run ``python -m precog_sim.rtl.exactness`` for the full size.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_sim.targets import new_file
from precog_spec.config import PRESETS, NicConfig
from precog_spec.contract import DECISION_FIELDS, Algorithm, Flag
from precog_spec.law_fields import LAW_EVENT_FIELDS
from precog_spec.registers.qp import QP_CONFIG
from precog_spec.trial_fields import TRIAL_KINDS

from .library import NicLibrary, RtlNic
from .mixed import replayed
from .stimulus import (
    FAMILIES,
    law_events,
    model_image,
    parameter_fields,
    qp_fields,
    rtt_samples,
)
from .transport import RtlTransport

__all__ = ["Campaign", "Result", "emulator_like", "main"]

_NAMES = [name for name, _ in DECISION_FIELDS]
_FLAGS = _NAMES.index("flags")
_RTT_PRED = _NAMES.index("rtt_pred")
_NO_EVENTS = np.zeros((0, len(LAW_EVENT_FIELDS)), dtype=np.int64)


@dataclass
class Result:
    """What a campaign on one configuration found.

    Attributes
    ----------
    lanes : int
    seed : int
    decisions, predictions : int
        Compared; of them with a prediction, whether the law followed it or not.
    events : int
        Compared decisions of events, not counted in `decisions`.
    mismatches : int
        Decisions that differ in any field, plus counters and registers that differ.
    families : dict of str to int
        Decisions while models of the family were loaded.
    model_loads : int
    rtl_cycles : int
        Of the batches.
    latency_cycles : tuple of int
        Smallest and largest latency seen, with queueing.
    rtl_cpu_s, golden_cpu_s : float
        CPU seconds inside the batches.
    first : str
        The first difference in words, empty if there is none.
    """

    lanes: int
    seed: int
    decisions: int = 0
    predictions: int = 0
    events: int = 0
    mismatches: int = 0
    families: dict[str, int] = field(default_factory=dict)
    model_loads: int = 0
    rtl_cycles: int = 0
    latency_cycles: tuple[int, int] = (1 << 31, 0)
    rtl_cpu_s: float = 0.0
    golden_cpu_s: float = 0.0
    first: str = ""


def emulator_like(config: NicConfig) -> Emulator:
    """The golden NIC of the same sizes, behind the same registers."""
    return Emulator(config)


class Campaign:
    """Two devices that must agree.

    Parameters
    ----------
    config : NicConfig
    seed : int
        Of everything random.
    nic : NicLibrary, optional
        The RTL; the exported NIC of `config` if not given.
    families : sequence of str
        Kinds of weights, in turn.
    """

    def __init__(
        self,
        config: NicConfig,
        seed: int,
        *,
        nic: NicLibrary | None = None,
        families: Sequence[str] = FAMILIES,
    ) -> None:
        self.config = config
        self.nic = nic or RtlNic(config)
        self.emulator = emulator_like(config)
        self.rtl = Device(RtlTransport(self.nic))
        self.golden = Device(self.emulator)
        self.result = Result(config.lanes, seed)
        self._families = families
        self._rng = np.random.default_rng(seed)
        self._phase = 0
        self._slot_set: dict[int, int] = {}
        registers = self.golden.registers
        self._defaults = {
            name: value
            for block in config.parameter_blocks
            for register in registers.registers(block)
            for name, value in registers.fields(block, register.name).items()
        }

    def close(self) -> None:
        """Free the RTL."""
        self.rtl.close()

    def batch(self, n: int) -> None:
        """Change something, then compare `n` decisions and what the registers say."""
        family = self._families[self._phase % len(self._families)]
        self._set_up(family, everything=self._phase == 0)
        self._phase += 1
        rng, result = self._rng, self.result
        if self.config.laws and self._phase % 2 == 0:
            self._mixed(n, family)
            return
        samples = rtt_samples(rng, self.config.qps, n)
        pressure = rng.choice(np.array([0.0, 0.0, 0.3, 0.9]), 2)
        start = time.process_time()
        run = self.nic.batch(
            samples,
            seed=int(rng.integers(1 << 32)),
            idle=float(pressure[0]),
            stall=float(pressure[1]),
            allow_drops=True,
        )
        made = run.latency >= 0
        got = run.decisions[made]
        middle = time.process_time()
        answer = replayed(self.emulator.nic.block, samples, _NO_EVENTS, got)
        result.rtl_cpu_s += middle - start
        result.golden_cpu_s += time.process_time() - middle
        if answer is None:
            self._differ("decisions are missing, or there are too many", 1)
            return
        want, dropped, _ = answer
        self.emulator.account(want, dropped=dropped)
        result.rtl_cycles += run.cycles
        result.decisions += len(want)
        result.predictions += _predictions(want)
        result.families[family] = result.families.get(family, 0) + len(want)
        low, high = result.latency_cycles
        if len(got):
            seen = run.latency[made]
            result.latency_cycles = (min(low, int(seen.min())), max(high, int(seen.max())))
        self._compare(got, want)
        self._compare_registers()

    def _mixed(self, n: int, family: str) -> None:
        """As `batch`, with events between the samples."""
        rng, result = self._rng, self.result
        samples = rtt_samples(rng, self.config.qps, n)
        events = law_events(rng, self.config.qps, n)
        pace = rng.choice(np.array([0.02, 0.2, 1.0]), 2)
        start = time.process_time()
        got = self.nic.mixed(
            samples,
            events,
            seed=int(rng.integers(1 << 32)),
            sample=float(pace[0]),
            event=float(pace[1]),
            stall=float(rng.choice(np.array([0.0, 0.3]))),
        )
        middle = time.process_time()
        answer = replayed(self.emulator.nic.block, samples, events, got)
        result.rtl_cpu_s += middle - start
        result.golden_cpu_s += time.process_time() - middle
        if answer is None:
            self._differ("decisions are missing, or there are too many", 1)
            return
        want, dropped, ignored = answer
        self.emulator.account(want, dropped=dropped, ignored=ignored)
        of_events = int((want[:, _FLAGS] >> Flag.EVENT & 1).sum())
        result.events += of_events
        result.decisions += len(want) - of_events
        result.families[family] = result.families.get(family, 0) + len(want) - of_events
        result.predictions += _predictions(want)
        self._compare(got, want)
        self._compare_registers()

    def _compare(self, got: Any, want: Any) -> None:
        """Every field of every decision."""
        if len(got) != len(want):
            self._differ(f"{len(got)} decisions instead of {len(want)}", abs(len(got) - len(want)))
            return
        wrong = np.flatnonzero((got != want).any(axis=1))
        if len(wrong):
            row = int(wrong[0])
            fields = ", ".join(
                f"{name} {got[row, n]} instead of {want[row, n]}"
                for n, name in enumerate(_NAMES)
                if got[row, n] != want[row, n]
            )
            self._differ(f"decision {row} of QP {want[row, 0]}: {fields}", len(wrong))

    def _compare_registers(self) -> None:
        """Counters, model sets, and the status of some queue pairs."""
        qps = self._rng.choice(self.config.qps, min(4, self.config.qps), replace=False)
        for what, rtl, golden in (
            ("counters", self.rtl.counters(), self.golden.counters()),
            ("model sets", self.rtl.model.sets(), self.golden.model.sets()),
            *(
                (f"trial of {kind}", self.rtl.trials.found(kind), self.golden.trials.found(kind))
                for kind in TRIAL_KINDS
                if self.rtl.trials is not None and self.golden.trials is not None
            ),
            *(
                (f"QP {qp}", self.rtl.qp(int(qp)).status(), self.golden.qp(int(qp)).status())
                for qp in qps
            ),
        ):
            if rtl != golden:
                self._differ(f"{what}: {rtl} instead of {golden}", 1)

    def _differ(self, text: str, count: int) -> None:
        self.result.mismatches += count
        if not self.result.first:
            self.result.first = f"seed {self.result.seed}, batch {self._phase - 1}: {text}"

    def _set_up(self, family: str, *, everything: bool) -> None:
        """Load models, remap slots, change parameters and queue pairs, on both devices alike."""
        rng = self._rng
        sets = self.config.sets
        for _ in range(sets // 2 if everything else 2):
            free = sorted(set(range(sets)) - set(self._slot_set.values()))
            number = int(rng.choice(free))
            slot = int(rng.integers(0, sets))
            if len(free) == 1:
                slot = int(rng.choice(list(self._slot_set)))  # keep one set free for the next load
            image = model_image(rng, family, self.config.steps)
            for device in (self.rtl, self.golden):
                device.model.write_set(number, image)
                device.model.map_slot(slot, number)
            self._slot_set[slot] = number
            self.result.model_loads += 1
        values = parameter_fields(rng, self._defaults)
        for device in (self.rtl, self.golden):
            for block in self.config.parameter_blocks:
                for register in device.registers.registers(block):
                    device.registers.write_fields(
                        block, register.name, **{f.name: values[f.name] for f in register.fields}
                    )
        for qp in range(self.config.qps):
            if everything or rng.random() < 0.2:
                enabled, laws = bool(rng.random() < 0.95), bool(self.config.laws)
                config = qp_fields(rng, sets, enabled=enabled, laws=laws)
                config |= self._certain(qp)
                clear = everything or bool(rng.random() < 0.3)
                for device in (self.rtl, self.golden):
                    _configure(device, qp, config, clear)

    def _certain(self, qp: int) -> dict[str, int]:
        """What chance must not leave out: QP 0 predicts, and PSCHED takes events of QP 1."""
        if qp == 0:
            slot = min(self._slot_set)
            return {
                "enable": 1,
                "algorithm": Algorithm.PREDPID,
                "model_enable": 1,
                "model_slot": slot,
            }
        if qp == 1 and self.config.laws:
            return {"enable": 1, "psched": 1}
        return {}


def _predictions(decisions: Any) -> int:
    """Decisions for which there was a prediction; one of 0 shows only if it was followed."""
    followed = decisions[:, _FLAGS] >> Flag.PREDICTED & 1 != 0
    return int((followed | (decisions[:, _RTT_PRED] != 0)).sum())


def _configure(device: Device, qp: int, config: dict[str, int], clear: bool) -> None:
    """Raw configuration of a queue pair: the driver's own limits are in real units."""
    registers = device.registers
    for register in QP_CONFIG:
        registers.write_fields(
            "QP", register.name, **{f.name: config[f.name] for f in register.fields}
        )
    registers.write_fields("QP", "SELECT", index=qp)
    registers.write_fields("QP", "COMMAND", apply=1, clear=int(clear))
    while registers.fields("QP", "STATE")["busy"]:
        pass


def main() -> int:
    """Exit status: 0 if nothing differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=new_file, default="build/exactness.json")
    parser.add_argument("--predictions", type=int, default=1_000_000, help="per lane count")
    parser.add_argument("--batch", type=int, default=10_000, help="decisions between changes")
    parser.add_argument("--presets", nargs="+", default=["lanes16", "lanes64", "lanes128"])
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = arguments.seed
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    results = []
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} predictions"),
        TimeElapsedColumn(),
    )
    for name in arguments.presets:
        campaign = Campaign(PRESETS[name], seed)
        with Progress(*columns) as progress:
            task = progress.add_task(f"RTL = golden, {name}", total=arguments.predictions)
            while campaign.result.predictions < arguments.predictions and not campaign.result.first:
                campaign.batch(arguments.batch)
                progress.update(task, completed=campaign.result.predictions)
        campaign.close()
        results.append(campaign.result)
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")
        r = campaign.result
        print(
            f"{name}: {r.mismatches} mismatches in {r.decisions:,} decisions "
            f"({r.predictions:,} predictions, {r.model_loads} model loads, seed {seed})"
        )
        if r.first:
            print(f"  first: {r.first}")
    return bool(sum(r.mismatches for r in results))


if __name__ == "__main__":
    raise SystemExit(main())
