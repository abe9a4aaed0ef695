"""The QP block's other side: configuration memory, command sequencer and last decisions.

::

    CSR window ─► [config memory] ─► o_config ─► core
        ▲                │
        └── load ◄───────┴──── [last decisions] ◄── decision, as the core makes it

The configuration of all QPs is zero (disabled) after reset: the sequencer walks over them first.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.config import NicConfig
from precog_hw.csr.layouts import DECISION, QP_CONFIG_LAYOUT, QP_STATUS_LAYOUT

__all__ = ["QpWindow", "config_layout"]


def config_layout(config: NicConfig) -> data.StructLayout:
    """What the core takes: write the configuration (`apply`), empty the QP's state (`clear`)."""
    return data.StructLayout(
        {
            "qp": unsigned(config.qp_bits),
            "apply": unsigned(1),
            "clear": unsigned(1),
            "config": QP_CONFIG_LAYOUT,
        }
    )


class QpWindow(wiring.Component):
    """Carries QP commands out and keeps the last decision of every QP.

    Latency: a command reaches `o_config` 3 cycles after its strobe; `busy` falls once the core has
    taken it. After reset it is busy for `qps` commands. A decision is visible to a fetch that
    begins 2 cycles after it. Throughput: a decision every cycle.
    Cost: memories of qps x 177 bits (configuration) and qps x 224 bits (decisions).

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
        Last decision of the QP that was fetched last, all of one instant.
    decision_stb : In(1)
    decision : In(DECISION)
        Each decision as it leaves the core.
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
                "o_config": Out(stream.Signature(config_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        qps = self._config.qps
        m.submodules.configs = configs = Memory(shape=QP_CONFIG_LAYOUT, depth=qps, init=[])
        write, read = configs.write_port(), configs.read_port()

        qp = Signal(self._config.qp_bits)
        apply, clear, fetch, walking = Signal(), Signal(), Signal(), Signal(init=1)
        strobe = Signal()
        m.d.comb += [
            strobe.eq(self.fetch | self.apply | self.clear),
            write.addr.eq(qp),
            write.data.eq(Mux(walking, 0, self.window.as_value())),
            read.addr.eq(qp),
            self.loaded.eq(read.data),
            self.o_config.payload.qp.eq(qp),
            self.o_config.payload.apply.eq(apply),
            self.o_config.payload.clear.eq(clear),
            self.o_config.payload.config.eq(read.data),
        ]
        capture = Signal()
        m.d.comb += [read.en.eq(capture), self.busy.eq(1), self.ready.eq(~walking)]

        with m.FSM(name="command"):
            with m.State("WALK"):  # the first state after reset: disable every QP
                m.d.sync += [apply.eq(1), clear.eq(1)]
                m.next = "WRITE"
            with m.State("IDLE"):
                m.d.comb += self.busy.eq(0)
                m.d.sync += [
                    qp.eq(self.index),
                    apply.eq(self.apply),
                    clear.eq(self.clear),
                    fetch.eq(self.fetch),
                ]
                with m.If(strobe):
                    with m.If(self.index >= qps):
                        m.d.comb += self.range_error.eq(1)
                    with m.Else():
                        m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += write.en.eq(apply)
                m.next = "READ"
            with m.State("READ"):
                m.d.comb += capture.eq(1)
                m.next = "ISSUE"
            with m.State("ISSUE"):
                m.d.comb += self.o_config.valid.eq(apply | clear)
                with m.If(self.o_config.ready | ~self.o_config.valid):
                    m.d.comb += self.load.eq(fetch)
                    with m.If(walking):
                        m.d.sync += qp.eq(qp + 1)
                        m.next = "WALK"
                        with m.If(qp == qps - 1):
                            m.d.sync += walking.eq(0)
                            m.next = "IDLE"
                    with m.Else():
                        m.next = "IDLE"
        m.d.comb += self.overrun.eq(strobe & self.busy)

        self._keep_decisions(m, qp, walking, write.en, capture & fetch)
        return m

    def _keep_decisions(
        self, m: Module, qp: Signal, walking: Signal, wipe: Value, capture: Value
    ) -> None:
        """Memory of last decisions, with a count of them beside it.

        A decision is written one cycle after it came, when the old count is known, so that both
        change at once. The count's read port sees a write of the same cycle: decisions of one QP
        may follow each other directly. No decision comes during the walk: every QP is disabled or
        the core has been reset with it.
        """
        qps = self._config.qps
        kept = data.StructLayout(
            {name: shape for name, shape in QP_STATUS_LAYOUT.members.items() if name != "samples"}
        )
        m.submodules.decisions = decisions = Memory(shape=kept, depth=qps, init=[])
        m.submodules.counts = counts = Memory(shape=unsigned(32), depth=qps, init=[])
        decisions_write, decisions_read = decisions.write_port(), decisions.read_port()
        counts_write = counts.write_port()
        before, counts_read = counts.read_port(transparent_for=(counts_write,)), counts.read_port()

        at = Signal.like(qp)
        arrived = Signal()
        late = Signal(kept)
        m.d.sync += [arrived.eq(self.decision_stb), at.eq(self.decision.qp)]
        m.d.sync += [late[name].eq(self.decision[name]) for name in kept.members]
        where = Mux(walking, qp, at)
        m.d.comb += [
            before.addr.eq(self.decision.qp),
            decisions_write.addr.eq(where),
            counts_write.addr.eq(where),
            decisions_write.en.eq(arrived | (walking & wipe)),
            counts_write.en.eq(arrived | (walking & wipe)),
            decisions_write.data.eq(Mux(walking, 0, late.as_value())),
            counts_write.data.eq(Mux(walking, 0, before.data + 1)),
            decisions_read.addr.eq(qp),
            counts_read.addr.eq(qp),
            decisions_read.en.eq(capture),
            counts_read.en.eq(capture),
            self.status.eq(Cat(decisions_read.data, counts_read.data)),
        ]
