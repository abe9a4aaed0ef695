"""`PARSED` of a frame as the golden parser reads it."""

from typing import Any

from precog_models.packet.parser import parse
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.headers import ETHERNET, IPV4, IPV6, UDP
from precog_spec.frames.qp_key import IPV4_MAPPED

__all__ = ["parsed_fields"]


def parsed_fields(frame: bytes, time: int = 0) -> dict[str, Any]:
    """Fields of `PARSED`, RX direction, that depend on the frame's addresses and ports."""
    parsed = parse(frame, Direction.RX)
    found = {name: int(value) for name, value in parsed.descriptor._asdict().items()}
    del found["error"]
    ip = IPV6 if found["ipv6"] else IPV4
    local = ip.get(frame, parsed.l3, "destination")
    return {
        "descriptor": found,
        "end": parsed.end,
        "headers": {
            "macs": int.from_bytes(frame[: ETHERNET["type"].byte].ljust(12, b"\0"), "big"),
            "tags": int.from_bytes(frame[12:20].ljust(8, b"\0"), "big"),
            "local": local if found["ipv6"] else IPV4_MAPPED | local,
            "udp_source": UDP.get(frame, parsed.l4, "source_port"),
        },
        "time": time,
    }
