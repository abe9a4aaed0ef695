"""A whole run: boot, work, release, and the books."""

import gc
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from precog_host.serve import EtherboneServer
from precog_sim.backtoback.wire import Wire
from precog_sim.capture import Frame
from precog_spec.config import NicConfig

from .accelerator import choose
from .cards import Card, GoldenCard, gbps
from .guest import Address, Guest
from .image import build
from .lab import Lab
from .ledger import explained
from .packages import Cache, LabError
from .settings import Settings
from .workloads import WORKLOADS, Task

__all__ = ["Outcome", "run", "totals"]

_SIZES = NicConfig(qps=64, sets=2, width=64, receiver=True, law_cores=1)
_REFUSED = ("rtt_refused_psn", "refused_cnp", "refused_icrc")
_BOOT_S = 300.0
_RELEASE_S = 30.0
_PATIENCE_S = 600.0  # for a workload; one in which nothing moves ends sooner
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
    port: int | None = None,
    served: Callable[[str], None] = lambda _: None,
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
    port : int, optional
        UDP port at which the first sender's card is served meanwhile; 0: any that is free.
    served : callable
        Told its URI, when queue pairs can be watched there.

    Raises
    ------
    LabError
        A guest or a program in it failed, or hangs.
    DeviceError
        The port cannot be had.
    """
    began = time.monotonic()
    image = build(cache)
    accel = choose(cache, image)
    guests_wanted = settings.senders + 1
    progress(f"{guests_wanted} guests, Linux {image.release}, {accel}")
    cards = [_card(settings) for _ in range(guests_wanted)]
    gc.freeze()  # elaboration leaves objects by the million, which each collection would visit
    addresses = [Address(number) for number in range(guests_wanted)]
    links = [
        Wire[Any](settings.wire, random.Random(f"{settings.seed} {number}"))
        for number in range(guests_wanted)
    ]
    server = None if port is None else EtherboneServer(cards[1].device.transport, port=port)
    folder = Path(tempfile.mkdtemp(prefix="lab-"))
    guests: list[Guest] = []
    try:
        for address in addresses:
            peers = [peer for peer in addresses if peer != address]
            guests.append(Guest(image, accel, address, peers, folder))
        lab = Lab(guests, cards, settings, links, keep=keep, watch=watch)
        if server is not None:
            lab.serve(server)
        lab.ready(_BOOT_S)
        if server is not None:
            served(f"udp:127.0.0.1:{server.port}")
        booted = time.monotonic()
        progress(f"booted in {booted - began:.1f} s")
        walls = _rounds(lab, progress)
        counters = [_counters(lab, number) for number in range(guests_wanted)]
        lab.close()
    finally:
        for guest in guests:
            guest.stop()
        if server is not None:
            server.close()
        shutil.rmtree(folder, ignore_errors=True)
    for card in cards:
        card.close()
    figures = {
        **totals(lab),
        "workloads": walls,
        "guests": counters,
        "boot_s": round(booted - began, 3),
        "wall_s": round(time.monotonic() - began, 3),
        "accel": accel,
        "kernel": image.release,
        "cards": "rtl" if settings.rtl else "golden",
    }
    differences = [*lab.differences, *(line for card in cards for line in card.differences)]
    books = explained(figures, lab.seen, counters, len(lab.differences))
    differences += [f"{name}: {row}" for name, row in books.items() if not row["equal"]]
    figures["explained"] = books
    return Outcome(figures | {"differences": len(differences)}, differences, lab.seen.wire)


def _card(settings: Settings) -> Card:
    if not settings.rtl:
        return GoldenCard(_SIZES, settings.algorithm, settings.link_gbps)
    from .rtl_card import CONFIG, RtlCard  # builds simulations: golden cards need no tool for that

    return RtlCard(CONFIG, settings.algorithm, settings.link_gbps)


def _rounds(lab: Lab, progress: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """All workloads once, or as often as the soak lasts: runs, frames and seconds by name."""
    settings = lab.settings
    found = {name: {"runs": 0, "frames": 0, "wall_s": 0.0} for name in settings.workloads}
    end = time.monotonic() + settings.soak_s
    while True:
        for name, row in found.items():
            frames, seconds = _work(lab, name, progress)
            row["runs"] += 1
            row["frames"] += frames
            row["wall_s"] = round(row["wall_s"] + seconds, 3)
            lab.rest(settings.rest_s)
        if time.monotonic() >= end:
            return found


def _work(lab: Lab, name: str, progress: Callable[[str], None]) -> tuple[int, float]:
    """One workload: servers on the hub, a client on each other guest. Frames and seconds."""
    settings, workload = lab.settings, WORKLOADS[name]
    began, frames = time.monotonic(), lab.seen.frames
    timeout = (_TIMEOUT if settings.clean else _TIMEOUT_LOSSY)[settings.rtl]
    if settings.pace:  # packets wait at the card, too
        timeout += 2
    hub = lab.guests[0]
    tasks = [
        Task(number, hub.address.ip, settings.messages, settings.pairs, timeout)
        for number in range(settings.senders)
    ]
    servers = [hub.run(workload.server(task)) for task in tasks]
    for task in tasks:
        if lab.answer(0, hub.run(workload.ready(task)), _PATIENCE_S).status:
            raise LabError(f"server of {name} must listen: {_said(lab, servers)}")
    clients = [
        (task.number + 1, lab.guests[task.number + 1].run(workload.client(task))) for task in tasks
    ]
    for guest, number in (*clients, *((0, number) for number in servers)):
        answer = lab.answer(guest, number, _PATIENCE_S)
        if answer.status:
            raise LabError(
                f"{name} failed in guest {guest} with status {answer.status}: "
                f"{answer.output.strip()}; its server: {_said(lab, servers)}"
            )
    lab.drained(_RELEASE_S)
    wall = time.monotonic() - began
    passed = lab.seen.frames - frames
    progress(f"{name}: {passed} frames in {wall:.1f} s")
    return passed, wall


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


def totals(lab: Lab) -> dict[str, Any]:
    """Totals of all cards and links."""
    found: dict[str, int] = {}
    for card in lab.cards:
        device = card.device
        assert device.packet is not None
        assert device.receiver is not None
        events, scores = device.packet.counters()["events"], device.receiver.counters()
        shown = {
            "icrc_ok": events["icrc_ok"],
            "icrc_bad": events["icrc_bad"],
            "rtts": events["rtt_samples"],
            "cnps": events["cnp_sent"],
            "cnps_limited": events["cnp_limited"],
            "cnps_busy": events["cnp_busy"],
            "cnps_unknown": events["cnp_unknown"],
            "scores_heard": scores["scores"],
            "scores_merged": scores["merged"],
            "scores_refused": sum(events[name] for name in _REFUSED),
            "decisions": device.counters()["decisions"],
        }
        for name, value in shown.items():
            found[name] = found.get(name, 0) + value
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
        **found,
    }
