"""Metrics for Prometheus: a member's numbers, by names that a data centre knows.

Counters that mlx5 has keep its names (sysfs `hw_counters`, kernel driver mlx5_ib), with the prefix
`rdma_hw_`; all others are `precog_…`. A request reads the snapshot that the member's own turn
has made: it reaches no card and waits for none.
"""

import threading
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import start_http_server

__all__ = ["MLX5_NAMES", "MemberCollector", "StatusSource", "metrics_place", "serve_metrics"]

#: Counters of a card by mlx5's names for what they count.
MLX5_NAMES = {
    "packet.events.cnp_sent": "np_cnp_sent",
    "packet.events.icrc_bad": "rx_icrc_encapsulated",
    "packet.events.rtt_nak": "packet_seq_err",
    "packet.events.rtt_timeout": "local_ack_timeout_err",
}
_PLANS = ("live", "shadow", "previous")


class StatusSource(Protocol):
    """What has a status: an agent or a router."""

    @property
    def snapshot(self) -> dict[str, Any]:
        """JSON data that does not change any more."""


class MemberCollector:
    """A collector of one member.

    Parameters
    ----------
    source : StatusSource
    """

    def __init__(self, source: StatusSource) -> None:
        self._source = source

    def collect(self) -> Iterator[Metric]:
        """All metrics; called by Prometheus's thread."""
        status = self._source.snapshot
        member = status["name"]
        info = GaugeMetricFamily("precog_member", "1: the member runs.", labels=("member", "role"))
        info.add_metric((member, status["role"]), 1)
        yield info
        yield _counts(
            "precog_fleet_records",
            "Frames by what became of them.",
            member,
            "outcome",
            status["outcomes"],
        )
        events = status.get("counts", {}) | status.get("mesh", {})
        yield _counts("precog_fleet_events", "Events of the member.", member, "event", events)
        if "cards" in status:
            yield from self._agent(member, status)

    def _agent(self, member: str, status: dict[str, Any]) -> Iterator[Metric]:
        yield _counts(
            "precog_telemetry",
            "Rows and parts of telemetry by what became of them.",
            member,
            "event",
            {k: v for k, v in status["telemetry"].items() if k not in ("waiting", "bytes")},
        )
        for name, text in (("waiting", "Rows not yet on disk."), ("bytes", "Bytes of parts.")):
            gauge = GaugeMetricFamily(f"precog_telemetry_{name}", text, labels=("member",))
            gauge.add_metric((member,), status["telemetry"][name])
            yield gauge
        yield from _cards(member, status["cards"])
        hot = GaugeMetricFamily(
            "precog_destination_score",
            "Congestion of a destination by the word of many, 0..100.",
            labels=("member", "destination"),
        )
        for name, of in status["destinations"].items():
            if of["score"] is not None:
                hot.add_metric((member, name), of["score"])
        yield hot
        yield from _hardware(member, status["counters"])


def _counts(
    name: str, text: str, member: str, label: str, values: dict[str, int]
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text, labels=("member", label))
    for key, value in sorted(values.items()):
        family.add_metric((member, key), value)
    return family


def _cards(member: str, cards: Iterable[dict[str, Any]]) -> Iterator[Metric]:
    labels = ("member", "device")
    up = GaugeMetricFamily("precog_card_up", "1: the device answers.", labels=labels)
    events = CounterMetricFamily(
        "precog_card_events", "What the agent saw of a device.", labels=(*labels, "event")
    )
    release = GaugeMetricFamily(
        "precog_model_release", "Release by its place.", labels=(*labels, "place")
    )
    skill = GaugeMetricFamily(
        "precog_model_skill",
        "1 - CRPS / CRPS of persistence on the device's windows.",
        labels=(*labels, "place"),
    )
    for card in cards:
        at = (member, card["name"])
        up.add_metric(at, int(card["up"]))
        for name, value in sorted(card["counts"].items()):
            events.add_metric((*at, name), value)
        for place in _PLANS:
            plan = card[place]
            if plan is not None:
                release.add_metric((*at, place), plan["release"])
                if plan["skill"] is not None:
                    skill.add_metric((*at, place), plan["skill"])
    yield from (up, events, release, skill)


def _hardware(member: str, counters: dict[str, dict[str, int]]) -> Iterator[Metric]:
    labels = ("member", "device")
    ours = CounterMetricFamily(
        "precog_hardware_events", "Counters of the device.", labels=(*labels, "counter")
    )
    theirs = {
        name: CounterMetricFamily(
            f"rdma_hw_{name}", f"As mlx5's hw_counters/{name}.", labels=labels
        )
        for name in MLX5_NAMES.values()
    }
    for device, values in counters.items():
        for name, value in sorted(values.items()):
            if name in MLX5_NAMES:
                theirs[MLX5_NAMES[name]].add_metric((member, device), value)
            else:
                ours.add_metric((member, device, name), value)
    yield ours
    yield from theirs.values()


def metrics_place(at: str) -> tuple[str, int]:
    """Address and port of ``ADDRESS:PORT``.

    Raises
    ------
    ValueError
        It is no address and port.
    """
    address, _, port = at.rpartition(":")
    if not address or not (port.isascii() and port.isdecimal()) or not int(port) < 65536:
        raise ValueError(f"metrics must be served at ADDRESS:PORT, not {at!r}")
    return address, int(port)


def serve_metrics(at: str, source: StatusSource) -> str:
    """Serve a member's metrics over HTTP in a thread; the URL.

    Parameters
    ----------
    at : str
        ``ADDRESS:PORT``; port 0: any.

    Raises
    ------
    ValueError
        It is no address and port.
    OSError
        The place cannot be had.
    """
    address, port = metrics_place(at)
    registry = CollectorRegistry()
    registry.register(MemberCollector(source))
    try:
        server, thread = start_http_server(port, address.strip("[]"), registry)
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"metrics cannot be served at {at}: {reason}; choose another") from error
    assert isinstance(thread, threading.Thread)
    return f"http://{address}:{server.server_port}/metrics"
