"""Options of the card, and the ports that they give it."""

from dataclasses import dataclass
from typing import Any

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import SAMPLE
from precog_hw.measure.destinations import DESTINATION, destination_read_layout
from precog_hw.measure.rtt_events import commit_layout
from precog_hw.stream.packet import packet_signature
from precog_spec.contract import Fmt
from precog_spec.frames.cps import NS_BITS
from precog_spec.frames.headers import PSN_BITS
from precog_spec.registers.port import PORT_BITS, most_bits

from .cnp_limiter import remote_qp_layout
from .cps_rx import received_layout
from .cps_slots import DESTINATIONS, SCORE, slot_config_layout
from .cps_tx import sent_layout
from .layouts import CARD_CONFIG, LENGTH_BITS
from .port import PORT_EVENT
from .qp_lookup import cell_layout, table_access_layout
from .rx_path import RxPath
from .senders import LEVEL
from .senders_told import SHOWN, belief_layout, told_layout

__all__ = ["ANSWERED", "MIN_TICK_PS", "REFUSED", "CardOptions"]

ANSWERED = ("cnp_sent", "cnp_limited", "cnp_unknown", "cnp_busy")
REFUSED = ("refused_icrc", "refused_cnp")
MIN_TICK_PS = 4  # 24 bits of ns in 32 bits of ticks


@dataclass(frozen=True)
class CardOptions:
    """Sizes of a card, and which of its parts it has.

    Parameters
    ----------
    width : int
        Bits in a beat.
    slots : int
        QP slots, a power of two, 2 or more.
    tick_ps : int
        Length of a tick, picoseconds, 4 or more.
    predicted : bool
        Whether queue pairs may carry predicted scores.
    relaxed, ipv6 : bool
        As `Parser`.
    destinations, cnps, icrc : bool
        With enables and numbers of destinations; with the notification point, a DSCP for
        acknowledgements and marks in them; with the ICRC check.
    senders : bool
        With the counts of queue pairs that send to the card, and of its own flows.
    port : bool
        With the queue before the card's own port; scores may be of its forecasts.
    acks : bool
        `commit` has the facts of acknowledgements, `ACK_COMMIT`.

    Raises
    ------
    ValueError
        `tick_ps` is too small.
    """

    width: int
    slots: int
    tick_ps: int = 1000
    predicted: bool = False
    relaxed: bool = False
    ipv6: bool = True
    destinations: bool = True
    cnps: bool = True
    icrc: bool = True
    senders: bool = False
    port: bool = False
    acks: bool = False

    def __post_init__(self) -> None:
        if self.tick_ps < MIN_TICK_PS:
            raise ValueError(f"tick_ps must be {MIN_TICK_PS} or more, not {self.tick_ps!r}")

    def members(self) -> dict[str, Any]:
        """Ports of `Card`, which documents them."""
        packets = packet_signature(self.width)
        scores = {
            "predicted_stb": In(1),
            "predicted_slot": In(range(self.slots)),
            "predicted": In(SCORE),
        }
        enables = {
            "enable_stb": In(1),
            "enable_destination": In(range(DESTINATIONS)),
            "enable": In(1),
        }
        numbers = {
            "i_destination": In(stream.Signature(destination_read_layout(DESTINATIONS))),
            "destination_done": Out(1),
            "destination_values": Out(DESTINATION),
        }
        counted = {
            "count": Out(range(self.slots + 1)),
            "level": Out(LEVEL),
            "joined": Out(1),
            "i_look": In(stream.Signature(range(self.slots))),
            "i_belief": In(stream.Signature(belief_layout(self.slots))),
            "i_show": In(stream.Signature(range(self.slots))),
            "own_count": Out(range(self.slots + 1)),
            "own_level": Out(LEVEL),
            "heeded": Out(1),
            "known_stb": Out(1),
            "told_stb": Out(1),
            "risen": Out(1),
            "outnumbered": Out(1),
            "told": Out(told_layout(self.slots)),
            "shown_stb": Out(1),
            "shown": Out(SHOWN),
        }
        announced = {
            "port_enable": In(1),
            "port_epoch": In(4),
            "port_most": In(most_bits(self.slots)),
            "announced": Out(PORT_BITS),
            "o_port": Out(stream.Signature(PORT_EVENT)),
        }
        remotes = {"remote_stb": In(1), "remote": In(remote_qp_layout(self.slots))}
        return {
            "i_tx": In(packets),
            "o_tx": Out(packets),
            "i_rx": In(packets),
            "o_rx": Out(packets),
            "o_sample": Out(stream.Signature(SAMPLE)),
            "registers": In(CARD_CONFIG),
            "now": In(Fmt.TIME.width),
            "now_ns": In(NS_BITS),
            "i_table": In(stream.Signature(table_access_layout(self.slots))),
            "row_stb": In(1),
            "row_slot": In(range(self.slots)),
            "row_config": In(
                slot_config_layout(DESTINATIONS, predicted=self.predicted, port=self.port)
            ),
            **(scores if self.predicted else {}),
            **(enables if self.destinations else {}),
            **(remotes if self.cnps else {}),
            "mtu_stb": In(1),
            "mtu_slot": In(range(self.slots)),
            "mtu_log2": In(4),
            "i_reset": In(stream.Signature(range(self.slots))),
            "first_reset": In(1),
            "table_stb": Out(1),
            "table_cell": Out(cell_layout(self.slots)),
            **(numbers if self.destinations else {}),
            "tx_error": Out(1),
            "rx_error": Out(1),
            "sent_stb": Out(1),
            "sent": Out(sent_layout(self.slots, announced=self.senders, echoes=self.cnps)),
            "received_stb": Out(1),
            "received": Out(received_layout(self.slots)),
            **(dict.fromkeys(RxPath.CHECKED, Out(1)) if self.icrc else {}),
            **dict.fromkeys(REFUSED, Out(1)),
            **(dict.fromkeys((*ANSWERED, "mark_heard"), Out(1)) if self.cnps else {}),
            "frame_sent": Out(1),
            "frame_slot": Out(range(self.slots)),
            "frame_bytes": Out(LENGTH_BITS),
            "cnp_heard": Out(1),
            "cnp_slot": Out(range(self.slots)),
            "acked_stb": Out(1),
            "acked_slot": Out(range(self.slots)),
            "acked_psn": Out(PSN_BITS),
            "score_heard": Out(1),
            "score_slot": Out(range(self.slots)),
            "score": Out(8),
            "commit_stb": Out(1),
            "commit": Out(commit_layout(self.slots, senders=self.senders, acks=self.acks)),
            **(counted if self.senders else {}),
            **(announced if self.port else {}),
        }
