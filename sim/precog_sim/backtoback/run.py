"""The two ends and the wire between them, event by event, and what is seen on the way."""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from precog_models.pace.pacer import WINDOW_UNIT
from precog_models.packet.card import ticks_from_ns
from precog_models.packet.shim import Shim, decode
from precog_spec.frames.cps import SHIM, ShimType
from precog_spec.frames.opcodes import CNP

from .endpoint import Endpoint, EndpointSettings
from .frames import ACK, ACKNOWLEDGE, BTH_AT, Host, Packet, build, read, with_ce
from .node import CNP_GAP, HOST_SCORE, SLOTS, Ends, Node, Out
from .waiting import Waiting, WaitingSettings
from .wire import Flight, Wire, WireSettings

__all__ = ["HOSTS", "QPS", "UDP_SOURCE", "BackToBack", "Seen"]

HOSTS = (Host(0x020000000001, 0x0A000001), Host(0x020000000002, 0x0A000002))
QPS = (tuple(0x110 + n for n in range(len(SLOTS))), tuple(0x770 + n for n in range(len(SLOTS))))
UDP_SOURCE = 0xC000
_PSN_MASK, _HALF = (1 << 24) - 1, 1 << 23
_RESEND_GAP = 64  # ticks at least between two packets of a queue pair
_SWAPS = 0.25  # of all disturbances


class _About(NamedTuple):
    """What was known of a frame when it left."""

    slot: int
    packet: Packet | None  # None: a CNP
    original: bytes
    shim: Shim


@dataclass
class Seen:
    """What one side's wire ends have seen, counted without asking the card."""

    sent: list[int] = field(default_factory=lambda: [0] * len(SLOTS))  # of the endpoint
    cnps: list[int] = field(default_factory=lambda: [0] * len(SLOTS))  # of the card, to the wire
    came: list[int] = field(default_factory=lambda: [0] * len(SLOTS))
    cnps_came: list[int] = field(default_factory=lambda: [0] * len(SLOTS))
    cnps_acted: list[int] = field(default_factory=lambda: [0] * len(SLOTS))
    marks_came: list[int] = field(default_factory=lambda: [0] * len(SLOTS))
    marks_acted: list[int] = field(default_factory=lambda: [0] * len(SLOTS))
    cnps_marked: int = 0  # among the marks; a CNP is not answered
    scores_followed: list[int] = field(default_factory=lambda: [0] * len(SLOTS))
    psns_refused: int = 0  # answers to what is not in flight
    scores_sent: list[set[int]] = field(default_factory=lambda: [set() for _ in SLOTS])
    score: list[int | None] = field(default_factory=lambda: [None] * len(SLOTS))  # last that came
    echo: list[int | None] = field(default_factory=lambda: [None] * len(SLOTS))  # since `rtt`
    shown: list[int | None] = field(default_factory=lambda: [None] * len(SLOTS))  # `statistics`
    cleared: list[list[int]] = field(default_factory=lambda: [[0] * len(SLOTS)] * 2)  # as above
    resets: dict[str, int] = field(default_factory=dict)  # by part
    swaps: int = 0
    told: int = 0  # scores that resets of the receiver told the laws
    samples: list[int] = field(default_factory=lambda: [0] * len(SLOTS))
    corrected: int = 0
    rtt_min: int = 1 << 62
    rtt_max: int = 0
    asked: list[dict[int, int]] = field(default_factory=lambda: [{} for _ in SLOTS])  # psn: T0
    arrived: list[dict[int, int]] = field(default_factory=lambda: [{} for _ in SLOTS])  # psn: T1
    newest: list[int | None] = field(default_factory=lambda: [None] * len(SLOTS))  # since `rtt`
    acked: list[int | None] = field(default_factory=lambda: [None] * len(SLOTS))  # as above
    cnp_at: list[int | None] = field(default_factory=lambda: [None] * len(SLOTS))  # as above


def _before(psn: int, other: int) -> bool:
    """The one PSN comes before the other."""
    return (psn - other) & _PSN_MASK >= _HALF


@dataclass(order=True)
class _Event:
    t: int
    order: int
    act: Callable[[int], None] = field(compare=False)


class BackToBack:
    """Two nodes with an endpoint for each queue pair.

    Parameters
    ----------
    packets : int
        Requests that both ends together say.
    seed : int
    wire : WireSettings
    endpoint : EndpointSettings
    node : callable
        Makes an end.
    waiting : WaitingSettings, optional
        Packets wait before the cards for rate and window, as in wire mode.
    disturb_ticks : int
        Mean time between two disturbances of an end, which go on while packets flow: parts are
        reset, or queue pairs get another model; 0: there are none.

    Attributes
    ----------
    waiting : tuple of Waiting
        By side, as far as there are some.
    nodes, seen : tuple
        By side, 0 and 1; `wires` are those from that side.
    differences : list of str
        One for each fact that is not as it must be.
    """

    def __init__(
        self,
        packets: int,
        seed: int,
        wire: WireSettings | None = None,
        endpoint: EndpointSettings | None = None,
        node: Callable[[Ends], Node] = Node,
        waiting: WaitingSettings | None = None,
        disturb_ticks: int = 0,
    ) -> None:
        rng = random.Random(seed)
        settings = endpoint or EndpointSettings()
        self.nodes = tuple(
            node(Ends(HOSTS[1 - side], QPS[side], QPS[1 - side])) for side in range(2)
        )
        self.seen = (Seen(), Seen())
        self.wires = tuple(
            Wire[_About](wire or WireSettings(), random.Random(rng.getrandbits(64)))
            for _ in range(2)
        )
        first = [[rng.getrandbits(24) for _ in SLOTS] for _ in range(2)]
        share = packets // (2 * len(SLOTS)) + 1
        self.ends = tuple(
            [
                Endpoint(
                    QPS[1 - side][slot],
                    first[side][slot],
                    first[1 - side][slot],
                    settings,
                    random.Random(rng.getrandbits(64)),
                    share,
                )
                for slot in range(len(SLOTS))
            ]
            for side in range(2)
        )
        self.differences: list[str] = []
        self.now = 0
        self._events: list[_Event] = []
        self._order = 0
        self._sending = {(side, slot): False for side in range(2) for slot in range(len(SLOTS))}
        self._free = dict.fromkeys(self._sending, 0)
        self.waiting = tuple(
            Waiting(
                waiting,
                self._at,
                partial(self._leave, side),
                self.nodes[side].emulator.rate,
                partial(self._moved, side),
            )
            for side in range(2)
            if waiting is not None
        )
        self._windows = waiting.windows if waiting is not None else ()
        self._oldest: dict[tuple[int, int], int] = {}
        self._disturb_ticks = disturb_ticks
        self._rng = random.Random(rng.getrandbits(64))

    def run(
        self, *, until: int | None = None, progress: Callable[[int], object] | None = None
    ) -> None:
        """Until all has been said and heard.

        Parameters
        ----------
        until : int, optional
            Ticks.
        progress : callable, optional
            Told after each event how many requests have been sent.

        Raises
        ------
        TimeoutError
            It is not at `until` ticks.
        """
        for side, slot in self._sending:
            self._at(1 + 7 * slot + side, partial(self._think, side, slot))
        if self._disturb_ticks:
            for side in range(2):
                self._at(self._disturb_ticks, partial(self._disturb, side))
        while self._events:
            event = heapq.heappop(self._events)
            if until is not None and event.t > until:
                raise TimeoutError(f"all must have been said and heard within {until} ticks")
            self.now = event.t
            event.act(event.t)
            if progress is not None:
                progress(sum(end.counts.get("sent", 0) for ends in self.ends for end in ends))

    def _at(self, t: int, act: Callable[[int], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, _Event(t, self._order, act))

    # --- resets and models -----------------------------------------------------------------------

    def _disturb(self, side: int, t: int) -> None:
        """While there is something to say: some parts are reset, or another model goes live."""
        if all(end.idle() for ends in self.ends for end in ends):
            return
        node, seen, rng = self.nodes[side], self.seen[side], self._rng
        self._at(t + rng.randrange(2 * self._disturb_ticks), partial(self._disturb, side))
        if rng.random() < _SWAPS:
            node.swap(t)
            seen.swaps += 1
            return
        parts = rng.sample(node.parts, rng.randrange(1, 4))
        seen.told += node.reset(parts, t)
        for part in parts:
            seen.resets[part] = seen.resets.get(part, 0) + 1
        if "rtt" in parts:
            seen.echo = [None] * len(SLOTS)
            seen.newest = [None] * len(SLOTS)
            seen.acked = [None] * len(SLOTS)
            seen.cnp_at = [None] * len(SLOTS)
            seen.arrived = [{} for _ in SLOTS]
        if "statistics" in parts:
            seen.cleared = [list(seen.samples), list(seen.marks_acted)]
            seen.shown = [None] * len(SLOTS)

    # --- requests --------------------------------------------------------------------------------

    def _think(self, side: int, slot: int, t: int) -> None:
        end = self.ends[side][slot]
        size = end.think(t)
        if size:
            self.nodes[side].queued(slot, size, t)
            self._at(end.next_message, partial(self._think, side, slot))
        self._wake(side, slot, t)

    def _wake(self, side: int, slot: int, t: int) -> None:
        """The endpoint sends as soon as it may."""
        who = side, slot
        if not self._sending[who] and self.ends[side][slot].ready():
            self._sending[who] = True
            self._at(max(t, self._free[who]), partial(self._send, side, slot))

    def _send(self, side: int, slot: int, t: int) -> None:
        end, node = self.ends[side][slot], self.nodes[side]
        self._sending[side, slot] = False
        if not end.ready():
            return
        timed, new = end.timer is not None, end.counts.get("sent", 0)
        packet = end.send(t)
        if not timed:
            self._at(t + end.settings.timeout, partial(self._timer, side, slot))
        if end.counts["sent"] != new:
            node.queued(slot, len(packet.payload), t, leaves=True)
        size = self._say(side, slot, packet, t)
        self._free[side, slot] = t + max(_RESEND_GAP, round(size / node.rate(slot)))
        self._wake(side, slot, t)

    def _timer(self, side: int, slot: int, t: int) -> None:
        end = self.ends[side][slot]
        if end.timer is not None and t >= end.timer:
            end.expire(t)
            self._wake(side, slot, t)
        if end.timer is not None:
            self._at(end.timer, partial(self._timer, side, slot))

    # --- frames ----------------------------------------------------------------------------------

    def _say(self, side: int, slot: int, packet: Packet, t: int) -> int:
        """A packet of the endpoint goes to the wire; the bytes that pace the endpoint."""
        frame = build(packet, HOSTS[side], HOSTS[1 - side], UDP_SOURCE + slot)
        if self.waiting:
            self.waiting[side].put(slot, packet, frame, t)
            return 0
        return self._leave(side, slot, packet, frame, t)

    def _leave(self, side: int, slot: int, packet: Packet, frame: bytes, t: int) -> int:
        """A packet goes through the card; its bytes on the wire."""
        if self.waiting and packet.opcode != ACKNOWLEDGE:
            self._within(side, slot, packet.psn)
        seen = self.seen[side]
        seen.sent[slot] += 1
        out = self.nodes[side].transmit(frame, t)
        newest = seen.newest[slot]
        if packet.opcode != ACKNOWLEDGE and (newest is None or not _before(packet.psn, newest)):
            seen.newest[slot] = packet.psn
            if newest is None:
                seen.acked[slot] = (packet.psn - 1) & _PSN_MASK
        if packet.ack_req:
            seen.asked[slot][packet.psn] = out.t
        self._carry(side, slot, packet, frame, out, self.nodes[side].score(slot))
        return len(out.frame)

    def _carry(
        self,
        side: int,
        slot: int,
        packet: Packet | None,
        frame: bytes,
        out: Out,
        score: int | None,
    ) -> None:
        fault, shim, _ = decode(out.frame[BTH_AT : BTH_AT + SHIM.size])
        if shim is None:
            self.differ(f"side {side} sent a frame without a shim: fault {fault!r}")
            return
        seen = self.seen[side]
        self._same("score that is sent", score, shim.score)
        if SLOTS[slot][1] == "host":
            self._same("host's score", HOST_SCORE, shim.score)
        self._same("echo of the score that came last", seen.echo[slot], shim.echo)
        if shim.score is not None:
            seen.scores_sent[slot].add(shim.score)
        answers = packet is not None and packet.opcode == ACKNOWLEDGE
        if packet is not None and answers and shim.time is not None:
            ns, began = self.nodes[side].ns, seen.arrived[slot].get(packet.psn)
            self._same("turnaround", None if began is None else ns(out.t) - ns(began), shim.time)
        flight = self.wires[side].carry(out.frame, out.t, _About(slot, packet, frame, shim))
        if flight is not None:
            self._at(flight.t, partial(self._arrive, 1 - side, flight))

    def _arrive(self, side: int, flight: Flight[_About], t: int) -> None:
        node, seen, about = self.nodes[side], self.seen[side], flight.about
        slot, end = about.slot, self.ends[side][about.slot]
        through = node.receive(flight.frame, t)
        wanted = with_ce(about.original) if flight.marked else about.original
        if through.frame != wanted:
            self.differ(f"side {side}: {about.original.hex()} came out as {through.frame!r}")
            return
        packet = read(wanted)
        seen.came[slot] += 1
        seen.marks_came[slot] += flight.marked
        acts = packet.opcode != CNP or self._cnp_acts(side, slot, through.t)
        follows = acts and (packet.opcode != ACKNOWLEDGE or self._flies(side, slot, packet))
        seen.marks_acted[slot] += flight.marked and acts
        if about.shim.score is not None:
            seen.scores_followed[slot] += follows
            seen.score[slot] = about.shim.score
            if acts:
                seen.echo[slot] = seen.shown[slot] = about.shim.score
        if packet.opcode == CNP:
            seen.cnps_came[slot] += 1
            seen.cnps_acted[slot] += acts
            seen.cnps_marked += flight.marked
        elif packet.opcode != ACKNOWLEDGE and packet.ack_req:
            seen.arrived[slot][packet.psn] = through.t
        self._sampled(side, slot, packet, about.shim, through.rtt, through.t)
        for made, out in through.cnps:
            seen.cnps[slot] += 1
            self._carry(side, slot, None, made, out, node.score(slot))
        if packet.opcode == ACKNOWLEDGE and self.waiting:
            psn = (packet.psn + (packet.syndrome == ACK)) & _PSN_MASK
            self._moved(side, slot, psn)
            self.waiting[side].acknowledged(slot, psn, t)
        due = end.ack_due
        answer = end.receive(packet, t)
        if answer is not None:
            self._say(side, slot, answer, t)
        if end.ack_due is not None and due is None:
            self._at(end.ack_due, partial(self._answer, side, slot))
        self._wake(side, slot, t)

    def _answer(self, side: int, slot: int, t: int) -> None:
        self._say(side, slot, self.ends[side][slot].answer(), t)

    def _sampled(
        self, side: int, slot: int, packet: Packet, shim: Shim, rtt: int | None, t: int
    ) -> None:
        """An RTT closes: T3 - T0 of one of the packets acknowledged, less T2 - T1."""
        seen = self.seen[side]
        if packet.opcode != ACKNOWLEDGE:
            self._same("RTT of no answer", None, rtt)
            return
        asked, newest = seen.asked[slot], seen.newest[slot]
        answered = [psn for psn in asked if not _before(packet.psn, psn)]
        sent = {asked[psn] for psn in answered}
        # After a reset the card has not heard of what was sent before, and takes no answer to it.
        if packet.syndrome == ACK and newest is not None and not _before(newest, packet.psn):
            for psn in answered:
                del asked[psn]
        if rtt is None:
            return
        seen.samples[slot] += 1
        told = shim.time if shim.type is ShimType.ACKNOWLEDGE else None
        turnaround = ticks_from_ns(told or 0, self.nodes[side].tick_ps)
        seen.corrected += told is not None
        # After a reset a packet that is sent again is timed, and the answer may be to the first.
        may = {max(0, t - t0 - turnaround) for t0 in sent}
        if rtt not in may:
            self.differ(f"side {side}, slot {slot}: RTT {rtt} is none of {sorted(may)}")
        seen.rtt_min, seen.rtt_max = min(seen.rtt_min, rtt), max(seen.rtt_max, rtt)

    # --- what may have an effect -----------------------------------------------------------------

    def _cnp_acts(self, side: int, slot: int, t: int) -> bool:
        """The last CNP that had an effect came a gap before this one, or earlier."""
        seen = self.seen[side]
        last = seen.cnp_at[slot]
        if last is not None and t - last < CNP_GAP:
            return False
        seen.cnp_at[slot] = t
        return True

    def _flies(self, side: int, slot: int, packet: Packet) -> bool:
        """An answer is to one of the PSNs in flight, or repeats the last."""
        seen = self.seen[side]
        through = (packet.psn - (packet.syndrome != ACK)) & _PSN_MASK
        newest, acked = seen.newest[slot], seen.acked[slot]
        if newest is None or acked is None or _before(newest, through) or _before(through, acked):
            seen.psns_refused += 1
            return False
        seen.acked[slot] = through
        return True

    # --- windows ---------------------------------------------------------------------------------

    def _moved(self, side: int, slot: int, psn: int) -> None:
        """All before `psn` has arrived, or counts as gone."""
        who = side, slot
        if who in self._oldest and not _before(psn, self._oldest[who]):
            self._oldest[who] = psn

    def _within(self, side: int, slot: int, psn: int) -> None:
        """With this packet no more is in flight than a window and a packet."""
        oldest = self._oldest.setdefault((side, slot), psn)
        window, mtu = self._windows[slot], self.ends[side][slot].settings.mtu
        ahead = (psn - oldest) & _PSN_MASK
        if window and ahead < _HALF and ahead * mtu >= -(-window // WINDOW_UNIT) * WINDOW_UNIT:
            self.differ(f"side {side}, slot {slot}: {ahead} packets in flight, window {window}")

    # --- verdicts --------------------------------------------------------------------------------

    def differ(self, what: str) -> None:
        """Something is not as it must be."""
        self.differences.append(f"at {self.now} ticks: {what}")

    def _same(self, what: str, wanted: object, got: object) -> None:
        if wanted != got:
            self.differ(f"{what}: {wanted!r} expected, not {got!r}")
