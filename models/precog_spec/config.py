"""What is built: one frozen description, validated once, with named presets."""

from dataclasses import dataclass, fields, replace
from typing import Any

__all__ = [
    "BUILD_ONLY",
    "CELLS_LEAST",
    "CELLS_MOST",
    "EXCLUDES",
    "MACS_MOST",
    "NEEDS",
    "OPTIONS",
    "PACKET_PARTS",
    "PRESETS",
    "NicConfig",
    "option_value",
]

#: Fields of which the register map says nothing, and a host knows nothing.
BUILD_ONLY = ("dsp", "relaxed", "micro", "activity")

#: Gigabit ports of a device, at most.
MACS_MOST = 2
#: Cells of 128 bytes of a packet memory.
CELLS_LEAST, CELLS_MOST = 128, 1 << 15

#: Values that a size may have.
_CHOICES: dict[str, tuple[object, ...]] = {
    "lanes": (4, 8, 16, 64, 128),
    "columns": (1, 2, 4),
    "width": (0, 8, 64, 128, 256, 512),
    "law_cores": (0, 1, 4, 8),
    "dsp": ("generic", "ecp5"),
}
#: Sizes from a range: (the least, the largest).
_RANGES = {"steps": (1, 8), "macs": (0, MACS_MOST)}
#: Sizes that are powers of two: the least and the largest; wire's may be 0, too.
_POWERS = {"qps": (1, 1 << 16), "sets": (2, 64), "wire": (CELLS_LEAST, CELLS_MOST)}
#: With forecasts: the engine keeps two contexts for each queue pair.
_MOST_FORECAST = 1 << 15

#: (option, the one that it needs, why).
NEEDS = (
    ("law_cores", "laws", "its programs hear events"),
    ("trace", "laws", "its records have their times and scores"),
    ("receiver", "laws", "its commands are for PSCHED"),
    ("receiver", "width", "scores come in packets"),
    ("senders", "width", "packets say who sends"),
    ("wire", "width", "its cells hold packets"),
    ("wire", "grants", "its packets wait for grants"),
    ("macs", "width", "their frames are its packets"),
    ("tree", "forecast", "trees are its queue models"),
    ("forecast", "laws", "its scores are for PSCHED"),
    ("trials", "laws", "scores are one of the kinds of advice that are tried"),
    ("port", "width", "senders announce bytes in packets"),
    ("port", "profile", "it measures the port's queue"),
    ("port", "forecast", "its models forecast the port's queue"),
)
#: (option, the one that must be off with it, why).
EXCLUDES = (
    ("activity", "width", "the packet path's clock always runs"),
    ("activity", "trace", "the trace's clock always runs"),
    ("activity", "micro", "the processor's clock always runs"),
    ("activity", "law_cores", "the law engine's clock always runs"),
    ("activity", "trials", "the trials' clock always runs"),
    ("trials", "micro", "the processor's program knows no rounds"),
)
#: Parts that a packet path may lack; without packets they stay on.
PACKET_PARTS = ("destinations", "cnps", "icrc")
#: Options that need more than one queue pair.
_SEVERAL_QPS = ("laws", "width", "grants", "profile")


@dataclass(frozen=True)
class NicConfig:
    """What a Precog core is built with: sizes and parts.

    Parameters
    ----------
    qps : int
        QP slots (power of two, 1..65536).
    sets : int
        Weight sets in the pool (power of two, 2..64).
    lanes : int
        Multiply-accumulate lanes of the LSTM engine: 4, 8, 16, 64 or 128. With 4 or 8 the engine
        works on one gate after the other: 8 or 12 multipliers in all, half the LUTs and flip-flops
        of 16 lanes, a latency of 141 cycles instead of 36, for clocks up to some 70 MHz on ECP5.
    columns : int
        Units that the element-wise pipe finishes per cycle: 1, 2 or 4; 1 with fewer than 16 lanes.
    steps : int
        Longest window T for which run-ahead state is kept (1..8).
    dsp : str
        ``"generic"`` for behavioural multipliers, ``"ecp5"`` for MULT18X18D with its own registers.
    width : int
        Bits in a beat of the packet path (8, 64, 128, 256 or 512); 0 for a device without packets,
        to which samples come from outside.
    laws : bool
        PSCHED, and events for it and for programs.
    law_cores : int
        Cores of the law engine (`precog_hw.rate.engine`): 0, 1, 4 or 8, at most `qps`. Its programs
        are laws besides pid and predpid: timely, dcqcn and others.
    grants : bool
        The pacer in grant mode (`precog_hw.pace.grants`).
    profile : bool
        The queue profiler (`precog_hw.measure.profiler`). With `wire` it follows the packets in the
        memory, with `grants` alone the pacer; else the queues' events enter by a port.
    forecast : bool
        A second model for each queue pair, which forecasts its queue
        (`precog_hw.predict.forecast`).
    tree : bool
        That model is a decision tree (`precog_hw.predict.tree`), not an LSTM on the engine.
    trace : bool
        The trace FIFO (`precog_hw.csr.trace`) of decisions, the receiver's acts, forecasts and what
        programs did.
    receiver : bool
        The receiver of congestion scores (`precog_hw.rate.receiver`).
    senders : bool
        The count of queue pairs that send to this card, which its shims say, and what shims say of
        their senders' counts (`precog_hw.packet.senders`).
    port : bool
        The queue before the card's own port, of bytes that its senders have announced
        (`precog_hw.packet.port`): one slot's queue model forecasts it.
    wire : int
        Cells of 128 bytes in which packets wait for their grants (`precog_hw.pace.wire_mode`), a
        power of two in 128..32768; 0: none wait.
    ecc : bool
        SECDED and scrubbing of weights, and of the law engine's programs (`precog_hw.predict.ecc`).
    trials : bool
        Trials of advice (`precog_hw.rate.trials`): whether following it lowers delay x time.
    macs : int
        Gigabit ports whose events are counted (`precog_hw.mac`), 0..2.
    ipv6 : bool
        IPv6 packets; without, they pass unchanged, like any that is not RoCEv2.
    destinations : bool
        Enables and numbers of destinations (`precog_hw.measure.destinations`); without, every
        destination is trusted with scores.
    cnps : bool
        DCQCN's notification point (`precog_hw.packet.notification`), a DSCP for acknowledgements
        (`precog_hw.packet.ack_dscp`) and BECN in them (`precog_hw.packet.mark_echo`); without,
        packets with CE pass unanswered and acknowledgements as they are. CNPs that arrive are
        events all the same.
    icrc : bool
        The check of received packets' ICRC (`precog_hw.packet.icrc_check`); without, wrong packets
        pass uncounted, and have their effect.
    relaxed : bool
        As few LUTs as can be: each direction of the packet path holds one packet at a time, which
        serves a Gigabit line at 62.5 MHz, and the pacer one event; fewer registers between steps;
        queues without a way past their rows; the engine's tables and the counters in block RAM.
        For clocks up to some 70 MHz on ECP5.
    micro : bool
        Features, pid and predpid on a small processor (`precog_hw.micro`): some 6,000 LUTs and 11
        multipliers less, and a decision in some 1,000 cycles instead of 50.
    activity : bool
        Outputs that say which units have work, for clock gates (`precog_hw.activity`).

    Raises
    ------
    ValueError
        A size is none of those above, an option lacks one of `NEEDS` or meets one of `EXCLUDES`.
    """

    qps: int = 64
    sets: int = 16
    lanes: int = 64
    columns: int = 4
    steps: int = 8
    width: int = 0
    laws: bool = True
    law_cores: int = 0
    grants: bool = False
    profile: bool = False
    forecast: bool = False
    tree: bool = False
    trace: bool = False
    receiver: bool = False
    senders: bool = False
    port: bool = False
    wire: int = 0
    ecc: bool = True
    trials: bool = False
    macs: int = 0
    ipv6: bool = True
    destinations: bool = True
    cnps: bool = True
    icrc: bool = True
    dsp: str = "generic"
    relaxed: bool = False
    micro: bool = False
    activity: bool = False

    def __post_init__(self) -> None:
        self._check_sizes()
        for option, needed, why in NEEDS:
            if getattr(self, option) and not getattr(self, needed):
                raise ValueError(f"{option} needs {needed}, which is off: {why}")
        for option, other, why in EXCLUDES:
            if getattr(self, option) and getattr(self, other):
                raise ValueError(f"{option} excludes {other}, which is on: {why}")
        for part in ("ipv6", *PACKET_PARTS):
            if not getattr(self, part) and not self.width:
                raise ValueError(
                    f"{part} must be on without width: it is a part of the packet path"
                )
        for option in _SEVERAL_QPS:
            if getattr(self, option) and self.qps < 2:
                raise ValueError(f"qps must be 2 or more with {option}, not {self.qps}")

    def _check_sizes(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is bool and not isinstance(value, bool):
                raise ValueError(f"{field.name} must be True or False, not {value!r}")
        for name, (low, high) in _POWERS.items():
            value = getattr(self, name)
            if name == "wire" and value == 0:
                continue
            if not low <= value <= high or value & (value - 1):
                none = ", or 0 without" if name == "wire" else ""
                raise ValueError(
                    f"{name} must be a power of two in {low}..{high}{none}, not {value!r}"
                )
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value!r}")
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                known = ", ".join(str(choice) for choice in choices)
                raise ValueError(f"{name} must be one of {known}, not {value!r}")
        if self.lanes < 16 and self.columns != 1:
            raise ValueError(f"columns must be 1 at {self.lanes} lanes, not {self.columns}")
        if self.law_cores > self.qps:
            raise ValueError(
                f"law_cores must be at most the {self.qps} qps, not {self.law_cores}: "
                "a core has queue pairs of its own"
            )
        if self.forecast and self.qps > _MOST_FORECAST:
            raise ValueError(f"qps must be at most {_MOST_FORECAST} with forecast, not {self.qps}")

    def seen(self) -> "NicConfig":
        """The configuration that a host reads from this device: `BUILD_ONLY` at the defaults."""
        return replace(self, **{name: _DEFAULTS[name] for name in BUILD_ONLY})

    @property
    def qp_bits(self) -> int:
        """Width of a slot number."""
        return max(1, (self.qps - 1).bit_length())

    @property
    def set_bits(self) -> int:
        """Width of a weight set's number."""
        return (self.sets - 1).bit_length()

    @property
    def guards_programs(self) -> bool:
        """Programs of the law engine have check bits."""
        return bool(self.ecc and self.law_cores)

    @property
    def parameter_blocks(self) -> tuple[str, ...]:
        """Register blocks whose RW fields are parameters that all queue pairs share."""
        return (
            *("MEASURE", "PID"),
            *(("PSCHED",) if self.laws else ()),
            *(("TRIALS",) if self.trials else ()),
        )


_DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(NicConfig)}
#: Fields that a host reads from a device and that an emulated one takes.
OPTIONS = tuple(name for name in _DEFAULTS if name not in BUILD_ONLY)


def option_value(name: str, text: str) -> int | bool:
    """The value of one of `OPTIONS`, or of another number, as ``emu:width=64,trace=1`` writes it.

    Raises
    ------
    ValueError
        The text is no number, or neither 0 nor 1 for an option that is on or off.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise ValueError(f"must be {name}=<number>")
    number = int(text)
    if not isinstance(_DEFAULTS.get(name), bool):
        return number
    if number > 1:
        raise ValueError(f"must be {name}=0 or {name}=1")
    return bool(number)


_SMALL = NicConfig(
    qps=4,
    sets=2,
    lanes=4,
    columns=1,
    steps=3,
    width=64,
    laws=False,
    ecc=False,
    ipv6=False,
    destinations=False,
    dsp="ecp5",
    relaxed=True,
    micro=True,
)

PRESETS: dict[str, NicConfig] = {
    "tiny": NicConfig(qps=4, sets=2, lanes=16, columns=1, steps=3),
    "lanes16": NicConfig(lanes=16, columns=1),
    "lanes64": NicConfig(lanes=64, columns=4),
    "lanes128": NicConfig(lanes=128, columns=2),
    # What an incast under LSTM + PID needs, and no more.
    "predict64": NicConfig(qps=32, sets=2, lanes=64, columns=4, steps=3, laws=False, ecc=False),
    # What an agent of the fleet needs, and sets for three models of each queue pair.
    "fleet": NicConfig(
        qps=16, sets=64, lanes=16, columns=1, profile=True, forecast=True, trace=True
    ),
    "grants": NicConfig(qps=1024, lanes=64, columns=4, grants=True, profile=True),
    # Boards with Gigabit ports, by how many thousand LUTs their ECP5 has.
    "ecp5-25": replace(_SMALL, cnps=False, icrc=False),
    "ecp5-45": replace(_SMALL, grants=True, wire=256),
    "ecp5-85": replace(
        _SMALL,
        qps=16,
        sets=4,
        laws=True,
        law_cores=1,
        receiver=True,
        senders=True,
        ecc=True,
        grants=True,
        wire=128,
        profile=True,
        forecast=True,
        trace=True,
    ),
    "corundum-100g": NicConfig(qps=256, lanes=128, columns=4, width=512, law_cores=8),
}
