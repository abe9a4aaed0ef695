"""Pictures of the network: the start, the whole run, and the distribution of RTTs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_sim.report.data import DemoResult
from precog_sim.report.figures.style import COLOURS, Picture, axes_grid, picture
from precog_sim.report.series import CDF_P, Run, Series
from precog_sim.report.thesis import ALGORITHMS

__all__ = ["binned", "cdf", "elephants", "run", "start"]

# The start-up picture spans this many empty-queue round trips.
START_ROUND_TRIPS = 100
BINS_WIDE, BINS_NARROW = 220, 110


def elephants(result: DemoResult) -> list[int]:
    """The flows larger than the mean flow."""
    sizes = np.array(result.scenario.sizes_mb)
    return [int(i) for i in np.flatnonzero(sizes > sizes.mean())]


def binned(
    t: NDArray[np.float32], value: NDArray[np.float32], edges: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean of `value` in each bin of `t` that holds any; bin centres and means."""
    place = np.digitize(t, edges) - 1
    inside = (place >= 0) & (place < len(edges) - 1)
    count = np.bincount(place[inside], minlength=len(edges) - 1)
    total = np.bincount(place[inside], weights=value[inside], minlength=len(edges) - 1)
    full = count > 0
    centres = (edges[:-1] + edges[1:]) / 2
    return centres[full], total[full] / count[full]


def start(result: DemoResult, series: Series) -> Picture:
    """The first round trips, sample by sample."""
    until = START_ROUND_TRIPS * result.scenario.base_rtt_us

    def draw(figure: Any, narrow: bool) -> None:
        shape = (3, 1) if narrow else (1, 3)
        axes = axes_grid(figure, *shape, sharex=True).ravel()
        top = max(float(r.rtt_us[r.t_us < until].max(initial=0)) for r in _runs(series).values())
        for axis, (name, one) in zip(axes, _runs(series).items(), strict=False):
            for flow in np.unique(one.flow):
                mine = (one.flow == flow) & (one.t_us < until)
                axis.plot(
                    one.t_us[mine],
                    one.rtt_us[mine],
                    color=COLOURS[name],
                    linewidth=0.9,
                    alpha=0.55,
                    gid=f"flow-{flow}",
                )
            axis.axhline(
                result.scenario.target_us, color=COLOURS["ink"], linewidth=0.9, dashes=(4, 3)
            )
            axis.set_ylim(0, top * 1.06)
            axis.set_title(f"RTT, {ALGORITHMS[name]} (µs)")
        for name, one in _runs(series).items():
            mine = one.queue_t_us < until
            axes[2].plot(one.queue_t_us[mine], one.queue_kb[mine], color=COLOURS[name], lw=1.4)
        axes[2].set_title("Bottleneck queue (KB)")
        axes[2].set_ylim(0, None)
        for axis in axes:
            axis.set_xlim(0, until)
        for axis in axes[2:] if narrow else axes:
            axis.set_xlabel("time since the first flow's start (µs)")

    alt = (
        "Three panels over the first microseconds: RTT of every flow with LSTM and PID, with PID "
        "alone, and the bottleneck's queue in both runs."
    )
    return picture("start", alt, draw, wide_px=270, narrow_px=560)


def run(result: DemoResult, series: Series) -> Picture:
    """The whole incast: RTT and rate of every flow, and the queue."""
    big = elephants(result)
    end = max(float(r.t_us.max()) for r in _runs(series).values())
    # The start's peak, which `start` shows, would flatten all that follows.
    late = START_ROUND_TRIPS * result.scenario.base_rtt_us
    rest = [r.rtt_us[r.t_us > late] if end > late else r.rtt_us for r in _runs(series).values()]
    top = max(float(np.quantile(rtt, 0.9995)) for rtt in rest if rtt.size)
    bottom = min(float(r.rtt_us.min()) for r in _runs(series).values())

    def flows(axis: Any, name: str, one: Run, value: NDArray[np.float32], bins: int) -> None:
        edges = np.linspace(0, end, bins + 1)
        for flow in np.unique(one.flow):
            mine = one.flow == flow
            t, mean = binned(one.t_us[mine], value[mine], edges)
            axis.plot(
                t / 1e3,
                mean,
                color=COLOURS[name],
                linewidth=1.5 if flow in big else 0.8,
                alpha=0.95 if flow in big else 0.5,
                gid=f"flow-{flow}",
            )

    def draw(figure: Any, narrow: bool) -> None:
        from matplotlib.ticker import LogLocator

        bins = BINS_NARROW if narrow else BINS_WIDE
        shape = (5, 1) if narrow else (3, 2)
        axes = axes_grid(figure, *shape, sharex=True, heights=None if narrow else [3, 3, 2])
        if narrow:
            panels = {"predpid": (axes[0, 0], axes[2, 0]), "pid": (axes[1, 0], axes[3, 0])}
        else:
            panels = {"predpid": (axes[0, 0], axes[1, 0]), "pid": (axes[0, 1], axes[1, 1])}
        for name, one in _runs(series).items():
            rtt, rate = panels[name]
            low, high = _envelope(one, end, bins)
            centres = (np.arange(bins) + 0.5) * end / bins / 1e3
            rtt.fill_between(centres, low, high, color=COLOURS["band"], linewidth=0)
            flows(rtt, name, one, one.rtt_us, bins)
            rtt.axhline(result.scenario.target_us, color=COLOURS["ink"], lw=0.9, dashes=(4, 3))
            rtt.set_title(f"RTT, {ALGORITHMS[name]} (µs)")
            flows(rate, name, one, one.rate_gbps, bins)
            rate.set_yscale("log")
            rate.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            rate.yaxis.set_major_formatter("{x:g}")
            rate.yaxis.set_minor_formatter("")
            rate.set_title(f"Rate, {ALGORITHMS[name]} (Gb/s)")
            rtt.set_ylim(bottom - 0.1 * (top - bottom), top + 0.15 * (top - bottom))
        _same_limits(panels["predpid"][1], panels["pid"][1])
        last = [axes[4, 0]] if narrow else list(axes[2])
        for index, (name, one) in enumerate(_runs(series).items()):
            axis = last[index % len(last)]
            edges = np.linspace(0, end, bins + 1)
            t, mean = binned(one.queue_t_us, one.queue_kb, edges)
            axis.plot(t / 1e3, mean, color=COLOURS[name], linewidth=1)
            axis.set_title("Bottleneck queue (KB)")
            axis.set_ylim(0, None)
            axis.set_xlabel("time (ms)")
            axis.set_xlim(0, end / 1e3)
        if not narrow:
            _same_limits(*last)

    alt = (
        "RTT over time, rate over time and bottleneck queue, one line a flow, for LSTM and PID "
        "steered by the RTL and for PID alone."
    )
    return picture("run", alt, draw, wide_px=720, narrow_px=1100)


def cdf(series: Series) -> Picture:
    """RTT distributions: the body on the left, the tail on the right."""

    def draw(figure: Any, narrow: bool) -> None:
        from matplotlib.ticker import LogLocator

        axes = axes_grid(figure, *((2, 1) if narrow else (1, 2))).ravel()
        for name in reversed(ALGORITHMS):
            if name not in series.cdf:
                continue
            x, width = series.cdf[name], 2.2 if name == "predpid" else 1.5
            axes[0].plot(x, 100 * CDF_P, color=COLOURS[name], linewidth=width)
            tail = CDF_P < 1
            axes[1].plot(x[tail], 100 * (1 - CDF_P[tail]), color=COLOURS[name], linewidth=width)
        axes[0].set_title("Samples at most this slow (%)")
        axes[0].set_ylim(0, 100)
        axes[1].set_title("Samples slower than this (%)")
        axes[1].set_yscale("log")
        axes[1].axhline(1, color=COLOURS["ink"], linewidth=0.9, dashes=(4, 3))
        axes[1].annotate(
            "99 % RTT", (1, 1), xycoords=("axes fraction", "data"), xytext=(0, 4),
            textcoords="offset points", ha="right", color=COLOURS["muted"],
        )  # fmt: skip
        axes[1].yaxis.set_major_formatter("{x:g}")
        for axis in axes:
            axis.set_xscale("log")
            axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_formatter("")
            axis.grid(True, axis="x", color=COLOURS["grid"], linewidth=0.8)
            axis.set_xlabel("RTT (µs)")

    alt = (
        "Cumulative distributions of the RTT samples of every algorithm, on a logarithmic RTT "
        "axis; the right panel shows the slowest per cent on a logarithmic axis."
    )
    return picture("cdf", alt, draw, wide_px=360, narrow_px=600)


def _runs(series: Series) -> dict[str, Run]:
    return {"predpid": series.predpid, "pid": series.pid}


def _envelope(one: Run, end: float, bins: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smallest and greatest RTT sample of all flows in each bin; NaN where there is none."""
    place = np.minimum((one.t_us / end * bins).astype(np.int64), bins - 1)
    low, high = np.full(bins, np.inf), np.full(bins, -np.inf)
    np.minimum.at(low, place, one.rtt_us)
    np.maximum.at(high, place, one.rtt_us)
    empty = ~np.isfinite(low)
    low[empty] = high[empty] = np.nan
    return low, high


def _same_limits(a: Any, b: Any) -> None:
    low = min(a.get_ylim()[0], b.get_ylim()[0])
    high = max(a.get_ylim()[1], b.get_ylim()[1])
    a.set_ylim(low, high)
    b.set_ylim(low, high)
