"""The golden card and the RTL's, packet by packet: whatever differs is said in words."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from precog_models.packet.card import Arrived, Card, CardConfig
from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.cps_tx import Sent
from precog_models.packet.senders import SendersConfig
from precog_spec.frames.cps import Mode

from .card import RtlCard, Taken
from .packet_block import Wire

__all__ = ["CardPair"]

_SHOWN = 96  # bytes of a frame in a message


@dataclass
class CardPair:
    """Two cards with the same past; every packet goes through both.

    A packet ends before the next one begins, so that nothing depends on the order in which the
    gateware's two directions finish.

    Attributes
    ----------
    golden : Card
    rtl : RtlCard
    rng : Random
        Of idle cycles and back-pressure.
    packets : int
        Packets that went through.
    differences : list of str
        One for each fact in which the two differ.
    """

    golden: Card
    rtl: RtlCard
    rng: random.Random
    packets: int = 0
    differences: list[str] = field(default_factory=list)
    _t: int = 0

    @classmethod
    def build(
        cls, width: int, slots: int, config: CardConfig, seed: int, *, relaxed: bool = False
    ) -> "CardPair":
        """Two cards that know no queue pair."""
        rtl = RtlCard(width, slots, config, relaxed=relaxed)
        return cls(Card(slots, config), rtl, random.Random(seed))

    def add(
        self,
        slot: int,
        remote: int,
        remote_qp: int,
        local_qp: int,
        *,
        mode: Mode = Mode.S,
        score: int | None = None,
        destination: int = 0,
        mtu: int | None = None,
    ) -> None:
        """Give a slot its keys and its configuration; `mtu` in bytes."""
        self.golden.add(
            slot,
            remote,
            remote_qp,
            local_qp,
            mode=mode,
            score=score,
            destination=destination,
            mtu=mtu,
        )
        self.rtl.add(slot, remote, remote_qp, local_qp)
        self.rtl.row(slot, mode, score, destination)
        if mtu is not None:
            self.rtl.mtu(slot, mtu)

    def senders(self, config: SendersConfig) -> None:
        """Registers of the count of senders, of cards that have it."""
        assert self.golden.senders is not None
        self.golden.senders.config = config
        self.rtl.configure("senders", config)

    def cps(self, config: CpsConfig) -> None:
        """Registers of the CPS stages."""
        self.golden.cps.config = config
        self.rtl.configure("cps", config)

    def reset(self, slot: int) -> None:
        """Forget a slot."""
        self.golden.reset(slot)
        self.rtl.reset(slot)

    def enable(self, destination: int, *, enable: bool) -> None:
        """Whether a destination is trusted with scores."""
        self.golden.cps.destination_enable[destination] = enable
        self.rtl.enable(destination, enable=enable)

    def sweep(self, t: int) -> None:
        """Let the collectors look at every slot at `t`."""
        self._t = t
        self._sweep_golden()
        self.rtl.sweep(t)

    def close(self) -> None:
        """Compare the statistics of all destinations that were named, then free the RTL."""
        self._sweep_golden()
        named = {row.destination for row in self.golden.cps.slots}
        for number in sorted(named if self.golden.config.destinations else ()):
            wanted = self.golden.destinations.read(number)
            got = self.rtl.destination(number, self._t)
            self._same(f"destination {number}", b"", wanted, got)
        self.rtl.close()

    def transmit(self, frame: bytes, t: int, now_ns: int, *, error: bool = False) -> Sent:
        """A packet to the wire through both; returns what was decided, and the RTL's bytes."""
        counters = self.golden.cps.counters
        before = counters.marks_echoed
        sent = self.golden.transmit(frame, t, now_ns, error=error)
        taken = self._through(self.rtl.transmit, frame, t, now_ns, error)
        self._frame("transmitted", frame, sent.frame, taken.frames, error)
        (record,) = self.rtl.sent(taken.run)
        self._same("reason", frame, int(sent.reason), record["reason"])
        self._same("slot", frame, sent.slot, record["slot"] if record["known"] else None)
        if self.golden.config.cnps:
            self._same("echoed", frame, counters.marks_echoed - before, record["echoed"])
        if self.golden.senders is not None:
            self._same("own flows", frame, self.golden.senders.own(t), self.rtl.own())
        return sent._replace(frame=taken.frames[0].data if taken.frames else b"")

    def receive(self, frame: bytes, t: int, now_ns: int, *, error: bool = False) -> Arrived:
        """A packet from the wire through both; its CNP goes to the wire at once.

        Returns what was found, and the RTL's bytes and RTT.
        """
        arrived = self.golden.receive(frame, t, now_ns, error=error)
        got = arrived.received
        taken = self._through(self.rtl.receive, frame, t, now_ns, error)
        self._frame("received", frame, got.frame, taken.frames, error)
        (record,) = self.rtl.received(taken.run)
        self._same("slot", frame, got.slot, record["slot"] if record["known"] else None)
        self._same("fault", frame, int(got.fault), record["fault"])
        self._same("extracted", frame, got.shim is not None, bool(record["extracted"]))
        score = record["score.value"] if record["score.valid"] else None
        self._same("score", frame, got.score, score)
        if self.golden.config.icrc:
            checks = [(bool(done), bool(ok)) for _, (done, ok) in taken.run.events["icrc_done"]]
            check = (arrived.icrc_checked, arrived.icrc_ok)
            self._same("ICRC", frame, [] if got.frame is None else [check], checks)
        rtts = [sample["rtt"] for sample in self.rtl.samples(taken.run)]
        self._same("RTT", frame, [] if arrived.rtt is None else [arrived.rtt], rtts)
        if self.golden.senders is not None:
            slot, level = arrived.received.slot, arrived.senders
            self._same(
                "news", frame, [] if level is None else [(slot, level)], self.rtl.told(taken.run)
            )
            self._same("count", frame, self.golden.senders.count(t), self.rtl.count())
            self._same("own flows", frame, self.golden.senders.own(t), self.rtl.own())
        made = [wire.data for wire in taken.run.sinks["m_axis_tx"].frames]
        wanted = [] if arrived.cnp is None else [self.golden.transmit(arrived.cnp, t, now_ns).frame]
        self._same("CNP", frame, wanted, made)
        out = taken.frames[0].data if taken.frames else None
        return arrived._replace(received=got._replace(frame=out), rtt=rtts[0] if rtts else None)

    def _sweep_golden(self) -> None:
        for slot in range(self.rtl.slots):
            self.golden.sweep(slot, self._t)

    def _through(
        self, path: Callable[..., Taken], frame: bytes, t: int, now_ns: int, error: bool
    ) -> Taken:
        self.packets += 1
        self._t = t
        wire = Wire(frame, error, t & 0xFFFFFF, self.packets & 0xFF)
        seed = self.rng.getrandbits(32)
        return path([wire], t, now_ns, seed=seed, idle=0.2, stall=0.2)

    def _frame(
        self, what: str, frame: bytes, wanted: bytes | None, got: Sequence[Wire], error: bool
    ) -> None:
        self._same(what, frame, [] if wanted is None else [wanted], [wire.data for wire in got])
        for wire in got:
            self._same("error flag", frame, error, wire.error)
            self._same("tag", frame, self.packets & 0xFF, wire.tag)

    def _same(self, what: str, frame: bytes, wanted: object, got: object) -> None:
        if wanted != got:
            self.differences.append(
                f"packet {self.packets}, {what}: golden {wanted!r}, RTL {got!r}; "
                f"frame {frame[:_SHOWN].hex()} of {len(frame)} bytes"
            )
