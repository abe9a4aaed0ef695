"""What the lab's Verilated cards do most: ``python -m precog_lab.practice LIBRARY``.

Two cards pass messages of several frames with acknowledgements, marks and a protocol of its own.
A library made for counting counts where it goes meanwhile, and the compiler lays its code out by
that.
"""

import random
import sys
from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path

from precog_host.rdma_list import RdmaQp
from precog_sim.backtoback.frames import (
    ACK,
    ACKNOWLEDGE,
    SEND_FIRST,
    SEND_LAST,
    SEND_MIDDLE,
    Host,
    Packet,
    build,
    with_ce,
)
from precog_sim.rtl.packet_block import PacketBlock
from precog_sim.rtl.packet_nic import PacketNic

from .guest import Address
from .rtl_card import CONFIG, RtlCard

__all__ = ["main", "practise"]

_MESSAGES = 60
_OPCODES = (SEND_FIRST, *(SEND_MIDDLE,) * 6, SEND_LAST)
_MTU = 1024
_MARKED = 0.05
_OTHERS = 0.1  # frames of another protocol, for each message
_QPNS = (33, 17)  # queue pair of each guest
_UDP_SOURCE = 50_000
_ARP = b"\x08\x06"


def practise(cards: Sequence[RtlCard], messages: int, seed: int = 1) -> int:
    """Send messages from the second of two cards to the first, and say how many frames went.

    Parameters
    ----------
    cards : sequence of RtlCard
        Two, without queue pairs.
    messages : int
    seed : int
        Of payloads and marks.
    """
    random_ = random.Random(seed)
    hosts = [_host(number) for number in range(2)]
    for number, card in enumerate(cards):
        here, there = _QPNS[number], _QPNS[1 - number]
        pair = RdmaQp("rxe0", 1, here, there, "RC", "RTS", "practice")
        card.follow([pair], {f"rxe0/{here}": IPv4Address(Address(1 - number).ip)})
    passed = psn = 0

    def send(source: int, frame: bytes) -> None:
        nonlocal passed
        passed += 1
        for wire in cards[source].transmit(frame, 0).wire:
            marked = source == 1 and random_.random() < _MARKED
            got = cards[1 - source].receive(with_ce(wire) if marked else wire, 0)
            for cnp in got.wire:
                cards[source].receive(cnp, 0)

    for message in range(messages):
        if random_.random() < _OTHERS:
            frame = random_.randbytes(60)
            send(random_.randrange(2), frame[:12] + _ARP + frame[14:])
        for opcode in _OPCODES:
            data = Packet(
                opcode, _QPNS[0], psn, opcode == SEND_LAST, payload=random_.randbytes(_MTU)
            )
            send(1, build(data, hosts[1], hosts[0], _UDP_SOURCE))
            psn += 1
        answer = Packet(ACKNOWLEDGE, _QPNS[1], psn - 1, syndrome=ACK, msn=message)
        send(0, build(answer, hosts[0], hosts[1], _UDP_SOURCE))
    return passed


def _host(number: int) -> Host:
    address = Address(number)
    ip = int(IPv4Address(address.ip))
    return Host(int.from_bytes(address.mac_bytes, "big"), ip)


def main() -> int:
    """The command."""
    library = Path(sys.argv[1])
    nics = [PacketNic(CONFIG, block=PacketBlock(library)) for _ in range(2)]
    cards = [RtlCard(CONFIG, "dcqcn", nic=nic) for nic in nics]
    practise(cards, _MESSAGES)
    for card in cards:
        card.close()
    wrong = [line for card in cards for line in card.differences]
    for line in wrong:
        print(line, file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
