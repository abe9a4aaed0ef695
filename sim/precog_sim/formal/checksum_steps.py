"""The harnesses of `checksum`: what each step of its proofs assumes and asserts."""

import sys
from typing import Any
from unittest.mock import patch

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .packets import late
from .peek import Opened

__all__ = [
    "HALFWAY",
    "LATENCY",
    "DscpHarness",
    "LengthHarness",
    "UdpFirstHarness",
    "UdpLastHarness",
    "UdpTotalHarness",
    "UpdateHarness",
]

_CHECKSUM = "precog_hw.packet.checksum"
SHIM_BYTES = 8
MODULUS = 0xFFFF
BECN = 1 << 14  # in the two bytes of the BTH that hold it
HALFWAY = 2  # cycles from the request to the registers of the first cut
#: Numbers of registers, in the order in which the block makes them.
_SUMS, _TOTAL = (4, 5), 6
LATENCY = 5  # of the block


class UpdateHarness(wiring.Component):
    """`HeaderUpdate` with a free request in every cycle.

    Parameters
    ----------
    edit : str
        The command of all requests, a member of `Edit`.
    """

    cut: tuple[int, ...] = ()  # numbers of registers that are free

    def __init__(self, edit: str) -> None:
        from precog_hw.packet.checksum import UPDATE_REQUEST

        self._edit = edit
        super().__init__(
            {
                "i": In(UPDATE_REQUEST),
                "i_stb": In(1),
                "rest": In(16),
                "dscp": In(6),
                "whole": In(19),
                "moved": In(18),
                "turns": In(signed(5)),
                "first": In(18),
                "second": In(18),
                "total": In(19),
            }
        )

    def elaborate(self, platform: object) -> Module:
        from precog_hw.packet.layouts import Edit

        m = Module()
        module: Any = sys.modules[_CHECKSUM]
        registers: list[Signal] = []
        free = dict(zip((*_SUMS, _TOTAL), (self.first, self.second, self.total), strict=True))
        registered = module._registered

        def spied(block: Module, value: Value) -> Signal:
            number, register = len(registers), registered(block, value)
            registers.append(free[number] if number in self.cut else register)
            return registers[-1]

        with patch.object(module, "_registered", spied):
            dut = module.HeaderUpdate()
            m.submodules.dut = Opened(dut).fragment
        m.d.comb += [
            dut.i.eq(self.i),
            dut.i_stb.eq(self.i_stb),
            Assume(self.i.edit == getattr(Edit, self._edit)),
            Assume(self.rest != 0),
        ]
        self._claim(m, dut, registers)
        return m

    def _claim(self, m: Module, dut: Any, registers: list[Signal]) -> None:
        """What is assumed and asserted."""
        raise NotImplementedError

    @property
    def _growth(self) -> int:
        """Bytes."""
        return {"INSERT": SHIM_BYTES, "REMOVE": -SHIM_BYTES}.get(self._edit, 0)


class LengthHarness(UpdateHarness):
    """Lengths and IPv4's checksum."""

    def _claim(self, m: Module, dut: Any, registers: list[Signal]) -> None:
        i, o, growth = self.i, dut.o, self._growth
        stb = late(m, self.i_stb, LATENCY, "stb")
        lengths = [i.ip_length + growth, i.udp_length + growth]
        right = _field(self.rest + i.ip_length)
        m.d.comb += [
            *(Assume((new >= 0) & (new <= MODULUS)) for new in lengths),
            Assume(i.ip_checksum == right),
            Assume(i.dscp_step == 0),
        ]
        expected = {
            "ip_length": lengths[0][:16],
            "udp_length": lengths[1][:16],
            "ip_checksum": _field(self.rest + lengths[0][:16]),
        }
        m.d.comb += Assert(dut.o_stb == stb)
        for name, value in expected.items():
            held = late(m, value, LATENCY, name)
            m.d.comb += Assert(~stb | (o[name] == held), f"{name} as if it were made anew")
        m.d.comb += Cover(stb & (o.ip_checksum == 0x1234))


class DscpHarness(UpdateHarness):
    """IPv4's checksum where the DSCP changes, too; `rest` holds the length."""

    def _claim(self, m: Module, dut: Any, registers: list[Signal]) -> None:
        old, new = self.dscp, self.dscp + self.i.dscp_step
        right = _field(self.rest + (old << 2))
        updated = _field(self.rest + self._growth + (new[:6] << 2))
        held = late(m, updated, LATENCY, "held")
        stb = late(m, self.i_stb, LATENCY, "stb")
        m.d.comb += [
            Assume((new >= 0) & (new < 64)),
            Assume(self.i.ip_checksum == right),
            Assert(~stb | (dut.o.ip_checksum == held), "IPv4's checksum as if it were made anew"),
            Cover(stb & (dut.o.ip_checksum == 0x1234)),
        ]


class UdpFirstHarness(UpdateHarness):
    """From the request to the registers."""

    def _claim(self, m: Module, dut: Any, registers: list[Signal]) -> None:
        i, rest = self.i, self.rest
        first, second = (registers[n] for n in _SUMS)
        shim = _sum([i.shim.word_select(n, 16) for n in range(SHIM_BYTES // 2)])
        keeps = self._edit == "KEEP"
        old, new = (i.resv_old, i.resv_new) if keeps else (i.port_old, i.port_new)
        marked = new + Mux(i.becn, BECN, 0)
        # `rest` holds the lengths as they are without the shim, and a shim that is to go out.
        sums = {
            "INSERT": (rest + old, rest + (marked + 2 * SHIM_BYTES), shim),
            "REMOVE": (rest + (old + 2 * SHIM_BYTES), rest + new, 4 * MODULUS - shim),
            "KEEP": (rest + old, rest + marked, Const(0, 18)),
        }
        before, kept, moved = sums[self._edit]
        m.d.comb += [
            Assume(i.udp_checksum == _udp_field(before)),
            Assume(~i.becn | (self._edit != "REMOVE")),
        ]
        known = late(m, Const(1), HALFWAY, "known")
        kept, moved = (
            late(m, value, HALFWAY, name) for value, name in ((kept, "kept"), (moved, "moved"))
        )
        m.d.comb += [
            Assert(~known | _alike(first, kept, 4), "the first half, modulo 0xFFFF"),
            Assert(~known | (second == moved), "what moves in or out"),
            Cover(known & (first > MODULUS) & (second == moved)),
        ]


class UdpTotalHarness(UpdateHarness):
    """From the registers to their sum."""

    cut = _SUMS

    def _claim(self, m: Module, dut: Any, registers: list[Signal]) -> None:
        whole, moved = self.whole, self.moved
        kept, after, second = {
            "INSERT": (whole, whole + moved, moved),
            "REMOVE": (whole + moved, whole, 4 * MODULUS - moved),
            "KEEP": (whole, whole, Const(0, 18)),
        }[self._edit]
        known = late(m, Const(1), 1, "known")
        after = late(m, after, 1, "after")
        total = registers[_TOTAL]
        m.d.comb += [
            Assume(whole != 0),
            Assume(moved <= 4 * MODULUS),
            Assume((self.turns >= -8) & (self.turns <= 8)),
            Assume(self.first == kept + _turned(self.turns)),
            Assume(self.second == second),
            Assert(~known | _alike(total, after, 12), "the whole sum, modulo 0xFFFF"),
            Cover(known & (total > MODULUS)),
        ]


class UdpLastHarness(UpdateHarness):
    """From the sum to the field."""

    cut = (_TOTAL,)

    def _claim(self, m: Module, dut: Any, registers: list[Signal]) -> None:
        m.d.comb += [
            Assume(self.whole != 0),
            Assume((self.turns >= -12) & (self.turns <= 12)),
            Assume(self.total == self.whole + _turned(self.turns)),
        ]
        none = late(m, self.i.udp_checksum == 0, LATENCY, "none")
        stb = late(m, self.i_stb, LATENCY, "stb")
        field = late(m, _udp_field(self.whole), 2, "field")
        o = dut.o.udp_checksum
        m.d.comb += [
            Assert(~stb | (o == Mux(none, 0, field)), "UDP's checksum as if it were made anew"),
            Cover(stb & (o == MODULUS)),
            Cover(stb & (o == 0)),
            Cover(stb & (o == 1)),
        ]


def _turned(turns: Value) -> Value:
    """A multiple of 0xFFFF."""
    return (turns << 16) - turns


def _sum(words: list[Value]) -> Value:
    return (words[0] + words[1]) + (words[2] + words[3])


def _alike(number: Value, other: Value, most: int) -> Value:
    """Apart by at most `most` times 0xFFFF."""
    return Cat(number == other + MODULUS * turns for turns in range(-most, most + 1)).any()


def _fold(total: Value) -> Value:
    """The ones' complement sum of a sum of less than 20 bits."""
    once = total[:16] + total[16:]
    return (once[:16] + once[16:])[:16]


def _field(total: Value) -> Value:
    """IPv4's checksum."""
    return ~_fold(total)


def _udp_field(total: Value) -> Value:
    """UDP's, for which 0 means that there is none."""
    return Mux(_fold(total) == MODULUS, MODULUS, ~_fold(total))[:16]
