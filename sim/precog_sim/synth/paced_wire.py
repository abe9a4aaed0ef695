"""Wire mode and the pacer that lets its packets go, wired as in the NIC."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from precog_hw.compose.pacing import wire_mode
from precog_hw.pace.grants import Grants
from precog_spec.config import NicConfig

__all__ = ["PacedWire"]

_BETWEEN = {
    "mode": ("o_request", "refused", "i_grant", "o_ack", "window_events", "calm", "pace_log_stb",
             "pace_log", "log_stb", "log"),
    "grants": ("i_request", "i_ack", "o_grant", "refused", "calm", "shuts", "expires", "waits",
               "log"),
}  # fmt: skip


class PacedWire(wiring.Component):
    """`WireMode` and `Grants` for what a NIC with `wire` has: what both are between others.

    Their logs, which only golden models read, are left out. Latency and throughput: theirs. Cost:
    the sum of both.

    Parameters
    ----------
    config : NicConfig
        With `wire`.

    Members
    -------
    mode_*, grants_* : members of `WireMode` and of `Grants`
        All that do not connect these two.
    """

    def __init__(self, config: NicConfig) -> None:
        self._mode, self._grants = wire_mode(config), Grants(config)
        self._outside = {
            f"{part}_{name}": (made, name, member)
            for part, made in (("mode", self._mode), ("grants", self._grants))
            for name, member in made.signature.members.items()
            if name not in _BETWEEN[part]
        }
        super().__init__({name: member for name, (_, _, member) in self._outside.items()})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mode, grants = self._mode, self._grants
        m.submodules.mode, m.submodules.grants = mode, grants
        flipped = wiring.flipped(self)
        for name, (made, inside, member) in self._outside.items():
            outer, inner = getattr(flipped, name), getattr(made, inside)
            if not member.is_port:
                wiring.connect(m, outer, inner)
            else:
                m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        wiring.connect(m, mode.o_request, grants.i_request)
        wiring.connect(m, mode.o_ack, grants.i_ack)
        wiring.connect(m, grants.o_grant, mode.i_grant)
        m.d.comb += [
            mode.refused.eq(grants.refused),
            mode.window_events.eq(Cat(grants.shuts, grants.waits, grants.expires)),
            grants.calm.eq(mode.calm),
            mode.pace_log_stb.eq(grants.log.valid),
            mode.pace_log.eq(grants.log.payload),
        ]
        return m
