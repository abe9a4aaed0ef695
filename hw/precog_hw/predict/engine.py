"""The LSTM engine: one general engine for all models of the pool and all QPs.

Golden model `precog_models.predict.lstm.forward_stream`: every output is that of a full run of the
live model over the QP's latest T inputs (zeros before the first), whatever was stored before.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Const, Module, Mux, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from precog_spec.config import NicConfig
from precog_spec.contract import MAX_OUTPUTS, Fmt

from ..activity import ACTIVITY, hold
from .cell import CellPipe
from .cell_serial import SerialCell
from .head import LinearHead
from .layouts import GATES, OUTPUTS, X_VECTOR, Sizes, load_layout, scrub_ports
from .mac import MacArray
from .sequencer import Sequencer, request_layout

__all__ = ["SCRUB_CYCLES", "LstmEngine", "prediction_layout"]

SCRUB_CYCLES = 12  # from the end of a request of the scrubber until nothing of it is on its way
_SCRUBBED = ("cell", "mac", "lanes", "drain", "head", "taps")  # units with words that it reads


def prediction_layout(config: NicConfig) -> data.StructLayout:
    """The engine's answer: outputs in OUT's format, zero beyond the model's and without one."""
    return data.StructLayout(
        {"qp": config.qp_bits, "live": 1, "set": config.set_bits, "out": OUTPUTS}
    )


class LstmEngine(wiring.Component):
    """LSTM with 16 hidden units, I <= 8 inputs, T <= 8 steps and O <= 16 outputs.

    ::

        i_req ─► sequencer ─► slots ─► element-wise pipe ─► h ─┬─► head ─► o_rsp
        i_x ────────┘                     ▲ state              └─► queue ─► MAC array ─┐
                                          └────────────────────────────────────────────┘

    Latency: `latency` cycles from a request's transfer to its response, when the QP's context is of
    the model and nothing is in the way: 21 with one input and output and 4 columns; 17 from `i_x`.
    Each further input adds ``16 / columns`` cycles, a context of another model T runs. With 4 or 8
    lanes 140, and each further input adds 64.
    Throughput: a sample in ``max((T - 1) * 1024 / lanes, T * I * 16 / columns + 2)`` cycles over
    several QPs, `interval`. With 4 or 8 lanes it takes
    ``max((T - 1) * 1024 / lanes, T * (I + 1) * 64 + 2)``: 512 and 386 at T = 3 and I = 1.
    Cost: ``lanes + 13 * columns`` multipliers (8 instead of 13 with 128 lanes, 4 with 4 or 8),
    about 100 block RAMs with 64 QPs and 16 sets.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Members
    -------
    i_req : In(stream of request_layout)
        A sample of a QP and its model.
    i_x : In(stream of X_VECTOR)
        The sample's inputs, in X's format; must be valid `x_lead` cycles after the transfer on
        `i_req` and is taken then, not before.
    i_reset : In(stream of qp)
        Forget a QP's inputs.
    o_rsp : Out(stream of prediction_layout)
        Predictions in the order of the requests.
    soon, sure : Out(signed(16)), Out(1)
        Output 0 a cycle ahead, as `LinearHead` has it.
    load : In(load_layout)
        Writes into the weight memories.
    scrub, scrubbed : In(scrub_layout), Out(answer_layout)
        With `config.ecc`: a word to be read in an idle cycle of its memory; the word, once. No
        request waits for it.
    in_use : Out(sets)
        Sets of unfinished inferences.
    activity : Out(ACTIVITY)
        The bits of this unit's parts (`precog_hw.activity`).
    """

    latency: int
    x_lead: int
    """Cycles from a request's transfer to that of its inputs, at the earliest."""

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        sizes = Sizes(config)
        self._sequencer = Sequencer(config)
        self.x_lead = self._sequencer.x_lead
        # 128 lanes leave no blocks for the tables' products.
        self._cell = (
            SerialCell(config)
            if sizes.gates == 1
            else CellPipe(config, fabric_tables=config.lanes == 128)
        )
        self._head = LinearHead(config)
        # From the first slot of the last step to its last one.
        slots = sizes.groups
        if sizes.gates == 1:
            slots = sizes.groups * (GATES + SerialCell.REST) - SerialCell.REST
        self.latency = 2 + self._cell.latency + slots - 1 + self._head.latency
        super().__init__(
            {
                "i_req": In(stream.Signature(request_layout(config))),
                "i_x": In(stream.Signature(X_VECTOR)),
                "i_reset": In(stream.Signature(config.qp_bits)),
                "o_rsp": Out(stream.Signature(prediction_layout(config))),
                "soon": Out(signed(Fmt.OUT.width)),
                "sure": Out(1),
                "load": In(load_layout(config)),
                "in_use": Out(config.sets),
                "activity": Out(ACTIVITY),
            }
            | scrub_ports(config)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.sequencer = sequencer = self._sequencer
        m.submodules.cell = cell = self._cell
        m.submodules.mac = mac = MacArray(config)
        m.submodules.head = head = self._head

        connect(m, flipped(self.i_req), sequencer.i_req)
        connect(m, flipped(self.i_x), sequencer.i_x)
        connect(m, flipped(self.i_reset), sequencer.i_reset)
        m.d.comb += [
            self.in_use.eq(sequencer.in_use),
            cell.slot.eq(sequencer.o_slot),
            cell.soon.eq(sequencer.soon),
            *([cell.flush.eq(sequencer.o_flush)] if isinstance(cell, CellPipe) else []),
            cell.x.eq(sequencer.o_x),
            cell.state.eq(mac.state),
            cell.inject_en.eq(head.inject_en),
            cell.inject.eq(head.inject),
            mac.row.eq(cell.kept_row if isinstance(cell, CellPipe) else cell.row),
            mac.h.eq(cell.kept_h if isinstance(cell, CellPipe) else cell.h),
            head.early.eq(cell.early),
            head.early_soon.eq(cell.early_soon),
            head.row.eq(cell.row),
            head.h.eq(cell.h),
            sequencer.mac_done.eq(mac.done),
            sequencer.mac_pass.eq(mac.done_pass),
            sequencer.head_done.eq(head.done),
            sequencer.head_job.eq(head.done_job),
        ]
        for block in (cell, mac, head):
            m.d.comb += block.load.eq(self.load)
        scrubbing: Value = Const(0)
        if config.ecc:
            for block in (cell, mac, head):
                m.d.comb += block.scrub.eq(self.scrub)
            answers = (block.scrubbed.as_value() for block in (cell, mac, head))
            m.d.sync += self.scrubbed.as_value().eq(reduce(or_, answers))
            scrubbing = hold(m, "scrub", self.scrub.valid, SCRUB_CYCLES)

        rsp = sequencer.o_rsp
        m.d.comb += [
            head.job.eq(rsp.payload.job),
            head.waits.eq(rsp.valid),
            head.live.eq(sequencer.live),
            self.o_rsp.payload.out[0].eq(head.out[0]),
            self.soon.eq(head.soon),
            self.sure.eq(head.sure),
            rsp.ready.eq(self.o_rsp.ready),
            self.o_rsp.valid.eq(rsp.valid),
            self.o_rsp.payload.qp.eq(rsp.payload.qp),
            self.o_rsp.payload.live.eq(rsp.payload.live),
            self.o_rsp.payload.set.eq(rsp.payload.set),
        ]
        for n in range(1, MAX_OUTPUTS):
            given = rsp.payload.live & (rsp.payload.outputs >= n)
            m.d.comb += self.o_rsp.payload.out[n].eq(Mux(given, head.out[n], 0))

        # Held as long as what has begun takes to run dry; a write is a cycle's work, a loaded word
        # two, since it passes a register before each memory.
        loading = hold(m, "load", self.load.en, 2)
        final = cell.early.valid & cell.early.final
        starts = {
            "sequencer": (
                sequencer.busy
                | self.i_req.valid
                | self.i_reset.valid
                | mac.done
                | head.done
                | rsp.valid,
                3,
            ),
            "cell": (sequencer.o_slot.valid, cell.latency + 2),
            # It reads the next response's output, too, however late that is taken.
            "head": (final | head.busy | rsp.valid, head.latency + 6),
        }
        m.d.comb += self.activity.eq(mac.activity.as_value() | cell.activity.as_value())
        for unit in starts:
            m.d.comb += self.activity[unit].eq(hold(m, unit, *starts[unit]) | loading)
        with m.If(scrubbing):
            m.d.comb += [self.activity[unit].eq(1) for unit in _SCRUBBED]
        with m.If(mac.state[0].en | head.inject_en):
            m.d.comb += self.activity.cell.eq(1)
        return m
