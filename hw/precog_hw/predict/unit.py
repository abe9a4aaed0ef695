"""The prediction unit: model store and LSTM engine, with slots looked up as samples come in."""

from dataclasses import replace

from amaranth.hdl import Cat, Const, Module, Mux, ResetInserter, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Member, Out, connect, flipped

from precog_spec.config import NicConfig
from precog_spec.contract import HeadKind

from ..activity import ACTIVITY, ENGINE_UNITS, hold
from ..passing import pass_ports
from .check_bits import CheckBits
from .ecc import EVENTS, FLIPS, Scrubber, last_layout, program_ports
from .engine import LstmEngine
from .layouts import X_VECTOR, place_layout, program_signature
from .model_store import ModelStore
from .restart import Restart
from .tree import ANSWER, TreePredictor

__all__ = ["Predictor", "sample_layout"]


def sample_layout(config: NicConfig) -> data.StructLayout:
    """A sample that wants a prediction; without `enable` it gets none, but its inputs are kept.

    Its `kind` is that of the head that it wants (`contract.HeadKind`), where there is a choice.
    """
    kind = {"kind": 1} if config.forecast else {}
    return data.StructLayout({"qp": config.qp_bits, "slot": config.set_bits, "enable": 1, **kind})


class Predictor(wiring.Component):
    """Predictions for samples that name a model slot.

    The slot is looked up in the cycle of the request's transfer, so that a change of the map takes
    effect between two samples, and a set that is no longer mapped is in use only as long as
    `LstmEngine` says so.

    With `config.forecast` a queue pair has two contexts in the engine, one for each kind of head;
    a model with a head of the other kind counts as none. With `config.tree` it has one there, and
    requests of kind QUEUE go to `TreePredictor`; they wait for the engine's `ready` all the same.

    Latency, throughput, cost: the engine's and the store's.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Members
    -------
    i_req : In(stream of sample_layout)
        Samples. The response is `live` if the slot has a model.
    i_x, i_reset, o_rsp, soon, sure
        As `LstmEngine`; its `x_lead` holds. A reset is of all contexts of a queue pair; of
        a response's `qp` the highest bit is its kind, where there is one.
    i_restart : In(stream.Signature(0))
        Empty all contexts and reset the engine, whatever it does; taken when that is done
        (`Restart`). Models stay, and so does a load that is under way.
    version : Out(32)
        Of the model of the response at `o_rsp`.
    wrong_head : Out(1)
        With `config.forecast`: strobe, a model was not used because its head is of another kind.
    asked_outputs, asked_version : Out(4), Out(32)
        As above: of the model that a request of kind QUEUE asked last, O - 1 and version.
    asked_set : Out(set_bits)
        With `config.trace`, too: its set.
    slot_enables : Out(sets)
        As above: slots that stand for a set.
    tree_x, tree_threshold, o_tree : In, In(4), Out(stream of ANSWER)
        With `config.tree`: a profile, as its request is taken; `TreePredictor`'s threshold and
        answer, which is taken before the next request is made.
    ecc_* : `Scrubber`'s members `enable`, `period`, `scrub_stb`, `inject_stb`, `inject_place`,
        `inject_flips`, `busy`, `events`, `last`, and the set of the events
        With `config.ecc`; the store's `loaded_stb` and `loaded_set`, too. With a law engine those
        for programs, and `programs`, which leads to it.
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

    latency: int
    x_lead: int

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        kinds = config.forecast - config.tree  # of contexts, besides the first
        self._engine = LstmEngine(
            replace(config, qps=config.qps << kinds, forecast=False, tree=False, port=False)
        )
        self._tree = TreePredictor(config) if config.tree else None
        self._store = ModelStore(config)
        self.latency, self.x_lead = self._engine.latency, self._engine.x_lead
        members = {
            "i_req": In(stream.Signature(sample_layout(config))),
            "i_x": In(stream.Signature(X_VECTOR)),
            "i_reset": In(stream.Signature(config.qp_bits)),
            "i_restart": In(stream.Signature(unsigned(0))),
            **{name: self._engine.signature.members[name] for name in ("o_rsp", "soon", "sure")},
            "version": Out(32),
            "activity": Out(ACTIVITY),
        }
        if config.forecast:
            members |= {
                "wrong_head": Out(1),
                "asked_outputs": Out(4),
                "asked_version": Out(32),
                "slot_enables": Out(config.sets),
                **({"asked_set": Out(config.set_bits)} if config.trace else {}),
            }
        if self._tree is not None:
            members |= {
                "tree_x": In(self._tree.i.payload.x.shape()),
                "tree_threshold": In(4),
                "o_tree": Out(stream.Signature(ANSWER)),
            }
        members |= self.ecc_ports(config)
        if config.guards_programs:
            members["programs"] = Out(program_signature(config.law_cores))
        members |= {name: self._store.signature.members[name] for name in self.STORE_PORTS}
        super().__init__(members)

    @staticmethod
    def ecc_ports(config: NicConfig) -> dict[str, Member]:
        """Members that a device with `config.ecc` has for its scrubber."""
        if not config.ecc:
            return {}
        return {
            "ecc_enable": In(1),
            "ecc_period": In(16),
            "ecc_scrub_stb": In(1),
            "ecc_inject_stb": In(1),
            "ecc_inject_place": In(place_layout(config)),
            "ecc_inject_flips": In(FLIPS),
            "ecc_busy": Out(1),
            "ecc_events": Out(EVENTS),
            "ecc_last": Out(last_layout(config)),
            "ecc_set": Out(config.set_bits),
            "ecc_loaded_stb": Out(1),
            "ecc_loaded_set": Out(config.set_bits),
            **{f"ecc_{name}": member for name, member in program_ports(config).items()},
        }

    @staticmethod
    def outer_ports(config: NicConfig) -> tuple[str, ...]:
        """Members that a core has, too: the store's, and the scrubber's if there is one."""
        return (*Predictor.STORE_PORTS, *Predictor.ecc_ports(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.store = store = self._store
        m.submodules.restart = restart = Restart(self._config)
        engine = self._engine
        m.submodules.engine = ResetInserter(restart.reset)(engine)
        pass_ports(m, self, store, self.STORE_PORTS)

        connect(m, flipped(self.i_restart), restart.i_restart)
        in_use: Value = engine.in_use
        if self._tree is not None:
            m.submodules.tree = self._tree
            in_use = in_use | self._tree.in_use
        request, sample = engine.i_req, self.i_req
        model = request.payload.model
        live = store.model.live & sample.payload.enable
        scrubber = Scrubber(self._config) if self._config.ecc else None
        held, guarding = self._guard(m, store, engine, scrubber, restart, in_use)
        m.d.comb += [
            store.slot.eq(sample.payload.slot),
            store.in_use.eq(in_use),
            store.answer_set.eq(engine.o_rsp.payload.set),
            self.version.eq(store.answer_version),
            request.valid.eq(sample.valid & ~held & ~restart.hold),
            *(field.eq(store.model[name]) for name, field in _fields(model)),
            sample.ready.eq(request.ready & ~held & ~restart.hold),
        ]
        self._restarted(m, restart, engine)
        if self._config.forecast:
            fits = store.model.kind == sample.payload.kind
            self._watch(m, store, live, fits)
            if self._tree is not None:
                self._ask_tree(m, store, engine, self._tree, live & fits, restart)
            else:
                self._two_contexts(m, engine, live & fits)
        else:
            connect(m, flipped(self.i_reset), engine.i_reset)
            m.d.comb += [request.payload.qp.eq(sample.payload.qp), model.live.eq(live)]
        strobes = self.begin_stb | self.word_stb | self.commit_stb | self.map_stb
        works = strobes | self.busy | guarding | self.i_restart.valid
        loads = hold(m, "store", works, 40)
        m.d.comb += [
            self.activity.eq(engine.activity),
            self.activity.store.eq(loads),
            self.activity.restart.eq(restart.working),
        ]
        if scrubber is not None:
            checks = scrubber.working | loads
            m.d.comb += self.activity.scrubber.eq(hold(m, "scrubber", checks, 8))
        with m.If(self.i_restart.valid):  # of what was held, the engine knows nothing any more
            m.d.comb += [self.activity[unit].eq(1) for unit in ENGINE_UNITS]
        return m

    def _guard(
        self,
        m: Module,
        store: ModelStore,
        engine: LstmEngine,
        scrubber: Scrubber | None,
        restart: Restart,
        in_use: Value,
    ) -> tuple[Value, Value]:
        """Check bits and the scrubber; says when no request may start, and when sets may change."""
        tree = self._tree
        if scrubber is None:
            loads = [engine.load] if tree is None else [engine.load, tree.load]
            for load in loads:
                m.d.comb += [load[name].eq(value) for name, value in _fields(store.load)]
            return Const(0), Const(0)
        m.submodules.check_bits = check_bits = CheckBits(self._config)
        m.submodules.scrubber = scrubber
        if self._config.guards_programs:
            connect(m, scrubber.programs, flipped(self.programs))
        for name in self.ecc_ports(self._config):
            mine = getattr(self, name)
            if name.startswith("ecc_loaded"):
                m.d.comb += mine.eq(getattr(store, name.removeprefix("ecc_")))
                continue
            its = getattr(scrubber, name.removeprefix("ecc_"))
            inward = self.signature.members[name].flow is In
            m.d.comb += its.eq(mine) if inward else mine.eq(its)
        m.d.comb += [
            check_bits.i.eq(store.load),
            check_bits.put.eq(scrubber.put),
            scrubber.put_ready.eq(check_bits.put_ready),
            # Of `copies` the engine has the first two.
            *(field.eq(check_bits.o[name]) for name, field in _fields(engine.load)),
            *(
                field.eq(scrubber.request.place[name])
                for name, field in _fields(engine.scrub.place)
            ),
            engine.scrub.valid.eq(scrubber.request.valid),
            scrubber.answer.eq(engine.scrubbed),
            scrubber.valid.eq(store.valid),
            scrubber.in_use.eq(in_use),
            store.guarded_set.eq(scrubber.set),
            store.fail_stb.eq(scrubber.fail_stb),
            store.renew_stb.eq(scrubber.renew_stb),
            scrubber.renewing.eq(store.renewing),
        ]
        if tree is not None:
            of_tree = scrubber.request.place.tree
            m.d.comb += [
                tree.load.eq(check_bits.o),
                tree.scrub.eq(scrubber.request),
                tree.scrub.valid.eq(scrubber.request.valid & of_tree),
                engine.scrub.valid.eq(scrubber.request.valid & ~of_tree),
                scrubber.answer.eq(engine.scrubbed.as_value() | tree.scrubbed.as_value()),
            ]
        return scrubber.hold, scrubber.hold | scrubber.fail_stb

    def _restarted(self, m: Module, restart: Restart, engine: LstmEngine) -> None:
        """Inputs and answers pass by the restart, which takes the engine's place while it pays."""
        x, rsp, request = engine.i_x, engine.o_rsp, engine.i_req
        kinds = len(rsp.payload.qp) > self._config.qp_bits
        m.d.comb += [
            x.payload.eq(self.i_x.payload),
            x.valid.eq(self.i_x.valid & ~restart.feeds),
            self.i_x.ready.eq(x.ready | restart.feeds),
            self.o_rsp.payload.eq(rsp.payload),
            self.o_rsp.valid.eq(rsp.valid | restart.pays),
            rsp.ready.eq(self.o_rsp.ready),
            restart.asked.eq(request.valid & request.ready),
            restart.kind.eq(request.payload.qp[-1] if kinds else 0),
            restart.fed.eq(self.i_x.valid & self.i_x.ready),
            restart.answered.eq(self.o_rsp.valid & self.o_rsp.ready),
        ]
        with m.If(restart.pays):
            m.d.comb += self.o_rsp.payload.eq(0)
            if kinds:
                m.d.comb += self.o_rsp.payload.qp[-1].eq(restart.owed_kind)
        # 0 by itself since the engine's reset: it goes straight into multipliers.
        m.d.comb += [
            self.o_rsp.payload.out[0].eq(rsp.payload.out[0]),
            self.soon.eq(engine.soon),
            self.sure.eq(engine.sure),
        ]

    def _watch(self, m: Module, store: ModelStore, live: Value, fits: Value) -> None:
        """What a request of kind QUEUE asked, and heads of the wrong kind."""
        sample = self.i_req
        taken = sample.valid & sample.ready
        asked = Signal(self._config.set_bits)
        m.d.comb += [
            self.wrong_head.eq(taken & live & ~fits),
            store.asked_set.eq(asked),
            self.asked_version.eq(store.asked_version),
            self.slot_enables.eq(store.slot_enables),
        ]
        with m.If(taken & sample.payload.kind):
            m.d.sync += [asked.eq(store.model.set), self.asked_outputs.eq(store.model.outputs)]
        if self._config.trace:
            m.d.comb += self.asked_set.eq(asked)

    def _ask_tree(
        self,
        m: Module,
        store: ModelStore,
        engine: LstmEngine,
        tree: TreePredictor,
        live: Value,
        restart: Restart,
    ) -> None:
        """Requests of kind QUEUE go to the tree; the forecaster sends one only when it is free."""
        request, sample = engine.i_req, self.i_req
        to_tree = sample.payload.kind == HeadKind.QUEUE
        connect(m, tree.o, flipped(self.o_tree))
        connect(m, flipped(self.i_reset), engine.i_reset)
        m.d.comb += [
            request.payload.qp.eq(sample.payload.qp),
            request.payload.model.live.eq(live),
            tree.i.valid.eq(sample.valid & sample.ready & to_tree),
            tree.i.payload.qp.eq(sample.payload.qp),
            tree.i.payload.live.eq(live),
            *(tree.i.payload[name].eq(store.model[name]) for name in ("set", "depth")),
            tree.i.payload.x.eq(self.tree_x),
            tree.threshold.eq(self.tree_threshold),
            tree.clear_stb.eq((self.i_reset.valid & self.i_reset.ready) | restart.wipe_stb),
            tree.clear_qp.eq(Mux(restart.wipe_stb, restart.wipe_qp, self.i_reset.payload)),
        ]
        with m.If(to_tree):
            m.d.comb += request.valid.eq(0)

    def _two_contexts(self, m: Module, engine: LstmEngine, live: Value) -> None:
        """Contexts and resets of two kinds of models in one engine."""
        request, sample = engine.i_req, self.i_req
        kind = Signal()
        m.d.comb += [
            request.payload.qp.eq(Cat(sample.payload.qp, sample.payload.kind)),
            request.payload.model.live.eq(live),
            engine.i_reset.valid.eq(self.i_reset.valid),
            engine.i_reset.payload.eq(Cat(self.i_reset.payload, kind)),
            self.i_reset.ready.eq(engine.i_reset.ready & kind),
        ]
        with m.If(engine.i_reset.valid & engine.i_reset.ready):
            m.d.sync += kind.eq(~kind)


def _fields(view: data.View) -> list[tuple[str, Value]]:
    return [(name, view[name]) for name in view.shape().members]
