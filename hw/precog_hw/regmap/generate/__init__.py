"""Texts made from a register map: hardware descriptions, software, documentation."""

from .accessors import python
from .c_header import c_header
from .html import html
from .ipxact import ipxact
from .markdown import markdown
from .systemrdl import systemrdl

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
