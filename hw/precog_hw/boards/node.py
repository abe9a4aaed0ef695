"""What a board has between its ports: MACs, the NIC, and the registers' serial line.

::

    port 0, host     GMII ─► [MAC] ─► NIC i_tx ─► o_tx ─► [MAC] ─► GMII     port 1, network
                     GMII ◄─ [MAC] ◄─ NIC o_rx ◄─ i_rx ◄─ [MAC] ◄─ GMII
    UART ─► [bridge] ─► NIC s_axil

With one port, the network's, what arrives for the host goes back to the network as it came: the
NIC sees both directions. Decisions and forecasts are taken and not used here: the NIC itself acts
on them. Streams of grants, requests and quotas are not served; with wire mode they are inside.
"""

from dataclasses import replace

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.bridge.uartbone import UartBridge
from precog_hw.mac.layouts import GMII_RX, GMII_TX
from precog_hw.mac.port import MacPort
from precog_hw.nic import PrecogNic
from precog_hw.stream.packet_fifo import PacketFifo
from precog_spec.config import NicConfig
from precog_spec.frames.bridge import TIMEOUT_MS

__all__ = ["Node", "rx_domain", "tx_domain"]

_LOOP_BEATS = 512


def rx_domain(port: int) -> str:
    """Clock domain of a port's receiver."""
    return f"rgmii{port}"


def tx_domain(port: int) -> str:
    """Clock domain of a port's transmitter."""
    return f"gmii{port}"


class Node(wiring.Component):
    """A NIC with Gigabit ports; no vendor's cell in it but the NIC's multipliers.

    Latency: of a frame through both MACs, `MacPort`'s twice and the NIC's. Throughput: a Gigabit
    line's. Cost: those of its parts.

    Parameters
    ----------
    config : NicConfig
        With packets; the NIC gets `macs` as many as there are `ports`.
    ports : int
        1 or 2.
    core_hz : int
        Frequency of ``sync``, 62.5 MHz or more; of each `rx_domain` and `tx_domain` it is 125 MHz.
    baud : int
        Of the serial line.

    Members
    -------
    rx, tx : In(1), Out(1)
        The serial line.
    gmii_rx_0, gmii_tx_0, and with two ports gmii_rx_1, gmii_tx_1 : In(GMII_RX), Out(GMII_TX)

    Raises
    ------
    ValueError
        `ports` is neither 1 nor 2, `core_hz` is too slow or no whole number of ps long, or `config`
        has no packets.
    """

    def __init__(self, config: NicConfig, *, ports: int, core_hz: int, baud: int = 115200) -> None:
        if ports not in (1, 2):
            raise ValueError(f"ports must be 1 or 2, not {ports!r}")
        if core_hz < 62_500_000 or 10**12 % core_hz:
            raise ValueError(
                f"core_hz must be 62500000 or more with a period of whole ps, not {core_hz!r}"
            )
        if config.width < 64:
            raise ValueError(f"width must be 64 or more on a board, not {config.width!r}")
        config = replace(config, macs=ports)
        self._config, self._ports = config, ports
        self._divisor = round(core_hz / baud)
        self.nic = PrecogNic(config, tick_ps=10**12 // core_hz)
        self._bridge = UartBridge(
            self.nic.regmap.address_bits, timeout_cycles=core_hz * TIMEOUT_MS // 1000
        )
        gmii: dict[str, wiring.Member] = {}
        for n in range(ports):
            gmii |= {f"gmii_rx_{n}": In(GMII_RX), f"gmii_tx_{n}": Out(GMII_TX)}
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), **gmii})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        nic = m.submodules.nic = self.nic
        bridge = m.submodules.bridge = self._bridge
        wiring.connect(m, bridge.axil, nic.s_axil)
        m.d.comb += [
            bridge.rx.eq(self.rx),
            self.tx.eq(bridge.tx),
            bridge.divisor.eq(self._divisor),
            nic.o_decision.ready.eq(1),
        ]
        if self._config.forecast:
            m.d.comb += nic.o_forecast.ready.eq(1)
        network = self._mac(m, self._ports - 1)
        wiring.connect(m, nic.o_tx, network.i)
        wiring.connect(m, network.o, nic.i_rx)
        if self._ports == 2:
            host = self._mac(m, 0)
            wiring.connect(m, host.o, nic.i_tx)
            wiring.connect(m, nic.o_rx, host.i)
            m.d.comb += nic.mac_events.eq(Cat(host.events, network.events))
        else:
            m.submodules.loop = loop = PacketFifo(self._config.width, _LOOP_BEATS)
            wiring.connect(m, nic.o_rx, loop.i)
            wiring.connect(m, loop.o, nic.i_tx)
            m.d.comb += nic.mac_events.eq(network.events)
        return m

    def _mac(self, m: Module, n: int) -> MacPort:
        mac = MacPort(
            self._config.width,
            rx_domain=rx_domain(n),
            tx_domain=tx_domain(n),
            relaxed=self._config.relaxed,
        )
        m.submodules[f"mac_{n}"] = mac
        m.d.comb += [
            mac.gmii_rx.eq(getattr(self, f"gmii_rx_{n}")),
            getattr(self, f"gmii_tx_{n}").eq(mac.gmii_tx),
        ]
        return mac
