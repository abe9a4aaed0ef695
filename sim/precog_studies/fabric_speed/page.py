"""The record as a page of Markdown, and its curves as a picture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from precog_spec.markdown import table

__all__ = ["page", "picture"]

_TOP = """# How fast and how large the network simulator is

Made by `precog study fabric-speed --page …`; do not edit. For machines: `{record}`.
CPU seconds are of all threads: one, where nothing else is said. Where no processor is named, the
machine has two AMD EPYC at 2.6 GHz that it shares, and their speed changes by half from one minute
to the next: what is compared was run in turns.
"""


def page(said: dict[str, Any], record: str) -> str:
    """A section for each part that there is."""
    lines = [_TOP.format(record=record)]
    for part, section in _SECTIONS.items():
        if part in said:
            lines += section(said[part]["found"])
            lines += ["", "`{command}`, commit {commit}.".format(**said[part]), ""]
    if "hosts" in said and "senders" in said:
        lines += ["![Events per CPU second, and memory](data/fabric_speed.svg)", ""]
    return "\n".join(lines)


def _timings(found: dict[str, Any]) -> list[str]:
    rows = [
        [
            timing,
            f"{one['events'] / 1e6:.1f}",
            f"{one['packets'] / 1e6:.2f}",
            ", ".join(f"{s:.1f}" for s in one["cpu_s"]),
            f"{one['median_cpu_s']:.1f}",
            f"{one['median_wall_s']:.1f}" if "median_wall_s" in one else "",
        ]
        for timing, one in found.items()
    ]
    one = found["exact"]
    title = f"## {one['hosts']} hosts, {one['ms']:g} ms of web search at 30 %, HPCC"
    head = [
        "timing",
        "events, M",
        "data packets, M",
        "CPU s of the runs",
        "median",
        "wall s, median",
    ]
    return [title, "", table(head, rows)]


def _cores(found: dict[str, Any]) -> list[str]:
    title = f"## On {found['processors']} processors"
    text = (
        f"Web search at 30 %, HPCC, exact timing, on {found['processor']}. The results are equal, "
        "packet by packet, whatever the number of threads. Medians."
    )
    head = ["hosts", "ms", "threads", "events, M", "CPU s", "wall s", "times as fast as one"]
    alone = {one["hosts"]: one["wall_s"] for one in found["runs"] if one["threads"] == 1}
    rows = [
        [
            f"{one['hosts']:,}",
            f"{one['ms']:g}",
            str(one["threads"]),
            f"{one['events'] / 1e6:.1f}",
            f"{one['cpu_s']:.1f}",
            f"{one['wall_s']:.2f}",
            f"{alone[one['hosts']] / one['wall_s']:.1f}",
        ]
        for one in found["runs"]
    ]
    return [title, "", text, "", table(head, rows)]


def _hosts(found: list[dict[str, Any]]) -> list[str]:
    head = ["hosts", "ms", "flows", "events, M", "set up, CPU s", "run, CPU s", "ns an event", "MB"]
    rows = [
        [
            f"{one['fabric']:,}",
            f"{one['ms']:.3g}",
            f"{one['flows']:,}",
            f"{one['events'] / 1e6:.1f}",
            f"{one['build_s']:.2f}",
            f"{one['cpu_s']:.2f}",
            f"{one['cpu_s'] / one['events'] * 1e9:.0f}",
            f"{one['memory_mb']:.0f}",
        ]
        for one in found
    ]
    text = "Web search at 30 %, HPCC, exact timing; up to 16 hosts at one switch, then pods of 64."
    return ["## Against hosts", "", text, "", table(head, rows)]


def _senders(found: list[dict[str, Any]]) -> list[str]:
    head = ["senders", "events, M", "run, CPU s", "ns an event", "MB"]
    rows = [
        [
            str(one["senders"]),
            f"{one['events'] / 1e6:.2f}",
            f"{one['cpu_s']:.3f}",
            f"{one['cpu_s'] / one['events'] * 1e9:.0f}",
            f"{one['memory_mb']:.0f}",
        ]
        for one in found
    ]
    return ["## Long flows into one port", "", "HPCC, exact timing.", "", table(head, rows)]


def _ns3(found: dict[str, Any]) -> list[str]:
    title = "## Compared with ns-3"
    if "skipped" in found:
        return [title, "", f"Not measured: {found['skipped']}."]
    text = (
        f"{found['flows']} flows of {found['packets'] // found['flows']:,} packets through one "
        "switch at 95 % of a port's rate; UDP in ns-3 (the package `ns3`, 3.44), acknowledged "
        f"packets here. Medians of {found['rounds']} runs in turns."
    )
    names = {"ours": "Precog", "ns3": "ns-3"}
    rows = [
        [
            names[name],
            f"{found[name]['events'] / 1e6:.2f}",
            f"{found[name]['cpu_s']:.2f}",
            f"{found[name]['events_per_s'] / 1e6:.2f}",
            f"{found[name]['packets_per_s'] / 1e6:.3f}",
        ]
        for name in names
    ]
    ratio = ["ratio", "", "", f"{found['events_per_s_ratio']:.1f}"]
    rows.append([*ratio, f"{found['packets_per_s_ratio']:.1f}"])
    head = ["", "events, M", "CPU s", "M events per CPU s", "M packets per CPU s"]
    return [title, "", text, "", table(head, rows)]


def _rings(found: dict[str, Any]) -> list[str]:
    off = found["alone_us"] / found["closed_form_us"] - 1
    size = f"{found['size'] / 1e6:g} MB"
    text = (
        f"Ring all-reduce of {found['hosts']} hosts, {size}. On one switch at line rate, nothing "
        f"else running: {found['alone_us'] / 1e3:.3f} ms; the closed form says "
        f"{found['closed_form_us'] / 1e3:.3f} ms ({off:+.2%}). Below: {size} on leaves and spines, "
        "hosts in an order drawn at random, alone and with web search at "
        f"{found['load']:.0%} that outlasts the job. Means over {found['seeds']} paired seeds ± "
        "half of their 95 % interval; `pid` is left out, as its target is for one switch."
    )
    head = ["law", "alone, ms", "with others, ms", "ratio", "others' p95 slowdown"]
    rows = [
        [
            law,
            _estimate(one["alone_us"], 1e-3),
            _estimate(one["loaded_us"], 1e-3, f"over {one['watched_ms']:g}"),
            _estimate(one["ratio"]),
            _estimate(one["others_p95"]),
        ]
        for law, one in found["laws"].items()
    ]
    return ["## A collective", "", text, "", table(head, rows)]


def _estimate(one: dict[str, float] | None, scale: float = 1.0, otherwise: str = "–") -> str:
    """Mean and half width; `otherwise`: a job did not end."""
    if one is None:
        return otherwise
    return f"{one['mean'] * scale:.2f} ± {one['half_width'] * scale:.2f}"


_SECTIONS: dict[str, Callable[[Any], list[str]]] = {
    "timings": _timings,
    "cores": _cores,
    "hosts": _hosts,
    "senders": _senders,
    "ns3": _ns3,
    "rings": _rings,
}


def picture(said: dict[str, Any], path: Path) -> None:
    """Three curves: speed and memory against hosts, speed against senders."""
    hosts, senders = said["hosts"]["found"], said["senders"]["found"]
    curves = (
        ("hosts", "M events per CPU s", [(h["fabric"], _speed(h)) for h in hosts]),
        ("hosts", "MB resident", [(h["fabric"], h["memory_mb"]) for h in hosts]),
        (
            "senders into one port",
            "M events per CPU s",
            [(s["senders"], _speed(s)) for s in senders],
        ),
    )
    with mpl.rc_context({"svg.hashsalt": "precog", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 2.6), layout="constrained")
        for place, (x, y, points) in zip(figure.subplots(1, 3), curves, strict=True):
            place.plot(*zip(*points, strict=True), marker="o")
            place.set_xscale("log", base=2)
            place.set(xlabel=x, ylabel=y, ylim=(0, None))
            place.xaxis.set_major_formatter("{x:g}")
            place.grid(alpha=0.3)
        figure.savefig(path, metadata={"Date": None})


def _speed(one: dict[str, Any]) -> float:
    return float(one["events"] / one["cpu_s"] / 1e6)
