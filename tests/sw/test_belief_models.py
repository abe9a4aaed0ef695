"""A card with a model of starts: guesses are its integers, and are heeded while they are good."""

import io
import json
import random
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from tests.command_line import ran
from tests.sw.links import udp_server

from precog_host import pairs
from precog_host.beliefs import Beliefs, Guess
from precog_host.device import Device
from precog_host.driver.senders import Told
from precog_host.emulator.device import Emulator
from precog_host.rdma_follow import Follower
from precog_host.rdma_list import RdmaQp
from precog_host.transport import DeviceError
from precog_host.trial import EVIDENCE
from precog_models.forecast.starts import Start, StartForecaster
from precog_models.packet.card import Card, CardConfig
from precog_models.packet.senders import SendersConfig
from precog_models.tree_image import load_any
from precog_spec.config import NicConfig
from precog_studies.prediction.starts.predictors import MODELS

from ..models.forecast.start_models import lstm, parrot, tree
from ..models.packet.frames import A6_ADDRESS, A_ADDRESS, A_QP, B4, B6, B_QP, packet

_CONFIG = NicConfig(qps=8, sets=2, width=64, grants=True, wire=256, profile=True, senders=True)
_PEER, _OTHER = ip_address(B4), ip_address(B6)
_LEAST = 200  # bytes of a message that counts
_Ip = IPv4Address | IPv6Address


class Host:
    """A card whose queue pairs, `n` of each peer, send and hear levels; time is made up."""

    def __init__(self) -> None:
        self.emulator = Emulator(_CONFIG)
        self.device = Device(self.emulator)
        assert self.device.senders is not None
        self.device.senders.set_parameters(heed=True, least=_LEAST)
        self.ns = 5_000_000
        self.ticks = 100

    def clock(self) -> int:
        return self.ns

    def beliefs(self, model: StartForecaster | None) -> Beliefs:
        return Beliefs(self.device, model, clock=self.clock)

    def qps(self, *numbers: int) -> list[RdmaQp]:
        return [RdmaQp("rxe0", 1, A_QP + n, B_QP + n, "RC", "RTS", "test") for n in numbers]

    def send(self, n: int, size: int, *, ipv6: bool = False) -> int:
        """Data of queue pair `n`; returns its bytes, as the card counts them."""
        frame = packet(bytes(size), ipv6=ipv6, bth={"dqpn": B_QP + n})
        assert self.emulator.packets is not None
        self.ticks += 50
        self.emulator.packets.transmit(frame, self.ticks)
        return len(frame)

    def say(self, n: int, level: int, *, ipv6: bool = False) -> None:
        """The peer of queue pair `n` says a level, in a packet of data."""
        assert self.emulator.packets is not None
        senders = 1 << level
        peer = Card(16, CardConfig(senders=True))
        assert peer.senders is not None
        peer.senders.config = SendersConfig(say=True)
        for slot in range(senders):
            peer.add(slot, A6_ADDRESS if ipv6 else A_ADDRESS, A_QP + slot, B_QP + slot)
            data = packet(bytes(64), opcode=0x01, ipv6=ipv6, bth={"dqpn": B_QP + slot})
            peer.receive(data, 5, 5)
        back = packet(bytes(64), opcode=0x01, back=True, ipv6=ipv6, bth={"dqpn": A_QP + n})
        self.ticks += 50
        self.emulator.packets.receive(peer.transmit(back, 7, 7).frame, self.ticks)


@pytest.fixture
def host() -> Host:
    return Host()


def told(host: Host, slot: int) -> Told:
    assert host.device.senders is not None
    return host.device.senders.told(slot)


def one_list(
    host: Host, follower: Follower, number: int, level: int, size: int = 1000, peer: _Ip = _PEER
) -> tuple[Guess, int]:
    """A queue pair comes, sends, hears a level, and goes; its guess, and its bytes."""
    change = follower.update(host.qps(number), remote=peer)
    (slot, guess) = next(iter(change.guesses.items()))
    ipv6 = peer == _OTHER
    assert told(host, slot) == Told(guess.belief or 0, guess.belief is not None, 0)
    sent = host.send(number, size, ipv6=ipv6)
    host.say(number, level, ipv6=ipv6)
    host.ns += 3_000
    follower.update((), remote=peer)
    return guess, sent


@pytest.mark.parametrize("name", ["tree", "lstm", "the study's tree", "the study's LSTM"])
def test_guesses_are_the_integers_of_the_model(host: Host, name: str, seed: int) -> None:
    """The size of a queue pair is the one before's, until it has ended and is known."""
    images: dict[str, Callable[[], object]] = {
        "tree": lambda: tree(seed),
        "lstm": lambda: lstm(seed),
        "the study's tree": lambda: load_any(MODELS / "tree.safetensors"),
        "the study's LSTM": lambda: load_any(MODELS / "lstm.safetensors"),
    }
    model = StartForecaster(images[name]())  # type: ignore[arg-type]
    rng = random.Random(seed)
    beliefs = host.beliefs(model)
    follower = Follower(host.device, mode="s", beliefs=beliefs)
    past: list[Start] = []
    before, heard = None, 0
    for _ in range(60):
        at_ps = host.ns * 1000
        level = rng.choice((0, 1, 4))
        guess, sent = one_list(host, follower, 0, level, rng.choice((100, 900, 4000)))
        assert guess.size == before
        if before is None:
            assert (guess.level, guess.belief) == (None, None)
        else:
            assert guess.level == model.level([*past, Start(at_ps, before, heard)])
        past.append(Start(at_ps, sent, heard))
        before, heard = sent, level
        host.ns += rng.choice((10_000, 100_000, 30_000_000))


def test_a_model_is_heeded_after_its_trial_and_until_it_is_wrong(host: Host) -> None:
    follower = Follower(host.device, mode="s", beliefs=host.beliefs(StartForecaster(parrot())))
    levels = [4, 4, 4, 0, 0, 0] * 20
    guesses = [one_list(host, follower, 0, level)[0] for level in levels]
    first = next(n for n, guess in enumerate(guesses) if guess.heeded)
    assert all(guess.skill is None and guess.belief is None for guess in guesses[:first])
    ended = levels[1:first]  # the first had no guess
    assert min(sum(level >= 2 for level in ended), sum(level < 2 for level in ended)) == EVIDENCE
    assert all(guess.heeded for guess in guesses[first:])
    assert {guess.belief for guess in guesses[first:]} == {4, None}  # 0 is no belief
    assert guesses[-1].skill is not None
    assert 0.25 < guesses[-1].skill < 0.5
    # now each start is the contrary of the one before, so that the model is always wrong
    wrong = [one_list(host, follower, 0, level)[0] for level in [4, 0] * 40]
    last = max(n for n, guess in enumerate(wrong) if guess.heeded)
    assert last < 40
    assert wrong[-1].skill is not None
    assert wrong[-1].skill < -0.9
    assert {guess.level for guess in wrong} == {0, 4}
    assert all(guess.belief is None for guess in wrong[last + 1 :])


def test_a_liar_s_peers_are_not_believed_elsewhere(host: Host, seed: int) -> None:
    """One receiver always says the same, so that every guess of it is right; the other is drawn."""
    rng = random.Random(seed)
    follower = Follower(host.device, mode="s", beliefs=host.beliefs(StartForecaster(parrot())))
    liar, honest = [], []
    for n in range(80):
        liar.append(one_list(host, follower, 0, 4, peer=_OTHER)[0])
        # the contrary of the one before, mostly: what the model says of this one is false
        honest.append(one_list(host, follower, 1, 4 * (n % 2) if rng.random() < 0.9 else 4)[0])
    assert liar[-1].level == 4
    assert liar[-1].evidence.crowded > 40
    assert {guess.level for guess in honest[1:]} == {0, 4}
    assert not any(guess.heeded for guess in honest)
    assert honest[-1].skill is not None
    assert honest[-1].skill < 0
    assert not liar[-1].heeded  # it is always crowded, and elsewhere the alarms are false


def test_an_application_says_what_it_is_about_to_send(host: Host) -> None:
    model = StartForecaster(tree(3))
    beliefs = host.beliefs(model)
    follower = Follower(host.device, mode="s")
    follower.update(host.qps(0, 1), remote=_PEER)
    levels = []
    for size in (1, 5_000, 64_000, 10**9, 1 << 50):
        guess = beliefs.begin([(0, _PEER)], size=size)[0]
        assert guess.size == size
        levels.append(guess.level)
        beliefs.lose([0])
    at_ps = host.ns * 1000
    sizes = (1, 5_000, 64_000, 10**9, 1 << 50)
    assert levels == [model.level([Start(at_ps, size, 0)]) for size in sizes]
    # what is known counts, not what the card has seen by then; another may begin meanwhile
    beliefs.begin([(0, _PEER)], size=7_000)
    host.say(0, 3)
    host.ns += 20_000
    later = beliefs.begin([(1, _PEER)], size=9_000)[1]
    starts = [Start(at_ps, 7_000, 0), Start(at_ps + 20_000_000, 9_000, 3)]
    assert later.level == model.level(starts)
    beliefs.end([(0, _PEER)])
    beliefs.end([(1, _PEER)])
    host.ns += 20_000
    unknown = beliefs.begin([(0, _PEER)])[0]
    assert unknown.size == 9_000
    assert unknown.level == model.level([*starts, Start(at_ps + 40_000_000, 9_000, 0)])


def test_queue_pairs_that_come_at_once_are_one_start(host: Host) -> None:
    model = StartForecaster(parrot())
    follower = Follower(host.device, mode="s", beliefs=host.beliefs(model))
    follower.update(host.qps(0, 1, 2), remote=_PEER)
    host.say(1, 4)
    most = max(host.send(n, size) for n, size in ((0, 300), (1, 200), (2, 1000)))
    follower.update(host.qps(0), remote=_PEER)
    assert follower.update(host.qps(0, 3), remote=_PEER).guesses[1].level is None
    host.send(3, 50)
    follower.update((), remote=_PEER)
    change = follower.update(host.qps(4, 5), remote=_PEER)
    assert [guess.level for guess in change.guesses.values()] == [0, 0]  # QP 3 was told nothing
    assert {guess.size for guess in change.guesses.values()} != {most}
    follower.update((), remote=_PEER)
    assert follower.update(host.qps(6), remote=_PEER).guesses[0].level == 0


def test_what_sent_nothing_or_little_is_no_evidence(host: Host) -> None:
    beliefs = host.beliefs(StartForecaster(parrot()))
    follower = Follower(host.device, mode="s", beliefs=beliefs)
    one_list(host, follower, 0, 4)
    follower.update(host.qps(0), remote=_PEER)
    host.say(0, 3)
    follower.update((), remote=_PEER)  # it sent nothing
    assert beliefs.trial.evidence(_PEER) == (0, 0)
    guess, sent = one_list(host, follower, 0, 4, size=1)
    assert guess.level == 4  # as the first one was told
    assert sent <= _LEAST
    assert beliefs.trial.evidence(_PEER) == (0, 0)
    one_list(host, follower, 0, 4)
    assert beliefs.trial.evidence(_PEER) == (1, 0)


def test_a_slot_that_an_operator_took_away_is_forgotten(host: Host) -> None:
    beliefs = host.beliefs(StartForecaster(parrot()))
    follower = Follower(host.device, mode="s", beliefs=beliefs)
    one_list(host, follower, 0, 4)
    follower.update(host.qps(0), remote=_PEER)
    host.send(0, 1000)
    pairs.remove(host.device, [0])
    guess = follower.update(host.qps(0), remote=_PEER).guesses[0]
    assert guess.level == 4
    host.send(0, 1000)
    follower.update((), remote=_PEER)
    assert beliefs.trial.evidence(_PEER) == (0, 1)


def test_what_cannot_be(host: Host) -> None:
    beliefs = host.beliefs(StartForecaster(parrot()))
    for slots, size, message in (
        ([(0, _PEER), (8, _PEER)], None, r"slot must be in 0\.\.7, not 8"),
        ([(0, _PEER)], 0, "size must be at least 1 byte, not 0"),
    ):
        with pytest.raises(ValueError, match=message):
            beliefs.begin(slots, size=size)
    with pytest.raises(ValueError, match=r"slot must be in 0\.\.7, not -1"):
        beliefs.end([(0, _PEER), (-1, _PEER)])
    assert beliefs.begin([(3, None)]) == {}
    last = host.beliefs(None)
    assert one_list(host, Follower(host.device, mode="s", beliefs=last), 0, 4)[0].level is None
    with pytest.raises(ValueError, match="slot must be"):
        last.begin([(0, _PEER), (8, _PEER)])
    assert told(host, 0) == Told(0, believed=False, most=0)
    assert last.begin([(0, _PEER)])[0].belief == 4
    assert told(host, 0) == Told(4, believed=True, most=0)
    device = Device(Emulator(NicConfig(qps=4, sets=2, width=64, senders=True)))
    assert device.senders is not None
    device.senders.set_parameters(heed=True)
    bare = Beliefs(device, StartForecaster(parrot()))  # an application may know sizes
    assert bare.begin([(0, _PEER)], size=5000)[0].level == 0
    with pytest.raises(DeviceError, match="device that counts what each queue pair sends: one"):
        Follower(device, beliefs=bare)


class _Lists(io.BytesIO):
    """Standard input of a follower: before each list something happens to the card."""

    def __init__(self, lists: Iterator[bytes]) -> None:
        super().__init__()
        self._lists = lists

    def readline(self, size: int | None = -1, /) -> bytes:
        return next(self._lists, b"")


def _entries(*numbers: int) -> bytes:
    entry = {"ifname": "rxe0", "port": 1, "type": "RC", "state": "RTS", "comm": "test"}
    rows = [entry | {"lqpn": A_QP + n, "rqpn": B_QP + n} for n in numbers]
    return json.dumps(rows).encode() + b"\n"


@pytest.mark.parametrize("json_", [True, False])
def test_the_command(
    host: Host,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    json_: bool,
) -> None:
    image = tmp_path / "parrot.safetensors"
    parrot().save(image)
    levels = [4, 4, 4, 4, 0, 0, 0, 0] * 4

    def lists() -> Iterator[bytes]:
        for level in levels:
            yield _entries(0)
            host.send(0, 1000)
            host.say(0, level)
            yield _entries()

    class Input:
        buffer = _Lists(lists())

    monkeypatch.setattr("sys.stdin", Input())
    words = ["--from", "-", "--remote", B4, "--mode", "s", "--believe", "--model", str(image)]
    with udp_server(host.emulator) as server:
        uri = f"udp:127.0.0.1:{server.port}"
        done = ran(capsys, "qp", "follow", *words, "-d", uri, *(["-j"] if json_ else []))
    assert done.status == 0, done.err
    if json_:
        rows = [json.loads(line) for line in done.out.splitlines()][::2]
        assert [row["guesses"]["0"]["level"] for row in rows] == [None, *levels[:-1]]
        assert not any(row["believed"] for row in rows[:16])
        assert [row["believed"] for row in rows[20:]] == [
            {"0": 4} if level == 4 else {} for level in levels[19:-1]
        ]
        last = rows[-1]["guesses"]["0"]
        assert last["heeded"]
        assert last["skill"] > 0.25
        assert (last["crowded"], last["others"]) == (15, 15)
    else:
        for begin in (
            "guesses  slot 0: nothing, no queue pair to its peer has ended; no skill yet: 0 of 8 ",
            "guesses  slot 0: level 4 of 1058 bytes, not believed; no skill yet: 1 of 8 crowded ",
            "guesses  slot 0: level 0 of 1058 bytes, not believed; skill 0.",
            "believes slot 0: level 4, as the model guesses; skill 0.",
        ):
            assert "\n" + begin in done.out, begin


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "{tree}"], "option --model has no effect without --believe: leave it out"),
        (["--believe", "--model", "rtt-incast"], "rtt-incast: model of starts must have the head"),
        (["--believe", "--model", "nobody"], "No such file"),
        (["--believe", "--model", "{tree}"], "beliefs need a device that heeds levels"),
    ],
)
def test_refusals(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], message: str
) -> None:
    tree(1).save(tmp_path / "tree.safetensors")
    lists = tmp_path / "lists"
    lists.write_text("[]\n")
    given = [word.format(tree=tmp_path / "tree.safetensors") for word in words]
    done = ran(capsys, "qp", "follow", "--from", str(lists), *given, "-d", "emu:width=64,senders=1")
    assert done.status == 2
    assert message in done.err
