"""``python -m precog_sim.backtoback.instant``: counters of one instant, while events are in flight.

A NIC in RTL gets frames, and PSCHED gets a sweep every 128 cycles by itself. In each run the host
reads the counters from a snapshot in the middle of that, and from one of an idle device. Writes
JSON; fails if they contradict each other.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from precog_sim.rtl.packet_block import Wire
from precog_sim.targets import new_file

from .frames import Packet, build
from .node import SLOTS, Ends, Node
from .rtl_node import RtlNode
from .run import HOSTS, QPS, UDP_SOURCE

__all__ = ["Found", "main", "provoke"]

_SHOWN = 20  # differences
_BYTES = 300
_SCORE_US = 1.0  # how long scores hold: so short that sweeps come as close as they may
_PSN_MASK = (1 << 24) - 1


@dataclass
class Found:
    """What a campaign saw."""

    runs: int = 0
    frames: int = 0
    in_flight: int = 0  #: runs whose first snapshot fell between an event and its decision
    most_in_flight: int = 0  #: samples and events of one snapshot
    cycles: int = 0
    differences: list[str] = field(default_factory=list)


def provoke(node: RtlNode, runs: int, seed: int) -> Found:
    """Run a campaign.

    Parameters
    ----------
    node : RtlNode
        Side 0 of `HOSTS`, new.
    runs, seed : int

    Raises
    ------
    DeviceError
        The device is never idle.
    """
    rng, found = random.Random(seed), Found()
    peer = Node(Ends(HOSTS[0], QPS[1], QPS[0]), sizes=node.golden.sizes, tick_ps=node.tick_ps)
    node.nic.watches = False
    node.device.set_parameters(psched_score_us=_SCORE_US)
    began = node.nic.block.cycles
    psn = rng.getrandbits(24)
    for run in range(runs):
        frames = []
        for _ in range(rng.randrange(4)):
            slot = rng.randrange(len(SLOTS))
            psn = (psn + 1) & _PSN_MASK
            packet = Packet(4, QPS[0][slot], psn, payload=rng.randbytes(rng.randrange(_BYTES)))
            frame = build(packet, HOSTS[1], HOSTS[0], UDP_SOURCE + slot)
            frames.append(Wire(peer.transmit(frame, found.frames).frame))
            found.frames += 1
        node.nic.run(rx=frames, settle=rng.randrange(64))
        with node.device.one_instant():
            core, rx, events = (node.counts(table) for table in ("core", "rx", "events"))
        flying = _flying(core)
        found.in_flight += flying != 0
        found.most_in_flight = max(found.most_in_flight, flying)
        facts = [
            ("decisions are no more than samples and events", flying >= 0),
            (
                "each frame of the receive path was extracted",
                sum(rx.values()) == events["extracted"],
            ),
        ]
        with node.device.one_instant(idle=True):
            core, rx = (node.counts(table) for table in ("core", "rx"))
        facts += [
            ("an idle device has decided on all samples and events", _flying(core) == 0),
            ("every frame was counted", sum(rx.values()) == found.frames),
        ]
        found.differences += [f"run {run}: {what}: {core}" for what, holds in facts if not holds]
        found.runs += 1
    found.cycles = node.nic.block.cycles - began
    return found


def _flying(core: dict[str, int]) -> int:
    """Samples and events without a decision."""
    return core["samples"] + core["events"] - core["decisions"] - core["dropped"] - core["ignored"]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m precog_sim.backtoback.instant", description=__doc__
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=new_file, default="build/soak/instant.json")
    chosen = parser.parse_args(arguments)
    if chosen.runs < 1:
        parser.error(f"--runs must be positive, not {chosen.runs}")
    node = RtlNode(Ends(HOSTS[1], QPS[0], QPS[1]))
    began = time.process_time()
    found = provoke(node, chosen.runs, chosen.seed)
    spent = time.process_time() - began
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    written = {"seed": chosen.seed, "cpu_s": spent, **asdict(found)}
    chosen.out.write_text(json.dumps(written, indent=1) + "\n")
    print(
        f"{found.runs} runs, {found.frames} frames, {found.cycles} cycles: {found.in_flight} "
        f"snapshots with samples or events in flight, at most {found.most_in_flight}; "
        f"{len(found.differences)} differences; {chosen.out}"
    )
    for line in found.differences[:_SHOWN]:
        print(line)
    return int(bool(found.differences))


if __name__ == "__main__":
    sys.exit(main())
