"""The pool of model sets: loading with CRC, commit, and the map from slots to sets.

A load is `begin`, 512 words in the image's order, `commit` with the expected CRC-32. A set counts
as valid from a good commit to the next `begin`. The map names only valid sets, and a set that it
names, or that an inference still uses, cannot be begun: so a live model is never touched.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.lib.wiring import In, Out

from precog_hw.stream.delay import DelayLine
from precog_spec.config import NicConfig

from .image_checks import IMAGE_WORDS, LoadStatus, header_limits, image_outcome
from .layouts import EPOCH_BITS, image_word_layout, model_layout
from .pipeline import Delays
from .weights import HEADER_WORD, TAIL_ROW
from .word_crc import WordCrc

__all__ = ["ModelStore"]

_BEGIN_CYCLES = 8  # until a map write or a request of just before is seen
_COMMIT_CYCLES = 8  # until the last word has gone through CRC and comparisons


@dataclass(frozen=True)
class _Pool:
    """State that the loader, the map and the scrubber share."""

    slots: data.View  #: by slot: whether it stands for a set, and which
    valid: Signal  #: by set: it holds a model
    epoch: Signal  #: that of the next model; tells contexts of different models apart
    put_model: WritePort  #: by set: what the engine must know of its model
    get_model: ReadPort
    put_slot: WritePort  #: the same by slot
    put_version: WritePort  #: version by set


@dataclass(frozen=True)
class _Due:
    """Commands and words whose turn has come."""

    begin: Signal  #: a begin that is not ignored
    commit: Signal  #: a commit that belongs to a begin
    commit_stb: Value  #: any commit
    commit_crc: Value  #: its CRC-32
    word_stb: Value
    word: Value
    astray: Signal  #: a word or a commit without a begin


class ModelStore(wiring.Component):
    """Loader, state of the sets, and slot map.

    Latency: a begin is decided after 8 cycles; a word reaches the memories 11 cycles after its
    strobe; a commit is decided after 16.
    Throughput: one word a cycle. A map write takes effect for requests 3 cycles later.
    Cost on ECP5, with forecasts and SECDED: 946 LUT4 and 1,145 flip-flops with 16 sets, 2,878 and
    1,677 with 64; no block RAM; with `config.tree` `TreeCheck`.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Members
    -------
    begin_stb, begin_set : In(1), In(set_bits)
        Start a load. The set becomes invalid, or `status` says that it is in use.
    word_stb, word : In(1), In(32)
        The next four bytes of the image, the first in the low byte.
    commit_stb, commit_crc : In(1), In(32)
        End the load: check length, CRC, contract hash and header, and a tree's
        nodes and leaves; then the set is valid.
    status : Out(4), words : Out(16), busy : Out(1)
        Outcome of the last command, a `LoadStatus`; words taken since `begin`; what was written is
        not yet in them. While a begin or a commit is being decided, commands are ignored.
    map_stb, map_slot, map_enable, map_set : In
        Write one entry of the map. Refused, and nothing changes, if it enables an invalid set.
    load_error, map_error : Out(1)
        Strobes: a load failed or was refused; a map write was refused.
    slot : In(set_bits), model : Out(model_layout)
        What a slot stands for, in the same cycle.
    in_use : In(sets)
        Sets that inferences in flight use.
    load : Out(image_word_layout)
        Writes into the weight memories.
    query_slot : In(set_bits), query_slot_enable : Out(1), query_slot_set : Out(set_bits)
        Read port of the map.
    asked_set : In(set_bits), asked_version : Out(32)
        With `config.forecast`: version of a set that an inference uses.
    slot_enables : Out(sets)
        As above: slots that stand for a set.
    query_set : In(set_bits), query_valid : Out(1), query_version : Out(32)
        Read port of the sets; the version of an invalid set means nothing.
    answer_set : In(set_bits), answer_version : Out(32)
        The version of a set that an answer is of.
    valid : Out(sets), loaded : Out(1), number : Out(set_bits)
        With `config.ecc`: sets that hold a model; strobe, the set `number` is one more of them.
    guarded_set : In(set_bits)
        As above: the set of the following two.
    fail_stb : In(1)
        It is not valid from the next cycle on, and no slot stands for it from the one after.
    renew_stb, renewing : In(1), Out(1)
        Its model counts as another one, so that no context of before is of it; being done.
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        number = config.set_bits
        super().__init__(
            {
                "begin_stb": In(1),
                "begin_set": In(number),
                "word_stb": In(1),
                "word": In(32),
                "commit_stb": In(1),
                "commit_crc": In(32),
                "status": Out(4),
                "words": Out(16),
                "busy": Out(1),
                "map_stb": In(1),
                "map_slot": In(number),
                "map_enable": In(1),
                "map_set": In(number),
                "load_error": Out(1),
                "map_error": Out(1),
                "slot": In(number),
                "model": Out(model_layout(config)),
                "in_use": In(config.sets),
                "load": Out(image_word_layout(config)),
                "query_slot": In(number),
                "query_slot_enable": Out(1),
                "query_slot_set": Out(number),
                "query_set": In(number),
                "query_valid": Out(1),
                "query_version": Out(32),
                **(_forecast_ports(config) if config.forecast else {}),
                "answer_set": In(config.set_bits),
                "answer_version": Out(32),
            }
            | (_guarded(config) if config.ecc else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        pool = self._pool(m)
        granted_stb = self._map(m, pool)

        # Words.
        number = Signal(config.set_bits)
        count = Signal(range(IMAGE_WORDS + 2))
        loading = Signal()
        taken = Signal(image_word_layout(config))
        m.submodules.crc = crc = WordCrc(serial=config.relaxed)
        deciding = Signal()  # on a begin or a commit
        due = self._due(m, loading=loading, deciding=deciding)
        delay = Delays(m)
        begun = delay(due.begin, _BEGIN_CYCLES - 1, reset=True)
        checked = delay(due.commit, _COMMIT_CYCLES - 1, reset=True)
        named, in_use = Signal(config.sets), Signal(config.sets)  # by slot; by set
        mapped, used, stopped = Signal(), Signal(), Signal()
        beginning, was_valid = Signal(), Signal()
        now_valid = Signal()
        m.d.sync += [
            in_use.eq(self.in_use),
            named.eq(Cat(slot.enable & (slot.set == number) for slot in pool.slots)),
            mapped.eq(named.any()),
            used.eq(in_use.bit_select(number, 1)),
            stopped.eq(mapped | used),
            now_valid.eq(0),
            taken.en.eq(due.word_stb & loading & (count < IMAGE_WORDS)),
            taken.set.eq(number),
            taken.row.eq(count[4:9]),
            taken.word.eq(count[:4]),
            taken.data.as_value().eq(due.word),
            self.load.eq(taken),
        ]
        with m.If(due.word_stb & loading & (count != IMAGE_WORDS + 1)):
            m.d.sync += count.eq(count + 1)
        m.d.comb += [
            self.words.eq(count),
            crc.begin.eq(begun),
            crc.valid.eq(taken.en),
            crc.word.eq(taken.data.as_value()),
        ]
        header = self._header(m, taken)

        # Commands.
        wanted = Signal(32)
        outcome, good = image_outcome(
            m, config, taken=taken, header=header, count=count, crc=crc.crc, wanted=wanted
        )

        m.d.sync += self.load_error.eq(0)
        put = self._put(m, pool, header=header, number=number)
        with m.If(due.begin):
            # Not valid from now on, so that it is not mapped during the look-up.
            m.d.sync += [
                number.eq(self.begin_set),
                was_valid.eq(pool.valid.bit_select(self.begin_set, 1)),
                pool.valid.bit_select(self.begin_set, 1).eq(0),
                loading.eq(0),
                deciding.eq(1),
                beginning.eq(1),
            ]
        with m.Elif(due.commit):
            m.d.sync += [loading.eq(0), wanted.eq(due.commit_crc), deciding.eq(1)]
        with m.Elif(due.astray | ((due.commit_stb | due.word_stb) & ~loading & ~deciding)):
            m.d.sync += [self.status.eq(LoadStatus.NOT_BEGUN), self.load_error.eq(1)]
        # The decision ends together with the change of `valid`: a begin sees the set as it then is.
        ended = Signal()
        m.d.sync += ended.eq(begun | checked)
        with m.If(ended):
            m.d.sync += deciding.eq(0)
        with m.If(begun):
            m.d.sync += [
                count.eq(Mux(stopped, count, 0)),
                loading.eq(~stopped),
                self.status.eq(Mux(stopped, LoadStatus.SET_IN_USE, LoadStatus.LOADING)),
                self.load_error.eq(stopped),
                now_valid.eq(stopped & was_valid),
                beginning.eq(0),
            ]
        with m.If(checked):
            m.d.sync += [
                self.status.eq(outcome),
                self.load_error.eq(~good),
                now_valid.eq(good),
            ]
            with m.If(good):
                m.d.comb += [put.en.eq(1), pool.put_version.en.eq(1)]
                m.d.sync += pool.epoch.eq(pool.epoch + 1)
        with m.If(now_valid):
            m.d.sync += pool.valid.bit_select(number, 1).eq(1)
        if config.ecc:
            accepted = checked & good
            stays = (beginning & was_valid) | now_valid
            self._guard(m, pool, number=number, accepted=accepted, stays=stays)
            self._renew(m, pool, put, granted_stb=granted_stb, accepted=accepted)
        return m

    def _pool(self, m: Module) -> _Pool:
        """State of the sets and of the slots, and the ports that read it."""
        config = self._config
        model = model_layout(config)
        slots = Signal(data.ArrayLayout(_entry(config), config.sets))
        valid = Signal(config.sets)
        epoch = Signal(EPOCH_BITS)

        # Sets: what the engine must know of a model, and its version.
        m.submodules.models = models = Memory(shape=model, depth=config.sets, init=[])
        m.submodules.versions = versions = Memory(shape=32, depth=config.sets, init=[])
        put_model, get_model = models.write_port(), models.read_port(domain="comb")
        # ... and by slot, so that a sample waits for one look-up only.
        m.submodules.by_slot = by_slot = Memory(shape=model, depth=config.sets, init=[])
        put_slot, get_slot = by_slot.write_port(), by_slot.read_port(domain="comb")
        enabled = Signal(config.sets)
        put_version, get_version = versions.write_port(), versions.read_port(domain="comb")
        of_answer = versions.read_port(domain="comb")
        m.d.comb += [
            get_slot.addr.eq(self.slot),
            enabled.eq(Cat(slots[n].enable for n in range(config.sets))),
            self.model.eq(get_slot.data),
            self.model.live.eq(enabled.bit_select(self.slot, 1)),
            self.query_slot_enable.eq(slots[self.query_slot].enable),
            self.query_slot_set.eq(slots[self.query_slot].set),
            get_version.addr.eq(self.query_set),
            self.query_valid.eq(valid.bit_select(self.query_set, 1)),
            self.query_version.eq(get_version.data),
            of_answer.addr.eq(self.answer_set),
            self.answer_version.eq(of_answer.data),
        ]

        if config.forecast:
            asked = versions.read_port(domain="comb")
            m.d.comb += [
                asked.addr.eq(self.asked_set),
                self.asked_version.eq(asked.data),
                self.slot_enables.eq(enabled),
            ]
        return _Pool(
            slots=slots,
            valid=valid,
            epoch=epoch,
            put_model=put_model,
            get_model=get_model,
            put_slot=put_slot,
            put_version=put_version,
        )

    def _header(self, m: Module, taken: data.View) -> data.View:
        """The image's header, as its words pass."""
        header = Signal(data.ArrayLayout(32, 4))
        for n in range(4):
            hit = Signal(name=f"header_{n}")
            m.d.sync += hit.eq(taken.en & (taken.row == TAIL_ROW) & (taken.word == HEADER_WORD + n))
            with m.If(hit):
                m.d.sync += header[n].eq(self.load.data.as_value())
        return header

    def _map(self, m: Module, pool: _Pool) -> Signal:
        """Writes of the map; gives the strobe of one."""
        config = self._config
        wish, granted = Signal(_entry(config)), Signal(_entry(config))
        wish_stb, granted_stb = Signal(), Signal()
        wish_slot, granted_slot = Signal(config.set_bits), Signal(config.set_bits)
        refused = wish.enable & ~pool.valid.bit_select(wish.set, 1)
        m.d.sync += [
            wish_stb.eq(self.map_stb),
            wish_slot.eq(self.map_slot),
            wish.enable.eq(self.map_enable),
            wish.set.eq(self.map_set),
            self.map_error.eq(wish_stb & refused),
            granted_stb.eq(wish_stb & ~refused),
            granted_slot.eq(wish_slot),
            granted.eq(wish),
        ]
        m.d.comb += [
            pool.get_model.addr.eq(granted.set),
            pool.put_slot.en.eq(granted_stb),
            pool.put_slot.addr.eq(granted_slot),
            pool.put_slot.data.eq(pool.get_model.data),
            pool.put_slot.data.set.eq(granted.set),
        ]
        with m.If(granted_stb):
            m.d.sync += pool.slots[granted_slot].eq(granted)
        return granted_stb

    def _due(self, m: Module, *, loading: Value, deciding: Value) -> _Due:
        """Commands and words when their turn has come, and those that come without a begin.

        Words and commits wait until the `begin` before them has been decided; without one they
        are refused at once.
        """
        committing = Signal()  # a commit waits
        astray, put_word, put_commit = Signal(), Signal(), Signal()
        m.d.comb += [
            astray.eq((self.word_stb | self.commit_stb) & ~(loading | deciding | committing)),
            put_word.eq(self.word_stb & ~astray),
            put_commit.eq(self.commit_stb & ~astray),
        ]
        delay = Delays(m)
        word_stb = delay(put_word, _BEGIN_CYCLES, reset=True)
        m.submodules.word = word = DelayLine(unsigned(32), _BEGIN_CYCLES)
        commit_stb = delay(put_commit, _BEGIN_CYCLES, reset=True)
        # Of a commit that comes while another one waits, none is wanted: it will be refused.
        commit_crc = Signal(32, reset_less=True)
        with m.If(put_commit & ~committing):
            m.d.sync += commit_crc.eq(self.commit_crc)
        begin, commit = Signal(), Signal()
        # Busy also while a word or a commit waits: what it leads to is seen once busy is 0.
        waiting = Signal(range(_BEGIN_CYCLES + 2))
        with m.If(put_word | put_commit):
            m.d.sync += waiting.eq(_BEGIN_CYCLES + 1)
        with m.Elif(waiting != 0):
            m.d.sync += waiting.eq(waiting - 1)
        with m.If(put_commit):
            m.d.sync += committing.eq(1)
        with m.Elif(commit_stb):
            m.d.sync += committing.eq(0)
        m.d.comb += [
            word.i.eq(self.word),
            begin.eq(self.begin_stb & ~deciding & ~committing),
            commit.eq(commit_stb & loading & ~deciding),
            self.busy.eq(deciding | (waiting != 0)),
        ]
        return _Due(
            begin=begin,
            commit=commit,
            commit_stb=commit_stb,
            commit_crc=commit_crc,
            word_stb=word_stb,
            word=word.o,
            astray=astray,
        )

    def _put(self, m: Module, pool: _Pool, *, header: data.View, number: Value) -> data.View:
        """Writes into the sets' memory: the model that the header describes, unless overridden."""
        config = self._config
        # A register before the sets' memory: what is renewed has just been read from it.
        put = Signal(
            data.StructLayout({"en": 1, "set": config.set_bits, "model": model_layout(config)})
        )
        m.d.sync += [
            pool.put_model.en.eq(put.en),
            pool.put_model.addr.eq(put.set),
            pool.put_model.data.eq(put.model),
        ]
        m.d.comb += [
            put.set.eq(number),
            put.model.epoch.eq(pool.epoch),
            pool.put_version.addr.eq(number),
            pool.put_version.data.eq(header[1]),
        ]
        for name, value, _ in header_limits(config, header):
            m.d.comb += put.model[name].eq(value - 1)
        if config.forecast:
            m.d.comb += put.model.kind.eq(header[0][24:])
        if config.tree:
            m.d.comb += put.model.depth.eq(header[3][8:])
        return put

    def _guard(
        self, m: Module, pool: _Pool, *, number: Value, accepted: Value, stays: Value
    ) -> None:
        """Sets for the scrubber: those that hold a model, and one that it takes away.

        One that a load may yet take `stays`: of a live set the walk would pass over what is left.
        """
        loaded = Signal()  # and not a begin that was refused
        begun = Signal.like(pool.valid)
        m.d.sync += loaded.eq(accepted)
        m.d.comb += [
            begun.bit_select(number, 1).eq(stays),
            self.valid.eq(pool.valid | begun),
            self.loaded_stb.eq(loaded),
            self.loaded_set.eq(number),
        ]
        with m.If(self.fail_stb):
            m.d.sync += pool.valid.bit_select(self.guarded_set, 1).eq(0)
            for slot in pool.slots:
                with m.If(slot.set == self.guarded_set):
                    m.d.sync += slot.enable.eq(0)

    def _renew(
        self, m: Module, pool: _Pool, put: data.View, *, granted_stb: Value, accepted: Value
    ) -> None:
        """A new epoch for a set, between the loader's writes and the host's.

        It goes into the set's entry, then into those of the slots that stand for the set.
        """
        config = self._config
        entered, at = Signal(), Signal(config.set_bits)
        renewed = Signal(EPOCH_BITS)
        with m.If(self.renewing & ~granted_stb):
            m.d.comb += pool.get_model.addr.eq(self.guarded_set)
            with m.If(entered):
                mine = pool.slots[at].enable & (pool.slots[at].set == self.guarded_set)
                m.d.comb += [
                    pool.put_slot.en.eq(mine),
                    pool.put_slot.addr.eq(at),
                    pool.put_slot.data.set.eq(self.guarded_set),
                    pool.put_slot.data.epoch.eq(renewed),
                ]
                m.d.sync += [at.eq(at + 1), self.renewing.eq(at != config.sets - 1)]
            with m.Elif(~accepted):
                m.d.comb += [
                    put.en.eq(1),
                    put.set.eq(self.guarded_set),
                    put.model.eq(pool.get_model.data),
                    put.model.epoch.eq(pool.epoch),
                ]
                m.d.sync += [entered.eq(1), pool.epoch.eq(pool.epoch + 1), renewed.eq(pool.epoch)]
        with m.If(self.renew_stb):  # only while nothing is being renewed
            m.d.sync += [self.renewing.eq(1), entered.eq(0), at.eq(0)]


def _entry(config: NicConfig) -> data.StructLayout:
    """One entry of the map."""
    return data.StructLayout({"enable": 1, "set": config.set_bits})


def _forecast_ports(config: NicConfig) -> dict[str, wiring.Member]:
    return {
        "asked_set": In(config.set_bits),
        "asked_version": Out(32),
        "slot_enables": Out(config.sets),
    }


def _guarded(config: NicConfig) -> dict[str, wiring.Member]:
    """Members for the scrubber."""
    return {
        "valid": Out(config.sets),
        "loaded_stb": Out(1),
        "loaded_set": Out(config.set_bits),
        "fail_stb": In(1),
        "guarded_set": In(config.set_bits),
        "renew_stb": In(1),
        "renewing": Out(1),
    }
