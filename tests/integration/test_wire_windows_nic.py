"""Windows in wire mode, in the whole NIC: what the packet path hears opens them."""

import random
from collections.abc import Iterator

import pytest

from ..models.packet.frames import A_QP, packet
from .wire_nic_bench import LINK, Bench, of

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("wire_nic")]

_ACK, _READ_ONLY = 0x11, 0x10
_PSNS = 1 << 24
_FIRST = _PSNS - 3
_MTU = 1024
_QUIET = 3000  # cycles without a beat after which nothing more comes


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    made.waiting.set_parameters(expiry=(1 << 32) - 1)
    yield made
    made.device.close()


def request(qp: int, n: int, rng: random.Random) -> bytes:
    """The n-th of a queue pair."""
    return of(qp, 1000, rng, psn=(_FIRST + n) % _PSNS, bth={"ackreq": 1})


def answer(qp: int, n: int, *, back: bool, syndrome: int = 0x1F, opcode: int = _ACK) -> bytes:
    """To the n-th, of the peer's (`back`) or of ours."""
    aeth = {"syndrome": syndrome, "msn": 1}
    psn, rng = (_FIRST + n) % _PSNS, random.Random(n)
    if not back:
        return of(qp, 0 if opcode == _ACK else 64, rng, opcode=opcode, psn=psn, aeth=aeth)
    return packet(opcode=opcode, psn=psn, back=True, bth={"dqpn": A_QP + qp}, aeth=aeth)


def windowed(bench: Bench, qp: int, rng: random.Random) -> int:
    """A queue pair whose law has decided on a window: its bytes."""
    assert bench.device.pacer is not None
    bench.bind(qp, 0.5 * LINK)
    bench.device.qp(qp).configure(win=True)
    bench.device.pacer.begin(qp, windows=True, mtu=_MTU)
    bench.windows.add(qp)
    bench.run([request(qp, 0, rng)], settle=600)
    bench.run([], back=[answer(qp, 0, back=True)], settle=1000)
    window = bench.device.qp(qp).status().window_bytes
    assert window is not None
    assert 2 * _MTU < window < 8 * _MTU
    return window


def went(bench: Bench, sent: list[bytes] = (), back: list[bytes] = ()) -> list[bytes]:  # type: ignore[assignment]
    """What leaves."""
    return [
        wire.data for wire in bench.run(sent, back=back, settle=_QUIET).sinks["m_axis_tx"].frames
    ]


def test_acknowledgements_from_the_wire_open_a_window(bench: Bench, seed: int) -> None:
    """RTL = golden; a window of the law, in MTUs; answers and others do not wait for it."""
    rng = random.Random(seed)
    fits = -(-windowed(bench, 1, rng) // _MTU)
    bench.bind(2, 0.5 * LINK)
    sent = [request(1, n, rng) for n in range(1, 15)]
    others = [request(2, n, rng) for n in range(8)]
    answers = [answer(1, n, back=False, opcode=(_ACK, _READ_ONLY)[n % 2]) for n in range(4)]
    out = went(bench, [*sent, *others, *answers])
    assert [f for f in out if f in sent] == sent[:fits]
    assert [f for f in out if f in answers] == answers
    assert [f for f in out if f in others] == others
    assert bench.waiting.row(1)["packets"] == len(sent) - fits
    # A NAK of the third of what left: two have arrived; what it repeats does not wait.
    again = [request(1, n, rng) for n in range(3, 6)]
    out = went(bench, again, [answer(1, 3, back=True, syndrome=0x60)])
    assert out == sent[fits : fits + 2]
    assert went(bench, back=[answer(1, 2, back=True)]) == []  # late: it says less
    # READ responses acknowledge, too; then what was repeated is behind the oldest PSN.
    out = went(bench, back=[answer(1, 14, back=True, opcode=_READ_ONLY)])
    assert out == [*sent[fits + 2 :], *again]
    counters = bench.waiting.counters()
    assert counters["expired"] == 0
    assert counters["shut"] == 2
    assert counters["waits"] > 3 * _QUIET
    assert counters["sent"] == counters["stored"]


def test_a_lost_acknowledgement_holds_nobody_for_ever(bench: Bench, seed: int) -> None:
    """Nor does a full memory that holds the input; windows can be turned off and on."""
    rng = random.Random(seed)
    fits = -(-windowed(bench, 1, rng) // _MTU)
    bench.waiting.set_parameters(hold=True, expiry=1000)
    bench.quota(3 * 9)  # three packets
    sent = [request(1, n, rng) for n in range(1, 31)]
    run = bench.run(sent, settle=_QUIET)
    assert [wire.data for wire in run.sinks["m_axis_tx"].frames] == sent
    counters = bench.waiting.counters()
    assert counters["expired"] == counters["shut"] == -(-30 // fits) - 1
    assert counters["held"] > 1000
    assert bench.device.pacer is not None
    bench.device.pacer.begin(1, windows=False)
    bench.windows.clear()
    assert len(went(bench, [request(1, n, rng) for n in range(31, 61)])) == 30
    bench.device.pacer.begin(1, windows=True)
    bench.windows.add(1)
    bench.waiting.set_parameters(expiry=(1 << 32) - 1)
    assert len(went(bench, [request(1, n, rng) for n in range(1000, 1008)])) == fits
    bench.device.qp(1).configure(enable=False)
    assert len(went(bench)) == 8 - fits
    assert bench.waiting.counters()["expired"] == counters["expired"]


def test_exact_and_live_whatever_comes(bench: Bench, seed: int, volume: int) -> None:
    """Two queue pairs with windows, packets and answers both ways, in any order: nobody stays."""
    rng = random.Random(seed)
    for qp in (1, 2):
        windowed(bench, qp, rng)
    bench.bind(3, 0.3 * LINK)
    bench.waiting.set_parameters(hold=False, expiry=1000)
    at = {1: 1, 2: 1}
    for _ in range(3 * volume):
        sent, back = [], []
        for _ in range(60):
            qp, kind = rng.choice((1, 2)), rng.random()
            if kind < 0.2:
                sent.append(answer(qp, rng.randrange(100), back=False))
            elif kind < 0.3:
                sent.append(of(3, rng.randrange(1000), rng))
            else:
                at[qp] += 1 + rng.choice([0] * 12 + [-2, -10, 50])
                sent.append(request(qp, at[qp], rng))
        for _ in range(rng.randrange(25)):
            qp = rng.choice((1, 2))
            syndrome = rng.choice([0x1F, 0x1F, 0x60, 0x20])
            back.append(answer(qp, at[qp] - rng.randrange(60), back=True, syndrome=syndrome))
        bench.run(
            sent, back=back, seed=rng.getrandbits(30), idle=rng.choice([0, 0.4]), settle=_QUIET
        )
    for qp in (1, 2, 3):
        assert bench.waiting.row(qp)["packets"] == 0
    counters = bench.waiting.counters()
    assert counters["stored"] == counters["sent"]
    seen = bench.pacer.seen
    assert counters["expired"] == seen["expired"] > 0
