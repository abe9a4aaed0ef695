"""Authority and members: approval, certificates, revocation; the verbs with wrong arguments."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.command_line import Ran, Run, ran

from precog_fleet.addresses import checked_address, checked_endpoint
from precog_fleet.authority import Authority
from precog_fleet.certificates import common_name, expiry, new_key, request
from precog_fleet.clock import now_ms
from precog_fleet.hosting import member_of_role
from precog_fleet.member import Credentials, Member, Request
from precog_fleet.signing import SigningKey

from .support import NOW, store

ROUTER = "tls/127.0.0.1:9"  # no server listens there


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def go(*arguments: object) -> Ran:
        return ran(capsys, "fleet", *arguments)

    return go


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.create(tmp_path / "authority", "lab", (ROUTER,))


def test_a_member_from_keys_to_membership(run: Run, tmp_path: Path) -> None:
    """The way of an operator, as the verbs go; private keys stay where they were made."""
    auth, host, out = tmp_path / "authority", tmp_path / "host0", tmp_path / "host0.json"
    status, text, _ = run("init", auth, "--name", "lab", "--router", ROUTER, "-j")
    assert status == 0
    key = json.loads(text)["authority"]
    status, text, _ = run("enroll", host, "--name", "host0", "-j")
    asked = json.loads(text)
    assert run("trust", "add", asked["request"], "-a", auth, "-o", out)[0] == 0
    assert run("join", host, out, "--authority", "00" * 32)[2].startswith(
        f"error: authority must be {'00' * 32}, not {key}"
    )
    status, text, _ = run("join", host, out, "--authority", key.upper(), "-j")
    assert json.loads(text) == {"name": "host0", "fleet": "lab", "authority": key}
    member = Member(host)
    held = store()
    held.authority = member.info.public
    assert [held.receive(frame, now_ms()) for frame in member.memberships()] == ["accepted"]
    assert held.members["host0"].public.hex() == asked["public"]
    assert run("trust", "revoke", "host0", "-a", auth, "--later")[1] == (
        "host0 is revoked; no router knows yet\n"
    )
    listed = json.loads(run("trust", "list", "-a", auth, "-j")[1])["members"]
    assert [(m["name"], m["role"], m["status"]) for m in listed] == [("host0", "agent", "revoked")]
    for path in (auth / "authority.key", auth / "ca.key", host / "signing.key", host / "link.key"):
        assert path.stat().st_mode & 0o077 == 0
    secrets = [(host / name).read_text() for name in ("signing.key", "link.key")]
    assert not any(secret.splitlines()[1] in out.read_text() for secret in secrets)


def test_clocks_that_differ(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour behind, the authority knows its members, and a host is not called revoked."""
    now = now_ms()
    Member.join(
        tmp_path / "host0",
        authority.approve(Member.enroll(tmp_path / "host0", "host0", "agent"), now),
    )
    before = now - 3_600_000
    assert list(authority.members(before)) == ["host0"]
    other = Member.enroll(tmp_path / "other", "host0", "agent")
    with pytest.raises(ValueError, match="member host0 has another key already"):
        authority.approve(other, before)
    monkeypatch.setattr("precog_fleet.hosting.now_ms", lambda: before)
    when = re.escape(datetime.fromtimestamp(before // 1000, UTC).isoformat())
    with pytest.raises(ValueError, match=f"clock, but at {when} its membership has not begun"):
        member_of_role(tmp_path / "host0", "agent")
    authority.revoke("host0", before)
    assert authority.members(before)["host0"].revoked


def test_a_name_belongs_to_one_key(authority: Authority, tmp_path: Path) -> None:
    one = Member.enroll(tmp_path / "a", "host0", "agent")
    two = Member.enroll(tmp_path / "b", "host0", "agent")
    first = authority.approve(one, NOW)
    authority.approve(one, NOW)  # a new certificate for the same key
    with pytest.raises(ValueError, match="member host0 has another key already: revoke it first"):
        authority.approve(two, NOW)
    authority.revoke("host0", NOW)
    with pytest.raises(ValueError, match="key of host0 must not be a revoked one"):
        authority.approve(one, NOW)  # else a file that lies about would bring the thief back
    second = authority.approve(two, NOW)
    assert len(authority.frames(NOW)) == 1
    with pytest.raises(ValueError, match="b cannot be used: they must be for host0, not host1"):
        Member.join(
            tmp_path / "b",
            Credentials("host1", second.certificate, second.ca, second.fleet, second.frames),
        )
    assert common_name(first.certificate.encode()) == "host0"
    assert 390 < (expiry(first.certificate.encode()).timestamp() - now_ms() / 1000) / 86400 < 400


def test_credentials_that_cannot_be_used_change_nothing(
    authority: Authority, tmp_path: Path
) -> None:
    folder = tmp_path / "a"
    asked = Member.enroll(folder, "host0", "agent")
    other = Authority.create(tmp_path / "other", "lab2", ())
    foreign = other.approve(asked, NOW)
    twin = authority.approve(Member.enroll(tmp_path / "b", "host1", "agent"), NOW)
    given = authority.approve(asked, NOW)
    Member.join(folder, given)
    link = new_key()
    stolen = authority._links.issue(request(link, "host0", ()), "host0").decode()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for change, message in (
        ({"ca": ""}, "must be issued by the authority that comes with it"),
        ({"ca": foreign.ca}, "must be issued by the authority that comes with it"),
        ({"certificate": stolen}, "must be for the key of the link, not for another one"),
        ({"certificate": "\ud800"}, "cannot be used"),
        ({"frames": ()}, "memberships must have that of host0 and its key"),
        ({"frames": twin.frames[:1]}, "memberships must have that of host0 and its key"),
        ({"frames": ("zz",)}, "cannot be used: non-hexadecimal number"),
        ({"frames": ("00",)}, "frame must start with PFR1 and a name"),
        ({"frames": foreign.frames}, "memberships must be signed by the fleet's authority"),
        ({"fleet": {**given.fleet, "authority": "00" * 32}}, "must be signed by the fleet's"),
    ):
        with pytest.raises(ValueError, match=message):
            Member.join(folder, replace(given, **change))
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("text", ["", "[" * 100_000, '{"fleet": 1}'])
def test_a_damaged_fleet_is_named(authority: Authority, text: str) -> None:
    (authority.folder / "fleet.json").write_text(text)
    with pytest.raises(ValueError, match=r"fleet\.json is damaged"):
        Authority(authority.folder)


def test_a_request_without_a_name(authority: Authority, tmp_path: Path) -> None:
    unnamed = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    csr = unnamed.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    pem = csr.public_bytes(serialization.Encoding.PEM).decode()
    asked = replace(Member.enroll(tmp_path / "a", "host0", "agent"), csr=pem)
    with pytest.raises(ValueError, match="certificate must name one member, not 0"):
        authority.approve(asked, NOW)
    assert authority.members(NOW) == {}


def test_requests_are_the_askers(authority: Authority, tmp_path: Path) -> None:
    Member.enroll(tmp_path / "a", "host0", "agent")
    path = tmp_path / "a" / "request.json"
    good = json.loads(path.read_text())
    for change, message in (
        ({"role": "trainer"}, "must be signed by the key that it names"),
        ({"name": "host1"}, "must be signed by the key that it names"),
        ({"public": "zz"}, "must be a request of precog fleet enroll"),
        ({"role": "king"}, "role must be one of agent, router, trainer, not 'king'"),
        ({"name": "authority"}, "and not authority, not 'authority'"),
        ({"csr": "\ud800"}, "must be a request of precog fleet enroll"),
    ):
        path.write_text(json.dumps(good | change))
        with pytest.raises(ValueError, match=message):
            Request.load(path)
    path.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="must be a request of precog fleet enroll"):
        Request.load(path)
    csr = request(new_key(), "host1", ())
    key = SigningKey.generate()
    unsigned = Request("host0", "agent", key.public.hex(), csr.decode(), "")
    signed = Request(*list(vars(unsigned).values())[:-1], key.sign(unsigned.message()).hex())
    with pytest.raises(ValueError, match="certificate request must name host0, not 'host1'"):
        authority.approve(signed, NOW)
    assert authority.members(NOW) == {}


def test_keys_that_others_can_read(tmp_path: Path) -> None:
    path = tmp_path / "k"
    SigningKey.generate().save(path)
    assert SigningKey.load(path).public
    path.chmod(0o644)
    with pytest.raises(PermissionError, match="readable by its owner only"):
        SigningKey.load(path)
    path.write_bytes(new_key())
    path.chmod(0o600)
    with pytest.raises(ValueError, match="must hold an ed25519 key, not ECPrivateKey"):
        SigningKey.load(path)
    path.write_bytes(b"x")
    with pytest.raises(ValueError, match="must hold a private key in PEM"):
        SigningKey.load(path)


def test_a_request_has_no_addresses_but_a_router_s(authority: Authority, tmp_path: Path) -> None:
    """An agent with a router's address in its certificate could stand in for that router."""
    link, key = new_key(), SigningKey.generate()
    csr = request(link, "host0", ("10.0.0.1",)).decode()
    unsigned = Request("host0", "agent", key.public.hex(), csr, "")
    signed = replace(unsigned, signature=key.sign(unsigned.message()).hex())
    with pytest.raises(ValueError, match="request of host0 must have no address: it is no router"):
        authority.approve(signed, NOW)
    assert authority.members(NOW) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "endpoint must be tls/<address>:<port>"),
        ("tcp/127.0.0.1:7447", "endpoint must be tls/<address>:<port>"),
        ("tls/127.0.0.1", "endpoint must be tls/<address>:<port>"),
        ("tls/fe80::1:7447", "IPv6 addresses stand in brackets"),
        ("tls/[10.0.0.1]:7447", "must have brackets for IPv6 addresses alone"),
        ("tls/[fe80::g]:7447", "address must be a host name or an IP address, not 'fe80::g'"),
        ("tls/a:70000", "port must be in 1..65535, not 70000"),
        ("tls/a:0", "port must be in 1..65535, not 0"),
        ("tls/a b:1", "address must be a host name or an IP address, not 'a b'"),
        ("tls/:1", "address must be a host name or an IP address, not ''"),
        ("tls/10.0.0.256:1", "address must be a host name or an IP address, not '10.0.0.256'"),
    ],
)
def test_endpoints(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        checked_endpoint(text)


@pytest.mark.parametrize("address", ["10.0.0.1", "[fe80::1]", "[::1]", "rack0", "rack0.example."])
def test_addresses_of_routers(address: str) -> None:
    assert checked_endpoint(f"tls/{address}:7447") == f"tls/{address}:7447"
    assert checked_address(address.strip("[]"))
