"""Programs of the law engine: loading with CRC, commit, and the map from slots to banks.

A load is `begin`, `IMAGE_WORDS` words in the image's order, `commit` with the expected CRC-32. A
bank is valid from a good commit to the next `begin`. The map names only valid banks, and a bank
that it names, or that an event still runs, cannot be begun: so no live program is ever touched.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.predict.check_bits import CHECK_LATENCY, parity
from precog_hw.predict.layouts import program_put_layout
from precog_hw.predict.word_crc import WordCrc
from precog_spec.config import NicConfig
from precog_spec.engine.events import EVENTS
from precog_spec.engine.image_fields import (
    BANKS,
    CODE_AT,
    ENTRIES_AT,
    FORMAT,
    IMAGE_WORDS,
    LAW_CONTRACT,
    NAME_AT,
    NAME_WORDS,
    SLOT_AT,
    TAG_AT,
    VERSION_AT,
    WINDOWED_AT,
    LoadStatus,
)
from precog_spec.engine.isa import SLOTS
from precog_spec.secded import PROGRAM_ENTRIES, PROGRAM_SLOT

from .layouts import CODE_WRITE, ENTRY_WRITE, SLOT_WRITE
from .units import delayed

__all__ = ["PROGRAM", "ProgramStore"]

_SLOT_BITS = (SLOTS - 1).bit_length()
_BANK_BITS = (BANKS - 1).bit_length()
_SETTLE = 4  # cycles until a commit's last word has gone through CRC and comparisons

#: What a slot stands for.
PROGRAM = data.StructLayout({"live": 1, "bank": _BANK_BITS, "tag": 32, "windowed": 1})


class ProgramStore(wiring.Component):
    """Loader, state of the banks, and slot map.

    Latency: a commit is decided after 5 cycles; a word leaves in the cycle after its strobe, one of
    slot memory with its upper half, and 3 cycles later with check bits. Throughput: a word a cycle,
    with `relaxed` in 4. A map write takes effect in the next cycle.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    begin_stb, begin_bank : In(1), In(3)
        Start a load. The bank becomes invalid, or `status` says that it is in use.
    word_stb, word : In(1), In(32)
    commit_stb, commit_crc : In(1), In(32)
        End the load: check length, CRC, format and contract; then the bank is valid.
    status : Out(4), words : Out(16), busy : Out(1)
        A `LoadStatus`; words taken since `begin`; a commit is being decided.
    map_stb, map_slot, map_enable, map_bank : In
        Write one entry of the map. Refused, and nothing changes, if it enables an invalid bank.
    load_error, map_error : Out(1)
        Strobes: a load failed or was refused; a map write was refused.
    slot : In(3), program : Out(PROGRAM)
        What a slot stands for, in the same cycle.
    running : In(8)
        Banks that events run.
    fail_stb, fail_slot, fail_bank : In
        An event of the slot ended in a trap: if it still stands for the bank, it is disabled.
    query_slot : In(3), query_entry : Out(1 + 3 + 1 + 1)
        Read port of the map: {enable, bank, tripped, damaged}.
    query_bank, query_valid, query_version, query_name : In(3), Out(1), Out(32), Out(128)
        Read port of the banks.
    code, slot_word, entry : Out, each with a strobe
        Writes for the cores; their `slot` is the bank.
    check, copies : Out(8), Out(cores)
        With ECC of programs: check bits of the word that is written, and cores that it goes to.
    put, put_ready : In(program_put_layout), Out(1)
        As above: a word with check bits, for a cycle in which none of an image leaves.
    valid : Out(8)
        As above: banks that hold a program.
    spoil_stb, spoil_bank : In(1), In(3)
        As above: the bank's program cannot be corrected. It is valid no more, and slots that stand
        for it are disabled.
    loaded_stb, loaded_bank : Out(1), Out(3)
        As above: a bank has become valid.
    """

    def __init__(self, config: NicConfig) -> None:
        self._ecc, self._cores = config.guards_programs, config.law_cores
        self._relaxed = config.relaxed
        entry = {"enable": 1, "bank": _BANK_BITS, "tripped": 1}
        self._entry = data.StructLayout(entry | ({"damaged": 1} if self._ecc else {}))
        guarded = {
            "check": Out(8),
            "copies": Out(self._cores),
            "put": In(program_put_layout(self._cores)),
            "put_ready": Out(1),
            "valid": Out(BANKS),
            "spoil_stb": In(1),
            "spoil_bank": In(_BANK_BITS),
            "loaded_stb": Out(1),
            "loaded_bank": Out(_BANK_BITS),
        }
        super().__init__(
            {
                **(guarded if self._ecc else {}),
                "begin_stb": In(1),
                "begin_bank": In(_BANK_BITS),
                "word_stb": In(1),
                "word": In(32),
                "commit_stb": In(1),
                "commit_crc": In(32),
                "status": Out(4),
                "words": Out(16),
                "busy": Out(1),
                "map_stb": In(1),
                "map_slot": In(_SLOT_BITS),
                "map_enable": In(1),
                "map_bank": In(_BANK_BITS),
                "load_error": Out(1),
                "map_error": Out(1),
                "slot": In(_SLOT_BITS),
                "program": Out(PROGRAM),
                "running": In(BANKS),
                "fail_stb": In(1),
                "fail_slot": In(_SLOT_BITS),
                "fail_bank": In(_BANK_BITS),
                "query_slot": In(_SLOT_BITS),
                "query_entry": Out(self._entry),
                "query_bank": In(_BANK_BITS),
                "query_valid": Out(1),
                "query_version": Out(32),
                "query_name": Out(32 * NAME_WORDS),
                "code": Out(CODE_WRITE),
                "code_stb": Out(1),
                "slot_word": Out(SLOT_WRITE),
                "slot_stb": Out(1),
                "entry": Out(ENTRY_WRITE),
                "entry_stb": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid = Signal(BANKS)
        slots = Signal(data.ArrayLayout(self._entry, SLOTS))
        self._map(m, valid, slots)
        number, count, loading = Signal(_BANK_BITS), Signal(range(IMAGE_WORDS + 2)), Signal()
        m.submodules.crc = crc = WordCrc(serial=self._relaxed)
        taken = self.word_stb & loading & ~self.busy
        fits = taken & (count < IMAGE_WORDS)
        format_ok, contract_ok = Signal(), Signal()
        m.d.comb += [
            crc.begin.eq(self.begin_stb & ~self.busy),
            crc.valid.eq(fits),
            crc.word.eq(self.word),
            self.words.eq(count),
        ]
        with m.If(taken & (count != IMAGE_WORDS + 1)):
            m.d.sync += count.eq(count + 1)
        with m.If(fits & (count == 0)):
            m.d.sync += format_ok.eq(self.word == FORMAT)
        with m.If(fits & (count == 1)):
            m.d.sync += contract_ok.eq(self.word == LAW_CONTRACT)
        self._write(m, number, count, fits)
        self._banks(m, number, count, fits)

        named = Cat(slots[n].enable & (slots[n].bank == self.begin_bank) for n in range(SLOTS))
        in_use = named.any() | self.running.bit_select(self.begin_bank, 1)
        wanted, settling = Signal(32), Signal(_SETTLE)
        good = Signal()
        m.d.comb += self.busy.eq(settling.any())
        m.d.sync += [self.load_error.eq(0), settling.eq(settling << 1)]
        outcome = Signal(4)
        with m.If(count != IMAGE_WORDS):
            m.d.comb += outcome.eq(LoadStatus.BAD_LENGTH)
        with m.Elif(crc.crc != wanted):
            m.d.comb += outcome.eq(LoadStatus.BAD_CRC)
        with m.Elif(~format_ok):
            m.d.comb += outcome.eq(LoadStatus.BAD_FORMAT)
        with m.Elif(~contract_ok):
            m.d.comb += outcome.eq(LoadStatus.BAD_CONTRACT)
        with m.Else():
            m.d.comb += [outcome.eq(LoadStatus.OK), good.eq(1)]
        with m.If(settling[-1]):
            m.d.sync += [self.status.eq(outcome), self.load_error.eq(~good)]
            with m.If(good):
                m.d.sync += valid.bit_select(number, 1).eq(1)
        with m.Elif(self.busy):
            pass  # commands wait
        with m.Elif(self.begin_stb):
            m.d.sync += [loading.eq(~in_use), number.eq(self.begin_bank), count.eq(0)]
            with m.If(in_use):
                m.d.sync += [self.status.eq(LoadStatus.BANK_IN_USE), self.load_error.eq(1)]
            with m.Else():
                m.d.sync += [
                    self.status.eq(LoadStatus.LOADING),
                    valid.bit_select(self.begin_bank, 1).eq(0),
                ]
        with m.Elif((self.commit_stb | self.word_stb) & ~loading):
            m.d.sync += [self.status.eq(LoadStatus.NOT_BEGUN), self.load_error.eq(1)]
        with m.Elif(self.commit_stb):
            m.d.sync += [wanted.eq(self.commit_crc), loading.eq(0), settling.eq(1)]
        if self._ecc:
            m.d.comb += [
                self.valid.eq(valid),
                self.loaded_stb.eq(settling[-1] & good),
                self.loaded_bank.eq(number),
            ]
            with m.If(self.spoil_stb):
                m.d.sync += valid.bit_select(self.spoil_bank, 1).eq(0)
        return m

    def _map(self, m: Module, valid: Signal, slots: data.View) -> None:
        """Slots: the host's writes, and what a trap disables."""
        refused = self.map_enable & ~valid.bit_select(self.map_bank, 1)
        # A load that begins in this cycle goes first: the bank is not valid any more.
        begun = self.begin_stb & (self.begin_bank == self.map_bank) & self.map_enable
        if self._ecc:
            begun |= self.spoil_stb & (self.spoil_bank == self.map_bank) & self.map_enable
        m.d.sync += self.map_error.eq(self.map_stb & (refused | begun))
        failed = slots[self.fail_slot]
        with m.If(self.fail_stb & (failed.bank == self.fail_bank)):
            m.d.sync += [slots[self.fail_slot].enable.eq(0), slots[self.fail_slot].tripped.eq(1)]
        if self._ecc:
            for n in range(SLOTS):
                spoiled = slots[n].enable & (slots[n].bank == self.spoil_bank)
                with m.If(self.spoil_stb & spoiled):
                    m.d.sync += [slots[n].enable.eq(0), slots[n].damaged.eq(1)]
        with m.If(self.map_stb & ~refused & ~begun):
            m.d.sync += [
                slots[self.map_slot].enable.eq(self.map_enable),
                slots[self.map_slot].bank.eq(self.map_bank),
                slots[self.map_slot].tripped.eq(0),
            ]
            if self._ecc:
                m.d.sync += slots[self.map_slot].damaged.eq(0)
        m.d.comb += [
            self.query_entry.eq(slots[self.query_slot]),
            self.query_valid.eq(valid.bit_select(self.query_bank, 1)),
            self.program.live.eq(slots[self.slot].enable),
            self.program.bank.eq(slots[self.slot].bank),
        ]

    def _write(self, m: Module, number: Signal, count: Signal, fits: Value) -> None:
        """Words for the cores' memories."""
        names = ("code", "slot_word", "entry")
        if self._ecc:
            words = [Signal.like(getattr(self, name), name=f"loaded_{name}") for name in names]
            strobes = Signal(len(names))
        else:
            words = [getattr(self, name) for name in names]
            strobes = Cat(self.code_stb, self.slot_stb, self.entry_stb)
        code, slot_word, entry = words
        low = Signal(32)
        code_at, slot_at = count - CODE_AT, count - SLOT_AT
        kind = count - ENTRIES_AT
        of_slot = count >= SLOT_AT
        m.d.sync += [
            low.eq(Mux(fits, self.word, low)),
            strobes[0].eq(fits & (count >= CODE_AT) & ~of_slot),
            code.slot.eq(number),
            code.place.eq(code_at),
            code.word.eq(self.word),
            strobes[1].eq(fits & of_slot & slot_at[0]),
            slot_word.slot.eq(number),
            slot_word.place.eq(slot_at >> 1),
            slot_word.word.eq(Cat(low, self.word[:16])),
            strobes[2].eq(fits & (count >= ENTRIES_AT) & (count < ENTRIES_AT + len(EVENTS))),
            entry.slot.eq(number),
            entry.kind.eq(kind),
            entry.place.eq(self.word),
            entry.heard.eq(self.word[16]),
        ]
        if self._ecc:
            self._guard(m, code, slot_word, entry, strobes)

    def _guard(
        self, m: Module, code: data.View, slot_word: data.View, entry: data.View, strobes: Signal
    ) -> None:
        """Loaded words get their check bits; the scrubber's words go between them."""
        word = Mux(strobes[0], code.word, Cat(entry.place, entry.heard))
        check = parity(m, "program", Mux(strobes[1], slot_word.word.as_unsigned(), word))
        stbs = Signal(len(strobes), name="leaving")
        m.d.comb += stbs.eq(delayed(m, strobes, CHECK_LATENCY, "strobes"))
        put, place = self.put, self.put.place
        at = place.at
        kinds = Cat(
            at < PROGRAM_SLOT, (at >= PROGRAM_SLOT) & (at < PROGRAM_ENTRIES), at >= PROGRAM_ENTRIES
        )
        loads = stbs.any()
        puts = Signal(name="puts")
        m.d.comb += [self.put_ready.eq(~loads), puts.eq(put.en & ~loads)]
        leaves = Mux(loads, stbs, kinds & put.en.replicate(len(kinds)))
        written = (
            (self.code, code, {"place": at, "word": put.data}),
            (self.slot_word, slot_word, {"place": at, "word": put.data}),
            (self.entry, entry, {"kind": at, "place": put.data, "heard": put.data[10]}),
        )
        for port, loaded, fields in written:
            later = delayed(m, loaded.as_value(), CHECK_LATENCY, "loaded")
            m.d.sync += port.as_value().eq(later)
            with m.If(puts):
                m.d.sync += port.slot.eq(place.bank)
                m.d.sync += [port[name].eq(value) for name, value in fields.items()]
        m.d.sync += [
            Cat(self.code_stb, self.slot_stb, self.entry_stb).eq(leaves),
            self.check.eq(Mux(loads, check, put.check)),
            self.copies.eq(Mux(loads, (1 << self._cores) - 1, 1 << place.core)),
        ]

    def _banks(self, m: Module, number: Signal, count: Signal, fits: Value) -> None:
        """What is known of each bank: words of its header in LUT RAM."""

        def words(name: str, at: int, bits: int = 32) -> Memory:
            m.submodules[name] = memory = Memory(
                shape=bits, depth=BANKS, init=[], attrs={"ram_style": "distributed"}
            )
            write = memory.write_port()
            m.d.comb += [
                write.en.eq(fits & (count == at)),
                write.addr.eq(number),
                write.data.eq(self.word),
            ]
            return memory

        def shown(memory: Memory, where: Value) -> Value:
            read = memory.read_port(domain="comb")
            m.d.comb += read.addr.eq(where)
            return read.data

        bank = self.program.bank
        names = [words(f"name{n}", NAME_AT + n) for n in range(NAME_WORDS)]
        m.d.comb += [
            self.program.tag.eq(shown(words("tags", TAG_AT), bank)),
            self.program.windowed.eq(shown(words("windowed", WINDOWED_AT, 1), bank)),
            self.query_version.eq(shown(words("versions", VERSION_AT), self.query_bank)),
            self.query_name.eq(Cat(shown(name, self.query_bank) for name in names)),
        ]
