"""The fleet's authority: a folder with two keys that approve members and revoke them.

    authority.key   signs memberships    ca.key, ca.pem   issue certificates of links
    fleet.json      name and routers     store.sqlite     all memberships so far

The keys are used by `trust` alone; nothing that runs needs them, so the folder may lie on a machine
of its own. Members hold the public half, and the mesh carries what was signed.
"""

import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from precog_models.durable import write_durably
from precog_models.limits import read_json

from . import places
from .bodies import Membership
from .certificates import LinkAuthority, has_addresses, new_key, request
from .errors import FleetError
from .member import Credentials, FleetInfo, Request
from .outcome import Outcome
from .places import require, require_new
from .records import AUTHORITY, Record, seal
from .shelf import Shelf
from .signing import SigningKey
from .store import Store

__all__ = ["Authority"]

_LIFE_MS = 5 * 365 * 86_400_000


class Authority:
    """An authority's folder.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    ValueError
        The folder is none, or is damaged.
    """

    def __init__(self, folder: Path) -> None:
        require(folder, places.AUTHORITY)
        self.folder = folder
        self._key = SigningKey.load(folder / "authority.key")
        try:
            self.info = FleetInfo.parse(read_json(folder / "fleet.json"))
        except ValueError as error:
            raise ValueError(f"{folder / 'fleet.json'} is damaged: {error}") from error
        ca = (folder / "ca.key").read_bytes(), (folder / "ca.pem").read_bytes()
        self._links = LinkAuthority(*ca)

    @classmethod
    def create(cls, folder: Path, fleet: str, routers: tuple[str, ...]) -> "Authority":
        """A new fleet.

        Raises
        ------
        ValueError
            The name or an endpoint is none, or the folder is in use.
        OSError
            The folder cannot be written.
        """
        key = SigningKey.generate()
        info = FleetInfo(fleet, key.public.hex(), routers)
        require_new(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        links = LinkAuthority.create(fleet)
        write_durably(folder / "ca.key", links.key, mode=0o600)
        write_durably(folder / "ca.pem", links.certificate)
        link = new_key()
        write_durably(folder / "link.key", link, mode=0o600)
        write_durably(folder / "link.pem", links.issue(request(link, AUTHORITY, ()), AUTHORITY))
        write_durably(folder / "fleet.json", json.dumps(asdict(info)).encode())
        key.save(folder / "authority.key")
        return cls(folder)

    def approve(self, asked: Request, now: int) -> Credentials:
        """Make the asker a member, and what it needs to join.

        Raises
        ------
        ValueError
            Another key has this name, the key was revoked, the certificate request is not the
            asker's, or asks for addresses that its role does not have.
        """
        members = self.members(now)
        known = members.get(asked.name)
        public = bytes.fromhex(asked.public)
        if any(one.revoked and one.public == public for one in members.values()):
            raise ValueError(
                f"key of {asked.name} must not be a revoked one: let the host make another, "
                "precog fleet enroll in a new folder"
            )
        if known is not None and not known.revoked and known.public != public:
            raise ValueError(
                f"member {asked.name} has another key already: revoke it first, or choose "
                "another name"
            )
        if asked.role != "router" and has_addresses(asked.csr.encode()):
            raise ValueError(f"request of {asked.name} must have no address: it is no router's")
        certificate = self._links.issue(asked.csr.encode(), asked.name)
        self._declare(asked.name, Membership(public, asked.role), now)
        return Credentials(
            asked.name,
            certificate.decode(),
            self._links.certificate.decode(),
            asdict(self.info),
            tuple(frame.hex() for frame in self.frames(now)),
        )

    def revoke(self, name: str, now: int) -> bytes:
        """Revoke a member; the frame that tells the fleet.

        Raises
        ------
        ValueError
            There is no such member.
        """
        known = self.members(now)
        if name not in known:
            those = f"one of {', '.join(known)}" if known else "approved before it is revoked"
            raise ValueError(f"member must be {those}, not {name!r}")
        return self._declare(name, Membership(known[name].public, known[name].role, True), now)

    def members(self, now: int) -> dict[str, Membership]:
        """Members by name, the revoked as well."""
        return dict(sorted(self._store(now).members.items()))

    def frames(self, now: int) -> list[bytes]:
        """Every membership, as members exchange it."""
        return [entry.frame for entry in self._store(now).entries()]

    def routers(self, endpoints: tuple[str, ...]) -> None:
        """Change where members find routers; those that joined before keep what they have."""
        self.info = FleetInfo(self.info.fleet, self.info.authority, endpoints)
        write_durably(self.folder / "fleet.json", json.dumps(asdict(self.info)).encode())

    def _declare(self, name: str, membership: Membership, now: int) -> bytes:
        with closing(Shelf(self.folder / "store.sqlite")) as shelf:
            held = self._held(shelf, now)
            version = shelf.next_version(now)
            record = Record(AUTHORITY, f"member/{name}", version, now, now + _LIFE_MS, membership)
            frame = seal(record, self._key, self.info.public)
            outcome = held.receive(frame, now)
            if outcome is not Outcome.ACCEPTED:
                raise FleetError(f"membership of {name} was {outcome}: is the clock right?")
            shelf.keep(held)
        return frame

    def _store(self, now: int) -> Store:
        with closing(Shelf(self.folder / "store.sqlite")) as shelf:
            return self._held(shelf, now)

    def _held(self, shelf: Shelf, now: int) -> Store:
        """All memberships. A clock that was set back hides none: versions are times at least."""
        held, rows = Store(self.info.public), shelf.rows()
        held.restore(rows, max([now, *(row.version for row in rows)]))
        return held
