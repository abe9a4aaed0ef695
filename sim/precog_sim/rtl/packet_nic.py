"""`PacketNic`: the whole NIC with packets, Verilated; registers over AXI4-Lite, frames at speed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from amaranth.lib import data

from precog_hw.csr.layouts import DECISION, SAMPLE
from precog_hw.measure.queue_layouts import queue_event_layout
from precog_hw.nic import COMMAND_LOG, PrecogNic, nic_map
from precog_hw.predict.carried import carried_commit_layout
from precog_hw.predict.forecast import FORECAST
from precog_hw.rate.law_layouts import LAW_ACK, LAW_EVENT
from precog_hw.rate.receiver_layouts import COMMIT, quota_layout
from precog_spec.config import NicConfig
from precog_spec.contract import QueueEvent

from .axil import PinTransport
from .packet_block import PacketBlock, Run, Wire, packet_library

__all__ = ["PacketNic", "monitors"]

_MONITORS = {
    "sample_stb": ["sample"],
    "m_decision_tvalid": ["m_decision_tdata"],
    "command_log_stb": ["command_log"],
}
_LAWS = {"law_event_stb": ["law_event"]}
_PROGRAMS = {"law_ack_stb": ["law_ack"]}
_FORECAST = {"m_forecast_tvalid": ["m_forecast_tdata"], "carried_log_stb": ["carried_log"]}
_RECEIVER = {"receive_log_stb": ["receive_log"]}
_QUOTA = {"m_quota_tvalid": ["m_quota_tdata"]}
_WIRE = {"wire_log_stb": ["wire_log"], "pace_log_stb": ["pace_log"]}
_QUEUES = {"queue_log_stb": ["queue_log"]}
_SETTLE = 400  # cycles from a packet's end to its decision, with room
_SETTLE_PROGRAM = 4500  # between decisions: the longest event of a law here takes 3,600
_SETTLE_MICRO = 4000  # a program's longest way, and what the engine makes it wait


def monitors(config: NicConfig) -> dict[str, list[str]]:
    """What a run of such a NIC notes: by strobe, the ports that are read when it is up."""
    return {
        **_MONITORS,
        **(_LAWS if config.laws else {}),
        **(_PROGRAMS if config.law_cores else {}),
        **(_RECEIVER if config.receiver else {}),
        **(_QUOTA if config.receiver and not config.wire else {}),
        **(_WIRE if config.wire else {}),
        **(_QUEUES if config.wire and config.profile else {}),
        **(_FORECAST if config.forecast else {}),
    }


@cache
def _library(config: NicConfig, tick_ps: int, practice: tuple[str, ...] = ()) -> Path:
    """Elaborating takes seconds, so a process does it once."""
    nic = PrecogNic(config, tick_ps=tick_ps)
    label = f"NIC with packets, {config.width} bits, {config.qps} QPs"
    # To Verilator a vector of the relaxed form looks like a loop.
    return packet_library(nic, label=label, once=not config.relaxed, practice=practice)


class PacketNic(PinTransport):
    """A transport whose device also takes frames.

    Parameters
    ----------
    config : NicConfig
        With a `width`.
    tick_ps : int
        Length of a cycle, picoseconds.
    block : PacketBlock, optional
        Such a NIC, just reset, or what does as it does; by default a new one.
    practice : tuple of str
        The new one is built for long runs, as `block_library` has it.

    Attributes
    ----------
    last : Run
        The last run.
    watches : bool
        Monitors are read in the cycles of register accesses, too, for `missed`.
    """

    def __init__(
        self,
        config: NicConfig,
        *,
        tick_ps: int = 1000,
        block: PacketBlock | None = None,
        practice: tuple[str, ...] = (),
    ) -> None:
        self.block = PacketBlock(_library(config, tick_ps, practice)) if block is None else block
        super().__init__(self.block, nic_map(config, tick_ps=tick_ps).address_bits)
        self.watches = False
        self._missed: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
        self.block.poke(m_decision_tready=1)
        self.last = Run(0)
        self._monitors = monitors(config)
        self._quota = quota_layout(config.qp_bits)
        if config.receiver and not config.wire:
            self.block.poke(m_quota_tready=1)
        self._queue_event = queue_event_layout(config.qps)
        self._carried = carried_commit_layout(config)
        self._settle = _SETTLE_MICRO if config.micro else _SETTLE
        if config.law_cores:
            self._settle = max(self._settle, _SETTLE_PROGRAM)
        if config.forecast:
            self.block.poke(m_forecast_tready=1)

    def run(
        self,
        tx: Sequence[Wire] = (),
        rx: Sequence[Wire] = (),
        *,
        seed: int = 1,
        idle: float = 0.0,
        stall: float = 0.0,
        settle: int | None = None,
        held: int = 64,
        wanted: Mapping[str, int] | None = None,
    ) -> Run:
        """Frames both ways; monitors are samples, events, decisions and logs.

        It ends `settle` cycles after the last movement, by default when a decision must be out, or
        before that when what is `wanted` has come.
        """
        sources: Mapping[str, Sequence[Wire]] = {"s_axis_tx": tx, "s_axis_rx": rx}
        self.last = self.block.run(
            {name: frames for name, frames in sources.items() if frames},
            ["m_axis_tx", "m_axis_rx"],
            monitors=self._monitors,
            seed=seed,
            idle=idle,
            stall=stall,
            settle=self._settle if settle is None else settle,
            held=held,
            wanted=wanted,
        )
        return self.last

    def missed(self) -> Run:
        """What the monitors have said during register accesses, since this was asked last."""
        none: dict[str, list[tuple[int, tuple[int, ...]]]] = {name: [] for name in self._monitors}
        missed, self._missed = none | self._missed, {}
        return Run(0, events=missed)

    def _tick(self) -> None:
        if self.watches:
            for strobe, ports in self._monitors.items():
                if self.block.peek(strobe):
                    values = tuple(self.block.peek(port) for port in ports)
                    self._missed.setdefault(strobe, []).append((self.block.cycles, values))
        super()._tick()

    def samples(self, run: Run) -> list[tuple[int, ...]]:
        """RTT samples as the core took them, in the contract's field order."""
        return _rows(SAMPLE, run, "sample_stb")

    def events(self, run: Run) -> list[tuple[int, ...]]:
        """Events as the laws took them, `law_fields.LAW_EVENT_FIELDS`."""
        return _rows(LAW_EVENT, run, "law_event_stb")

    def acknowledgements(self, run: Run) -> list[tuple[int, ...]]:
        """Acknowledgements as the programs took them, `law_fields.ACK_FIELDS`."""
        return _rows(LAW_ACK, run, "law_ack_stb")

    def commands(self, run: Run) -> list[tuple[int, ...]]:
        """Commands of the core, in `COMMAND_LOG`'s field order."""
        return _rows(COMMAND_LOG, run, "command_log_stb")

    @contextmanager
    def happening(self, kind: QueueEvent, qp: int, size: int, t: int) -> Iterator[None]:
        """Something happens to a send queue in each cycle of the context; `t` in ticks.

        With the profiler and without grants.
        """
        fields = {"qp": qp, "kind": int(kind), "size": size, "t": t}
        bits = int(self._queue_event.const(fields).as_bits())
        self.block.poke(s_queue_tdata=bits, s_queue_tvalid=1)
        yield
        self.block.poke(s_queue_tvalid=0)

    def forecasts(self, run: Run) -> list[tuple[int, ...]]:
        """Forecasts, `contract.FORECAST_FIELDS`."""
        return _rows(FORECAST, run, "m_forecast_tvalid")

    def carried(self, run: Run) -> list[tuple[dict[str, int], dict[str, int]]]:
        """Events of the scores that packets carry and their results, in order."""
        return _committed(self._carried, run, "carried_log_stb")

    def received(self, run: Run) -> list[tuple[dict[str, int], dict[str, int]]]:
        """The receiver's events and their results, `receiver_fields`, in order."""
        return _committed(COMMIT, run, "receive_log_stb")

    def quotas(self, run: Run) -> list[tuple[int, ...]]:
        """Queue pairs and their new quotas."""
        return _rows(self._quota, run, "m_quota_tvalid")

    def decisions(self, run: Run) -> list[tuple[int, ...]]:
        """Decisions, in the contract's field order."""
        return _rows(DECISION, run, "m_decision_tvalid")


def _committed(
    layout: data.StructLayout, run: Run, strobe: str
) -> list[tuple[dict[str, int], dict[str, int]]]:
    commits = (layout.from_bits(bits) for _, (bits,) in run.events[strobe])
    return [(_fields(commit.event), _fields(commit.result)) for commit in commits]


def _fields(view: data.Const) -> dict[str, int]:
    return {name: view[name] for name in view.shape().members}


def _rows(layout: data.StructLayout, run: Run, strobe: str) -> list[tuple[int, ...]]:
    return [
        tuple(bits >> field.offset & ((1 << field.width) - 1) for _, field in layout)
        for _, (bits,) in run.events[strobe]
    ]
