"""What ``make demo`` measured: the data model of ``result.json``.

Every figure of the report comes from here (and the curves from `series`). Percentages are in
percent, RTTs in microseconds, rates in Gb/s, flow completion times in milliseconds.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from precog_models.durable import write_durably
from precog_sim.report.codec import decode, encode

__all__ = [
    "RESULT_FILE",
    "SCHEMA",
    "AtWork",
    "Cell",
    "DemoResult",
    "Epoch",
    "Errors",
    "Hardware",
    "Loop",
    "Mape",
    "Pair",
    "Paired",
    "Row",
    "RtlVsGolden",
    "Scenario",
    "Simulator",
    "Stage",
    "Tables",
]

RESULT_FILE = "result.json"
SCHEMA = 3


@dataclass(frozen=True)
class Scenario:
    """The incast that the figures show.

    Parameters
    ----------
    senders : int
        Flows, all towards one receiver.
    link_gbps, base_rtt_us : float
        Every link's rate; the RTT with empty queues.
    target_us : float
        RTT target of PID and LSTM + PID in the run with the RTL.
    start_jitter_us : float
        Flows start uniformly within this time.
    sizes_mb : tuple of float
        Flow sizes in 10**6 bytes, by flow.
    """

    senders: int
    link_gbps: float
    base_rtt_us: float
    target_us: float
    start_jitter_us: float
    sizes_mb: tuple[float, ...]


@dataclass(frozen=True)
class RtlVsGolden:
    """The predictor's RTL against its golden model, vector by vector.

    `lanes` lists the engine sizes compared in this run; `predictions` counts all of them.
    """

    predictions: int
    mismatches: int
    lanes: tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """The incast with the RTL deciding, against the same incast with the golden model deciding.

    Parameters
    ----------
    decisions : int
        Rate decisions the RTL made (all flows).
    mismatches : int
        Decisions whose rate, window, prediction or flags differ from the golden run's.
    predictions_per_cpu_s : float
        Predictions the RTL made per second of CPU time, network simulation included.
    cycles_per_decision : float
        Mean clock cycles from a sample taken to its decision.
    lanes, flows, seed : int
        Engine size, flows of the incast, seed of its start jitter.
    transport : str
        How the model got in, e.g. ``"AXI4-Lite"``.
    """

    decisions: int
    mismatches: int
    predictions_per_cpu_s: float
    cycles_per_decision: float
    lanes: int
    flows: int
    seed: int
    transport: str


@dataclass(frozen=True)
class Errors:
    """Mean absolute percentage error (13) of each predictor on one test set, in percent.

    None: not measured there. `float_` is the LSTM in floating point, `integer` as the RTL computes
    it, `ar3` least squares over three samples, `persistence` "the next RTT is this one", `linear`
    extrapolation over two samples. `pairs` counts the test set.
    """

    float_: float | None
    integer: float | None
    ar3: float | None
    persistence: float | None
    linear: float | None
    pairs: int


@dataclass(frozen=True)
class Mape:
    """`Errors` on the bin-balanced test blocks, and the same elsewhere.

    Parameters
    ----------
    float_, integer, ar3, persistence, linear, pairs
        As in `Errors`; thesis' kind of data, time blocks never trained on, preset ``precog``.
    unbalanced : Errors
        The same test blocks, as they come instead of in four equal bins.
    unseen : dict of str to Errors
        Scenarios never trained on, by a name to be read ("32 senders").
    thesis_preset : Errors
        The thesis' training recipe on the balanced test blocks.
    """

    float_: float
    integer: float
    ar3: float
    persistence: float
    linear: float
    pairs: int
    unbalanced: Errors
    unseen: dict[str, Errors]
    thesis_preset: Errors

    @property
    def balanced(self) -> Errors:
        """The figures on the balanced test blocks."""
        return Errors(
            self.float_, self.integer, self.ar3, self.persistence, self.linear, self.pairs
        )


@dataclass(frozen=True)
class AtWork:
    """`Errors` on every sample of the closed loop that the RTL steered.

    Parameters
    ----------
    as_they_come, balanced : Errors
        The plain mean; the mean over four equal bins, as offline.
    """

    as_they_come: Errors
    balanced: Errors

    @property
    def gain_percent(self) -> float:
        """Error that the LSTM saves against persistence, in percent of persistence's error.

        Raises
        ------
        ValueError
            One of the two was not measured.
        """
        ours, guess = self.as_they_come.integer, self.as_they_come.persistence
        if ours is None or guess is None:
            raise ValueError(f"errors at work must be measured, not {ours!r} and {guess!r}")
        return 100 * (guess - ours) / guess


@dataclass(frozen=True)
class Simulator:
    """Data packets carried end to end per second of CPU time, overall and by law."""

    packets_per_cpu_s: float
    per_law: dict[str, float]


@dataclass(frozen=True)
class Stage:
    """One step of the demo and its wall time."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Cell:
    """One figure and its reference.

    Parameters
    ----------
    mean : float
        Ours: the mean over `n` seeds.
    ci95 : float or None
        Half width of its 95 % confidence interval; None for a single run.
    n : int
        Seeds.
    unit : str
        Unit of all of them.
    thesis : float or None
        The thesis' figure, where it states one.
    low, high : float or None
        A reference range (ns-3 over its start-jitter seeds), where there is one.
    """

    mean: float
    ci95: float | None
    n: int
    unit: str
    thesis: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Pair:
    """One figure of the same seeds, without prediction and with it.

    `gap` is the mean of on - off by seed.
    """

    off: Cell
    on: Cell
    gap: Cell

    @property
    def significant(self) -> bool:
        """Whether the gap's 95 % interval leaves out 0.

        Raises
        ------
        ValueError
            The gap has no interval.
        """
        if self.gap.ci95 is None:
            raise ValueError("gap must have an interval, not none")
        return abs(self.gap.mean) > self.gap.ci95


@dataclass(frozen=True)
class Paired:
    """One incast with prediction off and on.

    Parameters
    ----------
    senders, flow_kb : int
        Flows towards one receiver, and 10**3 bytes of each.
    load_percent : int
        Of the background on every host's link.
    level : int
        What the prior says of the incast's flows: binary logarithm of their number, rounded up.
    seeds : int
        Paired runs.
    queue_mb, p99_us, last_ms : Pair
        Largest queue of any switch port; 99 % RTT of all packets; the incast's last completion.
    short_kb : int
        10**3 bytes of each flow of a second incast, else the same.
    short_ms : Pair
        Its last completion.
    """

    senders: int
    flow_kb: int
    load_percent: int
    level: int
    seeds: int
    queue_mb: Pair
    p99_us: Pair
    last_ms: Pair
    short_kb: int
    short_ms: Pair


@dataclass(frozen=True)
class Row:
    """One algorithm in one setting; `cells` is keyed by the metrics of `thesis.METRICS`.

    Parameters
    ----------
    algorithm : str
        A key of `thesis.ALGORITHMS`.
    target_us : float or None
        RTT target, for the laws that have one.
    start_gbps : float
        Rate at which every flow starts.
    timing : str
        ``"exact"`` or ``"ns3"``.
    start : str
        ``"jitter"`` (flows start within some microseconds) or ``"sync"`` (all at once).
    cells : dict of str to Cell
        Figures by metric.
    """

    algorithm: str
    target_us: float | None
    start_gbps: float
    timing: str
    start: str
    cells: dict[str, Cell]


@dataclass(frozen=True)
class Epoch:
    """Table 1: MAPE after one epoch, in percent; None where the thesis stopped earlier."""

    epoch: int
    train: float
    test: float
    thesis_train: float | None
    thesis_test: float | None


@dataclass(frozen=True)
class Tables:
    """The thesis' tables 1, 4, 5, 6 and figure 19, ours; and ns-3's figures, ours.

    ``table6`` has a row for each algorithm and start rate; its cells carry both RTT definitions.
    ``ns3`` has rows with ``start="jitter"`` (cells have a range) and with ``start="sync"``
    (cells' `thesis` is empty, `low` and `high` are ns-3's figure -1 % and +1 %).
    """

    table1: tuple[Epoch, ...]
    table4: tuple[Row, ...]
    table5: tuple[Row, ...]
    table6: tuple[Row, ...]
    figure19: tuple[Row, ...]
    ns3: tuple[Row, ...]


@dataclass(frozen=True)
class Hardware:
    """One line of the last ``make synth`` (docs/evidence/data/synth.json).

    `fmax_seeds` has every placement seed's Fmax in MHz, None where routing had no end in its time;
    `fmax_mhz` is the best of them.
    `latency_ns` is ``latency_cycles`` at `fmax_mhz`. `commit` is what was synthesised.
    """

    block: str
    target: str
    lanes: int
    fmax_mhz: float
    fmax_seeds: dict[str, float | None]
    latency_cycles: int
    interval_cycles: int
    latency_ns: float
    lut4: int
    ff: int
    dsp: int
    bram: int
    commit: str


@dataclass(frozen=True)
class DemoResult:
    """One run of the demo.

    Parameters
    ----------
    commit : str
        Git commit of the tree, with ``-dirty`` where it had changes; "unknown" outside of git.
    date : str
        UTC, ISO 8601, when the run began.
    command : str
        What to type to repeat it.
    machine : str
        Processor and cores, in words.
    versions : dict of str to str
        Tool and library versions.
    seeds : dict of str to tuple of int
        Which seeds each part used, e.g. ``{"incast": (...), "training": (1,)}``.
    scenario : Scenario
        What was simulated.
    paired : Paired
        One incast, prediction off and on.
    wall_s : float
        Wall time of the whole run.
    stages : tuple of Stage
        The same, by step.
    hardware : tuple of Hardware
        Empty where ``make synth`` never ran.
    model_card : dict
        The loaded model image's card, as JSON data.
    tuned_gains : tuple of float or None
        [Kp, Ki, Kd] after the on-line training (21)-(26), where it was run.
    schema : int
        Version of this data model.
    """

    commit: str
    date: str
    command: str
    machine: str
    versions: dict[str, str]
    seeds: dict[str, tuple[int, ...]]
    scenario: Scenario
    paired: Paired
    wall_s: float
    stages: tuple[Stage, ...]
    rtl_vs_golden: RtlVsGolden
    loop: Loop
    mape: Mape
    at_work: AtWork
    simulator: Simulator
    tables: Tables
    hardware: tuple[Hardware, ...]
    model_card: dict[str, Any]
    tuned_gains: tuple[float, ...] | None = None
    schema: int = SCHEMA

    def to_json(self) -> str:
        """JSON text, indented; keys as in `DemoResult`.

        Raises
        ------
        ValueError
            A figure is not finite.
        """
        return json.dumps(encode(self), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "DemoResult":
        """The inverse of `to_json`.

        Raises
        ------
        ValueError
            The text is not JSON, has another schema, lacks a key, or has one of the wrong type.
        """
        data = json.loads(text)  # JSONDecodeError is a ValueError
        if isinstance(data, dict) and data.get("schema") != SCHEMA:
            raise ValueError(f"schema must be {SCHEMA}, not {data.get('schema')!r}")
        return decode(cls, data)

    def save(self, directory: Path) -> Path:
        """Write ``result.json`` into `directory` and return its path."""
        path = directory / RESULT_FILE
        write_durably(path, self.to_json().encode())
        return path
