"""The QP block's other side: configurations, commands and last decisions.

::

    CSR window ─► [RowWindow] ─► o_config ─► core
        ▲              │
        └── load ◄─────┴──── [last decisions] ◄── decision, as the core makes it

The configuration of all QPs is zero (disabled) after reset.
"""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import DECISION, QP_CONFIG_LAYOUT, QP_STATUS_LAYOUT
from precog_hw.csr.row_window import RowWindow
from precog_hw.rows import plain_memory
from precog_spec.config import NicConfig
from precog_spec.contract import TOLD_BY_EVENTS, Flag

__all__ = ["QpWindow", "config_layout"]

_INPUTS = ("index", "fetch", "apply", "clear", "window")
_OUTPUTS = ("busy", "ready", "range_error", "overrun", "load", "loaded")


def config_layout(config: NicConfig) -> data.StructLayout:
    """What the core takes: write the configuration (`apply`), empty the QP's state (`clear`).

    `forget` restarts the predictor and concerns no single QP; nothing else is asked then.
    """
    return data.StructLayout(
        {
            "qp": unsigned(config.qp_bits),
            "apply": unsigned(1),
            "clear": unsigned(1),
            "config": QP_CONFIG_LAYOUT,
            "forget": unsigned(1),
        }
    )


class QpWindow(wiring.Component):
    """Carries QP commands out and keeps the last decision of every QP.

    Latency: a command reaches `o_config` 3 cycles after its strobe; `busy` falls once the core has
    taken it. After reset it is busy for `qps` commands. A decision is visible to a fetch that
    begins 2 cycles after it. Throughput: a decision every cycle.
    Cost: memories of qps x 177 bits (configuration) and qps x 224 bits (decisions).

    `NicConfig.relaxed`: a decision in every second cycle; a fetch that meets one is done again in
    the next cycle, so that no logic stands for what is read while it is written.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    index : In(16)
        QP slot that a command is for.
    fetch, apply, clear : In(1)
        Strobes; apply and clear together are one command of the core.
    window : In(QP_CONFIG_LAYOUT)
        Configuration that `apply` writes.
    busy : Out(1)
        A command is being executed.
    ready : Out(1)
        Every QP has been disabled since reset.
    range_error, overrun : Out(1)
        Strobes: a command for a QP that does not exist; a command while busy. Both are ignored.
    load : Out(1)
        `fetch` replaces the window by `loaded`.
    loaded : Out(QP_CONFIG_LAYOUT)
    status : Out(QP_STATUS_LAYOUT)
        Last decision of the QP that was fetched last; of its last sample's what events do not tell.
    decision_stb : In(1)
    decision : In(DECISION)
        Each decision as it leaves the core.
    sweep, sweeping : In(1), Out(1)
        `RowWindow`'s: clear every QP.
    forget, forgetting : In(1), Out(1)
        Strobe: have the predictor restarted; that is not done.
    o_config : Out(stream.Signature(config_layout(config)))
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "index": In(16),
                "fetch": In(1),
                "apply": In(1),
                "clear": In(1),
                "window": In(QP_CONFIG_LAYOUT),
                "busy": Out(1),
                "ready": Out(1),
                "range_error": Out(1),
                "overrun": Out(1),
                "load": Out(1),
                "loaded": Out(QP_CONFIG_LAYOUT),
                "status": Out(QP_STATUS_LAYOUT),
                "decision_stb": In(1),
                "decision": In(DECISION),
                "sweep": In(1),
                "sweeping": Out(1),
                "forget": In(1),
                "forgetting": Out(1),
                "o_config": Out(stream.Signature(config_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = RowWindow(QP_CONFIG_LAYOUT, self._config.qps)
        command, out = rows.o.payload, self.o_config
        asks, forgets, again = Signal(), Signal(), Signal()
        m.d.comb += [
            *(getattr(rows, n).eq(getattr(self, n)) for n in _INPUTS),
            *(getattr(self, n).eq(getattr(rows, n)) for n in _OUTPUTS),
            *(out.payload[n].eq(command[n] & ~forgets) for n in ("apply", "clear")),
            out.payload.config.eq(command.config),
            out.payload.qp.eq(command.row),
            rows.sweep.eq(self.sweep),
            self.sweeping.eq(rows.sweeping),
        ]
        # A fetch alone is no command for the core. A restart goes between two that are; of it only
        # `forget` means anything.
        m.d.comb += [
            asks.eq(rows.o.valid & (command.apply | command.clear)),
            out.valid.eq(asks | forgets),
            rows.o.ready.eq((out.ready & ~forgets) | ~asks),
            self.forgetting.eq(forgets | again),
            out.payload.forget.eq(forgets),
        ]
        with m.If(forgets & out.ready):
            m.d.sync += forgets.eq(0)
        with m.Elif(~forgets & again & ~(asks & ~out.ready)):
            m.d.sync += [forgets.eq(1), again.eq(0)]
        with m.If(self.forget):
            m.d.sync += again.eq(1)
        self._keep_decisions(m, rows)
        return m

    def _keep_decisions(self, m: Module, rows: RowWindow) -> None:
        """Memories of last decisions, each with a count of its decisions.

        What only samples tell stays when an event's decision comes. A decision is written one
        cycle after it came, when the old count is known, so that both change at once. The count's
        read port sees a write of the same cycle: decisions of one QP may follow each other
        directly. No decision comes during the walk: every QP is disabled or the core has been reset
        with it.
        """
        qps, relaxed = self._config.qps, self._config.relaxed
        kept = {
            of: data.StructLayout(
                {
                    name: shape
                    for name, shape in QP_STATUS_LAYOUT.members.items()
                    if name != "samples" and (name in TOLD_BY_EVENTS) == (of == "any")
                }
            )
            for of in ("any", "sample")
        }
        m.submodules.counts = counts = Memory(shape=unsigned(32), depth=qps, init=[])
        counts_write = counts.write_port()
        before, counts_read = counts.read_port(transparent_for=(counts_write,)), counts.read_port()

        qp, walking = rows.o.payload.row, ~rows.ready
        capture = rows.captured & rows.o.payload.fetch
        at = Signal.like(self.decision.qp)
        arrived, again, reads = Signal(), Signal(), capture
        if relaxed:
            reads = capture | again
        m.d.sync += [arrived.eq(self.decision_stb), at.eq(self.decision.qp)]
        where = Mux(walking, qp, at)
        m.d.comb += [
            before.addr.eq(self.decision.qp),
            counts_write.addr.eq(where),
            counts_write.en.eq(arrived | rows.wiped),
            counts_write.data.eq(Mux(walking, 0, before.data + 1)),
            counts_read.addr.eq(qp),
            counts_read.en.eq(reads),
            self.status.samples.eq(counts_read.data),
        ]
        if relaxed:  # the memory need not give what is being written
            m.d.sync += again.eq(reads & arrived & (at == qp))
        of_event = Signal()
        m.d.sync += of_event.eq(self.decision.flags[Flag.EVENT])
        for of, shape in kept.items():
            made = plain_memory(shape, qps) if relaxed else Memory(shape=shape, depth=qps, init=[])
            m.submodules[f"of_{of}"] = memory = made
            write, read = memory.write_port(), memory.read_port()
            late = Signal(shape, name=f"late_{of}")
            taken = arrived & ~of_event if of == "sample" else arrived
            m.d.sync += [late[name].eq(self.decision[name]) for name in shape.members]
            with m.If(walking):  # a reset of the register, where a choice behind it were logic
                m.d.sync += late.eq(0)
            m.d.comb += [
                write.addr.eq(where),
                write.en.eq(taken | rows.wiped),
                write.data.eq(late),
                read.addr.eq(qp),
                read.en.eq(reads),
                *(self.status[name].eq(read.data[name]) for name in shape.members),
            ]
