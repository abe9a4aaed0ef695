"""What is built: one frozen description, validated once, with named presets."""

from dataclasses import dataclass, fields, replace

from precog_spec.registers.precog import Sizes

__all__ = ["PRESETS", "NicConfig"]


@dataclass(frozen=True)
class NicConfig:
    """Sizes of a Precog core.

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
    laws : int
        1 with the laws timely and dcqcn, 0 without.
    law_cores : int
        1 with the law engine (`precog_hw.rate.engine`), 0 without; with laws.
    grants : int
        1 with the pacer in grant mode (`precog_hw.pace.grants`), 0 without.
    profile : int
        1 with the queue profiler (`precog_hw.measure.profiler`), 0 without. With `wire` it follows
        the packets that wait, with `grants` alone the pacer, else events of the queues come from
        outside.
    forecast : int
        1 with a second model for each queue pair, which forecasts its queue
        (`precog_hw.predict.forecast`), 0 without.
    tree : int
        1 if that model is a decision tree (`precog_hw.predict.tree`), 0 if it is an LSTM on the
        engine; with forecasts.
    trace : int
        1 with the trace FIFO (`precog_hw.csr.trace`) of decisions, the receiver's acts and
        forecasts, 0 without; with laws.
    receiver : int
        1 with the receiver of congestion scores (`precog_hw.rate.receiver`), 0 without; with
        packets and laws.
    wire : int
        Cells of 128 bytes in which packets wait for their grants (`precog_hw.pace.wire_mode`), a
        power of two in 128..32768; 0: none wait. With packets and grants.
    ecc : int
        1 with SECDED and scrubbing of the weights (`precog_hw.predict.scrubber`), 0 without.
    macs : int
        Gigabit ports whose events are counted (`precog_hw.mac`), 1 or 2; 0: none. With packets.
    ipv6 : int
        1 with IPv6 packets; 0: they pass unchanged, like any that is not RoCEv2. With packets.
    destinations : int
        1 with enables and numbers of destinations (`precog_hw.measure.destinations`), 0 without:
        every destination is trusted with scores. With packets.
    cnps : int
        1 with DCQCN's notification point (`precog_hw.packet.notification`), 0 without: packets with
        CE pass unanswered. CNPs that arrive are events all the same. With packets.
    icrc : int
        1 with the check of received packets' ICRC (`precog_hw.packet.icrc_check`), 0 without: they
        pass as they do anyway, nobody counts those that are wrong, and what they say has its
        effect. With packets.
    relaxed : bool
        As few LUTs as can be: each direction of the packet path holds one packet at a time, which
        serves a Gigabit line at 62.5 MHz; fewer registers between steps; wide queues, the engine's
        tables and the counters in block RAM. For clocks up to some 70 MHz on ECP5.
    micro : bool
        Features and laws on a small processor (`precog_hw.micro`): some 6,000 LUTs and 11
        multipliers less, and a decision in some 1,000 cycles instead of 50. Without laws.
    activity : bool
        Without micro, packets and trace: outputs that say which units have work, for clock gates
        (`precog_hw.activity`).

    Raises
    ------
    ValueError
        A size is not one of those above.
    """

    qps: int = 64
    sets: int = 16
    lanes: int = 64
    columns: int = 4
    steps: int = 8
    width: int = 0
    laws: int = 1
    law_cores: int = 0
    grants: int = 0
    profile: int = 0
    forecast: int = 0
    tree: int = 0
    trace: int = 0
    receiver: int = 0
    wire: int = 0
    ecc: int = 1
    macs: int = 0
    ipv6: int = 1
    destinations: int = 1
    cnps: int = 1
    icrc: int = 1
    dsp: str = "generic"
    relaxed: bool = False
    micro: bool = False
    activity: bool = False

    def __post_init__(self) -> None:
        self.map_sizes.check_buildable()
        if self.dsp not in ("generic", "ecp5"):
            raise ValueError(f"dsp must be 'generic' or 'ecp5', not {self.dsp!r}")
        if self.activity and (self.width or self.trace or self.micro):
            raise ValueError(
                "activity must be off in a device with packets, a trace or micro: its clock always "
                "runs"
            )
        if self.activity and self.law_cores:
            raise ValueError("activity must be off with law_cores: its clock always runs")
        if self.micro and self.laws:
            raise ValueError("laws must be 0 with micro: its program has pid and predpid alone")

    @property
    def map_sizes(self) -> Sizes:
        """What the register map depends on."""
        return Sizes(**{field.name: getattr(self, field.name) for field in fields(Sizes)})

    @property
    def qp_bits(self) -> int:
        """Width of a slot number."""
        return max(1, (self.qps - 1).bit_length())

    @property
    def set_bits(self) -> int:
        """Width of a weight set's number."""
        return (self.sets - 1).bit_length()


_SMALL = NicConfig(
    qps=4,
    sets=2,
    lanes=4,
    columns=1,
    steps=3,
    width=64,
    laws=0,
    ecc=0,
    ipv6=0,
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
    "predict64": NicConfig(qps=32, sets=2, lanes=64, columns=4, steps=3, laws=0, ecc=0),
    # What an agent of the fleet needs, and sets for three models of each queue pair.
    "fleet": NicConfig(qps=16, sets=64, lanes=16, columns=1, profile=1, forecast=1, trace=1),
    "grants": NicConfig(qps=1024, lanes=64, columns=4, grants=1, profile=1),
    # Boards with Gigabit ports, by how many thousand LUTs their ECP5 has.
    "ecp5-25": replace(_SMALL, destinations=0, cnps=0, icrc=0),
    "ecp5-45": _SMALL,
    "ecp5-85": NicConfig(qps=16, sets=4, lanes=16, columns=1, width=64, laws=0, ecc=0, dsp="ecp5"),
    "corundum-100g": NicConfig(qps=256, lanes=64, columns=4, width=512),
}
