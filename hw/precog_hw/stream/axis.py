"""A block's packet streams as AXI-Stream ports, for use from Verilog."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .packet import USER

__all__ = ["AxisPorts", "AxisSignature", "port_prefix"]

_BEAT = {"data", "keep", "last", "user"}


class AxisSignature(wiring.Signature):
    """``tdata``, ``tkeep``, ``tlast``, ``tuser``, ``tvalid``, ``tready``; tuser is `USER`."""

    def __init__(self, width: int) -> None:
        super().__init__(
            {
                "tdata": Out(width),
                "tkeep": Out(width // 8),
                "tlast": Out(1),
                "tuser": Out(USER.size),
                "tvalid": Out(1),
                "tready": In(1),
            }
        )


class AxisPorts(wiring.Component):
    """A component whose packet streams have become AXI-Stream ports; wires only.

    ``i`` becomes ``s_axis``, ``i_tx`` ``s_axis_tx``, ``o`` ``m_axis``, ``o_rx`` ``m_axis_rx``. The
    other members keep their names.

    Parameters
    ----------
    inner : wiring.Component
        Packet streams are members of its signature that begin with ``i`` or ``o``.
    """

    def __init__(self, inner: wiring.Component) -> None:
        self.inner = inner
        self._streams: dict[str, str] = {}
        members: dict[str, Any] = {}
        for name, member in inner.signature.members.items():
            width = _packet_width(getattr(inner, name))
            if width is None:
                members[name] = member
                continue
            self._streams[name] = port_prefix(name)
            signature = AxisSignature(width)
            members[self._streams[name]] = In(signature) if member.flow is In else Out(signature)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = self.inner
        for name, member in self.inner.signature.members.items():
            inside = getattr(self.inner, name)
            if name not in self._streams:
                outside = getattr(self, name)
                if member.is_port:
                    a, b = (inside, outside) if member.flow is In else (outside, inside)
                    m.d.comb += a.eq(b)
                else:
                    wiring.connect(m, wiring.flipped(outside), inside)
                continue
            axis = getattr(self, self._streams[name])
            beat = inside.payload
            pairs = [
                (axis.tdata, beat.data),
                (axis.tkeep, beat.keep),
                (axis.tlast, beat.last),
                (axis.tuser, beat.user.as_value()),
                (axis.tvalid, inside.valid),
            ]
            if member.flow is In:
                m.d.comb += [b.eq(a) for a, b in pairs] + [axis.tready.eq(inside.ready)]
            else:
                m.d.comb += [a.eq(b) for a, b in pairs] + [inside.ready.eq(axis.tready)]
        return m


def port_prefix(name: str) -> str:
    """Name of the ports of a packet stream that is the member ``i...`` or ``o...``."""
    return ("s_axis" if name.startswith("i") else "m_axis") + name[1:]


def _packet_width(interface: Any) -> int | None:
    """Data bits of a packet stream, None for any other member."""
    shape = interface.payload.shape() if hasattr(interface, "payload") else None
    if not isinstance(shape, data.StructLayout) or set(shape.members) != _BEAT:
        return None
    return int(shape["data"].width)
