"""All that a device says about itself in one JSON file, for who is to find out what is wrong.

A part that cannot be read is an error's text in its place, not the end of the report. All counters
are of one instant. Nothing is written but the commands that keep them and that fetch rows, and
nothing is cleared. Addresses of peers are in it.
"""

import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from precog_models.durable import write_durably
from precog_models.limits import read_json

from .device import Device
from .output import plain
from .transport import DeviceError

__all__ = ["FORMAT", "collect", "decoded", "load", "save"]

FORMAT = "precog-dump"
_VERSION = 1  # of the file's layout
_MOST_BYTES = 256 << 20


def collect(device: Device, uri: str) -> dict[str, Any]:
    """The report, as plain JSON data.

    Parameters
    ----------
    device : Device
    uri : str
        How it was opened.
    """
    report: dict[str, Any] = {
        "format": FORMAT,
        "version": _VERSION,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": {
            "precog": _package(),
            "python": platform.python_version(),
            "system": platform.platform(),
        },
        "device": uri,
    }
    sections = _sections(device)
    try:
        with device.one_instant():
            return report | _read(sections)
    except (DeviceError, OSError) as error:  # without a snapshot: the rest may still say much
        return report | _read(sections) | {"snapshot": {"error": str(error)}}


def _read(sections: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, read in sections.items():
        try:
            found[name] = plain(read())
        except (DeviceError, OSError, ValueError) as error:
            found[name] = {"error": str(error)}
    return found


def _package() -> str:
    try:
        return version("precog")
    except PackageNotFoundError:
        return "not installed"


def _sections(device: Device) -> dict[str, Callable[[], Any]]:
    sections: dict[str, Callable[[], Any]] = {
        "identity": lambda: device.identity,
        "sizes": lambda: device.sizes,
        "registers": lambda: decoded(device),
        "models": device.model.sets,
        "qps": lambda: [device.qp(n).status() for n in range(device.sizes.qps)],
        "parameters": device.parameters,
        "counters": device.counters,
        "watchdog": device.watchdog.state,
        "interrupts": device.interrupt.state,
    }
    packets, pacing, queues = device.packet, device.pacer, device.profiler
    forecasting, receiving, tracing = device.forecast, device.receiver, device.trace
    everyone = range(device.sizes.qps)
    if packets is not None:
        sections |= {
            "packet_parameters": packets.parameters,
            "packet_bindings": packets.bindings,
            "packet_counters": packets.counters,
        }
    if device.mac is not None:
        sections["port_counters"] = device.mac.counters
    if pacing is not None:
        sections |= {
            "pacing": lambda: [pacing.connection(n) for n in everyone],
            "pacing_parameters": pacing.parameters,
            "pacing_counters": pacing.counters,
        }
    if queues is not None:
        sections |= {
            "queues": lambda: [queues.queue(n) for n in everyone],
            "queue_parameters": queues.parameters,
            "queue_counters": queues.counters,
        }
    if forecasting is not None:
        sections |= {
            "forecasts": lambda: [forecasting.pair(n) for n in everyone],
            "forecast_parameters": forecasting.parameters,
            "forecast_counters": forecasting.counters,
        }
    if receiving is not None:
        sections |= {
            "receiving": lambda: [receiving.qp(n) for n in everyone],
            "receiving_parameters": receiving.parameters,
            "receiving_counters": receiving.counters,
        }
    if device.senders is not None:
        sections |= {
            "senders": device.senders.count,
            "own_flows": device.senders.own,
            "senders_parameters": device.senders.parameters,
            "senders_counters": device.senders.counters,
        }
    if device.port is not None:
        sections |= {"announced": device.port.announced, "port": device.port.parameters}
    if tracing is not None:
        sections["trace"] = tracing.state
    faults = getattr(device.transport, "faults", None)
    if callable(faults):
        sections["bridge_faults"] = faults
    return sections


def decoded(device: Device) -> list[dict[str, Any]]:
    """Every readable word that is not a table's: address, name, word and fields."""
    found = device.registers
    rows: list[dict[str, Any]] = []
    for address, name, word in found.dump():
        block, _, register = name.partition(".")
        try:
            fields = found.register(block, register).fields
        except KeyError:
            fields = ()
        values = {field.name: field.get(word) for field in fields}
        rows.append({"address": address, "name": name, "word": word, "fields": values})
    return rows


def load(path: Path) -> dict[str, Any]:
    """A report from its file.

    Raises
    ------
    ValueError
        It is none, or one of a later version, or has registers that are none.
    """
    try:
        report = read_json(path, _MOST_BYTES)
    except ValueError as error:
        raise ValueError(f"dump must be a file of precog dump save, not {path}: {error}") from error
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise ValueError(f"dump must be a file of precog dump save, not {path}")
    if report.get("version") != _VERSION:
        raise ValueError(
            f"dump must have version {_VERSION}, not {report.get('version')!r}: "
            "another version of precog wrote it"
        )
    registers = report.get("registers")
    if isinstance(registers, list) and not all(map(_is_word, registers)):
        raise ValueError(
            f"registers of dump {path} must have an address, a name, a word and fields"
        )
    return report


def _is_word(row: Any) -> bool:
    """Whether a row is one of `decoded`."""
    if not isinstance(row, dict) or not isinstance(row.get("fields"), dict):
        return False
    whole = all(type(row.get(name)) is int for name in ("address", "word"))
    return whole and isinstance(row.get("name"), str)


def save(report: dict[str, Any], path: Path) -> None:
    """Write a report, replacing the file in one step.

    Raises
    ------
    OSError
        The file cannot be written; it is then as it was.
    """
    text = json.dumps(report, indent=1, sort_keys=False, allow_nan=False) + "\n"
    write_durably(path, text.encode())
