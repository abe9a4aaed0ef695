"""The NIC in RTL and its golden twin: the same frames at the same ticks, compared."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_models.nic import Decision
from precog_sim.rtl.packet_block import Run, Wire
from precog_sim.rtl.packet_nic import PacketNic
from precog_spec.config import PRESETS, NicConfig
from precog_spec.contract import Flag, Fmt, QueueEvent

from .endpoint import EndpointSettings
from .node import Ends, Node, Out, Through
from .wire import WireSettings

__all__ = ["CONFIG", "DISTURB_TICKS", "TICK_PS", "RtlNode", "ways"]

#: The smallest NIC that has all that scores take part in.
CONFIG = replace(
    PRESETS["tiny"], width=64, receiver=True, trace=True, forecast=True, profile=True, ecc=False
)
TICK_PS = 1600
DISTURB_TICKS = 20_000  # mean time between resets or model swaps of an end, in a short run

#: Loss, overtaking and marks are frequent, and waits short: cycles of RTL are few.
_WIRE = WireSettings(
    rate=2.0, delay=2000, jitter=300, late=2500, loss=0.02, reorder=0.02, mark_bytes=0
)
_ENDPOINT = EndpointSettings(think=9000, timeout=60_000)
_SHORT = 500  # packets

_CNP_CYCLES = 2  # from the stamp of a CNP to the arbiter before the transmit path
_STEP = 32  # cycles between two looks; what a decision changes is changed after them
_PATIENCE = 80  # looks: the slowest forecast is there after half of them
_DECIDE = 600  # all laws have decided


def ways(packets: int) -> tuple[WireSettings, EndpointSettings]:
    """How wire and endpoints are in a run of this many packets.

    In a short one much goes wrong; in a long one packets that are sent again would take over, so
    that windows are then such that the wire can empty them before an endpoint's time is over.
    """
    if packets < _SHORT:
        return _WIRE, _ENDPOINT
    return (
        replace(_WIRE, loss=0.005, reorder=0.005, mark_bytes=6000, mark=0.01),
        replace(_ENDPOINT, window=12, timeout=120_000),
    )


@dataclass
class _Heard:
    """What a frame has led to up to now: frames that came out, and samples."""

    began: int
    tx: list[Wire] = field(default_factory=list)
    rx: list[Wire] = field(default_factory=list)
    samples: list[tuple[int, ...]] = field(default_factory=list)


class RtlNode(Node):
    """One end in RTL; its golden twin gets every frame when the RTL had it.

    A frame has left, and led to what it leads to, before the next one comes: time goes on by some
    hundred ticks with each.

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
        self,
        ends: Ends,
        config: NicConfig = CONFIG,
        tick_ps: int = TICK_PS,
        nic: PacketNic | None = None,
    ) -> None:
        super().__init__(ends, sizes=config, tick_ps=tick_ps)
        self.golden = self.device
        # Laws hear of packets in another order, and merged: another golden NIC replays the RTL's.
        self._laws = Emulator(config, tick_ps=tick_ps)
        self._set_up(Device(self._laws), ends)
        self.nic = PacketNic(config, tick_ps=tick_ps) if nic is None else nic
        self.device = Device(self.nic)
        self._set_up(self.device, ends)
        for device in (self.golden, self.device):
            assert device.forecast is not None
            device.forecast.set_parameters(carry_age_us=0)  # it would end at another tick
        self._samples: deque[tuple[int, ...]] = deque()
        self._events: deque[tuple[int, ...]] = deque()
        self._rates: dict[int, int] = {}
        self._profiles = self._forecasts = 0
        self._begin()
        self.nic.missed()
        self.nic.watches = True  # from here on nothing that the laws do may be overlooked
        self._start = self.nic.block.cycles

    def transmit(self, frame: bytes, t: int) -> Out:
        """A frame of the endpoint through both."""
        self._until(t)
        heard = self._put("s_axis_tx", frame)
        when = heard.began + self.golden.sizes.cnps  # a cycle of the arbiter
        golden = self._packets.transmit(frame, when).frame
        self._hear(heard, lambda: len(heard.tx) > 0)
        self._same("sent", [golden], [wire.data for wire in heard.tx])
        return Out(golden, when - self._start)

    def receive(self, frame: bytes, t: int) -> Through:
        """A frame from the wire through both, with the CNP that it may cause."""
        self._until(t)
        heard = self._put("s_axis_rx", frame)
        when = heard.began
        arrived = self._packets.receive(frame, when)
        got = [] if arrived.received.frame is None else [arrived.received.frame]
        samples = [] if arrived.rtt is None else [(arrived.received.slot, arrived.rtt, when)]
        made = [] if arrived.cnp is None else [arrived.cnp]
        wanted = len(got), len(samples), len(made)
        self._hear(heard, lambda: (len(heard.rx), len(heard.samples), len(heard.tx)) == wanted)
        self._same("received", got, [wire.data for wire in heard.rx])
        self._same("samples", samples, heard.samples)
        self._same("CNPs", len(made), len(heard.tx))
        cnps = []
        for cnp, wire in zip(made, heard.tx, strict=False):
            out = self._packets.transmit(cnp, wire.time + _CNP_CYCLES).frame
            self._same("CNP", out, wire.data)
            cnps.append((cnp, Out(out, wire.time + _CNP_CYCLES - self._start)))
        return Through(arrived.received.frame, when - self._start, cnps, arrived.rtt)

    def queued(self, slot: int, size: int, t: int, *, leaves: bool = False) -> None:
        """Bytes come into a send queue, or leave it, in both."""
        self._until(t)
        kind = QueueEvent.DEPARTURE if leaves else QueueEvent.ARRIVAL
        when = self.nic.block.cycles
        due = self._forecasts + 1
        with self.nic.happening(kind, slot, size, when):
            self._run(1)
        self._profiler.observe(slot, kind, size, when)
        samples = self._sampled()
        self._wait(lambda: not samples or self._forecasts >= due)

    def reset(self, parts: Sequence[str], t: int) -> int:
        """In both, between two frames; in RTL samples and events may be under way."""
        self._until(t)
        told = self._bands() if "receiver" in parts else 0
        self.device.reset.reset(parts)
        self.golden.reset.reset(parts)
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
        self._run(_DECIDE)
        self._wait(lambda: not self._samples and not self._events)
        assert self.golden.packet is not None
        self._same("counters", self.golden.packet.counters(), self.path.counters())
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
        assert self.golden.profiler is not None
        was, self._profiles = self._profiles, self.golden.profiler.counters()["samples"]
        return was != self._profiles

    def _until(self, t: int) -> None:
        """Run the RTL up to `t`; a cycle is a tick."""
        now = self.nic.block.cycles - self._start
        if t > now:
            self._run(t - now)

    def _put(self, stream: str, frame: bytes) -> _Heard:
        """A frame goes in."""
        wires = [Wire(frame)]
        run = self._run(1, wires) if stream == "s_axis_tx" else self._run(1, rx=wires)
        heard = _Heard(run.sources[stream].first[0])
        self._add(heard, run)
        return heard

    def _add(self, heard: _Heard, run: Run) -> None:
        heard.tx += run.sinks["m_axis_tx"].frames
        heard.rx += run.sinks["m_axis_rx"].frames
        heard.samples += self.nic.samples(run)

    def _hear(self, heard: _Heard, enough: Callable[[], bool]) -> None:
        """Until there is enough, every sample has its decision, and what that changes is changed.

        Anything more would come with the next frame, where it is not expected.
        """
        self._wait(lambda: enough() and not self._samples, heard)

    def _wait(self, over: Callable[[], bool], heard: _Heard | None = None) -> None:
        for _ in range(_PATIENCE):
            ends = over()
            run = self._run(_STEP)
            if heard is not None:
                self._add(heard, run)
            if ends:
                return

    def _run(self, settle: int, tx: Sequence[Wire] = (), rx: Sequence[Wire] = ()) -> Run:
        """The laws' decisions are those of the golden NIC in the RTL's order."""
        missed = self.nic.missed()
        run = self.nic.run(tx, rx, settle=settle)
        for part in (missed, run):
            self._replay(part)
        return run

    def _replay(self, run: Run) -> None:
        self._forecasts += len(self.nic.forecasts(run))
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
