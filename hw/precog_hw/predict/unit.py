"""The prediction unit: model store and LSTM engine, with slots looked up as samples come in."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..activity import ACTIVITY, hold
from ..config import NicConfig
from .engine import LstmEngine, prediction_layout
from .layouts import X_VECTOR
from .model_store import ModelStore

__all__ = ["Predictor", "sample_layout"]


def sample_layout(config: NicConfig) -> data.StructLayout:
    """A sample that wants a prediction; without `enable` it gets none, but its inputs are kept."""
    return data.StructLayout({"qp": config.qp_bits, "slot": config.set_bits, "enable": 1})


class Predictor(wiring.Component):
    """Predictions for samples that name a model slot.

    The slot is looked up in the cycle of the request's transfer, so that a change of the map takes
    effect between two samples, and a set that is no longer mapped is in use only as long as
    `LstmEngine` says so.

    Latency, throughput, cost: the engine's and the store's.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Members
    -------
    i_req : In(stream of sample_layout)
        Samples. The response is `live` if the slot has a model.
    i_x, i_reset, o_rsp
        As `LstmEngine`; `LstmEngine.X_LEAD` holds.
    activity : Out(ACTIVITY)
        The bits of the engine's units and of the store (`precog_hw.activity`).
    store : the members of `ModelStore` but `slot`, `model`, `in_use`, `load`
    """

    STORE_PORTS = (
        "begin_stb",
        "begin_set",
        "word_stb",
        "word",
        "commit_stb",
        "commit_crc",
        "status",
        "words",
        "busy",
        "map_stb",
        "map_slot",
        "map_enable",
        "map_set",
        "load_error",
        "map_error",
        "query_slot",
        "query_slot_enable",
        "query_slot_set",
        "query_set",
        "query_valid",
        "query_version",
    )

    X_LEAD = LstmEngine.X_LEAD

    latency: int

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        self._engine = LstmEngine(config)
        self._store = ModelStore(config)
        self.latency = self._engine.latency
        members = {
            "i_req": In(stream.Signature(sample_layout(config))),
            "i_x": In(stream.Signature(X_VECTOR)),
            "i_reset": In(stream.Signature(config.qp_bits)),
            "o_rsp": Out(stream.Signature(prediction_layout(config))),
            "activity": Out(ACTIVITY),
        }
        members |= {name: self._store.signature.members[name] for name in self.STORE_PORTS}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.store = store = self._store
        m.submodules.engine = engine = self._engine
        for name in self.STORE_PORTS:
            mine, its = getattr(self, name), getattr(store, name)
            inward = store.signature.members[name].flow is In
            m.d.comb += its.eq(mine) if inward else mine.eq(its)

        connect(m, flipped(self.i_x), engine.i_x)
        connect(m, flipped(self.i_reset), engine.i_reset)
        connect(m, engine.o_rsp, flipped(self.o_rsp))
        request, sample = engine.i_req, self.i_req
        m.d.comb += [
            store.slot.eq(sample.payload.slot),
            store.in_use.eq(engine.in_use),
            engine.load.eq(store.load),
            request.valid.eq(sample.valid),
            request.payload.qp.eq(sample.payload.qp),
            request.payload.model.eq(store.model),
            request.payload.model.live.eq(store.model.live & sample.payload.enable),
            sample.ready.eq(request.ready),
        ]
        strobes = self.begin_stb | self.word_stb | self.commit_stb | self.map_stb
        m.d.comb += [
            self.activity.eq(engine.activity),
            self.activity.store.eq(hold(m, "store", strobes | self.busy, 40)),
        ]
        return m
