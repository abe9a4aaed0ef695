"""``precog sim incast``: the incast under any law, decided by models or by the RTL."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, progress_bar, refuse_ignored, table
from precog_sim.commands import incast_options as options
from precog_sim.commands.incast_options import DECIDED, LAWS, PROGRAMS

if TYPE_CHECKING:
    from precog_models.image import Image
    from precog_models.tree_image import TreeImage
    from precog_sim.network import Result, Scenario, Scores

__all__ = ["incast"]

_COLUMNS = (
    ("sample_mean_us", "mean RTT µs"),
    ("sample_p99_us", "p99 µs"),
    ("sample_max_us", "max µs"),
    ("packet_p99_us", "p99 of all µs"),
    ("mean_rate_gbps", "mean rate Gb/s"),
    ("mean_fct_ms", "mean FCT ms"),
    ("last_fct_ms", "last FCT ms"),
    ("jain", "Jain"),
)
_FLOAT_ONLY = ("dctcp", "hpcc")
#: Decided by a device only, and why.
_DEVICE_ONLY = {"predpid": "models are integer", "fixed": "nothing is worked out"}
_TRANSPORTS = {"golden": "emu:", "rtl": "sim:"}
_IN_THE_LOOP = ("float", *_TRANSPORTS)
_WATCHING = "forecast=1,profile=1"  # what a device needs to watch send queues and forecast them


@dataclass(frozen=True)
class _Choice:
    """What the options say about laws and who decides.

    Parameters
    ----------
    device : str
        URI of the device that decides.
    place : str or None
        ``--in-the-loop``; None: pid, predpid and fixed by the device, all others in float.
    preset, target_us, start_gbps, rttch, win
        As the options of the same names.
    timely, dcqcn : str
        Constants of those laws.
    scores : Scores or None
        Congestion scores that PSCHED follows.
    queue_model : Image or TreeImage, optional
        What makes them, where they are of queues.
    """

    device: str
    place: str | None
    preset: str
    target_us: float | None
    start_gbps: float
    rttch: bool
    win: bool
    timely: str
    dcqcn: str
    scores: "Scores | None" = None
    queue_model: "Image | TreeImage | None" = None

    def by_device(self, law: str) -> bool:
        """Whether the device decides for `law`, not the float reference."""
        return law in DECIDED if self.place is None else self.place != "float"


def incast(
    context: typer.Context,
    law: options.Law = None,
    scenario: options.Scenario = "thesis",
    senders: options.Senders = None,
    size: options.Size = None,
    jitter_ns: options.JitterNs = 100.0,
    timing: options.Timing = "exact",
    preset: options.Preset = "thesis",
    target_us: options.TargetUs = None,
    start_gbps: options.StartGbps = 10.0,
    rttch: options.Rttch = False,
    win: options.Win = False,
    model: options.Model = "rtt-incast",
    timely: options.Timely = "ns3",
    dcqcn: options.Dcqcn = "ns3",
    in_the_loop: options.InTheLoop = None,
    scores: options.Scores = None,
    echo: options.Echo = False,
    queue_model: options.QueueModel = "queue-1rtt",
    seeds: options.Seeds = 1,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Run an incast under rate laws, in float, on the golden model or on the RTL in the loop."""
    laws = law or ["predpid"]
    _check_laws(context, laws, scores, in_the_loop)
    made = _scores(context, laws, scores, echo, in_the_loop)
    if in_the_loop == "float":
        refuse_ignored(context, "device", "rttch", "win", why="with --in-the-loop float")
    from precog_models.image import find
    from precog_models.tree_image import TreeImage, find_any

    watched = find_any(queue_model) if made and made.source in _queue_sources() else None
    abilities = []
    if watched is not None:
        abilities += [_WATCHING] + ["tree=1"] * isinstance(watched, TreeImage)
    if in_the_loop in _TRANSPORTS and set(laws) & set(PROGRAMS):
        abilities.append("law_cores=1")
    choice = _Choice(
        device=_device(context, laws, in_the_loop, device, ",".join(abilities)),
        place=in_the_loop,
        preset=preset,
        target_us=target_us,
        start_gbps=start_gbps,
        rttch=rttch,
        win=win,
        timely=timely,
        dcqcn=dcqcn,
        scores=made,
        queue_model=watched,
    )

    from precog_sim.network import check_timing
    from precog_sim.network import incast as make

    check_timing(timing)
    network = make(scenario, senders=senders, sizes=size, jitter_ns=jitter_ns)
    predicts = "predpid" in laws or (made is not None and made.source == "model")
    image = find(model) if predicts else None
    rows = _measured(laws, choice, image, network, timing, seeds)

    def show() -> None:
        titles = ("law", *(title for _, title in _COLUMNS))
        table(
            titles,
            [(r["law"], *(r["metrics"][key]["mean"] for key, _ in _COLUMNS)) for r in rows],
            title=f"{network.name}, {timing} timing, {seeds} seed{'s' * (seeds > 1)}",
        )

    emit({"scenario": network.name, "timing": timing, "results": rows}, show, json_)


def _check_laws(
    context: typer.Context, laws: list[str], scores: str | None, in_the_loop: str | None
) -> None:
    """Refuse laws that do not exist, and options that none of the laws has.

    Raises
    ------
    ValueError
        There is no such law, or no such option for any of them.
    """
    for name in laws:
        if name not in LAWS:
            raise ValueError(f"law must be one of {', '.join(LAWS)}, not {name!r}")
    if "predpid" not in laws and scores != "model":
        refuse_ignored(context, "model", why="without --law predpid or --scores model")
    for name in ("timely", "dcqcn"):
        if name not in laws:
            refuse_ignored(context, name, why=f"without --law {name}")
    if not set(laws) & set(DECIDED):
        ignored = ("preset", "target_us", "rttch", "win")
        refuse_ignored(context, *ignored, why=f"with --law {laws[0]}")
        if in_the_loop is None and scores is None:
            refuse_ignored(context, "device", why=f"with --law {laws[0]}")


def _measured(
    laws: list[str],
    choice: _Choice,
    image: "Image | None",
    network: "Scenario",
    timing: str,
    seeds: int,
) -> list[dict[str, Any]]:
    """Each law's metrics over all seeds.

    Raises
    ------
    RuntimeError
        No flow of a run finished.
    """
    import numpy as np

    from precog_sim.network.metrics import measure, summarise

    rows: list[dict[str, Any]] = []
    with progress_bar("Incast") as report:
        for name in laws:
            if choice.by_device(name):
                run = _decided(name, choice, image, len(network.flows))
            else:
                run = _float(name, choice)
            metrics = []
            for seed in range(seeds):
                report(len(rows) * seeds + seed, len(laws) * seeds)
                result = run(network, timing, seed)
                if np.isnan(result.fct_us).all():
                    raise RuntimeError(
                        f"no flow of {name}, seed {seed}, finished in {network.horizon_us:g} µs "
                        "(the horizon): give smaller flows or a higher rate"
                    )
                metrics.append(measure(result))
            estimates = summarise(metrics)
            rows.append(
                {
                    "law": name,
                    "device": choice.device if choice.by_device(name) else None,
                    "seeds": seeds,
                    "metrics": {key: dataclasses.asdict(e) for key, e in estimates.items()},
                }
            )
    return rows


def _queue_sources() -> tuple[str, ...]:
    from precog_sim.network import QUEUE_SOURCES

    return QUEUE_SOURCES


def _scores(
    context: typer.Context, laws: list[str], source: str | None, echo: bool, place: str | None
) -> "Scores | None":
    """The scores that are asked for, checked against who decides.

    Raises
    ------
    ValueError
        There is no such source, or PSCHED does not decide.
    """
    if source is None:
        refuse_ignored(context, "echo", "queue_model", why="without --scores")
        return None
    from precog_sim.network import Scores

    if source not in _queue_sources():
        refuse_ignored(context, "queue_model", why=f"with --scores {source}")
    if place == "float":
        raise ValueError(
            "scores must be followed by a device: --in-the-loop golden or rtl, not float"
        )
    for law in laws:
        if place is None and law not in DECIDED:
            raise ValueError(
                f"law {law} must be in the loop as golden or rtl to follow scores: add "
                "--in-the-loop golden"
            )
    return Scores(source, echo=echo)


def _device(
    context: typer.Context, laws: list[str], place: str | None, device: str, options: str
) -> str:
    """The device that decides, checked against ``--in-the-loop``; without --device one that has
    the `options`.

    Raises
    ------
    ValueError
        The options contradict each other, or a law cannot be decided there.
    """
    source = context.get_parameter_source("device")
    given = source is not None and source.name == "COMMANDLINE"
    if place is None:
        return device if given else device + options
    if place not in _IN_THE_LOOP:
        raise ValueError(f"in-the-loop must be one of {', '.join(_IN_THE_LOOP)}, not {place!r}")
    if place == "float":
        for law in laws:
            if law in _DEVICE_ONLY:
                raise ValueError(
                    f"law {law} must be in the loop as golden or rtl: {_DEVICE_ONLY[law]}"
                )
        return device
    for law in laws:
        if law in _FLOAT_ONLY:
            raise ValueError(f"law {law} must be in the loop as float: the NIC does not have it")
    transport = _TRANSPORTS[place]
    if not given:
        return transport + options
    if not device.startswith(transport):
        raise ValueError(f"device must be {transport} with --in-the-loop {place}, not {device!r}")
    return device


def _decided(
    law: str, choice: _Choice, image: "Image | None", flows: int
) -> "Callable[[Scenario, str, int], Result]":
    """Function of (scenario, timing, seed) for a law that the device decides.

    Raises
    ------
    ValueError, DeviceError
        A simulated device would refuse the setup.
    """
    from precog_host.device import Device
    from precog_host.emulator.device import Emulator
    from precog_sim.loop import LoopSetup, run_in_loop
    from precog_sim.rtl.transport import loop_config

    follows_rtts = choice.scores is not None and choice.scores.source == "model"
    setup = LoopSetup(
        preset=choice.preset,
        algorithm=law,
        target_us=choice.target_us,
        image=image if law == "predpid" or follows_rtts else None,
        init_gbps=choice.start_gbps,
        rttch=choice.rttch,
        win=choice.win,
        timely=choice.timely,
        dcqcn=choice.dcqcn,
        scores=choice.scores,
        queue_model=choice.queue_model,
    )
    config = loop_config(choice.device)
    if config is not None:
        # The RTL is built for minutes when it is opened; the golden device refuses the same setups.
        rehearsal = Device(Emulator(config))
        setup.apply(rehearsal, flows)
        if setup.forecasts:
            setup.check_forecasts(rehearsal)

    def run(scenario: "Scenario", timing: str, seed: int) -> "Result":
        with Device.open(choice.device) as opened:
            return run_in_loop(opened, setup, scenario, timing=timing, seed=seed)

    return run


def _float(law: str, choice: _Choice) -> "Callable[[Scenario, str, int], Result]":
    """Function of (scenario, timing, seed) for a law that its float reference decides."""
    from precog_sim.network import Dcqcn, Dctcp, Hpcc, Pid, Record, Timely
    from precog_sim.network import run as simulate

    start = choice.start_gbps
    control = {
        "pid": Pid(preset=choice.preset, target_us=choice.target_us, start_gbps=start),
        "timely": Timely(preset=choice.timely, start_gbps=start),
        "dctcp": Dctcp(start_gbps=start),
        "dcqcn": Dcqcn(preset=choice.dcqcn, start_gbps=start),
        "hpcc": Hpcc(start_gbps=start),
    }[law]

    def run(scenario: "Scenario", timing: str, seed: int) -> "Result":
        return simulate(scenario, control, timing=timing, seed=seed, record=Record(probe_us=0.0))

    return run
