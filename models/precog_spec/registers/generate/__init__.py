"""Texts made from a register map: hardware descriptions, software, documentation."""

from precog_spec.registers.generate.accessors import python
from precog_spec.registers.generate.c_header import c_header
from precog_spec.registers.generate.html import html
from precog_spec.registers.generate.ipxact import ipxact
from precog_spec.registers.generate.markdown import markdown
from precog_spec.registers.generate.systemrdl import systemrdl

__all__ = ["GENERATORS", "c_header", "html", "ipxact", "markdown", "python", "systemrdl"]

#: Text format: function of a map.
GENERATORS = {
    "rdl": systemrdl,
    "ipxact": ipxact,
    "c": c_header,
    "py": python,
    "html": html,
    "md": markdown,
}
