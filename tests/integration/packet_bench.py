"""The whole NIC with packets in RTL and the golden device, with the same host software on both."""

from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address
from typing import NamedTuple

from precog_host.device import Device
from precog_host.driver.packet import PacketDriver
from precog_host.emulator.device import Emulator
from precog_hw.nic import nic_map
from precog_sim.backtoback.rtl_node import CONFIG, TICK_PS
from precog_sim.rtl.packet_block import Run, Wire
from precog_sim.rtl.packet_nic import PacketNic
from precog_spec.config import NicConfig
from precog_spec.frames.cps import Mode

from ..hw.csr.live import check_device
from ..models.packet.frames import A_QP, B6_ADDRESS, B_ADDRESS, B_QP

__all__ = [
    "CONFIG",
    "SHIM_AT",
    "TICK_PS",
    "Pair",
    "arm",
    "check_registers",
    "open_pair",
    "same_numbers",
]

SHIM_AT = 14 + 20 + 8
_STEP = 400  # cycles from a packet's end to its decision by a law in logic, with room
_STEPS = 12  # a law engine's longest event takes 3,600
_CNP_CYCLES = 2  # from the stamp of a CNP to the arbiter before the transmit path


class Pair(NamedTuple):
    """The same host software on both."""

    rtl: Device
    golden: Device
    nic: PacketNic
    emulator: Emulator

    def paths(self) -> tuple[PacketDriver, PacketDriver]:
        """Both devices' packet paths."""
        assert self.rtl.packet is not None
        assert self.golden.packet is not None
        return self.rtl.packet, self.golden.packet

    def transmit(self, frame: bytes, *, error: bool = False, settle: int = _STEP) -> bytes:
        """One frame to the wire through both, `settle` cycles apart; they must not differ."""
        assert self.emulator.packets is not None
        run = self.nic.run(tx=[Wire(frame, error)], settle=settle)
        t = run.sources["s_axis_tx"].first[0] + self.emulator.sizes.cnps  # the arbiter
        sent = self.emulator.packets.transmit(frame, t, error=error)
        assert [wire.data for wire in run.sinks["m_axis_tx"].frames] == [sent.frame]
        if self.emulator.sizes.law_cores:
            self._wait_for_decisions(run)
        return sent.frame

    def receive(self, frame: bytes, *, error: bool = False, settle: int = _STEP) -> bytes | None:
        """One frame from the wire through both, with the CNP that it may cause."""
        assert self.emulator.packets is not None
        run = self.nic.run(rx=[Wire(frame, error)], settle=settle)
        t = run.sources["s_axis_rx"].first[0]
        arrived = self.emulator.packets.receive(frame, t, error=error)
        got = arrived.received.frame
        assert [wire.data for wire in run.sinks["m_axis_rx"].frames] == [got] * (got is not None)
        samples = [] if arrived.rtt is None else [(arrived.received.slot, arrived.rtt, t)]
        assert self.nic.samples(run) == samples
        self._wait_for_decisions(run)
        cnps = run.sinks["m_axis_tx"].frames
        assert len(cnps) == (arrived.cnp is not None)
        for wire in cnps:
            # The golden card is told when it was made.
            made = self.emulator.packets.transmit(arrived.cnp or b"", wire.time + _CNP_CYCLES)
            assert wire.data == made.frame
        return got

    def _wait_for_decisions(self, run: Run) -> None:
        """Wait for the golden decisions; a further one would be seen at the next frame."""
        assert self.emulator.packets is not None
        wanted = [tuple(row) for row in self.emulator.packets.decided.tolist()]
        for _ in range(_STEPS):
            if len(self.nic.decisions(run)) >= len(wanted):
                break
            later = self.nic.run(settle=_STEP)
            assert not any(sink.frames for sink in later.sinks.values())
            for strobe, events in later.events.items():
                run.events[strobe] += events
            self.nic.last = run
        assert self.nic.decisions(run) == wanted


@contextmanager
def open_pair(config: NicConfig = CONFIG) -> Iterator[Pair]:
    """Both devices, new."""
    nic = PacketNic(config, tick_ps=TICK_PS)
    emulator = Emulator(config, tick_ps=TICK_PS)
    with Device(nic) as rtl, Device(emulator) as golden:
        yield Pair(rtl, golden, nic, emulator)


def check_registers(config: NicConfig, tick_ps: int, seed: int) -> None:
    """The register suite on such a NIC: no register of another part answers or changes."""
    nic = PacketNic(config, tick_ps=tick_ps)
    nic.block.tick(5000)  # tables are emptied
    try:
        check_device(nic, nic_map(config, tick_ps=tick_ps), seed, look=2)
    finally:
        nic.close()


def arm(pair: Pair) -> None:
    """Queue pairs as the host would give them: keys, scores, laws."""
    for device, path in zip((pair.rtl, pair.golden), pair.paths(), strict=True):
        four, six = IPv6Address(B_ADDRESS).ipv4_mapped, IPv6Address(B6_ADDRESS)
        assert four is not None
        path.bind(1, str(four), remote_qp=B_QP, local_qp=A_QP, score=37, destination=3)
        path.bind(
            2, six, remote_qp=B_QP, local_qp=A_QP, mode=Mode.R, score=80, destination=200, mtu=4096
        )
        path.set_parameters(enabled=1, mode_c=1, interval_ticks=3000)
        device.apply_preset("thesis")
        for slot in (1, 2):
            device.qp(slot).configure(preset="thesis", enable=True, algorithm="pid")


def same_numbers(pair: Pair) -> dict[str, dict[str, int]]:
    """Counters and statistics of both; they must not differ."""
    rtl, golden = pair.paths()
    for destination in (0, 3, 200) if pair.emulator.sizes.destinations else ():
        assert rtl.destination(destination) == golden.destination(destination)
    counters = golden.counters()
    shown = rtl.counters()
    for table, numbers in counters.items():
        assert shown[table] == numbers
    assert pair.rtl.counters() == pair.golden.counters()
    return counters
