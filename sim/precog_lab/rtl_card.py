"""The card in RTL and its golden twin: the same frames at the same ticks, compared."""

from collections.abc import Sequence
from dataclasses import replace
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

__all__ = ["CONFIG", "PRACTICE", "RtlCard"]

#: A small NIC that has all that the lab shows.
CONFIG = replace(PRESETS["tiny"], width=512, receiver=True, law_cores=1, ecc=False)

#: The compiler lays a card's code out by a run of this.
PRACTICE = ("-m", "precog_lab.practice")

_CNP_CYCLES = 2  # from the stamp of a CNP to the arbiter before the transmit path
_DROPPED = 48  # cycles without a movement after which a frame has been dropped
_PATIENCE = 960  # and after which something that must come does not
_DECIDE = 4000  # all laws have decided


class _Heard:
    """What a frame has led to up to now."""

    def __init__(self, run: Run) -> None:
        self._sources = run.sources
        self.tx: list[Wire] = []
        self.rx: list[Wire] = []
        self.add(run)

    def began(self, source: str) -> int:
        """Cycle of the frame's first beat."""
        return self._sources[source].first[0]

    def add(self, run: Run) -> None:
        """What came out of a further run."""
        self.tx += run.sinks["m_axis_tx"].frames
        self.rx += run.sinks["m_axis_rx"].frames


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
    nic : PacketNic, optional
        Of that configuration, just reset; by default a new one.

    Raises
    ------
    VerilateError
        The RTL cannot be built.
    """

    def __init__(
        self,
        config: NicConfig,
        algorithm: str,
        link_gbps: float = 100.0,
        *,
        nic: PacketNic | None = None,
    ) -> None:
        self._nic = PacketNic(config, practice=PRACTICE) if nic is None else nic
        self.device = Device(self._nic)
        self._golden = Emulator(config, tick_ps=self.device.tick_ps)
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
        heard = _Heard(self._run(_PATIENCE, tx=[Wire(frame)], wanted={"m_axis_tx": 1}))
        golden = self._packets.transmit(frame, heard.began("s_axis_tx") + self._cnps)
        self._same("sent", [golden.frame], [wire.data for wire in heard.tx])
        return Passed([wire.data for wire in heard.tx], None, golden.slot, golden.descriptor)

    def receive(self, frame: bytes, t: int) -> Passed:
        """A frame from the wire through both, with the CNP that it may cause."""
        heard = _Heard(self._run(_DROPPED, rx=[Wire(frame)], wanted={"m_axis_rx": 1}))
        arrived = self._packets.receive(frame, heard.began("s_axis_rx"))
        got = arrived.received
        wanted = [] if got.frame is None else [got.frame]
        cnps = 0 if arrived.cnp is None else 1
        missing = {"m_axis_rx": len(wanted) - len(heard.rx), "m_axis_tx": cnps - len(heard.tx)}
        if any(count > 0 for count in missing.values()):
            heard.add(self._run(_PATIENCE, wanted=missing))
        self._same("received", wanted, [wire.data for wire in heard.rx])
        if arrived.cnp is not None and heard.tx:
            due = heard.tx[0].time + _CNP_CYCLES
            self._same("CNP", self._packets.transmit(arrived.cnp, due).frame, heard.tx[0].data)
        self._same("CNPs", cnps, len(heard.tx))
        host = heard.rx[0].data if heard.rx else None
        return Passed([wire.data for wire in heard.tx], host, got.slot, got.descriptor)

    def follow(self, qps: Sequence[RdmaQp], peers: dict[str, IPv4Address]) -> Change:
        """Make both cards' queue pairs those of the guest."""
        self._rest()
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
        self._rest()
        golden, rtl = (device.packet for device in reversed(self._devices))
        assert golden is not None
        assert rtl is not None
        self._same("counters", golden.counters(), rtl.counters())

    def _rest(self) -> None:
        """All laws decide, and no frame comes out that none has led to."""
        heard = _Heard(self._run(_DECIDE))
        self._same("out of turn", [], [wire.data for wire in (*heard.tx, *heard.rx)])

    def _run(
        self,
        settle: int,
        tx: Sequence[Wire] = (),
        rx: Sequence[Wire] = (),
        wanted: dict[str, int] | None = None,
    ) -> Run:
        run = self._nic.run(tx, rx, settle=settle, wanted=wanted)
        for row in self._nic.decisions(run):
            decision = Decision(*row)
            self._rates[decision.qp] = decision.rate
            rate = decision.rate
            self.rate_min = rate if self.rate_min is None else min(self.rate_min, rate)
        return run

    def _same(self, what: str, golden: object, rtl: object) -> None:
        if golden != rtl:
            self.differences.append(f"{what}: golden {golden!r}, RTL {rtl!r}")
