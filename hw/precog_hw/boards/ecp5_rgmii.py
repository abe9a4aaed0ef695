"""RGMII at 1000 Mb/s on Lattice ECP5: DDR cells and delays between the pins and GMII.

RGMII specification version 2.0: the low four bits of a byte and TX_EN (RX_DV) with the rising edge
of the clock, the high four bits and TX_EN xor TX_ER (RX_DV xor RX_ER) with the falling edge. Cells:
"ECP5 and ECP5-5G High-Speed I/O Interface" (FPGA-TN-02035).
"""

from amaranth.hdl import ClockSignal, Const, Instance, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.mac.layouts import GMII_RX, GMII_TX

__all__ = ["RgmiiReceiver", "RgmiiTransmitter", "delay_taps"]

_TAP_PS = 25
_TAPS = 128
_NIBBLE = 4


def delay_taps(delay_ps: int) -> int:
    """Steps of DELAYG.

    Raises
    ------
    ValueError
        The delay is none that the cell has.
    """
    if not 0 <= delay_ps < _TAP_PS * _TAPS or delay_ps % _TAP_PS:
        raise ValueError(
            f"delay_ps must be a multiple of {_TAP_PS} below {_TAP_PS * _TAPS}, not {delay_ps!r}"
        )
    return delay_ps // _TAP_PS


def _delay(m: Module, name: str, value: Value, taps: int) -> Value:
    delayed = Signal(name=f"{name}_delayed")
    m.submodules[f"{name}_delay"] = Instance(
        "DELAYG", p_DEL_MODE="USER_DEFINED", p_DEL_VALUE=taps, i_A=value, o_Z=delayed
    )
    return delayed


def _out(m: Module, name: str, rise: Value, fall: Value) -> Value:
    q = Signal(name=f"{name}_ddr")
    m.submodules[f"{name}_oddr"] = Instance(
        "ODDRX1F", i_SCLK=ClockSignal(), i_RST=0, i_D0=rise, i_D1=fall, o_Q=q
    )
    return q


class RgmiiTransmitter(wiring.Component):
    """GMII to the pins. The clock leaves `clock_delay_ps` after the data, all by the same cells.

    Latency: the cell's, 2 cycles. Throughput: a byte per cycle. Cost: 6 DDR cells in the pins.

    Parameters
    ----------
    clock_delay_ps : int
        0 for a PHY that delays the clock itself, else about 2000.

    Members
    -------
    i : In(GMII_TX)
    clock, ctl, data : Out(1), Out(1), Out(4)
        Into the pins' buffers.

    Raises
    ------
    ValueError
        As `delay_taps`.
    """

    def __init__(self, clock_delay_ps: int) -> None:
        self._taps = delay_taps(clock_delay_ps)
        super().__init__({"i": In(GMII_TX), "clock": Out(1), "ctl": Out(1), "data": Out(_NIBBLE)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        clock = _out(m, "clock", Const(1, 1), Const(0, 1))
        m.d.comb += self.clock.eq(_delay(m, "clock", clock, self._taps))
        ctl = _out(m, "ctl", self.i.valid, self.i.valid)
        m.d.comb += self.ctl.eq(_delay(m, "ctl", ctl, 0))
        for n in range(_NIBBLE):
            bit = _out(m, f"data_{n}", self.i.data[n], self.i.data[n + _NIBBLE])
            m.d.comb += self.data[n].eq(_delay(m, f"data_{n}", bit, 0))
        return m


class RgmiiReceiver(wiring.Component):
    """The pins to GMII, in the clock that comes with the data.

    Latency: the cell's, 2 cycles, and 1. Throughput: a byte per cycle. Cost: 5 DDR cells in the
    pins, 10 flip-flops.

    Parameters
    ----------
    data_delay_ps : int
        Delay of data and control after the clock.

    Members
    -------
    ctl, data : In(1), In(4)
        From the pins' buffers.
    o : Out(GMII_RX)

    Raises
    ------
    ValueError
        As `delay_taps`.
    """

    def __init__(self, data_delay_ps: int) -> None:
        self._taps = delay_taps(data_delay_ps)
        super().__init__({"ctl": In(1), "data": In(_NIBBLE), "o": Out(GMII_RX)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        seen = Signal(GMII_RX)

        def take(name: str, pin: Value) -> tuple[Value, Value]:
            rise, fall = Signal(name=f"{name}_rise"), Signal(name=f"{name}_fall")
            m.submodules[f"{name}_iddr"] = Instance(
                "IDDRX1F",
                i_SCLK=ClockSignal(),
                i_RST=0,  # the pins are far apart, and what flows through needs none
                i_D=_delay(m, name, pin, self._taps),
                o_Q0=rise,
                o_Q1=fall,
            )
            return rise, fall

        valid, control = take("ctl", self.ctl)
        m.d.comb += [seen.valid.eq(valid), seen.error.eq(valid ^ control)]
        for n in range(_NIBBLE):
            low, high = take(f"data_{n}", self.data[n])
            m.d.comb += [seen.data[n].eq(low), seen.data[n + _NIBBLE].eq(high)]
        m.d.sync += self.o.eq(seen)
        return m
