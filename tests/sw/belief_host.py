"""A card whose queue pairs send, hear levels, and come and go with lists; time is made up."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from precog_host.beliefs import Beliefs, Guess
from precog_host.device import Device
from precog_host.driver.senders import Told
from precog_host.emulator.device import Emulator
from precog_host.rdma_follow import Follower
from precog_host.rdma_list import RdmaQp
from precog_models.forecast.starts import Start, StartForecaster
from precog_models.packet.card import Card, CardConfig
from precog_models.packet.senders import SendersConfig
from precog_spec.config import NicConfig

from ..models.packet.frames import A6_ADDRESS, A_ADDRESS, A_QP, B4, B6, B_QP, packet

__all__ = ["LEAST", "OTHER", "PEER", "Host", "Says", "one_list", "told"]

_CONFIG = NicConfig(qps=8, sets=2, width=64, grants=True, wire=256, profile=True, senders=True)
PEER, OTHER = ip_address(B4), ip_address(B6)
LEAST = 200  # bytes of a message that counts
_Ip = IPv4Address | IPv6Address


class Says(StartForecaster):
    """A model that guesses what it is told to."""

    def __init__(self) -> None:
        self.next = 0

    def level(self, starts: Sequence[Start]) -> int:
        assert all(isinstance(one, Start) for one in starts)
        return self.next


class Host:
    """A card whose queue pairs, `n` of each peer, send and hear levels; time is made up."""

    def __init__(self) -> None:
        self.emulator = Emulator(_CONFIG)
        self.device = Device(self.emulator)
        assert self.device.senders is not None
        self.device.senders.set_parameters(heed=True, least=LEAST)
        self.ns = 5_000_000
        self.ticks = 100

    def clock(self) -> int:
        return self.ns

    def beliefs(self, model: StartForecaster | None) -> Beliefs:
        return Beliefs(self.device, model, clock=self.clock)

    def qps(self, *numbers: int) -> list[RdmaQp]:
        return [RdmaQp("rxe0", 1, A_QP + n, B_QP + n, "RC", "RTS", "test") for n in numbers]

    def send(self, n: int, size: int, *, ipv6: bool = False) -> int:
        """Data of queue pair `n`; returns its bytes, as the card counts them."""
        frame = packet(bytes(size), ipv6=ipv6, bth={"dqpn": B_QP + n})
        assert self.emulator.packets is not None
        self.ticks += 50
        self.emulator.packets.transmit(frame, self.ticks)
        return len(frame)

    def say(self, n: int, level: int, *, ipv6: bool = False) -> None:
        """The peer of queue pair `n` says a level, in a packet of data."""
        assert self.emulator.packets is not None
        senders = 1 << level
        peer = Card(16, CardConfig(senders=True))
        assert peer.senders is not None
        peer.senders.config = SendersConfig(say=True)
        for slot in range(senders):
            peer.add(slot, A6_ADDRESS if ipv6 else A_ADDRESS, A_QP + slot, B_QP + slot)
            data = packet(bytes(64), opcode=0x01, ipv6=ipv6, bth={"dqpn": B_QP + slot})
            peer.receive(data, 5, 5)
        back = packet(bytes(64), opcode=0x01, back=True, ipv6=ipv6, bth={"dqpn": A_QP + n})
        self.ticks += 50
        self.emulator.packets.receive(peer.transmit(back, 7, 7).frame, self.ticks)


def told(host: Host, slot: int) -> Told:
    assert host.device.senders is not None
    return host.device.senders.told(slot)


def one_list(
    host: Host, follower: Follower, number: int, level: int, size: int = 1000, peer: _Ip = PEER
) -> tuple[Guess, int]:
    """A queue pair comes, sends, hears a level, and goes; its guess, and its bytes."""
    change = follower.update(host.qps(number), remote=peer)
    (slot, guess) = next(iter(change.guesses.items()))
    ipv6 = peer == OTHER
    assert told(host, slot) == Told(guess.belief or 0, guess.belief is not None, 0)
    sent = host.send(number, size, ipv6=ipv6)
    host.say(number, level, ipv6=ipv6)
    host.ns += 3_000
    follower.update((), remote=peer)
    return guess, sent
