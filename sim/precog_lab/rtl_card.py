"""The card in RTL and its golden twin: the same frames at the same ticks, compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.rdma_follow import Change
from precog_host.rdma_list import RdmaQp
from precog_models.nic import Decision
from precog_sim.rtl.packet_block import Run, Wire
from precog_sim.rtl.packet_nic import PacketNic
from precog_spec.config import PRESETS, NicConfig

from .cards import Passed, bring_up, follower, scored

__all__ = ["CONFIG", "RtlCard"]

#: A small NIC that has all that the lab shows.
CONFIG = replace(PRESETS["tiny"], width=512, receiver=True, trace=True, ecc=False)

_CNP_CYCLES = 2  # from the stamp of a CNP to the arbiter before the transmit path
_STEP = 24  # cycles without a movement before a look
_PATIENCE = 40  # looks
_DECIDE = 600  # all laws have decided


@dataclass
class _Heard:
    """What a frame has led to up to now."""

    began: int
    tx: list[Wire] = field(default_factory=list)
    rx: list[Wire] = field(default_factory=list)


class RtlCard:
    """A Verilated card; its golden twin gets every frame when the RTL had it.

    Parameters
    ----------
    config : NicConfig
        With a width.
    algorithm : str
        Law of all queue pairs.
    link_gbps : float
        Of the wire.

    Raises
    ------
    VerilateError
        The RTL cannot be built.
    """

    def __init__(self, config: NicConfig, algorithm: str, link_gbps: float = 100.0) -> None:
        self._nic = PacketNic(config, fast=True)
        self.device = Device(self._nic)
        self._golden = Emulator(config)
        assert self._golden.packets is not None
        self._packets = self._golden.packets
        self._cnps = config.cnps
        self.differences: list[str] = []
        self.rate_min: int | None = None
        self._rates: dict[int, int] = {}
        self._link_gbps = link_gbps
        self._devices = (self.device, Device(self._golden))
        for device in self._devices:
            bring_up(device, link_gbps)
        self._followers = [follower(device, algorithm) for device in self._devices]

    def transmit(self, frame: bytes, t: int) -> Passed:
        """A frame of the guest through both."""
        heard = self._put("s_axis_tx", frame)
        golden = self._packets.transmit(frame, heard.began + self._cnps)
        self._hear(heard, lambda: len(heard.tx) > 0)
        self._same("sent", [golden.frame], [wire.data for wire in heard.tx])
        return Passed([wire.data for wire in heard.tx], None, golden.slot, golden.descriptor)

    def receive(self, frame: bytes, t: int) -> Passed:
        """A frame from the wire through both, with the CNP that it may cause."""
        heard = self._put("s_axis_rx", frame)
        arrived = self._packets.receive(frame, heard.began)
        got = arrived.received
        wanted = [] if got.frame is None else [got.frame]
        cnps = 0 if arrived.cnp is None else 1
        self._hear(heard, lambda: len(heard.rx) == len(wanted) and len(heard.tx) == cnps)
        self._same("received", wanted, [wire.data for wire in heard.rx])
        if arrived.cnp is not None and heard.tx:
            due = heard.tx[0].time + _CNP_CYCLES
            self._same("CNP", self._packets.transmit(arrived.cnp, due).frame, heard.tx[0].data)
        self._same("CNPs", cnps, len(heard.tx))
        host = heard.rx[0].data if heard.rx else None
        return Passed([wire.data for wire in heard.tx], host, got.slot, got.descriptor)

    def follow(self, qps: Sequence[RdmaQp], peers: dict[str, IPv4Address]) -> Change:
        """Make both cards' queue pairs those of the guest."""
        self._run(_DECIDE)
        first, second = (one.update(qps, peers=peers) for one in self._followers)
        self._same("queue pairs", second, first)
        for device in self._devices:
            scored(device, first, self._link_gbps)
        for one in first.released:
            self._rates.pop(one.slot, None)
        return first

    def rate(self, slot: int) -> int:
        """What the RTL's law decided last; its initial rate before that."""
        return self._rates.get(slot) or self._golden.nic.configuration(slot)["init_rate"]

    def close(self) -> None:
        """Both have counted alike."""
        self._run(_DECIDE)
        golden, rtl = (device.packet for device in reversed(self._devices))
        assert golden is not None
        assert rtl is not None
        self._same("counters", golden.counters(), rtl.counters())

    def _put(self, stream: str, frame: bytes) -> _Heard:
        wires = [Wire(frame)]
        tx, rx = (wires, ()) if stream == "s_axis_tx" else ((), wires)
        run = self._run(_STEP, tx, rx)
        heard = _Heard(run.sources[stream].first[0])
        self._add(heard, run)
        return heard

    def _hear(self, heard: _Heard, enough: Callable[[], bool]) -> None:
        for _ in range(_PATIENCE):
            if enough():
                return
            self._add(heard, self._run(_STEP))

    @staticmethod
    def _add(heard: _Heard, run: Run) -> None:
        heard.tx += run.sinks["m_axis_tx"].frames
        heard.rx += run.sinks["m_axis_rx"].frames

    def _run(self, settle: int, tx: Sequence[Wire] = (), rx: Sequence[Wire] = ()) -> Run:
        run = self._nic.run(tx, rx, settle=settle)
        for row in self._nic.decisions(run):
            decision = Decision(*row)
            self._rates[decision.qp] = decision.rate
            rate = decision.rate
            self.rate_min = rate if self.rate_min is None else min(self.rate_min, rate)
        return run

    def _same(self, what: str, golden: object, rtl: object) -> None:
        if golden != rtl:
            self.differences.append(f"{what}: golden {golden!r}, RTL {rtl!r}")
