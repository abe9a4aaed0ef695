"""What the packet stages' control rests on: when the parser speaks, and when a decision comes.

And which packets get another DSCP.

The blocks are the gateware as it is. Only when they speak is looked at; what they say falls away
with the logic that it needs. By induction, hence for ever.
"""

from amaranth.hdl import Assert, Cat, Const, Cover, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .packets import late
from .peek import Opened
from .strobes import parser_strobes

__all__ = ["MUTANTS", "PROOFS"]

SLOTS = 4


class ParserHarness(wiring.Component):
    """The parser with an arbitrary packet stream.

    Parameters
    ----------
    width : int
    """

    def __init__(self, width: int) -> None:
        from precog_hw.stream.packet import beat_layout

        self._width = width
        super().__init__({"beat": In(beat_layout(width)), "taken": In(1)})

    def elaborate(self, platform: object) -> Module:
        from precog_hw.packet.headers import WINDOW_BYTES
        from precog_spec.frames.descriptor import Direction

        m = Module()
        with reimported("precog_hw.packet.parser") as module:
            dut = module.Parser(self._width, Direction.TX)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        m.d.comb += [dut.beat.eq(self.beat), dut.taken.eq(self.taken)]
        beats = -(-WINDOW_BYTES * 8 // self._width)
        must = parser_strobes(m, self.taken, self.beat.last, beats, module.Parser.LATENCY)
        inside, number = inner["window.inside"], must.number
        m.d.comb += [
            Assert(inside == (number < beats)),
            Assert(~inside | (inner["window.before"] == number)),
            Assert(number <= beats),
            Assert(
                dut.o_valid == must.parsed,
                "one descriptor for each packet, when its headers or its end have come",
            ),
            Assert(
                dut.tail_valid == must.tail,
                "one tail for each packet, when its end has come",
            ),
            Cover(dut.o_valid & ~dut.tail_valid),
            Cover(dut.o_valid & dut.tail_valid),
        ]
        return m


class DecisionHarness(wiring.Component):
    """`CpsTransmit` or `CpsReceive`: any packets, any answers of table and slots.

    Parameters
    ----------
    module, name : str
        Where the block is, and how it is called.
    """

    def __init__(self, module: str, name: str) -> None:
        from precog_hw.packet.layouts import PARSED

        self._module = module
        self._name = name
        super().__init__({"parsed": In(PARSED), "parsed_stb": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with reimported(self._module) as module:
            dut = getattr(module, self._name)(SLOTS)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        m.d.comb += [dut.parsed.eq(self.parsed), dut.parsed_stb.eq(self.parsed_stb)]
        latency = dut.LATENCY
        m.d.comb += [
            Assert(
                dut.edit_stb == late(m, self.parsed_stb, latency, "stb"),
                "a decision for each packet, `LATENCY` cycles after its descriptor",
            ),
            Cover(dut.edit_stb & (late(m, Const(1), 2 * latency, "some"))),
        ]
        return m


class RemarkHarness(wiring.Component):
    """`remark` of any packet, with any registers."""

    def __init__(self) -> None:
        from precog_hw.packet.layouts import CPS_CONFIG

        packet = data.StructLayout({"eligible": 1, "opcode": 8, "ipv6": 1, "ip_head": 16})
        super().__init__({"packet": In(packet), "config": In(CPS_CONFIG)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with reimported(_REMARK) as module:
            made = module.remark(self.packet, self.config)
        old, new, dscp = self.packet.ip_head, made["ip_head"], self.config.ack_dscp
        answers = self.packet.eligible & self.packet.opcode.matches(0x11, 0x12, 0xB1, 0xB2)
        four, six = Cat(old[:2], dscp, old[8:]), Cat(old[:6], dscp, old[12:])
        m.d.comb += [
            Assert(
                made["writes"] == (answers & self.config.ack_enabled),
                "acknowledgements get another DSCP, all of them and nothing else, while enabled",
            ),
            Assert(
                new == Mux(self.packet.ipv6, six, four),
                "it is the registers', and the bits around it stay",
            ),
            Assert(
                Mux(made["writes"], self.packet.ipv6 | (new == old + (made["step"] << 2)), 1),
                "IPv4's checksum hears of the change",
            ),
            Assert(made["writes"] | (made["step"] == 0), "or of none"),
            Cover(made["writes"] & (made["step"] == -63)),
        ]
        return m


_TX, _RX = "precog_hw.packet.cps_tx", "precog_hw.packet.cps_rx"
_REMARK = "precog_hw.packet.ack_dscp"

_WINDOW, _PARSER = "precog_hw.packet.window", "precog_hw.packet.parser"
_SPEAKS = "for ever, any packets: one descriptor and one tail for each, in the cycles foreseen"
_DECIDES = "for ever, any packets and any answers: a decision after `LATENCY` cycles, no other"


def _transmit() -> DecisionHarness:
    return DecisionHarness(_TX, "CpsTransmit")


def _receive() -> DecisionHarness:
    return DecisionHarness(_RX, "CpsReceive")


_DEPTH = 10  # cycles: more than the parser's latency
PROOFS = (
    Proof("parser.8", lambda: ParserHarness(8), Mode.INDUCTION, _DEPTH, _SPEAKS, quick=False),
    Proof("parser.64", lambda: ParserHarness(64), Mode.INDUCTION, _DEPTH, _SPEAKS),
    Proof(
        "parser.cover",
        lambda: ParserHarness(64),
        Mode.COVER,
        24,
        "short and long packets",
        quick=False,
    ),
    Proof("decide.tx", _transmit, Mode.INDUCTION, 45, _DECIDES),
    Proof("decide.rx", _receive, Mode.INDUCTION, 45, _DECIDES),
    Proof(
        "remark.any",
        RemarkHarness,
        Mode.INDUCTION,
        1,
        "any packet and registers: acknowledgements get the DSCP, while enabled, and nothing else",
    ),
    Proof("remark.cover", RemarkHarness, Mode.COVER, 1, "a DSCP of 63 becomes 0", quick=False),
    Proof("decide.cover", _receive, Mode.COVER, 45, "a decision is reachable", quick=False),
)
MUTANTS = (
    Mutant(
        "parser.64",
        _WINDOW,
        "wanted & (last | (index == beats - 1))",
        "wanted & (index == beats - 1)",
        "a short packet has no descriptor",
    ),
    Mutant(
        "parser.64",
        _PARSER,
        "self.o_valid.eq(at.middle_stb)",
        "self.o_valid.eq(at.link_stb)",
        "the descriptor comes a cycle early",
    ),
    Mutant(
        "parser.64",
        _PARSER,
        "self.tail_valid.eq(ends[-1].stb)",
        "self.tail_valid.eq(ends[-2].stb)",
        "the tail comes before the descriptor",
    ),
    Mutant(
        "decide.tx",
        _TX,
        "DelayLine(1, self.LATENCY, registers=True)",
        "DelayLine(1, self.LATENCY + 1, registers=True)",
        "the decision comes later than the stage expects",
    ),
    Mutant(
        "remark.any",
        _REMARK,
        " & config.ack_enabled",
        "",
        "acknowledgements change with the bit off",
        quick=True,
    ),
    Mutant(
        "remark.any",
        _REMARK,
        "waiting.eligible & ",
        "",
        "a packet that is not understood is changed",
    ),
    Mutant(
        "remark.any",
        _REMARK,
        "Mux(waiting.ipv6, _with(waiting, config, IPV6), _with(waiting, config, IPV4))",
        "_with(waiting, config, IPV4)",
        "IPv6 has its DSCP where IPv4 has it",
    ),
    Mutant(
        "remark.any",
        _REMARK,
        "config.ack_dscp - old",
        "old - config.ack_dscp",
        "the checksum hears of the opposite",
    ),
    Mutant(
        "decide.rx",
        _RX,
        "stays else self.LATENCY, registers=True",
        "stays else self.LATENCY - 1, registers=True",
        "the decision comes earlier than the stage expects",
    ),
    Mutant(
        "parser.8",
        _WINDOW,
        "wanted & (last | (index == beats - 1))",
        "wanted & (index == beats - 1)",
        "a short packet has no descriptor",
    ),
)
