"""Wire mode between a host and a link: frames' own user bits say whose they are."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.pace.wire import Wire
from precog_hw.pace.wire_path import WIRE_EVENTS
from precog_hw.store.layouts import StoreConfig

from ..store.bench import QUEUES

__all__ = ["PACED", "WireBench"]

PACED = 1 << 7  # of the tag; queue and label stand in the time


class WireBench(wiring.Component):
    """`Wire`, the route of each frame taken from its first beat; events one by one."""

    def __init__(self, config: StoreConfig, *, relaxed: bool = False) -> None:
        self._wire = Wire(config, relaxed=relaxed)
        self._members = dict(self._wire.signature.members)
        del self._members["i_route"]
        super().__init__(self._members | {name: Out(1) for name in WIRE_EVENTS})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.wire = wire = self._wire
        flipped = wiring.flipped(self)
        for name, member in self._members.items():
            outside, inside = getattr(flipped, name), getattr(wire, name)
            if not member.is_port:
                wiring.connect(m, outside, inside)
            else:
                m.d.comb += inside.eq(outside) if member.flow is In else outside.eq(inside)
        user = self.i.payload.user
        m.d.comb += [
            wire.i_route.valid.eq(self.i.valid),
            wire.i_route.payload.paced.eq(user.tag[7]),
            wire.i_route.payload.qp.eq(user.time),
            wire.i_route.payload.answers.eq(user.time[len(wire.i_route.payload.qp)]),
            Cat(wire.i_route.payload[name] for name in ("psn", "counts")).eq(
                user.time[exact_log2(QUEUES) :]
            ),
            *(getattr(self, name).eq(self.events[n]) for n, name in enumerate(WIRE_EVENTS)),
        ]
        return m
