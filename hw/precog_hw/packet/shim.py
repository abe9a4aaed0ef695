"""Mode S's shim: its eight bytes from fields, and fields from eight bytes."""

from amaranth.hdl import Module, Mux, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.frames.cps import (
    SCORE_MAX,
    SCORE_NONE,
    SHIM,
    SHIM_VERSION,
    TIME_BITS,
    ShimFault,
    ShimType,
)
from precog_spec.frames.crc import crc8

from .linear import xor_network

__all__ = ["SHIM_FIELDS", "ShimDecode", "ShimEncode"]

_COVERED = SHIM["crc"].byte  # bytes under the CRC

#: What a shim says.
SHIM_FIELDS = data.StructLayout(
    {
        "type": unsigned(SHIM["type"].bits),  # ShimType
        "score": unsigned(SCORE_MAX.bit_length()),  # 0..SCORE_MAX
        "score_valid": unsigned(1),
        "echo": unsigned(SCORE_MAX.bit_length()),
        "echo_valid": unsigned(1),
        "time": unsigned(TIME_BITS),  # ns
        "time_valid": unsigned(1),
        "senders": unsigned(SHIM["senders"].bits),  # level, 0..15
    }
)


class ShimEncode(wiring.Component):
    """The eight bytes.

    Latency: none. Cost: 142 LUT4, the CRC's network almost all of them.

    Members
    -------
    i : In(SHIM_FIELDS)
    o : Out(64)
        First byte in the most significant place.
    """

    i: In(SHIM_FIELDS)
    o: Out(8 * SHIM.size)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i = self.i
        fields = {
            "version": SHIM_VERSION,
            "type": i.type,
            "v": i.score_valid,
            "e": i.echo_valid,
            "t": i.time_valid,
            "senders": i.senders,
            "score": Mux(i.score_valid, i.score, SCORE_NONE),
            "echo": Mux(i.echo_valid, i.echo, SCORE_NONE),
            "time": Mux(i.time_valid, i.time, 0),
        }
        for name, value in fields.items():
            m.d.comb += _field(self.o, name).eq(value)
        m.d.comb += _field(self.o, "crc").eq(_crc(self.o))
        return m


class ShimDecode(wiring.Component):
    """What eight bytes say.

    Latency: none. Cost: 155 LUT4.

    Members
    -------
    i : In(64)
        First byte in the most significant place.
    fault : Out(unsigned)
        `ShimFault`: NONE, VERSION, TYPE or CRC. With a fault nothing in `o` is valid.
    o : Out(SHIM_FIELDS)
    clamped : Out(2)
        How many of score and echo were above 100 and are given as 100.
    """

    i: In(8 * SHIM.size)
    fault: Out(range(max(ShimFault) + 1))
    o: Out(SHIM_FIELDS)
    clamped: Out(2)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        good = self.fault == ShimFault.NONE
        kind = _field(self.i, "type")
        with m.If(_field(self.i, "version") != SHIM_VERSION):
            m.d.comb += self.fault.eq(ShimFault.VERSION)
        with m.Elif((kind != ShimType.DATA) & (kind != ShimType.ACKNOWLEDGE)):
            m.d.comb += self.fault.eq(ShimFault.TYPE)
        with m.Elif(_field(self.i, "crc") != _crc(self.i)):
            m.d.comb += self.fault.eq(ShimFault.CRC)
        wild = []
        for name, flag in (("score", "v"), ("echo", "e")):
            byte = _field(self.i, name)
            valid = good & _field(self.i, flag) & (byte != SCORE_NONE)
            wild.append(valid & (byte > SCORE_MAX))
            m.d.comb += [
                self.o[name].eq(Mux(byte > SCORE_MAX, SCORE_MAX, byte)),
                self.o[f"{name}_valid"].eq(valid),
            ]
        m.d.comb += [
            self.o.type.eq(kind),
            self.o.time.eq(_field(self.i, "time")),
            self.o.time_valid.eq(good & _field(self.i, "t")),
            self.o.senders.eq(_field(self.i, "senders")),
            self.clamped.eq(wild[0] + wild[1]),
        ]
        return m


def _field(word: Value, name: str) -> Value:
    """A field's bits, most significant first."""
    field = SHIM[name]
    return word[8 * SHIM.size - field.offset - field.bits :][: field.bits]


def _crc(word: Value) -> Value:
    """CRC-8 of the bytes before it."""
    return xor_network(_crc8, word[8 * (SHIM.size - _COVERED) :], SHIM["crc"].bits)


def _crc8(body: int) -> int:
    return crc8(body.to_bytes(_COVERED, "big"))
