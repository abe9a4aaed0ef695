"""Ports without a NIC between them, to try pins, clocks and MACs of a board."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.mac.layouts import GMII_RX, GMII_TX
from precog_hw.mac.port import MacPort

from .node import TX_DOMAIN, rx_domain

__all__ = ["Repeater"]

_WIDTH = 64


class Repeater(wiring.Component):
    """What comes in at one port leaves by the other; with one port, by the same.

    Latency: `MacPort`'s. Throughput: a Gigabit line's, both ways. Cost: the MACs.

    Parameters
    ----------
    ports : int
        1 or 2.

    Members
    -------
    gmii_rx_0, gmii_tx_0, and with two ports gmii_rx_1, gmii_tx_1 : In(GMII_RX), Out(GMII_TX)

    Raises
    ------
    ValueError
        `ports` is neither 1 nor 2.
    """

    def __init__(self, ports: int) -> None:
        if ports not in (1, 2):
            raise ValueError(f"ports must be 1 or 2, not {ports!r}")
        self._ports = ports
        gmii: dict[str, wiring.Member] = {}
        for n in range(ports):
            gmii |= {f"gmii_rx_{n}": In(GMII_RX), f"gmii_tx_{n}": Out(GMII_TX)}
        super().__init__(gmii)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        macs = []
        for n in range(self._ports):
            mac = MacPort(_WIDTH, rx_domain=rx_domain(n), tx_domain=TX_DOMAIN)
            m.submodules[f"mac_{n}"] = mac
            m.d.comb += [
                mac.gmii_rx.eq(getattr(self, f"gmii_rx_{n}")),
                getattr(self, f"gmii_tx_{n}").eq(mac.gmii_tx),
            ]
            macs.append(mac)
        for n, mac in enumerate(macs):
            wiring.connect(m, mac.o, macs[-1 - n].i)
        return m
