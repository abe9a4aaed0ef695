"""A whole run: boot, work, release, and the books."""

import random
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from precog_sim.backtoback.wire import Wire
from precog_sim.capture import Frame
from precog_spec.config import NicConfig

from .accelerator import choose
from .cards import Card, GoldenCard, gbps
from .guest import Address, Guest
from .image import build
from .lab import Lab
from .packages import Cache, LabError
from .settings import Settings
from .workloads import WORKLOADS, Task

__all__ = ["Outcome", "run"]

_SIZES = NicConfig(qps=64, sets=2, width=64, receiver=True, trace=True)
_BOOT_S = 120.0
_RELEASE_S = 30.0
_PATIENCE_S = {False: 180.0, True: 600.0}  # for a workload, by Settings.rtl
_PATIENCE_PACED_S = 600.0
_TIMEOUT = {False: 22, True: 25}  # an endpoint's, 4.096 µs · 2^n
_TIMEOUT_LOSSY = {False: 17, True: 21}
_COUNTERS = "grep . /sys/class/infiniband/rxe0/ports/1/hw_counters/*"


@dataclass
class Outcome:
    """What a run found; `wire` are the frames between the cards, if they were kept."""

    figures: dict[str, Any]
    differences: list[str]
    wire: list[Frame] = field(default_factory=list)


def run(
    cache: Cache,
    settings: Settings,
    *,
    keep: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    watch: Callable[[Lab, int], None] | None = None,
) -> Outcome:
    """Boot guests, run the workloads, account for everything.

    Parameters
    ----------
    cache : Cache
        With guests' packages.
    settings : Settings
    keep : bool
        Keep the frames on the wire.
    progress : callable
        Told in words what goes on.
    watch : callable, optional
        Called in every turn with the lab and its time in ticks.

    Raises
    ------
    LabError
        A guest or a program in it failed, or hangs.
    """
    began = time.monotonic()
    image = build(cache)
    accel = choose(cache, image)
    guests_wanted = settings.senders + 1
    progress(f"{guests_wanted} guests, Linux {image.release}, {accel}")
    cards = [_card(settings) for _ in range(guests_wanted)]
    addresses = [Address(number) for number in range(guests_wanted)]
    links = [
        Wire[Any](settings.wire, random.Random(f"{settings.seed} {number}"))
        for number in range(guests_wanted)
    ]
    folder = Path(tempfile.mkdtemp(prefix="lab-"))
    guests: list[Guest] = []
    try:
        for address in addresses:
            peers = [peer for peer in addresses if peer != address]
            guests.append(Guest(image, accel, address, peers, folder))
        lab = Lab(guests, cards, settings, links, keep=keep, watch=watch)
        lab.ready(_BOOT_S)
        booted = time.monotonic()
        progress(f"booted in {booted - began:.1f} s")
        walls = {name: _work(lab, name, progress) for name in settings.workloads}
        counters = [_counters(lab, number) for number in range(guests_wanted)]
        lab.close()
    finally:
        for guest in guests:
            guest.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for card in cards:
        card.close()
    figures = {
        **_books(lab),
        "workloads": walls,
        "guests": counters,
        "boot_s": round(booted - began, 3),
        "wall_s": round(time.monotonic() - began, 3),
        "accel": accel,
        "kernel": image.release,
        "cards": "rtl" if settings.rtl else "golden",
    }
    differences = [*lab.differences, *(line for card in cards for line in card.differences)]
    return Outcome(figures | {"differences": len(differences)}, differences, lab.seen.wire)


def _card(settings: Settings) -> Card:
    if not settings.rtl:
        return GoldenCard(_SIZES, settings.algorithm, settings.link_gbps)
    from .rtl_card import CONFIG, RtlCard  # builds simulations: golden cards need no tool for that

    return RtlCard(CONFIG, settings.algorithm, settings.link_gbps)


def _work(lab: Lab, name: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """One workload: servers on the hub, a client on each other guest."""
    settings, workload = lab.settings, WORKLOADS[name]
    began, frames = time.monotonic(), lab.seen.frames
    patience = _PATIENCE_S[settings.rtl]
    timeout = (_TIMEOUT if settings.clean else _TIMEOUT_LOSSY)[settings.rtl]
    if settings.pace:  # packets wait at the card, too
        patience, timeout = _PATIENCE_PACED_S, timeout + 2
    hub = lab.guests[0]
    tasks = [
        Task(number, hub.address.ip, settings.messages, settings.pairs, timeout)
        for number in range(settings.senders)
    ]
    servers = [hub.run(workload.server(task)) for task in tasks]
    for task in tasks:
        if lab.answer(0, hub.run(workload.ready(task)), patience).status:
            raise LabError(f"server of {name} must listen: {_said(lab, servers)}")
    clients = [
        (task.number + 1, lab.guests[task.number + 1].run(workload.client(task))) for task in tasks
    ]
    for guest, number in (*clients, *((0, number) for number in servers)):
        answer = lab.answer(guest, number, patience)
        if answer.status:
            raise LabError(
                f"{name} failed in guest {guest} with status {answer.status}: "
                f"{answer.output.strip()}; its server: {_said(lab, servers)}"
            )
    lab.drained(_RELEASE_S)
    wall = time.monotonic() - began
    passed = lab.seen.frames - frames
    progress(f"{name}: {passed} frames in {wall:.1f} s")
    return {"frames": passed, "wall_s": round(wall, 3)}


def _said(lab: Lab, servers: list[str]) -> str:
    """What servers that have ended had to say."""
    said = [one.output.strip() for one in lab.early(0, servers)]
    return "; ".join(said) or "still runs"


def _counters(lab: Lab, guest: int) -> dict[str, int]:
    """What soft-RoCE has counted in a guest."""
    answer = lab.answer(guest, lab.guests[guest].run(_COUNTERS), _RELEASE_S)
    found = {}
    for line in answer.output.splitlines():
        path, _, value = line.partition(":")
        if value.strip().isdecimal():
            found[path.rpartition("/")[2]] = int(value)
    return found


def _books(lab: Lab) -> dict[str, Any]:
    """Totals of all cards and links."""
    totals: dict[str, int] = {}
    for card in lab.cards:
        device = card.device
        assert device.packet is not None
        assert device.receiver is not None
        events = device.packet.counters()["events"]
        shown = {
            "icrc_ok": events["icrc_ok"],
            "icrc_bad": events["icrc_bad"],
            "rtts": events["rtt_samples"],
            "cnps": events["cnp_sent"],
            "cnps_limited": events["cnp_limited"],
            "cnps_busy": events["cnp_busy"],
            "scores_heard": device.receiver.counters()["scores"],
            "decisions": device.counters()["decisions"],
        }
        for name, value in shown.items():
            totals[name] = totals.get(name, 0) + value
    rates = [card.rate_min for card in lab.cards if card.rate_min is not None]
    lowest = min(rates, default=None)
    tick_ps = lab.cards[0].device.tick_ps
    return {
        "frames": lab.seen.frames,
        "roce": lab.seen.roce,
        "shims": lab.seen.shims,
        "unbound": lab.seen.unbound,
        "identical": lab.seen.identical,
        "retransmissions": lab.requests.again,
        "lost": sum(link.lost for link in lab.links),
        "marked_data": lab.seen.marked_data,
        "marked": sum(link.marked for link in lab.links),
        "overtaken": sum(link.overtaken for link in lab.links),
        "queue_max_bytes": max(link.queue_max for link in lab.links),
        "rate_min_gbps": None if lowest is None else round(gbps(lowest, tick_ps), 6),
        "pairs_added": lab.binding.added,
        "pairs_released": lab.binding.released,
        "pairs_peak": lab.binding.peak,
        **totals,
    }
