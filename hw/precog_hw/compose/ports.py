"""The outside of a NIC: its ports and its register map, as its configuration has them."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.activity import ACTIVITY
from precog_hw.csr.axil import AxiLite
from precog_hw.csr.layouts import DECISION, SAMPLE
from precog_hw.measure.queue_layouts import queue_event_layout
from precog_hw.pace.layouts import ack_layout, grant_layout, log_layout, request_layout
from precog_hw.pace.wire_path import queues
from precog_hw.packet.card_options import MIN_TICK_PS
from precog_hw.predict.carried import carried_commit_layout
from precog_hw.predict.forecast import FORECAST, PROFILE
from precog_hw.rate.law_layouts import LAW_ACK, LAW_EVENT
from precog_hw.rate.receiver_layouts import COMMIT, quota_layout
from precog_hw.store.layouts import StoreConfig
from precog_hw.store.layouts import commit_layout as store_log_layout
from precog_hw.stream.packet import packet_signature
from precog_spec.config import NicConfig
from precog_spec.contract import CONTRACT_HASH, MAX_INPUTS, MAX_OUTPUTS, PRIORITIES, Fmt
from precog_spec.registers.identity import Identity
from precog_spec.registers.mac import MAC_EVENTS
from precog_spec.registers.model import RegisterMap
from precog_spec.registers.precog import build_map
from precog_spec.registers.wire import CELL_BYTES

__all__ = ["COMMAND_LOG", "nic_map", "nic_ports", "wire_store"]

#: A command of the core: which queue pair, and what it does.
COMMAND_LOG = data.StructLayout({"qp": 16, "apply": 1, "clear": 1, "forget": 1})


def nic_map(config: NicConfig, *, tick_ps: int = 1000) -> RegisterMap:
    """The register map of the NIC that `config` describes.

    Raises
    ------
    ValueError
        `tick_ps` does not fit its register, or is shorter than the packet path's clock may be.
    """
    if config.width and tick_ps < MIN_TICK_PS:
        raise ValueError(f"tick_ps must be {MIN_TICK_PS} or more with packets, not {tick_ps!r}")
    identity = Identity(CONTRACT_HASH, tick_ps, MAX_INPUTS, MAX_OUTPUTS)
    return build_map(config, identity)


def nic_ports(config: NicConfig, address_bits: int) -> dict[str, wiring.Member]:
    """The members of `PrecogNic`; `address_bits` is the width of its register bus."""
    return (
        {
            "s_axil": In(AxiLite(address_bits)),
            "o_decision": Out(stream.Signature(DECISION)),
            "irq": Out(1),
        }
        | (_packets(config) if config.width else _samples(config))
        | (_grants(config) if config.grants else {})
        | (_queues(config) if config.profile else {})
        | (_forecasts(config) if config.forecast else {})
        | (_receiver(config) if config.receiver else {})
        | (_wire(config) if config.wire else {})
        | ({"mac_events": In(config.macs * len(MAC_EVENTS))} if config.macs else {})
        | ({"active": Out(ACTIVITY)} if config.activity else {})
    )


def _samples(config: NicConfig) -> dict[str, wiring.Member]:
    return {
        "i_sample": In(stream.Signature(SAMPLE)),
        **({"i_event": In(stream.Signature(LAW_EVENT))} if config.laws else {}),
        **({"i_law_ack": In(stream.Signature(LAW_ACK))} if config.law_cores else {}),
    }


def _forecasts(config: NicConfig) -> dict[str, wiring.Member]:
    events = {} if config.width else {"law_event_stb": Out(1), "law_event": Out(LAW_EVENT)}
    profiles = {} if config.profile else {"i_profile": In(stream.Signature(PROFILE))}
    commit = carried_commit_layout(config)
    log = {"carried_log_stb": Out(1), "carried_log": Out(commit)} if config.width else {}
    return {**profiles, "o_forecast": Out(stream.Signature(FORECAST)), **events, **log}


def wire_store(config: NicConfig) -> StoreConfig:
    """The packet memory of a NIC with wire mode."""
    return StoreConfig(qps=config.qps, width=config.width, cells=config.wire, cell_bytes=CELL_BYTES)


def _wire(config: NicConfig) -> dict[str, wiring.Member]:
    event = queue_event_layout(config.qps)
    told = {"queue_log_stb": Out(1), "queue_log": Out(event)} if config.profile else {}
    log = store_log_layout(queues(wire_store(config)))
    return {"wire_log_stb": Out(1), "wire_log": Out(log), **told}


def _grants(config: NicConfig) -> dict[str, wiring.Member]:
    qps = config.qps
    outside = {
        "i_request": In(stream.Signature(request_layout(qps))),
        "i_ack": In(stream.Signature(ack_layout(qps))),
        "o_grant": Out(stream.Signature(grant_layout(qps))),
    }
    return {
        **({} if config.wire else outside),
        "pause": In(PRIORITIES),
        "pace_log_stb": Out(1),
        "pace_log": Out(log_layout(qps)),
        **_now(config),
    }


def _queues(config: NicConfig) -> dict[str, wiring.Member]:
    if config.grants:
        return {}
    return {"i_queue": In(stream.Signature(queue_event_layout(config.qps))), **_now(config)}


def _now(config: NicConfig) -> dict[str, wiring.Member]:
    return {} if config.width else {"now": In(Fmt.TIME.width)}


def _receiver(config: NicConfig) -> dict[str, wiring.Member]:
    quota = {"o_quota": Out(stream.Signature(quota_layout(config.qp_bits)))}
    return {
        **({} if config.wire else quota),
        "receive_log_stb": Out(1),
        "receive_log": Out(COMMIT),
    }


def _packets(config: NicConfig) -> dict[str, wiring.Member]:
    packets = packet_signature(config.width)
    events = {"law_event_stb": Out(1), "law_event": Out(LAW_EVENT)} if config.laws else {}
    acks = {"law_ack_stb": Out(1), "law_ack": Out(LAW_ACK)} if config.law_cores else {}
    return {
        "i_tx": In(packets),
        "o_tx": Out(packets),
        "i_rx": In(packets),
        "o_rx": Out(packets),
        "sample_stb": Out(1),
        "sample": Out(SAMPLE),
        "command_log_stb": Out(1),
        "command_log": Out(COMMAND_LOG),
        **events,
        **acks,
    }
