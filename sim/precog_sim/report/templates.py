"""Pages from templates: one environment, its filters, and spaces that do not break."""

import re
from pathlib import Path
from typing import Any

from precog_sim.report.wording import duration, lower_first, moment, number, ranges, signed

__all__ = ["rendered"]


def rendered(template: str, context: dict[str, Any]) -> str:
    """A page's HTML."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number,
        duration=duration,
        signed=signed,
        lower_first=lower_first,
        moment=moment,
        ranges=ranges,
    )
    page = environment.get_template(template).render(context)
    return re.sub(r"(?<=\d) (?=(?:µs|ms|ns|Gb/s|MHz|MB|KB|%)(?!\w))", "\u00a0", page)
