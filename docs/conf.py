"""Sphinx configuration; before a build it writes the generated pages of the reference."""

from pathlib import Path

import typer
from sphinx.application import Sphinx
from typer.cli import get_docs_for_click

from precog_host.application import application
from precog_host.device import Device
from precog_models.rate.engine.page import page
from precog_spec.registers import blocks
from precog_spec.registers.generate import GENERATORS
from precog_spec.registers.precog import build_map

project = "Precog"
author = "the Precog authors"
copyright = "the Precog authors, Apache-2.0"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
html_theme = "furo"
html_title = "Precog"
exclude_patterns = ["_build", "notebooks"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_custom_sections = ["Usage"]
sphinx_gallery_conf = {
    "examples_dirs": "notebooks",
    "gallery_dirs": "tutorials/notebooks",
    "filename_pattern": r"\.py",
    "write_computation_times": False,
    # What a page shows depends on all of Precog, not on its script alone.
    "run_stale_examples": True,
}

_REFERENCE = Path(__file__).parent / "reference" / "generated"


def _commands() -> str:
    command = typer.main.get_command(application())
    context = command.make_context("precog", [], resilient_parsing=True)
    return get_docs_for_click(obj=command, ctx=context, name="precog", title="Commands")


def _registers() -> str:
    """Of a device that has every block of registers."""
    queues = "grants=1,profile=1,forecast=1,wire=4096"
    uri = f"emu:width=64,{queues},trace=1,receiver=1,senders=1,port=1,law_cores=1,trials=1,macs=1"
    with Device.open(uri) as device:
        page = GENERATORS["md"](build_map(device.sizes, device.identity))
    title, _, rest = page.partition("\n")
    return (
        f"{title}\n\nThis page describes `{uri}`. Other devices lack blocks, and have some "
        "registers at other addresses: `precog register export -d …` prints a device's own map.\n"
        f"{rest}"
    )


def write_reference(_app: Sphinx) -> None:
    """Write the pages that programs know better than people."""
    _REFERENCE.mkdir(parents=True, exist_ok=True)
    (_REFERENCE / "commands.md").write_text(_commands(), encoding="utf-8")
    (_REFERENCE / "registers.md").write_text(_registers(), encoding="utf-8")
    (_REFERENCE / "blocks.md").write_text(blocks.page(), encoding="utf-8")
    (_REFERENCE / "law_isa.md").write_text(page(), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.connect("builder-inited", write_reference)
