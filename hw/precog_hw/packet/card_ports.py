"""The ports of a card, for `Card` and for the parts that are attached to it."""

from amaranth.lib import wiring

from .card_options import CardOptions

__all__ = ["CardPorts"]


class CardPorts(wiring.Component):
    """What a card has to the outside.

    Parameters
    ----------
    options : CardOptions
        Sizes, and which parts there are.

    Members
    -------
    i_tx, o_tx : packet streams
        From the transport, to the MAC.
    i_rx, o_rx : packet streams
        From the MAC, to the transport.
    o_sample : Out(stream.Signature(SAMPLE))
        RTT samples.
    registers : In(CARD_CONFIG)
    now, now_ns : In(40)
        The card's time in ticks and in nanoseconds.
    i_table : In(stream.Signature(table_access_layout(slots)))
        Host: cells of the QP table.
    table_stb, table_cell : Out(1), Out(cell_layout(slots))
        What an access to the table reads.
    row_stb, row_slot, row_config : In
        Host: a slot's configuration.
    predicted_stb, predicted_slot, predicted : In
        With `predicted`: `CpsSlots`'.
    enable_stb, enable_destination, enable : In
        With `destinations`, host: a destination's enable.
    remote_stb, remote : In
        With `cnps`, host: where a slot's CNPs go.
    mtu_stb, mtu_slot, mtu_log2 : In
        Host: a slot's path MTU.
    i_reset : In(stream.Signature(range(slots)))
        Host: forget a slot's echo, arrivals and timed packet.
    first_reset : In(1)
        With it: of before power-up, so that nothing of it is counted.
    i_destination : In(stream.Signature(destination_read_layout(DESTINATIONS)))
        With `destinations`, host: read a destination's numbers.
    destination_done, destination_values : Out(1), Out(DESTINATION)
        With `destinations`.
    sent_stb, sent : Out
        What was decided of each packet to the wire.
    received_stb, received : Out
        What was found in each packet from the wire.
    tx_error, rx_error : Out(1)
        Strobes: a frame ended wrong.
    icrc_done, icrc_checked, icrc_ok : Out(1)
        With `icrc`.
    refused_icrc, refused_cnp : Out(1)
        Of `Trust`.
    cnp_sent, cnp_limited, cnp_unknown, cnp_busy : Out(1)
        With `cnps`.
    mark_heard : Out(1)
        As above: strobe, marked data of a queue pair has come whose mark is owed.
    commit_stb, commit : Out
        The collector's order of events.
    frame_sent, frame_slot, frame_bytes : Out
        A whole packet of a known queue pair has left.
    cnp_heard, cnp_slot : Out
        A CNP has come that may have an effect.
    acked_stb, acked_slot, acked_psn : Out
        Of `RttCollector`.
    score_heard, score_slot, score : Out
        A packet has brought its sender's score, which the queue pair's law may follow.
    count, level, joined : Out
        With `senders`: of `Senders`.
    own_count, own_level : Out
        As above, of the card's own flows.
    i_look : In(stream.Signature(range(slots)))
        As above: of `SendersTold`.
    i_belief : In(stream.Signature(belief_layout(slots)))
        As above: host, of `SendersTold`. Waits for a cycle without a score, too.
    i_show : In(stream.Signature(range(slots)))
        As above: host, of `SendersTold`.
    heeded, known_stb, told_stb, risen, outnumbered, told, shown_stb, shown : Out
        With `senders`: of `SendersTold`.
    port_enable, port_epoch, port_most : In
        With `port`: `enable`, `epoch` and `most` of `PortQueue`.
    announced, o_port : Out
        As above: of `PortQueue`, `announced` and `o`.
    """

    def __init__(self, options: CardOptions) -> None:
        self.options = options
        super().__init__(options.members())
