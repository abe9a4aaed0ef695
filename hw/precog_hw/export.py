"""Verilog of the NIC, or of a part of the packet path, with stable port names.

The NIC (`precog_hw.nic`):

=============================== ======================================================
``clk``, ``rst``                clock; synchronous reset, active high
``s_axil_*``                    AXI4-Lite slave: registers
``s_sample_tdata/tvalid/...``   AXI4-Stream slave: samples, `contract.SAMPLE_FIELDS`
``s_event_tdata/...``           AXI4-Stream slave: events for programs and PSCHED,
                                `law_fields.LAW_EVENT_FIELDS`
``s_law_ack_tdata/...``         with a law engine: acknowledgements, `law_fields.ACK_FIELDS`
``m_decision_tdata/...``        AXI4-Stream master: decisions, `contract.DECISION_FIELDS`
=============================== ======================================================

With grants (`NicConfig.grants`):

=============================== ======================================================
``s_request_tdata/...``         AXI4-Stream slave: queue pair, bytes that it asks for
``s_ack_tdata/...``             AXI4-Stream slave: queue pair, PSN up to which all has arrived
``m_grant_tdata/...``           AXI4-Stream master: queue pair, bytes that it may send, ticks
``pause``                       PFC: priorities that get no grants
``now``                         ticks; not with packets
``pace_log``, ``pace_log_stb``  the pacer's events, in order, for its golden model
=============================== ======================================================

Fields are those of `precog_hw.pace.layouts`. With the queue profiler (`NicConfig.profile`) but
without grants there is ``now``, too, and

=============================== ======================================================
``s_queue_tdata/...``           AXI4-Stream slave: what happens to send queues,
                                `contract.QUEUE_EVENT_FIELDS`
=============================== ======================================================

With forecasts (`NicConfig.forecast`):

=============================== ======================================================
``s_profile_tdata/...``         AXI4-Stream slave: profiles, `contract.PROFILE_FIELDS`
``m_forecast_tdata/...``        AXI4-Stream master: forecasts, `contract.FORECAST_FIELDS`
``law_event``, ``..._stb``      each event as the laws take it, scores of forecasts among them
``carried_log``, ``..._stb``    with packets: each event of the scores that they carry
=============================== ======================================================

With the receiver (`NicConfig.receiver`): ``m_quota_tdata/...``, AXI4-Stream master: queue pair,
cells that it may hold; ``receive_log``, ``receive_log_stb`` show its events. ``irq`` is the
interrupt, a level (`precog_spec.registers.interrupt`).

With packets (`NicConfig.width`) there are ``s_axis_tx_*``, ``m_axis_tx_*``, ``s_axis_rx_*`` and
``m_axis_rx_*`` in place of ``s_sample_*`` and ``s_event_*``, and ``sample``, ``sample_stb`` show
what they measure.

Parts of the packet path (`precog_hw.packet.blocks`, `precog_hw.packet.card`) and wire mode
(`precog_hw.pace.wire`, with the default `StoreConfig`) have ``clk``, ``rst``, packets as
``s_axis_*`` and ``m_axis_*`` (`AxisPorts`), and the component's other members under their own
names.

The first field of a structure stands in the lowest bits of its port.
"""

from collections.abc import Iterator
from functools import lru_cache

from amaranth.back import verilog
from amaranth.hdl import Shape, Value
from amaranth.hdl._ir import PortDirection  # public only in Amaranth 0.6
from amaranth.lib import data, wiring

from precog_hw.compose.ports import nic_ports
from precog_hw.nic import PrecogNic, nic_map
from precog_hw.pace.wire import Wire
from precog_hw.packet.blocks import CpsRx, CpsTx
from precog_hw.packet.card import Card
from precog_hw.packet.card_options import MIN_TICK_PS, CardOptions
from precog_hw.store.layouts import StoreConfig
from precog_hw.stream.axis import AxisPorts, port_prefix
from precog_hw.stream.packet import USER, beat_layout
from precog_hw.verilog import elaborating, verilog_text
from precog_spec.config import NicConfig

__all__ = [
    "PACKET_BLOCKS",
    "block_verilog",
    "nic_fields",
    "nic_verilog",
    "packet_block",
    "packet_verilog",
    "port_fields",
    "port_map",
]

MAX_SLOTS = 1 << 16  # more than any table of queue pairs that a memory of ours holds

#: Parts of the packet path that are exported: the command's name and the module's.
PACKET_BLOCKS = {
    "cps-tx": "precog_cps_tx",
    "cps-rx": "precog_cps_rx",
    "packet": "precog_packet",
    "pace-wire": "precog_pace_wire",
}
_STREAMS = {"i_sample": "s_sample", "i_event": "s_event", "o_decision": "m_decision"}
#: Of the NIC alone: a part by itself keeps its members' names.
_NIC_STREAMS = {
    "i_request": "s_request",
    "i_ack": "s_ack",
    "i_law_ack": "s_law_ack",
    "o_grant": "m_grant",
    "i_queue": "s_queue",
    "i_profile": "s_profile",
    "o_forecast": "m_forecast",
    "o_quota": "m_quota",
}
_MEMBERS = {"payload": "tdata", "valid": "tvalid", "ready": "tready"}


def port_map(component: wiring.Component) -> dict[str, tuple[Value, PortDirection]]:
    """Exported name: (signal, direction) of every port of a component with the NIC's interfaces."""
    ports = {}
    for path, member, value in component.signature.flatten(component):
        inward = member.flow is wiring.In
        direction = PortDirection.Input if inward else PortDirection.Output
        ports[_exported(path, component.signature)] = (Value.cast(value), direction)
    return ports


def _exported(path: tuple[str | int, ...], signature: wiring.Signature) -> str:
    """Exported name of a member."""
    names = [str(part) for part in path]
    streams = _STREAMS | (_NIC_STREAMS if "s_axil" in signature.members else {})
    if names[0] in streams:
        names = [streams[names[0]], _MEMBERS[names[1]]]
    return "_".join(names)


def nic_fields(config: NicConfig) -> str:
    """`port_fields` of the NIC."""
    return port_fields(wiring.Signature(nic_ports(config, nic_map(config).address_bits)))


def port_fields(signature: wiring.Signature) -> str:
    """A comment for Verilog: bits of each field of the ports that have fields, but for the logs."""
    lines = ["// Fields of ports:\n"]
    for path, member in signature.members.flatten():
        if not member.is_port or not isinstance(member.shape, data.StructLayout):
            continue
        name, layout = _exported(path, signature), member.shape
        if "user" in layout.members:  # of a packet stream
            name, layout = f"{port_prefix(str(path[0]))}_tuser", USER
        if not name.endswith("log"):
            lines.append(f"//   {name}: {', '.join(_fields(layout))}\n")
    return "".join(lines)


def _fields(layout: data.StructLayout, prefix: str = "", low: int = 0) -> Iterator[str]:
    """Name and bits of each field, those of a structure in it by themselves."""
    for name, field in layout:
        first, width = low + field.offset, Shape.cast(field.shape).width
        if isinstance(field.shape, data.StructLayout):
            yield from _fields(field.shape, f"{prefix}{name}.", first)
        elif width:
            yield f"{prefix}{name}[{first + width - 1}:{first}]"


def nic_verilog(config: NicConfig, *, name: str = "precog_nic", tick_ps: int = 1000) -> str:
    """Verilog text of the NIC; elaborating takes seconds, so a process does it once.

    Parameters
    ----------
    config : NicConfig
    name : str
        Name of the top module.
    tick_ps : int
        Length of a tick in picoseconds.

    Raises
    ------
    ValueError
        `tick_ps` does not fit its register.
    """
    return _nic_verilog(config, name, tick_ps)


@lru_cache(maxsize=8)  # its keys are the same however `nic_verilog` was called
def _nic_verilog(config: NicConfig, name: str, tick_ps: int) -> str:
    """Text of `nic_verilog`."""
    nic_map(config, tick_ps=tick_ps)  # a component that refuses its arguments would warn instead
    nic = PrecogNic(config, tick_ps=tick_ps)
    if config.width:
        return block_verilog(nic, name=name)
    with elaborating():
        text: str = verilog.convert(
            nic, name=name, ports=port_map(nic), emit_src=False, strip_internal_attrs=True
        )
    return text


def block_verilog(block: wiring.Component, *, name: str) -> str:
    """Verilog text of one block, its packet streams as AXI-Stream ports; lints clean."""
    ports = AxisPorts(block)
    return verilog_text(ports, name=name, ports=port_map(ports))


@lru_cache(maxsize=4)
def packet_verilog(
    block: str, width: int, slots: int, *, name: str | None = None, tick_ps: int = 1000
) -> str:
    """Verilog text of a part of the packet path; a process makes each once.

    Parameters
    ----------
    block : str
        One of `PACKET_BLOCKS`.
    width : int
        Bits in a beat.
    slots : int
        QP slots, a power of two in 2..65536.
    name : str, optional
        Name of the top module; by default the block's.
    tick_ps : int
        Length of a tick in picoseconds; only `packet` depends on it.

    Raises
    ------
    ValueError
        An argument is not as above.
    """
    return block_verilog(
        packet_block(block, width, slots, tick_ps=tick_ps), name=name or PACKET_BLOCKS[block]
    )


def packet_block(block: str, width: int, slots: int, *, tick_ps: int = 1000) -> wiring.Component:
    """The component that `packet_verilog` writes.

    Raises
    ------
    ValueError
        An argument is not as `packet_verilog` has it.
    """
    if block not in PACKET_BLOCKS:
        raise ValueError(f"block must be one of {', '.join(PACKET_BLOCKS)}, not {block!r}")
    # A component that refuses its arguments would warn instead.
    beat_layout(width)
    if not 2 <= slots <= MAX_SLOTS or slots & (slots - 1):
        raise ValueError(f"slots must be a power of two in 2..{MAX_SLOTS}, not {slots!r}")
    if tick_ps < MIN_TICK_PS:
        raise ValueError(f"tick_ps must be {MIN_TICK_PS} or more, not {tick_ps!r}")
    if block == "packet":
        return Card(CardOptions(width, slots, tick_ps=tick_ps))
    if block == "pace-wire":
        return Wire(StoreConfig(qps=slots, width=width))
    return (CpsTx if block == "cps-tx" else CpsRx)(width, slots)
