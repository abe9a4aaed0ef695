"""Resets of parts in the whole NIC with packets: under traffic, nothing is lost or unexplained."""

import random
from collections import deque
from collections.abc import Callable
from ipaddress import IPv6Address
from typing import TypeVar

import pytest
from tests.sw.support import random_image

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_hw.csr.layouts import DECISION, SAMPLE
from precog_hw.nic import COMMAND_LOG
from precog_hw.rate.law_layouts import LAW_EVENT
from precog_hw.rate.receiver_layouts import COMMIT
from precog_models.nic import LOGGED
from precog_models.packet.card import Card, CardConfig
from precog_models.rate.receiver import Receiver
from precog_sim.rtl.packet_block import Run, Wire
from precog_sim.rtl.packet_nic import PacketNic
from precog_spec.contract import Flag, QueueEvent
from precog_spec.receiver_fields import ReceiverKind
from precog_spec.registers.parts import lacking
from precog_spec.registers.reset import RESET_BLOCKS

from ..models.packet.frames import A_ADDRESS, A_QP, B_QP, packet
from .packet_bench import CONFIG, TICK_PS, Pair, arm, open_pair, same_numbers

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("packet_nic")]

T = TypeVar("T")
PARTS = tuple(name for name, option, _ in RESET_BLOCKS if not lacking(CONFIG, option))
_CNP_AT = 14 + 20 + 8  # the BTH's opcode
_CNP = 0x81
_TOLD = 1 << Flag.LATE | 1 << Flag.HELD  # what the golden NIC is told


class Replay:
    """The golden laws and receiver, told in the RTL's order what it was told."""

    def __init__(self, emulator: Emulator) -> None:
        self.nic = emulator.nic
        assert emulator.receiver is not None
        self.receiver = Receiver(CONFIG.qps)
        self.receiver.parameters |= emulator.receiver.receiver.parameters
        self.receiver.configs[:] = emulator.receiver.receiver.configs
        self.samples: deque[tuple[int, ...]] = deque()
        self.events: deque[tuple[int, ...]] = deque()
        self.counts = dict.fromkeys(("samples", "events", "decisions", "clears", "restarts"), 0)
        self.configured = 0

    def follow(self, strobe: str, bits: int) -> None:
        """One strobe."""
        if strobe == "sample_stb":
            self.samples.append(_row(SAMPLE, bits))
            self.counts["samples"] += 1
        elif strobe == "law_event_stb":
            self.events.append(_row(LAW_EVENT, bits))
            self.counts["events"] += 1
        elif strobe == "command_log_stb":
            qp, apply, clear, forget = _row(COMMAND_LOG, bits)
            assert not apply
            self.counts["clears"] += clear
            self.counts["restarts"] += forget
            if clear:
                self.nic.reset_qp(qp)
            if forget:
                self.nic.restart_predictor()
        elif strobe == "receive_log_stb":
            commit = COMMIT.from_bits(bits)
            event, result = (
                {name: part[name] for name in part.shape().members}
                for part in (commit.event, commit.result)
            )
            assert result == self.receiver.happen(**event)
            self.configured += event["kind"] == ReceiverKind.CONFIGURE
        elif strobe == "m_decision_tvalid":
            self.counts["decisions"] += 1
            self._decided(_row(DECISION, bits))

    def _decided(self, got: tuple[int, ...]) -> None:
        flags, wanted = got[-1], None
        self.nic.block[LOGGED] = flags & _TOLD
        if flags >> Flag.EVENT & 1:
            while wanted is None and self.events:
                wanted = self.nic.happen(*self.events.popleft())
        else:
            wanted = self.nic.decide(*self.samples.popleft())
        assert wanted is not None
        assert tuple(wanted) == got


def _row(layout: object, bits: int) -> tuple[int, ...]:
    fields = iter(layout)  # type: ignore[call-overload]
    return tuple(bits >> field.offset & ((1 << field.width) - 1) for _, field in fields)


class Traffic:
    """Requests, answers, marks and scores back to back, with resets between and during them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.nic = PacketNic(CONFIG, tick_ps=TICK_PS)
        self.nic.watches = True
        emulator = Emulator(CONFIG, tick_ps=TICK_PS)
        self.pair = Pair(Device(self.nic), Device(emulator), self.nic, emulator)
        arm(self.pair)
        law = rng.choice(["predpid", "pid", "fixed"])
        for device in (self.pair.rtl, self.pair.golden):
            device.model.load(random_image(1, steps=CONFIG.steps), slot=0)
            device.set_parameters(psched="precog", psched_skill=0)
            device.qp(1).configure(
                preset="precog", enable=True, algorithm=law, model_slot=0, psched=True
            )
            receiving, tracing = device.receiver, device.trace
            assert receiving is not None
            assert tracing is not None
            receiving.set_parameters(window_us=0)
            receiving.configure(1, commands=True, boosts=True, grows=True, base_quota=10)
            tracing.configure(kinds=["decision"])
        self.nic.run(settle=600)
        self.nic.missed()
        self.replay = Replay(self.pair.emulator)
        self.peer = Card(4, CardConfig(tick_ps=TICK_PS))
        self.peer.add(0, A_ADDRESS, A_QP, B_QP, score=64)
        self.psn = self.frames = self.came = self.cnps = 0
        self._sent: deque[bytes] = deque()
        self._arrived: deque[bytes] = deque()

    def burst(self, settle: int) -> None:
        """Some frames each way; what comes out, now or after a later burst, is what went in."""
        rng, tx, rx = self.rng, [], []
        for _ in range(rng.randrange(6)):
            tx.append(packet(rng.randbytes(rng.randrange(200)), psn=self.psn, bth={"ackreq": 1}))
            self.psn = (self.psn + 1) % (1 << 24)
        for _ in range(rng.randrange(6)):
            self.peer.cps.slots[0].score = rng.choice([None, 10, 50, 72, 95])
            psn = (self.psn - rng.randrange(1, 5)) % (1 << 24)
            kind = rng.random()
            if kind < 0.6:
                back = packet(opcode=0x11, psn=psn, back=True, aeth={"syndrome": 0x1F, "msn": 0})
            else:
                tos = 3 if kind < 0.8 else 0
                back = packet(rng.randbytes(rng.randrange(90)), psn=psn, back=True, ip={"tos": tos})
            self._arrived.append(back)
            rx.append(self.peer.transmit(back, self.frames + len(rx), 0).frame)
        self._sent.extend(tx)
        run = self.nic.run(
            tx=[Wire(frame) for frame in tx],
            rx=[Wire(frame) for frame in rx],
            seed=rng.getrandbits(30),
            settle=settle,
        )
        self.came += len(rx)
        self._took(run)

    def _took(self, run: Run) -> None:
        for wire in run.sinks["m_axis_rx"].frames:
            assert wire.data == self._arrived.popleft()
        for wire in run.sinks["m_axis_tx"].frames:
            self.frames += 1
            restored = self.peer.receive(wire.data, self.frames, self.frames).received.frame
            assert restored is not None
            if restored[_CNP_AT] == _CNP:
                self.cnps += 1
            else:
                assert restored == self._sent.popleft()
        self.follow(self.nic.missed(), run)

    def reset(self, parts: list[str], *, wait: bool = False) -> None:
        """Without `wait` traffic goes on meanwhile."""
        resets = self.pair.rtl.reset
        (resets.reset if wait else resets.begin)(parts)

    def settle(self) -> None:
        """All has come out and was decided on, and every reset is done."""
        for _ in range(20):
            self.burst_of_nothing()
            busy = self.pair.rtl.reset.under_way()
            frames = len(self._sent) + len(self._arrived)
            if not (busy or frames or self.replay.samples or self.replay.events):
                return
        raise TimeoutError(f"resets {busy}, {frames} frames, {len(self.replay.samples)} samples")

    def quietly(self, act: Callable[[], T]) -> T:
        """Accesses between which no law has an event: what they say is of one instant."""
        for _ in range(20):
            self.settle()
            before = dict(self.replay.counts)
            result = act()
            self.follow(self.nic.missed())
            if self.replay.counts == before:
                return result
        raise TimeoutError("laws have events without end")

    def burst_of_nothing(self) -> None:
        self._took(self.nic.run(settle=600))

    def follow(self, *runs: Run) -> None:
        """In the order of cycles."""
        for run in runs:
            seen = [
                (cycle, strobe, bits)
                for strobe, events in run.events.items()
                for cycle, (bits,) in events
            ]
            for _, strobe, bits in sorted(seen, key=lambda event: event[0]):
                self.replay.follow(strobe, bits)


def test_under_traffic(seed: int, volume: int) -> None:
    """RTL = golden in every decision; frames are whole; counters since their reset add up."""
    rng = random.Random(seed)
    traffic = Traffic(rng)
    replay, rtl = traffic.replay, traffic.pair.rtl
    tracing = rtl.trace
    assert rtl.packet is not None
    assert tracing is not None
    for _ in range(12 * volume):
        traffic.burst(rng.choice([24, 40, 80]))
        traffic.reset(rng.sample(PARTS, rng.randrange(1, 4)))
    traffic.settle()

    # From here on counters are not reset: each says what was seen.
    traffic.reset(["rtt"], wait=True)  # before the counters: what it forgets is counted
    at_once = ["counters", "statistics", "trace"]
    traffic.quietly(lambda: traffic.reset(at_once, wait=True))
    before = dict(replay.counts)
    frames, came, cnps = traffic.frames, traffic.came, traffic.cnps
    shown = rtl.packet.counters()
    assert {
        (part, name): n for part, table in shown.items() for name, n in table.items() if n
    } == {}
    others = [part for part in PARTS if part not in ("counters", "statistics")]
    for _ in range(12 * volume):
        traffic.burst(rng.choice([24, 40, 80]))
        traffic.reset(rng.sample(others, rng.randrange(1, 4)))
    traffic.settle()
    traffic.reset(["rtt"], wait=True)
    packets, events = rtl.packet.counters(), rtl.packet.counters()["events"]
    core, traced = traffic.quietly(lambda: (rtl.counters(), tracing.state().counters))
    seen = {name: n - before[name] for name, n in replay.counts.items()}
    assert packets["tx"] == {**dict.fromkeys(packets["tx"], 0), "inserted": traffic.frames - frames}
    assert packets["rx"] == {**dict.fromkeys(packets["rx"], 0), "of_qp": traffic.came - came}
    assert events["cnp_sent"] == traffic.cnps - cnps
    ends = ("samples", "retransmission", "nak", "timeout", "forgotten")
    assert events["rtt_started"] == sum(events[f"rtt_{name}"] for name in ends)
    assert events["rtt_samples"] == seen["samples"] == core["samples"]
    assert rtl.packet.destination(3).samples == seen["samples"]
    assert core["events"] == seen["events"]
    assert core["decisions"] == seen["decisions"]
    assert traced["recorded"] + traced["overflowed"] == seen["decisions"]
    for name in ("clears", "restarts"):
        assert replay.counts[name] > 0
    assert replay.configured > 0


def test_at_power_up_both_traces_have_seen_the_rows_of_the_receiver() -> None:
    with open_pair() as pair:
        for device in (pair.rtl, pair.golden):
            assert device.trace is not None
            counters = device.trace.state().counters
            assert counters == {"recorded": 0, "overflowed": 0, "filtered": CONFIG.qps}


def test_settled_both_devices_show_the_same(seed: int, volume: int) -> None:
    """Every part alone and all together, between packets: counters, statistics, queues, trace."""
    rng = random.Random(seed)
    with open_pair() as pair:
        arm(pair)
        both = (pair.rtl, pair.golden)
        peer = Card(4, CardConfig(tick_ps=TICK_PS))
        peer.add(0, A_ADDRESS, A_QP, B_QP, score=64)
        for device in both:
            assert device.trace is not None
            device.trace.configure(kinds=["decision"])
        assert pair.emulator.profiler is not None
        order = [[part] for part in PARTS] + [list(PARTS)] * volume
        rng.shuffle(order)
        psn = 0
        for parts in order:
            for _ in range(rng.randrange(1, 4)):
                there = peer.receive(
                    pair.transmit(packet(bytes(20), psn=psn, bth={"ackreq": 1})), psn, psn
                )
                assert there.received.frame is not None
                if rng.random() < 0.7:
                    ack = packet(opcode=0x11, psn=psn, back=True, aeth={"syndrome": 31, "msn": 0})
                    pair.receive(peer.transmit(ack, psn, psn).frame)
                psn += 1
            t, qp, size = 5000 * psn, rng.randrange(2), rng.randrange(1, 999)
            with pair.nic.happening(QueueEvent.ARRIVAL, qp, size, t):
                pair.nic.block.tick()
            pair.emulator.profiler.observe(qp, QueueEvent.ARRIVAL, size, t)
            for device in both:
                assert device.reset.reset(parts) == tuple(parts)
            same_numbers(pair)
            for qp in range(2):
                assert pair.rtl.qp(qp).status() == pair.golden.qp(qp).status()
                queues = [device.profiler for device in both]
                assert queues[0] is not None
                assert queues[1] is not None
                assert queues[0].queue(qp) == queues[1].queue(qp)
            traces = [device.trace for device in both]
            assert traces[0] is not None
            assert traces[1] is not None
            assert [r["serial"] for r in traces[0].drain()] == [
                r["serial"] for r in traces[1].drain()
            ]
            assert traces[0].state().counters == traces[1].state().counters


def test_a_fetch_during_a_sweep_shows_what_was_asked_for(seed: int) -> None:
    """The host reads and writes rows while a reset passes over all of them."""
    rng = random.Random(seed)
    with open_pair() as pair:
        arm(pair)
        path = pair.paths()[0]
        address = IPv6Address(A_ADDRESS).ipv4_mapped
        assert address is not None
        for _ in range(4):
            pair.transmit(packet(bytes(20), psn=rng.getrandbits(23), bth={"ackreq": 1}))
        for _ in range(12):
            pair.rtl.reset.begin(["statistics", "rtt", "laws", "profiler", "receiver"])
            number = rng.randrange(4, 200)
            path.enable_destination(number, enable=number % 2 == 0)
            assert path.destination(number).enable == (number % 2 == 0)
            assert path.destination(3).samples == 0
            assert path.bindings()[0].score == 37
            assert pair.rtl.qp(1).status() == pair.golden.qp(1).status()
        pair.rtl.reset.reset(["statistics"])
        for block in ("QP", "PACKET_QP", "DESTINATION", "RECEIVER", "PROFILER"):
            assert not any(pair.rtl.registers.fields(block, "ERROR").values())
