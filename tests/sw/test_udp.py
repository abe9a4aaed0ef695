"""A network that loses, repeats and delays; a server whose device several want."""

import random
import time

import pytest

from precog_host.opening import open_transport
from precog_host.serve import EtherboneServer
from precog_host.transport import DeviceError
from precog_host.udp import UdpTransport
from precog_models.bridge.etherbone import Record, decode, encode
from precog_spec.frames.bridge import Window

from .links import SCRATCH, LoggedCard, udp_server


def udp(server: EtherboneServer, **options: int) -> UdpTransport:
    text = "&".join(f"{k}={v}" for k, v in options.items())
    link = open_transport(f"udp:127.0.0.1:{server.port}?{text}")
    assert isinstance(link, UdpTransport)
    return link


def test_datagrams_that_are_lost_repeated_and_late(card: LoggedCard, seed: int) -> None:
    """Whatever the network does to datagrams, each write is made once."""
    rng = random.Random(seed)
    with udp_server(card) as server:
        handle = server.handle
        held: list[bytes] = []

        def network(datagram: bytes, client: tuple[str, int]) -> bytes:
            if rng.random() < 0.1:
                return b""  # lost on its way there
            answer = handle(datagram, client)
            if rng.random() < 0.1:
                handle(datagram, client)  # repeated
            if held and rng.random() < 0.3:
                handle(held.pop(), client)  # an old copy
            if rng.random() < 0.2:
                held.append(datagram)
            return b"" if rng.random() < 0.1 else answer  # lost on its way back

        link = udp(server, timeout_ms=10, tries=100)
        server.handle = network  # type: ignore[method-assign]
        for n in range(200):
            value = rng.getrandbits(32)
            link.write32(SCRATCH, value)
            assert card.log[n:] == [(SCRATCH, value)]
            assert link.read32(SCRATCH) == value
        assert link.repeated
        server.handle = handle  # type: ignore[method-assign]
        assert set(link.faults()) == {"header", "length", "partial", "stale"}
        link.close()


def test_answers_of_other_requests_are_none(card: LoggedCard) -> None:
    with udp_server(card) as server:
        link = udp(server, timeout_ms=30, tries=2)
        handle = server.handle

        def other(datagram: bytes, client: tuple[str, int]) -> bytes:
            answer = decode(handle(datagram, client))
            return encode(Record(answer.write_address ^ 1, answer.writes))

        server.handle = other  # type: ignore[method-assign]
        with pytest.raises(DeviceError, match="no answer after 2 requests"):
            link.read32(SCRATCH)
        server.handle = lambda *_: b"?"  # type: ignore[method-assign]
        with pytest.raises(DeviceError, match="no answer after 2 requests"):
            link.read32(SCRATCH)
        server.handle = handle  # type: ignore[method-assign]
        assert link.read32(SCRATCH) == 0
        link.close()


def test_a_server_lends_the_device_to_one_client_at_a_time(card: LoggedCard) -> None:
    told: list[str] = []
    with udp_server(card, hold_s=0.4, report=told.append) as server:
        first = udp(server)
        first.write32(SCRATCH, 1)
        with pytest.raises(DeviceError, match="in use by another client"):
            udp(server, wait_s=0)
        assert server.busy
        first.release()
        second = udp(server)
        second.write32(SCRATCH, 2)
        second.close()
        assert first.read32(SCRATCH) == 2  # it had let go: others may
        time.sleep(0.5)  # as if it were dead
        third = udp(server)
        third.write32(SCRATCH, 3)
        third.close()
        with pytest.raises(DeviceError, match="went to another client in the middle of a command"):
            first.read32(SCRATCH)
        first.write32(SCRATCH, 4)  # the command is repeated
        first.close()
    assert sum("has the device" in text for text in told) >= 4


def test_a_server_that_goes_and_comes_back(card: LoggedCard) -> None:
    with udp_server(card) as server:
        link = udp(server, timeout_ms=10, tries=3)
        link.write32(SCRATCH, 9)
        port = server.port
    with pytest.raises(DeviceError, match="no server listens there"):
        link.read32(SCRATCH)
    with udp_server(card, port=port):
        assert link.read32(SCRATCH) == 9
    link.close()


def test_udp_refusals(card: LoggedCard) -> None:
    for uri, message in (
        ("udp:", "udp device must be udp:HOST"),
        ("udp:127.0.0.1:0", r"udp port must be a whole number in 1\.\.65535, not '0'"),
        ("udp:[::1]x", "udp port must be"),
        ("udp:127.0.0.1?&", "udp option must be one of timeout_ms=, tries=, wait_s=.*, not ''"),
        ("udp:127.0.0.1?wait=1", "udp option must be one of timeout_ms=, tries=, wait_s="),
        ("udp:127.0.0.1?token_file=/no/such", "token file /no/such: No such file"),
        ("udp:no.such.host.invalid", "cannot be reached"),
    ):
        with pytest.raises(DeviceError, match=message):
            open_transport(uri)
    with udp_server(card) as server:
        with pytest.raises(DeviceError, match=f"UDP port {server.port} at '127.0.0.1' cannot"):
            EtherboneServer(card, port=server.port)
        server.handle = lambda datagram, _: encode(  # type: ignore[method-assign]
            Record(decode(datagram).ticket, (1, 0))
        )
        with pytest.raises(DeviceError, match=r"bridge must say .* this is no Precog bridge"):
            udp(server)


def test_a_probe_and_litex_s_datagrams_are_served(card: LoggedCard) -> None:
    with udp_server(card) as server:
        assert server.handle(bytes.fromhex("4e6f114400000000"), ("x", 1))[2] == 0x12
        assert server.handle(encode(Record(SCRATCH, (4,))), ("x", 1)) == b""
        assert decode(server.handle(encode(Record(reads=(SCRATCH,))), ("x", 1))).writes == (4,)
        assert server.handle(encode(Record(reads=(SCRATCH,))), ("y", 1)) == b""  # x has it
        assert server.handle(encode(Record(Window.ID.address, (0,))), ("x", 1)) == b""
        assert server.handle(encode(Record(reads=(SCRATCH,))), ("y", 1))


def test_an_ipv6_address_is_shown_in_brackets() -> None:
    with pytest.raises(DeviceError, match=r"^udp:\[::1\]:9: "):
        open_transport("udp:[::1]:9?timeout_ms=1&tries=1")
