"""The registers of a map, as gateware.

::

    bus.stb ─► decode ─► [select, one bit per word] ─► write / strobes
                                                    └► read, one register per block ─► or ─► bus.ack
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.axil import RegisterBus
from precog_hw.csr.layouts import field_shape
from precog_spec.registers.model import Access, Field, PlacedBlock, Register, RegisterMap, Table

__all__ = ["RegisterBank", "address_patterns", "port"]


def port(*parts: str) -> str:
    """Name of a bank's port: the parts in lower case, joined by underscores."""
    return "_".join(parts).lower()


class RegisterBank(wiring.Component):
    """All blocks of a register map.

    Latency: `ack` 3 cycles after `stb`; a write takes effect 2 cycles after it.
    Throughput: one access at a time. Cost: the RW and W1C bits, 32 flip-flops per block for the
    read path, one address comparator per word.

    Parameters
    ----------
    regmap : RegisterMap

    Members
    -------
    bus : In(RegisterBus)
    ``<block>_<register>_<field>``
        RW: Out(shape), the value. RO: In(shape), the value, unless the register is constant.
        W1C: Out(bits), the value. PULSE: Out(bits), what was written, for one cycle, else 0.
    ``<block>_<register>_<field>_set``
        W1C: In(bits), sets bits; wins over a clear in the same cycle.
    ``<block>_<register>_<field>_new``, ``<block>_<register>_load``
        Loadable registers: In(shape), In(1): replace the value.
    ``<block>_<register>_stb``
        Registers with a PULSE field: Out(1), the register is being written.
    ``<block>_<table>_index``
        Out(range(count)); it holds at least one cycle before a strobe.
    ``<block>_<table>_inside``
        Out(1): the address is one of the table's.
    ``<block>_<table>_<register>_<field>``
        In(shape), the value of entry `index`, at the latest one cycle after `index` changed.
    ``<block>_<table>_<register>_<field>_new``, ``<block>_<table>_<register>_stb``
        RW fields in tables: Out(shape), Out(1): a write to entry `index`.
    ``<block>_<table>_<register>_read``
        Out(1): entry `index` is being read in this cycle.
    """

    def __init__(self, regmap: RegisterMap) -> None:
        self._map = regmap
        members = {"bus": In(RegisterBus(regmap.address_bits))}
        for placed in regmap.blocks:
            block = placed.block
            for register in block.registers:
                members.update(_register_ports(block.name, register))
            for table in block.tables:
                members.update(_table_ports(block.name, table))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.bus
        answer, ack = Signal(), Signal()
        write, read = Signal(), Signal()
        m.d.sync += [
            write.eq(bus.stb & bus.write),
            read.eq(bus.stb & ~bus.write),
            answer.eq(write | read),
            ack.eq(answer),
        ]

        known = []
        results = []
        for placed in self._map.blocks:
            hit, result = self._block(m, placed, write, read)
            known.append(hit)
            results.append(result)
        found = Signal()
        m.d.sync += [
            found.eq(Cat(known).any()),
            bus.rdata.eq(reduce(or_, results)),
            bus.err.eq(~found),
        ]
        m.d.comb += bus.ack.eq(ack)
        return m

    def _block(
        self, m: Module, placed: PlacedBlock, write: Signal, read: Signal
    ) -> tuple[Value, Signal]:
        """Decode and execute accesses to one block; (address known, registered read data)."""
        block, bus = placed.block, self.bus
        words = [word for word in self._map.words() if word.block is block and word.table is None]
        sources: list[tuple[Value, Value | int]] = []
        hits: list[Value] = []
        for word in words:
            select = Signal(name=port("select", *word.name.split(".")))
            m.d.sync += select.eq(bus.addr == word.address >> 2)
            hits.append(select)
            if word.register is None:
                sources.append((select, word.constant))
            else:
                value = self._register(m, block.name, word.register, select & write)
                sources.append((select, value))
        for table in block.tables:
            start = (placed.base + block.table_offset(table.name)) >> 2
            sources += self._table(m, block.name, table, start, write, read)
        hits += [select for select, _ in sources[len(words) :]]
        result = Signal(32, name=port("result", block.name))
        m.d.sync += result.eq(reduce(or_, (Mux(select, value, 0) for select, value in sources)))
        return Cat(hits).any(), result

    def _register(self, m: Module, block: str, register: Register, stb: Value) -> Value:
        """One register: its storage, its strobes and the word that a read returns."""
        word = Signal(32, name=port("word", block, register.name))
        for field in register.fields:
            name = port(block, register.name, field.name)
            place = slice(field.lsb, field.lsb + field.bits)
            if field.access is Access.PULSE:
                m.d.comb += getattr(self, name).eq(Mux(stb, self.bus.data[place], 0))
                continue
            if register.constant:
                m.d.comb += word[place].eq(field.reset)
                continue
            value = getattr(self, name)
            m.d.comb += word[place].eq(value)
            if field.access is Access.RW:
                with m.If(stb):
                    m.d.sync += value.eq(self.bus.data[place])
                if register.loadable:
                    with m.If(getattr(self, port(block, register.name, "load"))):
                        m.d.sync += value.eq(getattr(self, f"{name}_new"))
            elif field.access is Access.W1C:
                kept = Mux(stb, value & ~self.bus.data[place], value)
                m.d.sync += value.eq(kept | getattr(self, f"{name}_set"))
        if register.mask(Access.PULSE):
            m.d.comb += getattr(self, port(block, register.name, "stb")).eq(stb)
        return word

    def _table(
        self, m: Module, block: str, table: Table, start: int, write: Signal, read: Signal
    ) -> list[tuple[Value, Value | int]]:
        """One table: its index, its strobes, and (select, word) of each of its registers."""
        addr = self.bus.addr
        shift = (table.stride // 4 - 1).bit_length()
        index = getattr(self, port(block, table.name, "index"))
        m.d.comb += index.eq(addr[shift : shift + len(index)])
        inside = getattr(self, port(block, table.name, "inside"))
        patterns = address_patterns(start, start + (table.count << shift), len(addr))
        m.d.comb += inside.eq(addr.matches(*patterns))
        sources: list[tuple[Value, Value | int]] = []
        for position, register in enumerate(table.registers):
            base = port(block, table.name, register.name)
            select = Signal(name=f"select_{base}")
            here = addr[:shift] == position if shift else 1
            m.d.sync += select.eq(inside & here)
            word = Signal(32, name=f"word_{base}")
            for field in register.fields:
                name = f"{base}_{field.name}"
                place = slice(field.lsb, field.lsb + field.bits)
                m.d.comb += word[place].eq(getattr(self, name))
                if field.access is Access.RW:
                    m.d.comb += getattr(self, f"{name}_new").eq(self.bus.data[place])
            if register.mask(Access.RW):
                m.d.comb += getattr(self, f"{base}_stb").eq(select & write)
            m.d.comb += getattr(self, f"{base}_read").eq(select & read)
            sources.append((select, word))
        return sources


def address_patterns(start: int, end: int, bits: int) -> list[str]:
    """Patterns of the numbers from `start` to before `end`: less logic than two comparisons."""
    patterns = []
    while start < end:
        aligned = start | 1 << bits - 1
        count = min(aligned & -aligned, 1 << (end - start).bit_length() - 1)
        low = count.bit_length() - 1
        patterns.append(f"{start >> low:0{bits - low}b}" + "-" * low)
        start += count
    return patterns


def _register_ports(block: str, register: Register) -> dict[str, wiring.Member]:
    ports = {}
    for field in register.fields:
        name = port(block, register.name, field.name)
        shape = field_shape(field)
        if field.access is Access.RW:
            ports[name] = Out(shape, init=_init(field))
            if register.loadable:
                ports[f"{name}_new"] = In(shape)
                ports[port(block, register.name, "load")] = In(1)
        elif field.access is Access.W1C:
            ports[name] = Out(shape)
            ports[f"{name}_set"] = In(shape)
        elif field.access is Access.PULSE:
            ports[name] = Out(shape)
            ports[port(block, register.name, "stb")] = Out(1)
        elif not register.constant:
            ports[name] = In(shape)
    return ports


def _table_ports(block: str, table: Table) -> dict[str, wiring.Member]:
    ports: dict[str, wiring.Member] = {
        port(block, table.name, "index"): Out(range(max(table.count, 2))),
        port(block, table.name, "inside"): Out(1),
    }
    for register in table.registers:
        base = port(block, table.name, register.name)
        ports[f"{base}_read"] = Out(1)
        for field in register.fields:
            ports[f"{base}_{field.name}"] = In(field_shape(field))
            if field.access is Access.RW:
                ports[f"{base}_{field.name}_new"] = Out(field_shape(field))
                ports[f"{base}_stb"] = Out(1)
    return ports


def _init(field: Field) -> int:
    """The reset value as a number of the field's shape."""
    return field.get(field.reset << field.lsb)
