"""A board between its ports, for cocotb: `Node` with its clocks and GMII's signals as ports."""

import dataclasses

from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal, Value
from amaranth.hdl._ir import PortDirection  # public only in Amaranth 0.6

from precog_hw.boards.node import Node, rx_domain, tx_domain
from precog_spec.config import PRESETS

__all__ = ["CONFIGS", "CORE_HZ", "NodeTop"]

CORE_HZ = 62_500_000
#: What the boards with this many ports have inside.
CONFIGS = {
    ports: dataclasses.replace(PRESETS[preset], dsp="generic")
    for ports, preset in ((2, "ecp5-45"), (1, "ecp5-85"))
}


class NodeTop(Elaboratable):
    """The node; its serial line has 4 clock cycles a bit."""

    def __init__(self, ports: int) -> None:
        self.node = Node(CONFIGS[ports], ports=ports, core_hz=CORE_HZ, baud=CORE_HZ // 4)
        tx = {tx_domain(n): ClockDomain(tx_domain(n)) for n in range(ports)}
        rx = {rx_domain(n): ClockDomain(rx_domain(n), reset_less=True) for n in range(ports)}
        self._domains = {**tx, **rx}
        self.ports: dict[str, tuple[Value, PortDirection]] = {
            "uart_rx": (self.node.rx, PortDirection.Input),
            "uart_tx": (self.node.tx, PortDirection.Output),
        }
        for name, domain in self._domains.items():
            self.ports[f"{name}_clk"] = domain.clk, PortDirection.Input
            if domain.rst is not None:
                self.ports[f"{name}_rst"] = domain.rst, PortDirection.Input
        self._gmii: list[tuple[Value, Value]] = []  # GMII's signals one by one
        for n in range(ports):
            for way, inward in (("rx", True), ("tx", False)):
                for field, value in getattr(self.node, f"gmii_{way}_{n}").shape():
                    outside = Signal(value.shape, name=f"{way}_{field}_{n}")
                    inside = getattr(self.node, f"gmii_{way}_{n}")[field]
                    self._gmii.append((inside, outside) if inward else (outside, inside))
                    direction = PortDirection.Input if inward else PortDirection.Output
                    self.ports[f"{way}_{field}_{n}"] = outside, direction

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.node = self.node
        m.domains += list(self._domains.values())
        m.d.comb += [driven.eq(by) for driven, by in self._gmii]
        return m
