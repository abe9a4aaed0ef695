"""A bank with AXI4-Lite in front and known values on its hardware side."""

import random
from typing import Any

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from precog_hw.csr.axil import AxiLite, AxiLiteFrontEnd
from precog_hw.csr.bank import RegisterBank, port
from precog_hw.regmap.model import Access, Register, RegisterMap


class BankBench(wiring.Component):
    """Front end and bank; RO fields read random values, table words with RW fields are stored.

    `hardware` says what each hardware-owned word reads.
    """

    def __init__(self, regmap: RegisterMap, rng: random.Random) -> None:
        self.regmap = regmap
        self.bank = RegisterBank(regmap)
        self.hardware: dict[str, int] = {}
        for word in regmap.words():
            register = word.register
            if register is None or register.constant:
                continue
            if word.table is not None and register.mask(Access.RW):
                self.hardware[word.name] = 0
            elif register.mask(Access.RO):
                mask = register.mask(Access.RO)
                self.hardware[word.name] = register.reset & ~mask | rng.getrandbits(32) & mask
        super().__init__({"axil": In(AxiLite(regmap.address_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.front = front = AxiLiteFrontEnd(self.regmap.address_bits)
        m.submodules.bank = bank = self.bank
        wiring.connect(m, front.bus, bank.bus)
        wiring.connect(m, wiring.flipped(self.axil), front.axil)
        for placed in self.regmap.blocks:
            block = placed.block
            for register in block.registers:
                value = self.hardware.get(f"{block.name}.{register.name}", 0)
                self._drive(m, port(block.name, register.name), register, value)
            for table in block.tables:
                index = getattr(bank, port(block.name, table.name, "index"))
                for register in table.registers:
                    base = port(block.name, table.name, register.name)
                    values = [
                        self.hardware[f"{block.name}.{table.name}[{n}].{register.name}"]
                        for n in range(table.count)
                    ]
                    for field in register.fields:
                        held = Array(
                            Signal(field.bits, init=(v & field.mask) >> field.lsb, name=f"v{n}")
                            for n, v in enumerate(values)
                        )
                        m.d.comb += getattr(bank, f"{base}_{field.name}").eq(held[index])
                        if field.access is Access.RW:
                            with m.If(getattr(bank, f"{base}_stb")):
                                new = getattr(bank, f"{base}_{field.name}_new")
                                m.d.sync += held[index].eq(new)
        return m

    def _drive(self, m: Module, base: str, register: Register, value: int) -> None:
        if register.constant:
            return
        for field in register.fields:
            if field.access is Access.RO:
                signal: Any = getattr(self.bank, f"{base}_{field.name}")
                m.d.comb += signal.eq((value & field.mask) >> field.lsb)
