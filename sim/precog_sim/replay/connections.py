"""Which two queue pairs talk to each other: learnt from a capture by PSN.

A packet names only the QP that it goes to. An answer carries the PSN of its request: a flow of
requests from A to B and a flow of answers from B to A belong together if the answers' PSNs were
sent by the requests before. Pairs are made from the most matches down; where two have as many (QPs
that start at the same PSN), from the shortest time between request and answer.

A connection's path MTU is what its First and Middle packets carry: all of them are filled to it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from precog_models.packet.parser import Descriptor
from precog_spec.frames.headers import PATH_MTUS
from precog_spec.frames.opcodes import ACKNOWLEDGES, FULL, is_reliable, solicits

__all__ = ["Connection", "Flow", "Seen", "connections", "path_mtus"]

_DEFAULT_MTU = 1024


class Flow(NamedTuple):
    """Packets from one host to one QP of another."""

    source: int
    destination: int
    qpn: int


class Seen(NamedTuple):
    """One RoCEv2 packet of a capture."""

    flow: Flow
    packet: Descriptor
    time_ns: int


class Connection(NamedTuple):
    """Two flows that answer each other; `back` is None if nothing was seen to answer."""

    there: Flow
    back: Flow | None


class _Match(NamedTuple):
    answers: int
    lag_ns: int


def connections(seen: Iterable[Seen]) -> list[Connection]:
    """Connections of a capture, every flow in exactly one.

    Parameters
    ----------
    seen : iterable of Seen
        In the capture's order.
    """
    flows: dict[Flow, None] = {}
    asked: dict[Flow, dict[int, int]] = defaultdict(dict)  # PSN: time of its last request
    matches: dict[frozenset[Flow], _Match] = {}
    between: dict[tuple[int, int], list[Flow]] = defaultdict(list)
    for flow, packet, time in seen:
        if flow not in flows:
            flows[flow] = None
            between[flow.source, flow.destination].append(flow)
        if packet.opcode in ACKNOWLEDGES:
            for request in between[flow.destination, flow.source]:
                sent = asked[request].get(packet.psn)
                if sent is not None:
                    count, lag = matches.get(pair := frozenset((request, flow)), _Match(0, 0))
                    matches[pair] = _Match(count + 1, lag + time - sent)
        elif is_reliable(packet.opcode) and solicits(packet.opcode, packet.ack_req):
            asked[flow][packet.psn] = time

    partner: dict[Flow, Flow] = {}
    for pair in sorted(matches, key=lambda p: (-matches[p].answers, matches[p].lag_ns)):
        one, other = pair
        if one not in partner and other not in partner:
            partner[one], partner[other] = other, one
    made, done = [], set[Flow]()
    for flow in flows:
        if flow not in done:
            back = partner.get(flow)
            made.append(Connection(flow, back))
            done |= {flow} if back is None else {flow, back}
    return made


def path_mtus(seen: Iterable[Seen], pairs: Sequence[Connection]) -> list[int]:
    """Path MTU of each connection, bytes.

    It is the payload that most First and Middle packets carry, of either direction. Without such a
    packet it is 1024, or the smallest that the largest payload fits in.

    Parameters
    ----------
    seen : iterable of Seen
    pairs : sequence of Connection
        `connections` of it.
    """
    filled: dict[Flow, Counter[int]] = defaultdict(Counter)
    largest: Counter[Flow] = Counter()
    for flow, packet, _ in seen:
        if is_reliable(packet.opcode):
            largest[flow] = max(largest[flow], packet.payload)
            if packet.opcode in FULL and packet.payload in PATH_MTUS:
                filled[flow][packet.payload] += 1
    found = []
    for pair in pairs:
        flows = [flow for flow in pair if flow is not None]
        counts = sum((filled[flow] for flow in flows), Counter[int]())
        most = max(largest[flow] for flow in flows)
        enough = [mtu for mtu in PATH_MTUS if mtu >= max(_DEFAULT_MTU, most)]
        default = min(enough, default=PATH_MTUS[-1])
        found.append(max(counts, key=lambda mtu: (counts[mtu], mtu), default=default))
    return found
