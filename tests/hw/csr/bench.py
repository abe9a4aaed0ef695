"""Our bank with AXI4-Lite in front and a bench's hardware side (see `side`) behind."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tests.hw.csr import side

from precog_hw.csr.axil import AxiLite, AxiLiteFrontEnd
from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.counters import Counters
from precog_hw.export import port_map
from precog_hw.verilog import verilog_text
from precog_spec.registers.model import Access, Block, Register, RegisterMap, Table, Word

__all__ = ["BankBench", "bank_verilog", "hardware"]


def _start(word: Word) -> int:
    """A counter's word before it counts; of a clock's, if the low half has been read."""
    assert word.register
    high, low = divmod(side.COUNT_START, 1 << 32)
    return low if word.register.name == "LOW" else high


def hardware(regmap: RegisterMap) -> dict[str, int]:
    """What each hardware-owned word reads in the bench."""
    return side.hardware_words(regmap, _start)


class BankBench(wiring.Component):
    """Front end and bank; counters and clock count, words of other tables are stored."""

    def __init__(self, regmap: RegisterMap) -> None:
        self.regmap = regmap
        self._hardware = hardware(regmap)
        self._w1c = side.places(regmap, Access.W1C)
        self._pulses = side.places(regmap, Access.PULSE)
        self._loads = side.loadable(regmap)
        super().__init__(
            {
                "axil": In(AxiLite(regmap.address_bits)),
                "w1c_set": In(max(side.width(self._w1c), 1)),
                "w1c": Out(max(side.width(self._w1c), 1)),
                "pulses": Out(max(side.width(self._pulses), 1)),
                "load": In(max(len(self._loads), 1)),
                "load_data": In(32),
                "count": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.front = front = AxiLiteFrontEnd(self.regmap.address_bits)
        m.submodules.bank = bank = RegisterBank(self.regmap)
        wiring.connect(m, front.bus, bank.bus)
        wiring.connect(m, wiring.flipped(self.axil), front.axil)
        for word, register, field, at in self._w1c:
            name = port(word.block.name, register.name, field.name)
            bits = slice(at, at + field.bits)
            m.d.comb += getattr(bank, f"{name}_set").eq(self.w1c_set[bits])
            m.d.comb += self.w1c[bits].eq(getattr(bank, name))
        for word, register, field, at in self._pulses:
            value = getattr(bank, port(word.block.name, register.name, field.name))
            m.d.comb += self.pulses[at : at + field.bits].eq(value)
        for n, (word, register) in enumerate(self._loads):
            base = port(word.block.name, register.name)
            m.d.comb += getattr(bank, f"{base}_load").eq(self.load[n])
            for field in register.fields:
                if field.access is Access.RW:
                    new = self.load_data[field.lsb : field.lsb + field.bits]
                    m.d.comb += getattr(bank, f"{base}_{field.name}_new").eq(new)
        for word, register in side.own_words(self.regmap):
            for field in register.fields:
                if field.access is Access.RO and not register.constant:
                    signal = getattr(bank, port(word.block.name, register.name, field.name))
                    value = self._hardware[word.name]
                    m.d.comb += signal.eq((value & field.mask) >> field.lsb)
        for placed in self.regmap.blocks:
            for table in placed.block.tables:
                if side.is_counters(table):
                    self._count(m, bank, placed.block, table)
                else:
                    self._store(m, bank, placed.block, table)
        return m

    def _count(self, m: Module, bank: RegisterBank, block: Block, table: Table) -> None:
        base = port(block.name, table.name)
        low, high = (getattr(bank, f"{base}_{half}_{half}") for half in ("low", "high"))
        if side.is_clock(table):
            time = Signal(64, init=side.COUNT_START)
            m.d.sync += time.eq(time + self.count)
            m.d.comb += low.eq(time[:32])
            with m.If(getattr(bank, f"{base}_low_read")):
                m.d.sync += high.eq(time[32:])
            return
        m.submodules[base] = counters = Counters(table.count, init=side.COUNT_START)
        m.d.comb += [
            counters.events.eq(self.count.replicate(table.count)),
            counters.index.eq(getattr(bank, f"{base}_index")),
            counters.snapshot.eq(bank.counters_command_snapshot & ~counters.busy),
            low.eq(counters.low),
            high.eq(counters.high),
        ]

    def _store(self, m: Module, bank: RegisterBank, block: Block, table: Table) -> None:
        index = getattr(bank, port(block.name, table.name, "index"))
        for register in table.registers:
            base = port(block.name, table.name, register.name)
            for field in register.fields:
                held = Array(
                    Signal(field.bits, init=value, name=f"{base}_{field.name}_{n}")
                    for n, value in enumerate(self._values(block, table, register, field.name))
                )
                m.d.comb += getattr(bank, f"{base}_{field.name}").eq(held[index])
                if field.access is Access.RW:
                    with m.If(getattr(bank, f"{base}_stb")):
                        m.d.sync += held[index].eq(getattr(bank, f"{base}_{field.name}_new"))

    def _values(self, block: Block, table: Table, register: Register, field: str) -> list[int]:
        """The field's bits in each entry."""
        told = register.field(field)
        names = (f"{block.name}.{table.name}[{n}].{register.name}" for n in range(table.count))
        return [(self._hardware[name] & told.mask) >> told.lsb for name in names]


def bank_verilog(regmap: RegisterMap, name: str) -> str:
    """The bench as module `name`, with ``s_axil_*``, clock ``clk`` and reset ``rst``."""
    dut = BankBench(regmap)
    ports = {name.replace("axil_", "s_axil_", 1): pair for name, pair in port_map(dut).items()}
    return verilog_text(dut, name=name, ports=ports)
