"""The unit of the laws TIMELY, DCQCN and FIXED: rows of state in block RAM, one event at a time.

The golden model is `precog_models.rate.law_unit`.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rate.dcqcn import Dcqcn
from precog_hw.rate.fractions import FRACTION_CALL, SCALE_CALL, Divide, Scale
from precog_hw.rate.law_layouts import (
    CONFIG,
    DCQCN,
    DCQCN_ROW,
    TIMELY,
    TIMELY_ROW,
    TRACE,
    clamped,
    event_layout,
    result_layout,
)
from precog_hw.rate.timely import Timely
from precog_hw.rows import plain_memory
from precog_spec.contract import Fmt
from precog_spec.law_fields import EventKind, Law

__all__ = ["LawUnit"]

_ROW = data.StructLayout(
    {
        "live": 1,
        "rate": Fmt.RATE.width,
        "law": data.UnionLayout({"timely": TIMELY_ROW, "dcqcn": DCQCN_ROW}),
    }
)


class LawUnit(wiring.Component):
    """From events to rates, in order; a queue pair's law is chosen by its configuration.

    ::

        i ─► [rows, configurations] ─► limits ─► timely ──┬─► row ─► o
                                           │ └─► dcqcn ───┤
                                           └─ (fixed) ────┘
                                  both laws ─► Scale, Divide

    An event is taken when the one before it has been written back, so that events of one queue pair
    in a row are exact without any forwarding. Rows and configurations are zero at power-up only:
    after a reset of the clock domain, send CONFIGURE and RESET for every queue pair. DCQCN needs a
    SWEEP (or any other event) of each queue pair at least every T/4.

    Latency: from an event's transfer to its result's offer 6 cycles and, where a law runs, what
    `Timely` and `Dcqcn` say. Throughput: an event per latency, plus 1 cycle.
    Cost on ECP5 for 1024 queue pairs: 4659 LUTs, 922 carry cells, 1765 flip-flops, 21 block RAMs
    (qps x 402 bits), no multiplier blocks.

    Parameters
    ----------
    qps : int
        Queue pairs, a power of two in 2..65536.

    Members
    -------
    i : In(stream.Signature(event_layout(qp_bits)))
    o : Out(stream.Signature(result_layout(qp_bits)))
        One for every event.
    after : Out(TRACE)
        The row after the event whose result is offered; for tests and for a monitor.
    timely : In(TIMELY)
    dcqcn : In(DCQCN)
        Parameters, to be held while an event is in flight.
    idle : Out(1)
        No event is in flight.

    Raises
    ------
    ValueError
        `qps` is not as above.
    """

    i: stream.Interface
    o: stream.Interface
    after: data.View
    timely: data.View
    dcqcn: data.View
    idle: Signal

    def __init__(self, qps: int) -> None:
        if not 2 <= qps <= 65536 or qps & (qps - 1):
            raise ValueError(f"qps must be a power of two in 2..65536, not {qps!r}")
        self._qps = qps
        qp_bits = (qps - 1).bit_length()
        self._event = event_layout(qp_bits)
        super().__init__(
            {
                "i": In(stream.Signature(self._event)),
                "o": Out(stream.Signature(result_layout(qp_bits))),
                "after": Out(TRACE),
                "timely": In(TIMELY),
                "dcqcn": In(DCQCN),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = plain_memory(_ROW, self._qps)
        m.submodules.configs = configs = plain_memory(CONFIG, self._qps)
        m.submodules.timely_law = timely = Timely()
        m.submodules.dcqcn_law = dcqcn = Dcqcn()
        self._arithmetic(m, timely, dcqcn)
        write, read = rows.write_port(), rows.read_port()
        write_config, read_config = configs.write_port(), configs.read_port()

        event = Signal(self._event)
        config, given = Signal(CONFIG), Signal(CONFIG)
        m.d.comb += [getattr(given, name).eq(getattr(event, name)) for name, _ in CONFIG]
        live, last, rate = Signal(), Signal(Fmt.RATE.width), Signal(Fmt.RATE.width)
        clear = Signal()  # the laws' state starts anew
        configures = event.kind == EventKind.CONFIGURE
        resets = event.kind == EventKind.RESET
        happens = event.kind < EventKind.CONFIGURE
        runs_timely = happens & (config.law == Law.TIMELY) & (event.kind == EventKind.RTT)
        runs_dcqcn = happens & (config.law == Law.DCQCN)
        for law in (timely, dcqcn):
            m.d.comb += [
                law.rate.eq(rate),
                law.t.eq(event.t),
                law.bounds.min_rate.eq(config.min_rate),
                law.bounds.max_rate.eq(config.max_rate),
            ]
        m.d.comb += [
            timely.parameters.eq(self.timely),
            dcqcn.parameters.eq(self.dcqcn),
            timely.state.eq(Mux(clear, 0, read.data.law.timely.as_value())),
            dcqcn.state.eq(Mux(clear, 0, read.data.law.dcqcn.as_value())),
            timely.rtt.eq(event.value),
            dcqcn.sent.eq(event.value),
            dcqcn.cnp.eq(event.kind == EventKind.CNP),
            dcqcn.bytes.eq(event.kind == EventKind.BYTES),
            read.addr.eq(event.qp),
            read_config.addr.eq(event.qp),
            write.addr.eq(event.qp),
            write_config.addr.eq(event.qp),
            write_config.data.eq(given),
            write.data.live.eq(live),
            write.data.rate.eq(rate),
            self.after.live.eq(live),
            self.after.rate.eq(rate),
            self.o.payload.qp.eq(event.qp),
            self.o.payload.rate.eq(rate),
        ]
        with m.If(config.law == Law.TIMELY):
            m.d.comb += [write.data.law.timely.eq(timely.row), self.after.timely.eq(timely.row)]
        with m.Elif(config.law == Law.DCQCN):
            m.d.comb += [write.data.law.dcqcn.eq(dcqcn.row), self.after.dcqcn.eq(dcqcn.row)]

        with m.FSM(name="laws"):
            with m.State("IDLE"):
                m.d.comb += [self.i.ready.eq(1), self.idle.eq(1)]
                m.d.sync += event.eq(self.i.payload)
                with m.If(self.i.valid):
                    m.next = "READ"
            with m.State("READ"):
                m.next = "CONFIGURATION"
            with m.State("CONFIGURATION"):
                m.d.sync += [
                    config.eq(Mux(configures, given, read_config.data)),
                    clear.eq(resets | (configures & (given.law != read_config.data.law))),
                    live.eq(read.data.live & ~resets),
                    last.eq(read.data.rate),
                ]
                m.d.comb += write_config.en.eq(configures)
                m.next = "LOAD"
            with m.State("LOAD"):
                m.d.comb += [timely.load.eq(1), dcqcn.load.eq(1)]
                running = live & ((config.law == Law.TIMELY) | (config.law == Law.DCQCN))
                m.d.sync += rate.eq(clamped(Mux(running, last, config.init_rate), config))
                m.next = "START"
            with m.State("START"):
                m.d.comb += [timely.start.eq(runs_timely), dcqcn.start.eq(runs_dcqcn)]
                m.next = "WRITE"
                with m.If(runs_timely | runs_dcqcn):
                    m.next = "RUN"
            with m.State("RUN"):
                with m.If(timely.done):
                    m.d.sync += rate.eq(timely.new_rate)
                with m.If(dcqcn.done):
                    m.d.sync += rate.eq(dcqcn.new_rate)
                with m.If(timely.done | dcqcn.done):
                    m.next = "WRITE"
            with m.State("WRITE"):
                m.d.sync += [
                    self.o.payload.changed.eq(~live | (rate != last)),
                    live.eq(~resets),
                ]
                m.next = "OFFER"
            with m.State("OFFER"):
                # Written with the offer, once or more often: the row is the same.
                m.d.comb += [self.o.valid.eq(1), write.en.eq(1)]
                with m.If(self.o.ready):
                    m.next = "IDLE"
        return m

    def _arithmetic(self, m: Module, timely: Timely, dcqcn: Dcqcn) -> None:
        """One of each for both laws, of which one works at a time."""
        m.submodules.scale = scale = Scale()
        m.submodules.divide = divide = Divide()
        for call, users, signature in (
            (scale.call, (timely.scale, dcqcn.scale), SCALE_CALL),
            (divide.call, (timely.fraction, dcqcn.fraction), FRACTION_CALL),
        ):
            first, second = users
            for name, member in signature.members.items():
                port = getattr(call, name)
                if member.flow is wiring.Out:
                    chosen = Mux(second.stb, getattr(second, name), getattr(first, name))
                    m.d.comb += port.eq(chosen)
                else:
                    m.d.comb += [getattr(user, name).eq(port) for user in users]
