"""The NIC in RTL beside the golden one: the same frames at the same ticks, and what differs."""

from collections import deque
from collections.abc import Sequence

from precog_host.device import Device
from precog_host.emulator import Emulator
from precog_hw.config import NicConfig
from precog_models.contract import Flag, Fmt, QueueEvent
from precog_models.nic import Decision
from precog_sim.rtl.packet_block import Run, Wire
from precog_sim.rtl.packet_nic import PacketNic

from .node import Ends, Node, Out, Through

__all__ = ["RtlNode"]

_TX_CYCLES = 1  # the arbiter before the transmit path
_CNP_CYCLES = 2  # from the stamp of a CNP to that
_PATIENCE = 20
_LEAVE = 150  # cycles without movement after which a frame has left
_DECIDE = 600  # a sample's decision has been made, and its score
_FORECAST = 1200  # a profile's forecast


class RtlNode(Node):
    """One end in RTL; its golden twin gets every frame when the RTL had it.

    A frame has left before the next one comes: time goes on by some hundred ticks with each.

    Parameters
    ----------
    ends : Ends
    config : NicConfig
    tick_ps : int
    nic : PacketNic, optional
        By default a new one.
    """

    merges = True
    # Counters that are read and reset while laws have events would not be of one instant.
    parts = tuple(part for part in Node.parts if part != "counters")

    def __init__(
        self, ends: Ends, config: NicConfig, tick_ps: int, nic: PacketNic | None = None
    ) -> None:
        super().__init__(ends, sizes=config.map_sizes, tick_ps=tick_ps)
        self.golden = self.device
        # Laws hear of packets in another order, and merged: another golden NIC replays the RTL's.
        self._laws = Emulator(config.map_sizes, tick_ps=tick_ps)
        self._set_up(Device(self._laws), ends)
        self.nic = PacketNic(config, tick_ps=tick_ps) if nic is None else nic
        self.device = Device(self.nic)
        self._set_up(self.device, ends)
        for device in (self.golden, self.device):
            assert device.forecasting is not None
            device.forecasting.set_parameters(carry_age_us=0)  # it would end at another tick
        self._samples: deque[tuple[int, ...]] = deque()
        self._events: deque[tuple[int, ...]] = deque()
        self._rates: dict[int, int] = {}
        self._profiles = 0
        self._begin()
        self.nic.missed()
        self.nic.watches = True  # from here on nothing that the laws do may be overlooked
        self._start = self.nic.block.cycles

    def transmit(self, frame: bytes, t: int) -> Out:
        """A frame of the endpoint through both."""
        self._until(t)
        run = self._run(_LEAVE, tx=[Wire(frame)])
        when = run.sources["s_axis_tx"].first[0] + _TX_CYCLES
        golden = self._packets.transmit(frame, when).frame
        self._same("sent", [golden], [wire.data for wire in run.sinks["m_axis_tx"].frames])
        return Out(golden, when - self._start)

    def receive(self, frame: bytes, t: int) -> Through:
        """A frame from the wire through both, with the CNP that it may cause."""
        self._until(t)
        run = self._run(_DECIDE, rx=[Wire(frame)])
        when = run.sources["s_axis_rx"].first[0]
        arrived = self._packets.receive(frame, when)
        got = arrived.received.frame
        frames = [wire.data for wire in run.sinks["m_axis_rx"].frames]
        self._same("received", [] if got is None else [got], frames)
        samples = [] if arrived.rtt is None else [(arrived.received.slot, arrived.rtt, when)]
        self._same("samples", samples, self.nic.samples(run))
        made = [] if arrived.cnp is None else [arrived.cnp]
        sent = run.sinks["m_axis_tx"].frames
        self._same("CNPs", len(made), len(sent))
        cnps = []
        for cnp, wire in zip(made, sent, strict=False):
            out = self._packets.transmit(cnp, wire.time + _CNP_CYCLES).frame
            self._same("CNP", out, wire.data)
            cnps.append((cnp, Out(out, wire.time + _CNP_CYCLES - self._start)))
        return Through(got, when - self._start, cnps, arrived.rtt)

    def queued(self, slot: int, size: int, t: int, *, leaves: bool = False) -> None:
        """Bytes come into a send queue, or leave it, in both."""
        self._until(t)
        kind = QueueEvent.DEPARTURE if leaves else QueueEvent.ARRIVAL
        when = self.nic.block.cycles
        with self.nic.happening(kind, slot, size, when):
            self._run(1)
        self._profiler.observe(slot, kind, size, when)
        self._run(_FORECAST if self._sampled() else _LEAVE)

    def reset(self, parts: Sequence[str], t: int) -> int:
        """In both, between two frames; in RTL samples and events may be under way."""
        self._until(t)
        told = self._bands() if "receiver" in parts else 0
        self.device.resets.reset(parts)
        self.golden.resets.reset(parts)
        self._run(_DECIDE)
        return told

    def swap(self, t: int) -> None:
        """In both; what the RTL had begun was decided on before."""
        self._until(t)
        self._run(_DECIDE)
        self._version += 1
        for device in (self.device, self.golden, Device(self._laws)):
            self._load(device)

    def rate(self, slot: int) -> float:
        """Bytes per tick of the RTL's last decision."""
        initial = self._laws.nic.configuration(slot)["init_rate"]
        return self._rates.get(slot, initial) / (1 << Fmt.RATE.frac_bits)

    def finish(self) -> None:
        """Both have counted alike, and every event of the laws was decided on."""
        self._run(_FORECAST)
        for _ in range(_PATIENCE):
            if not self._samples and not self._events:
                break
            self._run(_DECIDE)
        assert self.golden.packets is not None
        self._same("counters", self.golden.packets.counters(), self.path.counters())
        self._same("samples without a decision", 0, len(self._samples))
        self._same("events without a decision", 0, len(self._events))

    def ns(self, t: int) -> int:
        """Nanoseconds as the card has them, which began before us."""
        return super().ns(self._start + t)

    def _begin(self) -> None:
        """Wait until no event of the laws is under way that we have not seen."""
        for _ in range(_PATIENCE):
            run = self.nic.run(settle=_DECIDE)
            if not self.nic.events(run) and not self.nic.decisions(run):
                return
        self.differences.append("laws have events without end")

    def _sampled(self) -> bool:
        """A profile was taken since this was asked last."""
        assert self.golden.queues is not None
        was, self._profiles = self._profiles, self.golden.queues.counters()["samples"]
        return was != self._profiles

    def _until(self, t: int) -> None:
        """It is `t`, or later."""
        ahead = self._start + t - self.nic.block.cycles
        if ahead > 0:
            self._run(ahead)

    def _run(self, settle: int, tx: Sequence[Wire] = (), rx: Sequence[Wire] = ()) -> Run:
        """The laws' decisions are those of the golden NIC in the RTL's order."""
        missed = self.nic.missed()
        run = self.nic.run(tx, rx, settle=settle)
        for part in (missed, run):
            self._replay(part)
        return run

    def _replay(self, run: Run) -> None:
        self._samples.extend(self.nic.samples(run))
        self._events.extend(self.nic.events(run))
        rows = [(cycle, 1) for cycle, _ in run.events["m_decision_tvalid"]]
        rows += [(cycle, 0) for cycle, _ in run.events["command_log_stb"]]
        decisions, commands = iter(self.nic.decisions(run)), iter(self.nic.commands(run))
        for _, decides in sorted(rows):
            if not decides:
                qp, _, clear, forget = next(commands)
                if clear:
                    self._laws.nic.reset_qp(qp)
                if forget:
                    self._laws.nic.restart_predictor()
                continue
            got = Decision(*next(decisions))
            wanted = None
            if got.flags >> Flag.EVENT & 1:
                while wanted is None and self._events:
                    wanted = self._laws.nic.happen(*self._events.popleft())
            elif self._samples:
                wanted = self._laws.nic.decide(*self._samples.popleft())
            self._same("decision", wanted, got)
            self._rates[got.qp] = got.rate

    def _same(self, what: str, golden: object, rtl: object) -> None:
        if golden != rtl:
            self.differences.append(f"{what}: golden {golden!r}, RTL {rtl!r}")
