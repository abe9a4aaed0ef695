"""Outcomes of a model of starts by receiver, as a file: one host's own, another's prior.

    {"model": SHA-256 of the image, "receivers": {"10.0.0.7": {"crowded": 9, "hits": 8,
     "others": 20, "alarms": 3}, ...}}

A file is another's word. What it may do is the trial's affair (`trial`): it is read as strictly as
any input, and bound to one model image, since those of another say nothing.
"""

import json
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

from precog_models.durable import write_durably
from precog_models.limits import brief, read_json
from precog_spec.frames.qp_key import parse_address

from .trial import Counts

__all__ = ["RECEIVERS", "Ip", "read_outcomes", "write_outcomes"]

RECEIVERS = 4096  #: of a file, at most
_BYTES = 1 << 20
_MOST = 1 << 32  # starts of a receiver

Ip = IPv4Address | IPv6Address


def read_outcomes(path: Path, model: str) -> dict[Ip, Counts]:
    """Outcomes by receiver.

    Parameters
    ----------
    path : Path
    model : str
        SHA-256 of the model's image, in hexadecimal digits.

    Raises
    ------
    OSError
        It cannot be read.
    ValueError
        It is no such file, or of another model.
    """
    try:
        found = read_json(path, _BYTES)
        if not isinstance(found, dict) or set(found) != {"model", "receivers"}:
            raise ValueError("it must have model and receivers, and nothing else")
        of, receivers = found["model"], found["receivers"]
        if not isinstance(of, str) or not isinstance(receivers, dict):
            raise ValueError("model must be text, and receivers an object")
        if len(receivers) > RECEIVERS:
            raise ValueError(f"receivers must be at most {RECEIVERS}, not {len(receivers)}")
        counts = {
            parse_address(name, "receiver"): _counts(name, said) for name, said in receivers.items()
        }
        if len(counts) < len(receivers):
            raise ValueError("each receiver must be there once")
    except ValueError as error:
        raise ValueError(
            f"{path} must be a file that precog qp follow --outcomes wrote, but {error}"
        ) from error
    if of != model:
        raise ValueError(
            f"{path} must be of the model whose SHA-256 begins with {model[:16]}, not with "
            f"{brief(of[:16])}: what became of other models says nothing of it"
        )
    return counts


def write_outcomes(path: Path, model: str, outcomes: Mapping[Ip, Counts]) -> None:
    """Replace a file in one step.

    Raises
    ------
    OSError
        The file cannot be written; it is then as it was.
    """
    receivers = {str(peer): one._asdict() for peer, one in outcomes.items()}
    text = json.dumps({"model": model, "receivers": receivers}, indent=1) + "\n"
    write_durably(path, text.encode())


def _counts(name: str, said: Any) -> Counts:
    if not isinstance(said, dict) or set(said) != set(Counts._fields):
        raise ValueError(f"receiver {brief(name)} must have {', '.join(Counts._fields)} alone")
    found = Counts(**said)
    if any(type(value) is not int for value in found):
        raise ValueError(f"counts of receiver {brief(name)} must be whole numbers")
    crowded, hits, others, alarms = found
    if not (0 <= hits <= crowded <= _MOST and 0 <= alarms <= others <= _MOST):
        raise ValueError(
            f"counts of receiver {brief(name)} must be 0 <= hits <= crowded <= {_MOST} and "
            f"0 <= alarms <= others <= {_MOST}, not {brief(tuple(found))}"
        )
    return found
