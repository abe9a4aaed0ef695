"""The design of a board: PLL, resets and pins around a `Node`."""

from fractions import Fraction
from typing import Any

from amaranth.build import Attrs, Resource, Subsignal
from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Elaboratable, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

from .board import Board
from .ecp5_pll import plan_pll, pll
from .ecp5_rgmii import RgmiiReceiver, RgmiiTransmitter
from .node import Node, rx_domain, tx_domain

__all__ = ["GMII_MHZ", "Top"]

GMII_MHZ = 125
#: Registers of a reset, one behind the other: the last ones lie where their domain's logic is, and
#: not near the PLL, so that no reset crosses the device within a period.
_RESET_STAGES = 4
_PHY_RESET_MS = 20  # B50612D, 88E1512 and KSZ9031 ask for 10 ms or less
#: Our names of a port's pins, and theirs in amaranth-boards, where they differ between boards.
_PINS = {
    "tx_clk": ("tx_clk",),
    "tx_ctl": ("tx_ctl", "tx_ctrl"),
    "tx_data": ("tx_data",),
    "rx_clk": ("rx_clk",),
    "rx_ctl": ("rx_ctl", "rx_ctrl"),
    "rx_data": ("rx_data",),
}


class Top(Elaboratable):
    """A board's design.

    Clocks: ``sync``, the NIC's; 125 MHz for what is sent, with a reset for each port, as ports are
    far apart; for each port the one that its PHY sends. That one has no reset: its registers begin
    as configured, while the PHY is still held, and outlive a lost PLL, after which each strobe of
    the MAC's events may come once too often. The PHYs are reset for 20 ms after configuration and
    not configured over MDIO: they must agree on 1000 Mb/s with their peers.

    Parameters
    ----------
    board : Board
    """

    def __init__(self, board: Board) -> None:
        self._board = board

    def elaborate(self, platform: Any) -> Module:
        board, m = self._board, Module()
        source = platform.default_clk_constraint.frequency
        plan = plan_pll(Fraction(source) / 10**6, (GMII_MHZ, board.core_mhz))
        pin = platform.request(platform.default_clk, dir="-")
        m.submodules.clock_pin = clock_pin = io.Buffer("i", pin)
        (fast, slow), locked = pll(m, plan, clock_pin.i)
        self._domain(m, "sync", slow, locked)

        hertz = int(board.core_mhz * 10**6)
        m.submodules.inside = inside = Node(board.config, ports=board.ports, core_hz=hertz)
        uart = platform.request("uart", 0, dir={"rx": "-", "tx": "-"})
        m.submodules.uart_rx = uart_rx = io.Buffer("i", uart.rx)
        m.submodules.uart_tx = uart_tx = io.Buffer("o", uart.tx)
        m.d.comb += [inside.rx.eq(uart_rx.i), uart_tx.o.eq(inside.tx)]
        for n in range(board.ports):
            self._port(m, platform, inside, n, fast, locked)
        self._reset_phys(m, platform, hertz)
        return m

    @staticmethod
    def _domain(
        m: Module, name: str, clock: Any, locked: Any = None, stages: int = _RESET_STAGES
    ) -> None:
        """A domain, with `locked` one that is held in reset until the PLL's clocks are good."""
        domain = ClockDomain(name, reset_less=locked is None)
        domain.clk.attrs["keep"] = 1  # the name by which reports know it
        m.domains += domain
        m.d.comb += ClockSignal(name).eq(clock)
        if locked is not None:
            m.submodules[f"{name}_reset"] = ResetSynchronizer(~locked, domain=name, stages=stages)

    def _port(self, m: Module, platform: Any, inside: Any, n: int, fast: Any, locked: Any) -> None:
        """The pins of a port, and the clock that comes through one of them."""
        # Two ports may share the pins of MDIO and reset, so that data pins are a resource apart.
        declared = platform.lookup("eth_rgmii", n)
        parts = {part.name: part for part in declared.ios}
        pins = []
        for ours, theirs in _PINS.items():
            part = next(parts[name] for name in theirs if name in parts)
            pins.append(Subsignal(ours, part.ios[0], Attrs(**part.attrs)))
        platform.add_resources([Resource("port", n, *pins, Attrs(**declared.attrs))])
        port = platform.request("port", n, dir=dict.fromkeys(_PINS, "-"))
        buffers = {
            name: io.Buffer("o" if name.startswith("tx") else "i", getattr(port, name))
            for name in _PINS
        }
        for name, buffer in buffers.items():
            m.submodules[f"port_{n}_{name}"] = buffer

        platform.add_clock_constraint(port.rx_clk.io, GMII_MHZ * 10**6)
        self._domain(m, rx_domain(n), buffers["rx_clk"].i)
        # Synthesis makes one of two equal registers: those of the next port are one more.
        self._domain(m, tx_domain(n), fast, locked, _RESET_STAGES + n)
        send = RgmiiTransmitter(self._board.tx_clock_delay_ps)
        receive = RgmiiReceiver(self._board.rx_data_delay_ps)
        m.submodules[f"send_{n}"] = DomainRenamer(tx_domain(n))(send)
        m.submodules[f"receive_{n}"] = DomainRenamer(rx_domain(n))(receive)
        m.d.comb += [
            send.i.eq(getattr(inside, f"gmii_tx_{n}")),
            buffers["tx_clk"].o.eq(send.clock),
            buffers["tx_ctl"].o.eq(send.ctl),
            buffers["tx_data"].o.eq(send.data),
            receive.ctl.eq(buffers["rx_ctl"].i),
            receive.data.eq(buffers["rx_data"].i),
            getattr(inside, f"gmii_rx_{n}").eq(receive.o),
        ]

    def _reset_phys(self, m: Module, platform: Any, hertz: int) -> None:
        """Hold the PHYs' resets, of which two ports may share one pin."""
        cycles = hertz * _PHY_RESET_MS // 1000
        left = Signal(range(cycles + 1), init=cycles)
        held = Signal(init=1)
        with m.If(left != 0):
            m.d.sync += left.eq(left - 1)
        m.d.sync += held.eq(left != 0)
        seen = set()
        for n in range(self._board.ports):
            part = next(p for p in platform.lookup("eth_rgmii", n).ios if p.name == "rst")
            names = tuple(part.ios[0].names)
            if names in seen:
                continue
            seen.add(names)
            attributes = {**platform.lookup("eth_rgmii", n).attrs, **part.attrs}
            platform.add_resources([Resource("phy_reset", n, part.ios[0], Attrs(**attributes))])
            m.submodules[f"phy_reset_{n}"] = pin = io.Buffer(
                "o", platform.request("phy_reset", n, dir="-")
            )
            m.d.comb += pin.o.eq(held)
