"""Signed records: the only thing that members of a fleet believe about each other.

    magic "PFR1" | length of origin, u8 | origin | ed25519 signature, 64 bytes | body, a zstd frame
    body = canonical JSON {key, version, t0, t1, and the fields of the key's kind}

The signature covers a domain, the authority's key, the origin and the compressed body, so bytes of
strangers reach neither the decompressor nor the parser, and no record of one fleet counts in
another. The JSON is OLPC's canonical one, as TUF's metadata (`securesystemslib`): sorted, without
spaces, integers only. A body with a second spelling is refused.

A frame has at most 2048 bytes, its body at most 4096.
"""

from dataclasses import dataclass
from typing import Any

from securesystemslib.formats import encode_canonical

from precog_models.limits import parse_json

from .bodies import Body, Membership, body_of
from .compact import expand, shrink
from .fields import NAME
from .signing import SIGNATURE_BYTES, SigningKey

__all__ = [
    "AUTHORITY",
    "MAX_BODY_BYTES",
    "MAX_FRAME_BYTES",
    "Envelope",
    "Record",
    "canonical",
    "open_envelope",
    "parse_body",
    "seal",
]

#: Origin of membership records; no member may have this name.
AUTHORITY = "authority"
MAX_FRAME_BYTES = 2048
MAX_BODY_BYTES = 4096
_MAGIC = b"PFR1"
_DOMAIN = b"precog fleet record 1\0"
_MAX_VERSION = _FOREVER = (1 << 53) - 1  # every JSON reader keeps such integers exactly


@dataclass(frozen=True)
class Record:
    """A statement of one origin about one key.

    Parameters
    ----------
    origin : str
        The member that signs, or `AUTHORITY`.
    key : str
        Kind and name, such as ``dst/10.0.0.7``.
    version : int
        Rises with every record of the same origin and key.
    t0, t1 : int
        Milliseconds of Unix time from which and until which it counts.
    body : Body

    Raises
    ------
    ValueError
        A field is out of its bounds.
    """

    origin: str
    key: str
    version: int
    t0: int
    t1: int
    body: Body

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.origin):
            raise ValueError(f"origin must be a name of a-z, 0-9 and .:_-, not {self.origin!r}")
        kind = body_of(self.key)
        if type(self.body) is not kind:
            raise ValueError(
                f"body of {self.key} must be a {kind.__name__}, not a {type(self.body).__name__}"
            )
        if type(self.version) is not int or not 1 <= self.version <= _MAX_VERSION:
            raise ValueError(f"version must be in 1..{_MAX_VERSION}, not {self.version!r}")
        for name, value in (("t0", self.t0), ("t1", self.t1)):
            if type(value) is not int or not 0 <= value <= _MAX_VERSION:
                raise ValueError(f"{name} must be in 0..{_MAX_VERSION}, not {value!r}")
        if not self.t0 < self.t1 <= self.t0 + kind.MAX_LIFE_MS:
            raise ValueError(
                f"t1 must be 1..{kind.MAX_LIFE_MS} ms after t0, not {self.t1 - self.t0}"
            )

    @property
    def revokes(self) -> bool:
        """Whether it ends a membership."""
        return isinstance(self.body, Membership) and self.body.revoked

    @property
    def end(self) -> int:
        """When it may be forgotten: `t1`, but no revocation ever is."""
        return _FOREVER if self.revokes else self.t1


@dataclass(frozen=True)
class Envelope:
    """A frame whose signature has not been looked at."""

    origin: str
    signature: bytes
    body: bytes

    def message(self, authority: bytes) -> bytes:
        """The bytes that the signature covers, in the fleet of that authority."""
        return _message(authority, self.origin, self.body)


def canonical(data: Any) -> bytes:
    """The one spelling of JSON data without floats.

    Raises
    ------
    ValueError
        There is a float or something else that is not JSON.
    """
    try:
        text = encode_canonical(data)
    except Exception as error:
        raise ValueError(f"data must be JSON without floats: {error}") from error
    assert text is not None
    return text.encode()


def seal(record: Record, key: SigningKey, authority: bytes) -> bytes:
    """The record's frame.

    Raises
    ------
    ValueError
        It would be too large.
    """
    data = {"key": record.key, "version": record.version, "t0": record.t0, "t1": record.t1}
    body = shrink(canonical(data | record.body.plain()))
    signature = key.sign(_message(authority, record.origin, body))
    frame = b"".join((_MAGIC, _named(record.origin), signature, body))
    if len(frame) > MAX_FRAME_BYTES:
        raise ValueError(f"record must have at most {MAX_FRAME_BYTES} bytes, not {len(frame)}")
    return frame


def open_envelope(frame: bytes) -> Envelope:
    """The parts of a frame; nothing is decompressed.

    Raises
    ------
    ValueError
        It is no frame.
    """
    start = len(_MAGIC) + 1
    if frame[: len(_MAGIC)] != _MAGIC or len(frame) <= start:
        raise ValueError("frame must start with PFR1 and a name")
    end = start + frame[start - 1]
    body = end + SIGNATURE_BYTES
    if len(frame) <= body:
        raise ValueError(f"frame must have more than {body} bytes, not {len(frame)}")
    try:
        origin = frame[start:end].decode("ascii")
    except UnicodeDecodeError as error:
        raise ValueError("origin must be ASCII") from error
    return Envelope(origin, frame[end:body], frame[body:])


def parse_body(envelope: Envelope) -> Record:
    """The record of an envelope whose signature holds.

    Raises
    ------
    ValueError
        The body is not canonical, or a field is missing, unknown, or out of its bounds.
    """
    text = expand(envelope.body, MAX_BODY_BYTES)
    try:
        data = parse_json(text)
    except ValueError as error:
        raise ValueError(f"body must be JSON: {error}") from error
    if type(data) is not dict or canonical(data) != text:
        raise ValueError("body must be a canonical JSON object")
    try:
        head = {name: data.pop(name) for name in ("key", "version", "t0", "t1")}
    except KeyError as error:
        raise ValueError(f"body must have a field {error.args[0]}") from error
    if type(head["key"]) is not str:
        raise ValueError(f"key must be text, not {head['key']!r}")
    return Record(envelope.origin, body=body_of(head["key"]).parse(data), **head)


def _message(authority: bytes, origin: str, body: bytes) -> bytes:
    return b"".join((_DOMAIN, authority, _named(origin), body))


def _named(origin: str) -> bytes:
    return bytes((len(origin),)) + origin.encode("ascii")
