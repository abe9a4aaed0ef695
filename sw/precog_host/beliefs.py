"""What a new queue pair believes of its receiver: the level that this said to those before.

    a queue pair ends ─► greatest level that it was told ─► table of destinations
    another is bound  ◄─ `believe` ◄───────────────────────────┘

The study of predictions calls this persistence (`docs/evidence/prediction.md`). The receiver's
first word replaces a belief, so that a wrong one lasts a round trip.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address

from .device import Device
from .transport import DeviceError

__all__ = ["Beliefs", "Ip"]

_LEAST = 2  # a level that a law heeds
_DESTINATIONS = 4096  # those that ended longest ago are forgotten

Ip = IPv4Address | IPv6Address
Slot = tuple[int, Ip | None]  #: its number and its peer


class Beliefs:
    """Levels of destinations, as queue pairs of one device were told them last.

    Parameters
    ----------
    device : Device
        It counts senders, and heeds levels.

    Raises
    ------
    DeviceError
        It does not count senders, or does not heed levels.
    """

    def __init__(self, device: Device) -> None:
        if device.senders is None:
            raise DeviceError(
                "beliefs need a device that counts senders: it was built without (senders=0)"
            )
        if not device.senders.parameters().heed:
            raise DeviceError(
                "beliefs need a device that heeds levels: precog packet senders set --heed"
            )
        self._senders = device.senders
        self._levels: dict[Ip, int] = {}

    def ended(self, slots: Iterable[Slot]) -> None:
        """Note what slots were told; before they are released. The greatest of a peer counts."""
        told: dict[Ip, int] = {}
        for number, peer in slots:
            if peer is not None:
                told[peer] = max(told.get(peer, 0), self._senders.told(number).most)
        for peer, level in told.items():
            self._levels.pop(peer, None)  # the youngest stand last
            self._levels[peer] = level
        while len(self._levels) > _DESTINATIONS:
            del self._levels[next(iter(self._levels))]

    def begun(self, slots: Iterable[Slot]) -> dict[int, int]:
        """Have the laws of slots that were enabled believe what their peers said last.

        Returns
        -------
        dict of int to int
            Slots and their levels; without those of peers that said little or nothing.
        """
        believed = {
            number: level
            for number, peer in slots
            if peer is not None and (level := self._levels.get(peer, 0)) >= _LEAST
        }
        for number, level in believed.items():
            self._senders.believe(number, level)
        return believed
