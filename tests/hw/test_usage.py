# amaranth: UnusedElaboratable=no
"""Usage examples of components: those that others instantiate have one, and each is elaborated."""

import ast
import textwrap
from collections import defaultdict
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from tests.structure import imports, module_name

import precog_hw
from precog_hw.dsp import Multiplier
from precog_hw.measure.split import SplitMultiplier
from precog_hw.stream.delay import DelayLine
from precog_hw.stream.packet_arbiter import PacketArbiter
from precog_hw.stream.packet_fifo import PacketFifo
from precog_hw.stream.queue import Queue

FILES = sorted(Path(precog_hw.__file__).parent.rglob("*.py"))
HEADING = "Usage\n-----\n::\n\n"
SHARED_BY = 3  # files that instantiate a component before its example is required


def _classes() -> dict[str, ast.ClassDef]:
    """Public classes of the gateware by absolute name."""
    return {
        f"{module_name(path)}.{node.name}": node
        for path in FILES
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def _examples() -> dict[str, str]:
    """The code of each class that has an example."""
    found = {}
    for name, node in CLASSES.items():
        _, heading, code = cleandoc(ast.get_docstring(node) or "").partition(HEADING)
        if heading:
            found[name] = textwrap.dedent(code)
    return found


CLASSES = _classes()
EXAMPLES = _examples()


def _instantiated_by() -> dict[str, set[Path]]:
    """Files that import and instantiate a component."""
    users = defaultdict(set)
    for path in FILES:
        imported = {name.rpartition(".")[2]: name for _, name in imports(path)}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                users[imported.get(node.func.id, "")].add(path)
    return {name: files for name, files in users.items() if name in CLASSES}


def test_shared_components_have_an_example() -> None:
    shared = {
        name
        for name, files in _instantiated_by().items()
        if len(files) >= SHARED_BY
        and any(ast.unparse(base) == "wiring.Component" for base in CLASSES[name].bases)
    }
    assert "precog_hw.stream.queue.Queue" in shared, "the search finds nothing"
    missing = sorted(shared - EXAMPLES.keys())
    assert not missing, f"components without a Usage example: {missing}"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_elaborated(name: str) -> None:
    m = Module()
    word, word_stb, row = Signal(32), Signal(), Signal(6)
    m.submodules.another_multiplier = multiplier = Multiplier(18, 18)
    m.submodules.another_delay = late = DelayLine(unsigned(32), 3)
    scope: dict[str, Any] = {
        "Cat": Cat,
        "DelayLine": DelayLine,
        "Multiplier": Multiplier,
        "Mux": Mux,
        "PacketArbiter": PacketArbiter,
        "PacketFifo": PacketFifo,
        "Queue": Queue,
        "Signal": Signal,
        "SplitMultiplier": SplitMultiplier,
        "data": data,
        "late": late,
        "m": m,
        "multiplier": multiplier,
        "row": row,
        "stream": stream,
        "unsigned": unsigned,
        "wiring": wiring,
        "word": word,
        "word_stb": word_stb,
    }
    module, _, own = name.rpartition(".")
    scope |= vars(import_module(module))
    exec(compile(EXAMPLES[name], f"Usage of {name}", "exec"), scope)
    assert any(type(value) is scope[own] for value in scope.values()), f"no {own} is instantiated"
    rtlil.convert(m, ports=[word, word_stb, row])
