"""A device whose queue pairs follow the kernel's RDMA stack: added and released as those are.

Each list (`rdma_list`) is compared with the one before. A queue pair of ours that is not in it any
more, or that has another peer now, gives its slot back; one that is new gets a free slot
(`rdma_import`). Slots that were bound by others stay as they are.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from . import pairs, rdma_import
from .beliefs import Beliefs, Guess, Ip
from .device import Device
from .driver.packet import Binding
from .rdma_import import Planned
from .rdma_list import RdmaQp

__all__ = ["Change", "Follower"]

_Connection = tuple[Ip | None, int, int]  # peer, DestQP there, DestQP here


@dataclass(frozen=True)
class Change:
    """What a list led to."""

    added: tuple[Planned, ...]
    adopted: tuple[Planned, ...]  #: bound before, by an import or a follower that ended
    released: tuple[Planned, ...]
    skipped: dict[str, int]  #: queue pairs without a slot, by reason
    guesses: dict[int, Guess]  #: of levels, for slots that were added

    @property
    def believed(self) -> dict[int, int]:
        """Levels that slots believe."""
        return {slot: level for slot, one in self.guesses.items() if (level := one.belief)}


class Follower:
    """Queue pairs of one device, as the last list had them.

    Parameters
    ----------
    device : Device
    preset, algorithm, mode : str
        As `rdma_import.apply`.
    mtu : int
        Path MTU, bytes.
    first_slot : int
        Slots below stay free.
    beliefs : Beliefs, optional
        What queue pairs that are added believe. A list says no sizes: those that the device counts
        are taken.

    Raises
    ------
    ValueError, DeviceError
        As `rdma_import.check`, and as `Beliefs.check_counts`.
    """

    def __init__(
        self,
        device: Device,
        *,
        preset: str = "precog",
        algorithm: str | None = None,
        mode: str = "off",
        mtu: int = 1024,
        first_slot: int = 0,
        beliefs: Beliefs | None = None,
    ) -> None:
        self._device, self._beliefs = device, beliefs
        self._law = algorithm or pairs.first_law(device)
        if beliefs is not None:
            beliefs.check_counts()
        self._preset, self._mode, self._mtu, self._first = preset, mode, mtu, first_slot
        nothing = rdma_import.Plan((), {})
        rdma_import.check(device, nothing, preset=preset, algorithm=self._law, mode=mode, mtu=mtu)
        self._followed: dict[tuple[str, int], Planned] = {}

    @property
    def followed(self) -> list[Planned]:
        """Queue pairs with a slot, in the order of their slots."""
        return sorted(self._followed.values(), key=lambda one: one.slot)

    def update(
        self,
        qps: Collection[RdmaQp],
        skipped: Counter[str] | None = None,
        *,
        remote: Ip | None = None,
        peers: Mapping[str, Ip] | None = None,
    ) -> Change:
        """Make the device's queue pairs those of a list.

        Parameters
        ----------
        qps : collection of RdmaQp
        skipped : Counter, optional
            What the list's reader left out.
        remote : address, optional
            Peer of all that `peers` does not name.
        peers : mapping, optional
            As `rdma_list.peers_of`; it may name queue pairs that are not in the list.

        Raises
        ------
        DeviceError
            The device refused.
        """
        known = dict(peers or {})

        def peer(qp: RdmaQp) -> Ip | None:
            return known.get(f"{qp.ifname}/{qp.lqpn}", known.get(str(qp.lqpn), remote))

        bound = self._bound()
        held = {key: one for key, one in self._followed.items() if self._holds(one, bound)}
        if self._beliefs is not None:
            lost = [one.slot for key, one in self._followed.items() if key not in held]
            self._beliefs.lose(lost)
        listed = {(qp.ifname, qp.lqpn): qp for qp in qps}
        gone = [
            key
            for key, one in held.items()
            if key not in listed
            or listed[key].rqpn != one.qp.rqpn
            or (self._device.packet is not None and peer(listed[key]) != one.remote)
        ]
        released = tuple(held.pop(key) for key in gone)
        if released:
            if self._beliefs is not None:
                self._beliefs.end((one.slot, one.remote) for one in released)
            pairs.remove(self._device, [one.slot for one in released])
        self._followed = held
        fresh = [qp for key, qp in listed.items() if key not in held]
        adopted = [
            Planned(binding.slot, qp, binding.remote, binding.destination)
            for qp in fresh
            if (binding := bound.get((peer(qp), qp.rqpn, qp.lqpn))) is not None
        ]
        taken = {one.qp for one in adopted}
        fresh = [qp for qp in fresh if qp not in taken]
        there = {name for qp in fresh for name in (str(qp.lqpn), f"{qp.ifname}/{qp.lqpn}")}
        plan = rdma_import.plan(
            self._device,
            fresh,
            Counter(skipped or ()),
            remote=remote,
            peers={name: address for name, address in known.items() if name in there},
            first_slot=self._first,
        )
        rdma_import.apply(
            self._device,
            plan,
            preset=self._preset,
            algorithm=self._law,
            mode=self._mode,
            mtu=self._mtu,
        )
        for one in (*adopted, *plan.planned):
            self._followed[one.qp.ifname, one.qp.lqpn] = one
        guesses: dict[int, Guess] = {}
        if self._beliefs is not None:
            guesses = self._beliefs.begin((one.slot, one.remote) for one in plan.planned)
        return Change(plan.planned, tuple(adopted), released, plan.skipped, guesses)

    def release(self) -> tuple[Planned, ...]:
        """Give all slots back, as when the list is empty."""
        return self.update(()).released

    def _bound(self) -> dict[_Connection, Binding]:
        """Connections of the device."""
        packets = self._device.packet
        if packets is None:
            return {}
        return {(b.remote, b.remote_qp, b.local_qp): b for b in packets.bindings()}

    def _holds(self, one: Planned, bound: Mapping[_Connection, Binding]) -> bool:
        """Whether a slot is still that queue pair's: an operator may have taken it away."""
        if self._device.packet is None:
            return self._device.qp(one.slot).status().enable
        binding = bound.get((one.remote, one.qp.rqpn, one.qp.lqpn))
        return binding is not None and binding.slot == one.slot
