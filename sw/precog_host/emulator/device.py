"""``emu:``: the golden NIC behind the register file that the map describes.

Storage, reset values, access rules and refusals come from the map (`RegisterFile`); what a register
*does* is the handful of methods below, one for each command of the gateware around the core, and
those of `EmulatedPacket`.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precog_models.measure.ack_ring import Ack
from precog_models.measure.profiler import ProfileSample
from precog_models.nic import GoldenNic
from precog_models.packet.cps_tx import Sent
from precog_models.trace import forecast_record
from precog_spec.config import NicConfig
from precog_spec.contract import (
    CONTRACT_HASH,
    DECISION_FIELDS,
    FORECAST_FIELDS,
    NO_SCORE,
    Flag,
    HeadKind,
)
from precog_spec.law_fields import LEVEL_ALONE, PROGRAM_EVENTS, SENDERS_AT, EventKind
from precog_spec.registers.counters import COUNTERS
from precog_spec.registers.identity import Identity
from precog_spec.registers.model import RegisterMap
from precog_spec.registers.precog import build_map

from ..samples import checked_profiles, checked_samples
from ..transport import DeviceError
from .carried import EmulatedCarried
from .counters import EmulatedCounters, EmulatedSnapshot
from .ecc import EmulatedEcc
from .forecast import EmulatedForecast
from .interrupt import EmulatedInterrupt
from .law import EmulatedLaw
from .mac import EmulatedMac
from .model import EmulatedModel
from .pacer import EmulatedPacer
from .packet import EmulatedPacket
from .port import EmulatedPort
from .profiler import EmulatedProfiler
from .qp import EmulatedQp
from .receiver import EmulatedReceiver
from .register_file import RegisterFile, ignored
from .reset import EmulatedReset
from .trace import EmulatedTrace
from .trials import EmulatedTrials
from .wire import EmulatedWire

__all__ = ["Emulator"]

Ints = NDArray[np.int64]

_DECISION = [name for name, _ in DECISION_FIELDS]
_NONE: Ints = np.zeros((0, len(_DECISION)), dtype=np.int64)
_FLAGS = _DECISION.index("flags")
_FORECAST = [name for name, _ in FORECAST_FIELDS]
_CPS = _FORECAST.index("cps")
_FLAG_COUNTERS = (
    ("predictions", Flag.PREDICTED),
    ("fallbacks", Flag.NO_MODEL),
    ("advice_clamped", Flag.ADVICE_CLAMPED),
    ("delta_clamped", Flag.DELTA_CLAMPED),
    ("rate_clamped", Flag.RATE_CLAMPED),
    ("target_moves", Flag.TARGET_MOVED),
    ("unskilled", Flag.UNSKILLED),
    ("late", Flag.LATE),
    ("held", Flag.HELD),
    ("scored", Flag.SCORED),
    ("congested", Flag.CONGESTED),
)
_FLAG_BITS = np.array([flag for _, flag in _FLAG_COUNTERS], dtype=np.int64)


class Emulator:
    """A device of golden models.

    Parameters
    ----------
    sizes : NicConfig
        What the device says about itself; `qps` and `sets` are the golden NIC's.
    tick_ps : int
        Length of a tick.

    Attributes
    ----------
    packets : EmulatedPacket or None
        The packet path. A part that `sizes` does not have is None.
    pacer : EmulatedPacer or None
        The pacer.
    profiler : EmulatedProfiler or None
        The queue profiler. Wire mode drives it, else the pacer, else `told_queues`' user.
    forecasts : EmulatedForecast or None
        Queue models and scores; the profiler's samples lead to forecasts at once.
    carried : EmulatedCarried or None
        Predicted scores in packets, where there are both.
    port : EmulatedPort or None
        The queue before the card's own port.
    receiver : EmulatedReceiver or None
        The receiver of congestion scores.
    trace : EmulatedTrace or None
        The trace FIFO.
    wire : EmulatedWire or None
        Wire mode.
    law : EmulatedLaw or None
        Programs of the law engine.
    ecc : EmulatedEcc or None
        Check bits of the models.
    macs : EmulatedMac or None
        Gigabit ports.
    """

    def __init__(self, sizes: NicConfig | None = None, *, tick_ps: int = 1000) -> None:
        self.sizes = (sizes or NicConfig()).seen()
        self.map: RegisterMap = build_map(self.sizes, Identity(CONTRACT_HASH, tick_ps))
        self.nic = GoldenNic(
            qps=self.sizes.qps,
            sets=self.sizes.sets,
            forecast=self.sizes.forecast,
            tree=self.sizes.tree,
            profile=self.sizes.profile,
            law_cores=self.sizes.law_cores,
        )
        self._file = file = RegisterFile(self.map)
        self._snapshot = EmulatedSnapshot(file)
        self._counters = EmulatedCounters([name for name, _ in COUNTERS])
        self._heard_levels = [0] * self.sizes.qps
        self._qps = EmulatedQp(
            file,
            self.nic,
            self.sizes.qps,
            changed=self._models_changed,
            cleared=self._cleared,
            commanded=self._commanded,
        )
        file.tables["COUNTERS.COUNTERS"] = (self._counters.read, ignored)
        self._model = EmulatedModel(
            file,
            self.nic,
            self.sizes,
            failed=self._load_failed,
            changed=self._models_changed,
            loaded=self._loaded,
        )
        self.interrupts = EmulatedInterrupt(file, self.sizes)
        for name in self.sizes.parameter_blocks:
            for register in self.map.block(name).registers:
                word = f"{name}.{register.name}"
                file.written[word] = partial(self._set_parameters, word)
                self._set_parameters(word)
        qps = self.sizes.qps
        self.profiler = EmulatedProfiler(file, qps) if self.sizes.profile else None
        paced = None if self.sizes.wire else self.profiler  # packets tell it where they wait
        self.pacer = EmulatedPacer(file, qps, paced) if self.sizes.grants else None
        self.carried: EmulatedCarried | None = None
        self.port: EmulatedPort | None = None
        self.forecasts = (
            EmulatedForecast(file, self.nic, self._models_changed) if self.sizes.forecast else None
        )
        if self.profiler is not None and self.forecasts is not None:
            self.profiler.use = self._profiled
        self.trace = EmulatedTrace(file, self.interrupts) if self.sizes.trace else None
        self.law = (
            EmulatedLaw(file, self.nic, self.interrupts, self._load_failed, self._law_loaded)
            if self.sizes.law_cores
            else None
        )
        self.ecc = (
            EmulatedEcc(file, self.nic, self.sizes.law_cores, self._disabled)
            if self.sizes.ecc
            else None
        )
        self.receiver = (
            EmulatedReceiver(file, self.sizes.qps, self.pacer, self.trace)
            if self.sizes.receiver
            else None
        )
        self.wire = (
            EmulatedWire(file, qps, self.sizes.wire, self.profiler) if self.sizes.wire else None
        )
        self.packets = (
            EmulatedPacket(
                file,
                self.sizes,
                tick_ps,
                self.decide,
                self._packet_event,
                self._packet_ack,
                self._passed,
                self._sourced,
                self._left,
                partial(self.interrupts.happened, "icrc"),
            )
            if self.sizes.width
            else None
        )
        if self.packets is not None and self.forecasts is not None:
            card, counters = self.packets.card, self.forecasts.counters
            self.carried = EmulatedCarried(file, self.nic, card, counters)
            if card.port is not None and self.profiler is not None:
                self.port = EmulatedPort(file, card.port, qps, self.profiler, self.carried)
        if self.sizes.trials:
            EmulatedTrials(file, self.nic)
        self.macs = EmulatedMac(file, self.sizes.macs) if self.sizes.macs else None
        EmulatedReset(file, self._resets())

    # --- transport -------------------------------------------------------------------------------

    def read32(self, address: int) -> int:
        """The word at `address`; `BusError` where there is none."""
        return self._file.read32(address)

    def write32(self, address: int, value: int) -> None:
        """Set the word at `address`; `BusError` where there is none."""
        self._file.write32(address, value)

    def close(self) -> None:
        """Nothing to give back."""

    # --- samples ---------------------------------------------------------------------------------

    @property
    def told_queues(self) -> EmulatedProfiler | None:
        """The profiler, if neither packets nor grants drive it."""
        return None if self.wire is not None or self.pacer is not None else self.profiler

    def decide(self, samples: Ints) -> Ints:
        """Decisions [m, 8] on samples [n, 3]; status and counters follow.

        Raises
        ------
        ValueError
            As `checked_samples`; nothing is decided then.
        """
        samples = checked_samples(samples)
        if self.forecasts is not None or self.trace is not None:
            return self._decide_and_tell(samples)
        decisions = self.nic.decide_many(samples)
        self.account(decisions, dropped=len(samples) - len(decisions))
        return decisions

    def _decide_and_tell(self, samples: Ints) -> Ints:
        """As `decide`; between samples PSCHED is told their scores, and decisions are traced."""
        made = [np.zeros((0, len(_DECISION)), dtype=np.int64)]
        for sample in samples:
            qp, rtt, t = sample.tolist()
            model = self.nic.answering(qp) if qp < self.sizes.qps else (0, 0)
            decision = self.nic.decide_many(sample[np.newaxis])
            self.account(decision, dropped=1 - len(decision))
            if not len(decision):
                continue
            made.append(decision)
            if self.trace is not None:
                self.trace.decided(self.nic, decision[0], rtt=rtt, t=t, model=model)
            if self.forecasts is not None:
                self.forecasts.decided(qp)
                if self.carried is not None:
                    self.carried.made(HeadKind.RTT, qp, self.nic.rtt_score(qp), t)
                self._tell(self.forecasts, qp, t)
        return np.concatenate(made)

    def forecast(self, profiles: ArrayLike) -> Ints:
        """Forecasts [m, 20] on profiles [n, 6]; PSCHED is told at once; counters follow.

        Raises
        ------
        DeviceError
            The device makes no forecasts.
        ValueError
            As `checked_profiles`; nothing is forecast then.
        """
        if self.forecasts is None:
            raise DeviceError("device makes no forecasts: it was built without (forecast=0)")
        made = [np.zeros((0, len(FORECAST_FIELDS)), dtype=np.int64)]
        for profile in checked_profiles(profiles):
            answer = self._forecast(profile.tolist())
            if answer is not None:
                made.append(answer[np.newaxis])
        return np.concatenate(made)

    def _profiled(self, sample: ProfileSample) -> None:
        self._forecast([sample.qp, sample.t, *sample.x])

    def _forecast(self, profile: Sequence[int]) -> Ints | None:
        assert self.forecasts is not None
        answer = self.forecasts.forecast(np.array(profile, dtype=np.int64))
        if answer is None:
            return None
        qp, t = profile[:2]
        if self.trace is not None:
            config = self.nic.forecast_configuration(qp)
            made = answer[_CPS] != NO_SCORE
            number = self.nic.slot(config["queue_slot"])[0] if made else 0
            bin_ = self._file.get("FORECAST.THRESHOLD")["threshold_bin"]
            fields = dict(zip(_FORECAST, answer.tolist(), strict=True))
            self.trace.offer(forecast_record(fields, profile[2:], number=number, threshold=bin_))
        if self.carried is not None:
            cps = int(answer[_CPS])
            self.carried.made(HeadKind.QUEUE, qp, 0 if cps == NO_SCORE else cps + 1, t)
        self._tell(self.forecasts, qp, t)
        return answer

    def _tell(self, forecasts: EmulatedForecast, qp: int, t: int) -> None:
        value = forecasts.to_tell(qp)
        if value >= 0:
            value |= self._heard_levels[qp] << SENDERS_AT  # it says nothing new of that
            self.happen(np.array([EventKind.SCORE, qp, t, value], dtype=np.int64))

    def happen(self, event: Ints) -> Ints:
        """Decisions [1, 8] or [0, 8] on one event [4]; status and counters follow.

        Parameters
        ----------
        event : ndarray of int64
            `law_fields.LAW_EVENT_FIELDS`.
        """
        kind, qp, t, value = event.tolist()
        if kind == EventKind.SCORE and qp < self.sizes.qps:
            self._heard_levels[qp] = value >> SENDERS_AT
        return self._moved(self.nic.happen(kind, qp, t, value), t=t)

    def acknowledge(self, ack: Ints) -> Ints:
        """Decisions [1, 8] or [0, 8] on one acknowledgement [7]; status and counters follow.

        Parameters
        ----------
        ack : ndarray of int64
            `law_fields.ACK_FIELDS`.
        """
        decision = self.nic.acknowledge(ack)
        return self._moved(decision, t=int(ack[1]))

    def _moved(self, decision: Sequence[int] | None, *, t: int) -> Ints:
        """The decision on an event or an acknowledgement, traced and counted."""
        made = np.array([] if decision is None else [decision], dtype=np.int64)
        made = made.reshape(-1, len(_DECISION))
        if self.trace is not None:
            for row in made:
                self.trace.decided(self.nic, row, rtt=0, t=t, model=(0, 0))
        self.account(made, ignored=1 - len(made))
        return made

    def rate(self, qp: int) -> int:
        """Rate of a queue pair's last decision, in RATE's format; its initial one before that."""
        return self._qps.rate(qp)

    def account(self, decisions: Ints, *, dropped: int = 0, ignored: int = 0) -> None:
        """Let status and counters follow decisions that compiled code drew from `nic`.

        Parameters
        ----------
        decisions : ndarray of int64, shape (n, 8)
            Those of events are told by their flag.
        dropped, ignored : int
            Samples and events that made none.
        """
        for name in ("samples", "dropped"):
            self._counters.add(name, dropped)
        if dropped:
            self.interrupts.happened("dropped")
        for name in ("events", "ignored"):
            self._counters.add(name, ignored)
        if self.law is not None:
            self.law.look()
        if not len(decisions):
            return
        if self.pacer is not None:
            self.pacer.decide(decisions)
        flags = decisions[:, _FLAGS]
        events = int((flags >> Flag.EVENT & 1).sum())
        self._qps.decided(decisions)
        self._counters.add("samples", len(decisions) - events)
        self._counters.add("events", events)
        self._counters.add("decisions", len(decisions))
        counts = (flags[:, np.newaxis] >> _FLAG_BITS & 1).sum(axis=0).tolist()
        for (name, _), count in zip(_FLAG_COUNTERS, counts, strict=True):
            self._counters.add(name, count)

    def _packet_event(self, kind: EventKind, qp: int, t: int, value: int) -> Ints:
        """Tell those that want to know: bytes concern the receiver of scores alone."""
        if kind == EventKind.BYTES:
            if self.receiver is not None:
                self.receiver.sent(value, t)
            return _NONE
        if kind != EventKind.SCORE:
            return self._law_event(kind, qp, t, value)
        score = value % (1 << SENDERS_AT)
        if self.receiver is None or score == LEVEL_ALONE:
            if self.nic.runs_program(qp):
                return self._law_event(kind, qp, t, value)
            return _NONE if score == LEVEL_ALONE else self._law_event(kind, qp, t, score)
        made = [_NONE]
        for told, act in self.receiver.score(qp, score, t):
            made.append(self._law_event(kind, told, t, act | self._level(told)))
        return np.concatenate(made)

    def _level(self, qp: int) -> int:
        """Of the queue pair's receiver, as a program's event of a score has it."""
        if self.packets is None or not self.nic.runs_program(qp):
            return 0
        return self.packets.level(qp) << SENDERS_AT

    def _packet_ack(self, qp: int, t: int, ack: Ack) -> Ints:
        return self.acknowledge(np.array([qp, t, *ack], dtype=np.int64))

    def _left(self, sent: Sent, size: int, t: int) -> None:
        """A frame to the wire: wire mode counts it."""
        if self.wire is not None:
            enable = sent.slot is not None and self.nic.configuration(sent.slot)["enable"]
            self.wire.sent(sent, size, t, enabled=bool(enable))

    def _law_event(self, kind: EventKind, qp: int, t: int, value: int) -> Ints:
        config = self.nic.configuration(qp)
        wants = config["psched"] and kind == EventKind.SCORE
        hears = kind in PROGRAM_EVENTS and self.nic.runs_program(qp)
        if self.sizes.laws and config["enable"] and (wants or hears):
            return self.happen(np.array([kind, qp, t, value], dtype=np.int64))
        return _NONE

    # --- predicted scores in packets --------------------------------------------------------------

    def _passed(self, t: int) -> None:
        if self.port is not None:
            self.port.passed(t)
        if self.carried is not None:
            self.carried.visit(t)

    def _sourced(self, slot: int, source: int) -> None:
        if self.carried is not None:
            self.carried.source(slot, source)

    def _models_changed(self) -> None:
        if self.carried is not None:
            self.carried.visit()

    def _disabled(self) -> None:
        self.interrupts.happened("ecc")
        self._models_changed()

    # --- registers that do something -------------------------------------------------------------

    def _set_parameters(self, word: str, _: int = 0) -> None:
        self.nic.set_parameters(self._file.get(word))

    def _loaded(self, number: int, words: NDArray[np.uint32]) -> None:
        if self.ecc is not None:
            self.ecc.loaded(number, words)

    def _law_loaded(self, bank: int, image: NDArray[np.int64]) -> None:
        if self.ecc is not None:
            self.ecc.law_loaded(bank, image)

    def _load_failed(self) -> None:
        """A load of a model or a program, or a write of their maps, was refused."""
        self._counters.add("load_errors", 1)
        self.interrupts.happened("load")

    def _cleared(self, qp: int) -> None:
        self._heard_levels[qp] = 0
        if self.carried is not None:
            self.carried.forget(qp)

    def _commanded(self, qp: int, asked: set[str]) -> None:
        config = self.nic.configuration(qp)
        if self.pacer is not None:
            self.pacer.command(qp, config, asked)
        if self.packets is not None:
            self.packets.listen(qp, on=bool(config["enable"]) and self.nic.runs_program(qp))

    # --- resets ----------------------------------------------------------------------------------

    def _resets(self) -> dict[str, Callable[[], None]]:
        parts: dict[str, Callable[[], None]] = {
            "laws": self._qps.clear_all,
            "predictor": self.nic.restart_predictor,
            "counters": self._snapshot.clear,
        }
        if self.packets is not None:
            parts["rtt"] = self.packets.forget
        if self.packets is not None and self.sizes.destinations:
            parts["statistics"] = self.packets.clear_statistics
        if self.profiler is not None:
            parts["profiler"] = self.profiler.clear
        if self.receiver is not None:
            parts["receiver"] = partial(self._reset_receiver, self.receiver)
        if self.trace is not None:
            parts["trace"] = self.trace.reset
        if self.sizes.trials:
            parts["trials"] = self.nic.reset_trials
        return parts

    def _reset_receiver(self, receiver: EmulatedReceiver) -> None:
        for qp, score in receiver.reset():
            self._law_event(EventKind.SCORE, qp, receiver.now, score | self._level(qp))
