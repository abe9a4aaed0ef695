"""A card with a model of starts: guesses are its integers, and are heeded while they are good."""

import dataclasses
import random
from collections.abc import Callable, Sequence

import pytest

from precog_host import pairs
from precog_host.beliefs import Beliefs
from precog_host.device import Device
from precog_host.driver.senders import Told
from precog_host.emulator.device import Emulator
from precog_host.rdma_follow import Follower
from precog_host.transport import DeviceError
from precog_host.trial import EVIDENCE
from precog_models.forecast.starts import Start, StartForecaster
from precog_models.tree_image import load_any
from precog_spec.config import NicConfig
from precog_studies.prediction.starts.predictors import MODELS

from ..models.forecast.start_models import lstm, parrot, tree
from ..models.packet.frames import B4
from .belief_host import LEAST, OTHER, PEER, Host, one_list, told


@pytest.fixture
def host() -> Host:
    return Host()


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
    assert all(guess.skill is None for guess in guesses[:first])
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
    assert not any(guess.heeded for guess in wrong[last + 1 :])


def test_a_liar_s_peers_are_not_believed_elsewhere(host: Host, seed: int) -> None:
    """One receiver always says the same, so that every guess of it is right; the other is drawn."""
    rng = random.Random(seed)
    follower = Follower(host.device, mode="s", beliefs=host.beliefs(StartForecaster(parrot())))
    liar, honest = [], []
    for n in range(80):
        liar.append(one_list(host, follower, 0, 4, peer=OTHER)[0])
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
    follower.update(host.qps(0, 1), remote=PEER)
    levels = []
    for size in (1, 5_000, 64_000, 10**9, 1 << 50):
        guess = beliefs.begin([(0, PEER)], size=size)[0]
        assert guess.size == size
        levels.append(guess.level)
        beliefs.lose([0])
    at_ps = host.ns * 1000
    sizes = (1, 5_000, 64_000, 10**9, 1 << 50)
    assert levels == [model.level([Start(at_ps, size, 0)]) for size in sizes]
    # what is known counts, not what the card has seen by then; another may begin meanwhile
    beliefs.begin([(0, PEER)], size=7_000)
    host.say(0, 3)
    host.ns += 20_000
    later = beliefs.begin([(1, PEER)], size=9_000)[1]
    starts = [Start(at_ps, 7_000, 0), Start(at_ps + 20_000_000, 9_000, 3)]
    assert later.level == model.level(starts)
    beliefs.end([(0, PEER)])
    beliefs.end([(1, PEER)])
    host.ns += 20_000
    unknown = beliefs.begin([(0, PEER)])[0]
    assert unknown.size == 9_000
    assert unknown.level == model.level([*starts, Start(at_ps + 40_000_000, 9_000, 0)])


class Asked(StartForecaster):
    """A model that remembers what it was asked last."""

    def __init__(self) -> None:
        super().__init__(parrot())
        self.starts: list[Start] = []

    def level(self, starts: Sequence[Start]) -> int:
        self.starts = list(starts)
        return super().level(starts)


def test_queue_pairs_that_come_at_once_are_one_start(host: Host) -> None:
    """The longest one's size and the greatest level count, whichever ends first."""
    model = Asked()
    follower = Follower(host.device, mode="s", beliefs=host.beliefs(model))
    at_ps = host.ns * 1000
    follower.update(host.qps(0, 1, 2), remote=PEER)
    most = max(host.send(n, size) for n, size in ((0, 300), (1, 1000), (2, 200)))
    host.say(1, 4)
    host.say(2, 2)
    follower.update(host.qps(0, 2), remote=PEER)
    host.ns += 1_000
    assert follower.update(host.qps(0, 2, 3), remote=PEER).guesses[1].size is None
    follower.update((), remote=PEER)  # QP 3 sent nothing
    host.ns += 1_000
    change = follower.update(host.qps(4, 5), remote=PEER)
    assert model.starts == [Start(at_ps, most, 0), Start(at_ps + 2_000_000, most, 4)]
    assert [guess.level for guess in change.guesses.values()] == [4, 4]


def test_one_that_begins_hears_what_the_one_before_was_told_by_then(host: Host) -> None:
    model = Asked()
    beliefs = host.beliefs(model)
    Follower(host.device, mode="s").update(host.qps(0, 1, 2), remote=PEER)
    beliefs.begin([(0, PEER)], size=5000)
    beliefs.begin([(1, PEER)], size=5000)
    host.say(1, 3)
    beliefs.begin([(2, PEER)], size=5000)
    assert [start.told for start in model.starts] == [0, 0, 3]


def test_what_was_followed_before_tells_too(host: Host) -> None:
    """Its start was not seen, but its end is."""
    model = Asked()
    beliefs = host.beliefs(model)
    Follower(host.device, mode="s").update(host.qps(0), remote=PEER)
    host.say(0, 3)
    beliefs.end([(0, PEER)])
    beliefs.begin([(1, PEER)], size=5000)
    assert [start.told for start in model.starts] == [3]


def test_one_of_a_start_may_be_lost(host: Host) -> None:
    model = Asked()
    beliefs = host.beliefs(model)
    Follower(host.device, mode="s").update(host.qps(0, 1), remote=PEER)
    beliefs.begin([(0, PEER), (1, PEER)], size=5000)
    host.say(1, 3)
    beliefs.lose([0])
    beliefs.end([(1, PEER)])
    assert beliefs.trial.evidence(PEER) == (1, 0)
    beliefs.begin([(0, PEER)], size=5000)
    assert [start.told for start in model.starts] == [0, 3]


def test_a_slot_that_begins_again_or_ends_elsewhere_is_forgotten(host: Host) -> None:
    model = Asked()
    beliefs = host.beliefs(model)
    Follower(host.device, mode="s").update(host.qps(0, 1), remote=PEER)
    beliefs.begin([(0, PEER)], size=5000)
    beliefs.begin([(0, PEER)], size=6000)
    assert [start.size for start in model.starts] == [6000]
    beliefs.end([(0, OTHER)])
    assert beliefs.trial.evidence(PEER) == beliefs.trial.evidence(OTHER) == (0, 0)
    beliefs.begin([(1, PEER)], size=7000)
    assert [start.size for start in model.starts] == [7000]


def test_counts_of_bytes_wrap(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    profiler = host.device.profiler
    assert profiler is not None
    beliefs = host.beliefs(Asked())
    Follower(host.device, mode="s").update(host.qps(0), remote=PEER)
    status = profiler.queue(0)
    for bytes_out, use in (((1 << 48) - 10, beliefs.begin), (4990, beliefs.end)):
        now = dataclasses.replace(status, bytes_out=bytes_out)
        monkeypatch.setattr(profiler, "queue", lambda _, now=now: now)
        use([(0, PEER)])
    assert beliefs.begin([(0, PEER)])[0].size == 5000


def test_what_is_forgotten_has_no_skill(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("precog_host.beliefs._DESTINATIONS", 1)
    beliefs = host.beliefs(Asked())
    follower = Follower(host.device, mode="s", beliefs=beliefs)
    for _ in range(3):
        one_list(host, follower, 0, 4)
    assert beliefs.trial.evidence(PEER) == (2, 0)
    one_list(host, follower, 0, 4, peer=OTHER)
    assert beliefs.trial.evidence(PEER) == (0, 0)
    assert one_list(host, follower, 0, 4)[0].level is None


def test_what_sent_nothing_or_little_is_no_evidence(host: Host) -> None:
    beliefs = host.beliefs(StartForecaster(parrot()))
    follower = Follower(host.device, mode="s", beliefs=beliefs)
    one_list(host, follower, 0, 4)
    follower.update(host.qps(0), remote=PEER)
    host.say(0, 3)
    follower.update((), remote=PEER)  # it sent nothing
    assert beliefs.trial.evidence(PEER) == (0, 0)
    guess, sent = one_list(host, follower, 0, 4, size=1)
    assert guess.level == 4  # as the first one was told
    assert sent <= LEAST
    assert beliefs.trial.evidence(PEER) == (0, 0)
    one_list(host, follower, 0, 4)
    assert beliefs.trial.evidence(PEER) == (1, 0)


def test_a_slot_that_an_operator_took_away_is_forgotten(host: Host) -> None:
    model = Asked()
    beliefs = host.beliefs(model)
    follower = Follower(host.device, mode="s", beliefs=beliefs)
    one_list(host, follower, 0, 4)
    follower.update(host.qps(0), remote=PEER)
    pairs.remove(host.device, [0])
    assert host.device.packet is not None
    host.device.packet.bind(0, B4, remote_qp=70, local_qp=71)
    follower.update((), remote=PEER)
    host.ns += 9_000
    guess = follower.update(host.qps(1), remote=PEER).guesses[1]
    assert guess.level == 4
    assert [start.told for start in model.starts] == [0, 4]
    host.send(1, 1000)
    follower.update((), remote=PEER)
    assert beliefs.trial.evidence(PEER) == (0, 1)


def test_what_cannot_be(host: Host) -> None:
    beliefs = host.beliefs(StartForecaster(parrot()))
    for slots, size, message in (
        ([(0, PEER), (8, PEER)], None, r"slot must be in 0\.\.7, not 8"),
        ([(0, PEER)], 0, "size must be at least 1 byte, not 0"),
    ):
        with pytest.raises(ValueError, match=message):
            beliefs.begin(slots, size=size)
    with pytest.raises(ValueError, match=r"slot must be in 0\.\.7, not -1"):
        beliefs.end([(0, PEER), (-1, PEER)])
    assert beliefs.begin([(3, None)]) == {}
    last = host.beliefs(None)
    assert one_list(host, Follower(host.device, mode="s", beliefs=last), 0, 4)[0].level is None
    with pytest.raises(ValueError, match="slot must be"):
        last.begin([(0, PEER), (8, PEER)])
    assert told(host, 0) == Told(0, believed=False, most=0)
    assert last.begin([(0, PEER)])[0].belief == 4
    assert told(host, 0) == Told(4, believed=True, most=0)
    device = Device(Emulator(NicConfig(qps=4, sets=2, width=64, senders=True)))
    assert device.senders is not None
    device.senders.set_parameters(heed=True)
    bare = Beliefs(device, StartForecaster(parrot()))  # an application may know sizes
    assert bare.begin([(0, PEER)], size=5000)[0].level == 0
    with pytest.raises(DeviceError, match="device that counts what each queue pair sends: one"):
        Follower(device, beliefs=bare)
