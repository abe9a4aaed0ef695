"""Structures at the core's edge: samples and decisions, and register values.

The first two are the contract's; the others are generated from the register map, and their fields
have the names of the register fields.
"""

from amaranth.hdl import Shape, signed, unsigned
from amaranth.lib import data

from precog_spec.config import NicConfig
from precog_spec.contract import DECISION_FIELDS, SAMPLE_FIELDS
from precog_spec.registers.identity import Identity
from precog_spec.registers.model import Access, Field, Register
from precog_spec.registers.precog import build_map
from precog_spec.registers.qp import QP_CONFIG, QP_STATUS

__all__ = [
    "DECISION",
    "PARAMETERS",
    "QP_CONFIG_LAYOUT",
    "QP_STATUS_LAYOUT",
    "SAMPLE",
    "field_shape",
    "registers_layout",
]


def field_shape(field: Field) -> Shape:
    """Amaranth shape of `field`."""
    return signed(field.bits) if field.signed else unsigned(field.bits)


def registers_layout(registers: tuple[Register, ...], access: Access) -> data.StructLayout:
    """One member per field of `registers` with `access`, in order."""
    return data.StructLayout(
        {
            field.name: field_shape(field)
            for register in registers
            for field in register.fields
            if field.access is access
        }
    )


#: Parameters shared by all QPs: every RW field of those blocks.
PARAMETERS = registers_layout(
    tuple(
        register
        for name in NicConfig().parameter_blocks
        for register in build_map(NicConfig(), Identity(0)).block(name).registers
    ),
    Access.RW,
)

#: Configuration of one QP.
QP_CONFIG_LAYOUT = registers_layout(QP_CONFIG, Access.RW)

#: Last decision of one QP.
QP_STATUS_LAYOUT = registers_layout(QP_STATUS, Access.RO)

#: What enters the core, and what leaves it.
SAMPLE = data.StructLayout({name: unsigned(bits) for name, bits in SAMPLE_FIELDS})
DECISION = data.StructLayout({name: unsigned(bits) for name, bits in DECISION_FIELDS})
