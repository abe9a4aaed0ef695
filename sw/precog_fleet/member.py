"""A member's folder: keys made on its host, and what the authority approved.

signing.key   signs records             link.key, link.pem   its end of links
fleet.json    the fleet and its routers  ca.pem              whose certificates count
request.json  what the authority is to approve
store.sqlite  the records that it holds
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from precog_models.durable import write_durably
from precog_models.limits import read_json

from . import places
from .addresses import checked_address, checked_endpoint
from .bodies import ROLES, Membership
from .certificates import check_issued, common_name, new_key, request
from .fields import NAME
from .places import require, require_new
from .records import AUTHORITY, canonical, open_envelope, parse_body
from .signing import SigningKey, verify

__all__ = ["Credentials", "FleetInfo", "Member", "Request"]

_REQUEST = "a request of precog fleet enroll"
_CREDENTIALS = "credentials of precog fleet trust add"
_JOINED = "as precog fleet join wrote it"


@dataclass(frozen=True)
class FleetInfo:
    """What every member knows of its fleet.

    Parameters
    ----------
    fleet : str
    authority : str
        The authority's public key, hexadecimal.
    routers : tuple of str
        Endpoints.
    """

    fleet: str
    authority: str
    routers: tuple[str, ...]

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.fleet):
            raise ValueError(
                f"fleet must have a name of a-z, 0-9 and .:_-, up to 63, not {self.fleet!r}"
            )
        if not re.fullmatch(r"[0-9a-f]{64}", self.authority):
            raise ValueError(f"authority must be 64 hexadecimal digits, not {self.authority!r}")
        for endpoint in self.routers:
            checked_endpoint(endpoint)

    @property
    def public(self) -> bytes:
        """The authority's raw public key."""
        return bytes.fromhex(self.authority)

    @classmethod
    def parse(cls, data: Any) -> Self:
        """The information of JSON data.

        Raises
        ------
        ValueError
            It is none.
        """
        try:
            return cls(str(data["fleet"]), str(data["authority"]), tuple(data["routers"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"fleet must have a name, an authority and routers: {error}") from None


@dataclass(frozen=True)
class Request:
    """What a host asks the authority to approve.

    Parameters
    ----------
    name, role : str
    public : str
        The signing key's public half, hexadecimal.
    csr : str
        Request for the link's certificate, PEM.
    signature : str
        Of the rest, by the signing key: proof that the applicant has that key.
    """

    name: str
    role: str
    public: str
    csr: str
    signature: str

    def message(self) -> bytes:
        """The bytes that `signature` covers."""
        plain = asdict(self)
        del plain["signature"]
        return b"precog fleet request 1\0" + canonical(plain)

    @classmethod
    def load(cls, path: Path) -> Self:
        """The request in a file.

        Raises
        ------
        ValueError
            It is none, or its signature is not that of the key that it names.
        OSError
            It cannot be read.
        """
        data = _json(path, _REQUEST)
        try:
            found = cls(**{name: str(data[name]) for name in cls.__dataclass_fields__})
            public, signature = bytes.fromhex(found.public), bytes.fromhex(found.signature)
            message = found.message()
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} must be {_REQUEST}, but is not: {error}") from None
        _checked_name(found.name, found.role)
        if not verify(public, signature, message):
            raise ValueError(f"{path} must be signed by the key that it names, but is not")
        return found


@dataclass(frozen=True)
class Credentials:
    """What the authority gives a member: its certificate, its membership, the fleet."""

    name: str
    certificate: str
    ca: str
    fleet: dict[str, Any]
    frames: tuple[str, ...]  #: memberships, hexadecimal

    def save(self, path: Path) -> None:
        """Write them to a file."""
        write_durably(path, json.dumps(asdict(self), sort_keys=True).encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """The credentials in a file.

        Raises
        ------
        ValueError
            They are none.
        OSError
            It cannot be read.
        """
        data = _json(path, _CREDENTIALS)
        try:
            return cls(
                str(data["name"]),
                str(data["certificate"]),
                str(data["ca"]),
                dict(data["fleet"]),
                tuple(str(frame) for frame in data["frames"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} must be {_CREDENTIALS}, but is not: {error}") from None


class Member:
    """A member that can sign and connect.

    Parameters
    ----------
    folder : Path

    Attributes
    ----------
    name : str
    info : FleetInfo
    key : SigningKey

    Raises
    ------
    ValueError
        The folder is not that of a member, or the authority has not approved it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        require(folder, places.MEMBER)
        if not (folder / "link.pem").is_file():
            raise ValueError(
                f"{folder} must have credentials: let the authority approve "
                f"{folder / 'request.json'} (precog fleet trust add), then give them to "
                "precog fleet join"
            )
        self.key = SigningKey.load(folder / "signing.key")
        self.info = FleetInfo.parse(_json(folder / "fleet.json", _JOINED))
        self.name = common_name((folder / "link.pem").read_bytes())

    @property
    def store_path(self) -> Path:
        """The database of its records."""
        return self.folder / "store.sqlite"

    @staticmethod
    def enroll(folder: Path, name: str, role: str, addresses: Sequence[str] = ()) -> Request:
        """Make a member's keys and its request; they never leave the folder.

        Raises
        ------
        ValueError
            The name, the role or an address is none, the role has no addresses, or the folder is
            in use.
        OSError
            The folder cannot be written.
        """
        _checked_name(name, role)
        if role == "router" and not addresses:
            raise ValueError("router must have an address, or no member can connect: --address")
        if role != "router" and addresses:
            raise ValueError(
                f"address must be left out for role {role}: others connect to routers alone"
            )
        for address in addresses:
            checked_address(address)
        require_new(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key, link = SigningKey.generate(), new_key()
        csr = request(link, name, addresses).decode()
        unsigned = Request(name, role, key.public.hex(), csr, "")
        made = Request(name, role, key.public.hex(), csr, key.sign(unsigned.message()).hex())
        write_durably(folder / "link.key", link, mode=0o600)
        write_durably(folder / "request.json", json.dumps(asdict(made), indent=1).encode())
        key.save(folder / "signing.key")
        return made

    @staticmethod
    def join(folder: Path, credentials: Credentials) -> "Member":
        """Take up what the authority gave.

        Raises
        ------
        ValueError
            The folder is no member's, they are another's, or a part of them is damaged, or not of
            the same fleet; nothing is written then.
        """
        require(folder, places.MEMBER)
        asked = Request.load(folder / "request.json")
        try:
            named = common_name(credentials.certificate.encode())
            if not asked.name == credentials.name == named:
                raise ValueError(f"they must be for {asked.name}, not {credentials.name}")
            info = FleetInfo.parse(credentials.fleet)
            pem = credentials.certificate.encode(), credentials.ca.encode()
            check_issued(*pem, (folder / "link.key").read_bytes())
            _check_membership(credentials.frames, info.public, asked)
        except ValueError as error:
            raise ValueError(f"credentials of {folder} cannot be used: {error}") from error
        write_durably(folder / "ca.pem", credentials.ca.encode())
        write_durably(folder / "fleet.json", json.dumps(asdict(info)).encode())
        frames = json.dumps(credentials.frames).encode()
        write_durably(folder / "memberships.json", frames)
        write_durably(folder / "link.pem", credentials.certificate.encode())
        return Member(folder)

    def memberships(self) -> list[bytes]:
        """Frames that came with the credentials: the member and all others of that day."""
        return [bytes.fromhex(frame) for frame in _json(self.folder / "memberships.json", _JOINED)]


def _check_membership(frames: Sequence[str], authority: bytes, asked: Request) -> None:
    """Refuse memberships that are damaged, or none of which is the asker's.

    When they count is not asked: a clock may be wrong while a host joins.
    """
    own = False
    for text in frames:
        envelope = open_envelope(bytes.fromhex(text))
        if not verify(authority, envelope.signature, envelope.message(authority)):
            raise ValueError("memberships must be signed by the fleet's authority")
        record = parse_body(envelope)
        own |= (
            isinstance(record.body, Membership)
            and record.key == f"member/{asked.name}"
            and record.body.public.hex() == asked.public
        )
    if not own:
        raise ValueError(f"memberships must have that of {asked.name} and its key")


def _checked_name(name: str, role: str) -> None:
    if not NAME.fullmatch(name) or name == AUTHORITY:
        raise ValueError(
            f"member must have a name of a-z, 0-9 and .:_-, up to 63 and not {AUTHORITY}, "
            f"not {name!r}"
        )
    if role not in ROLES:
        raise ValueError(f"role must be one of {', '.join(ROLES)}, not {role!r}")


def _json(path: Path, what: str) -> Any:
    try:
        return read_json(path)
    except ValueError as error:
        raise ValueError(f"{path} must be {what}, but is not JSON") from error
