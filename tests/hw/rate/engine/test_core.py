# amaranth: UnusedElaboratable=no
"""A core of the law engine against the interpreter: results, rows and turns, bit for bit."""

import random
from collections import Counter

import pytest
from tests.models.rate.engine.random_programs import random_code

from precog_hw.rate.engine.core import Core
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import law_names, load
from precog_models.rate.engine.assembler import assemble
from precog_models.rate.engine.machine import Status
from precog_models.rate.engine.verify import verify
from precog_spec.engine.events import EVENT_FIELDS, EVENTS
from precog_spec.engine.isa import THREADS, Instruction, Op, Space
from precog_spec.secded import PROGRAM_ENTRIES, PROGRAM_SLOT

from .bench import NAMES, QPS, Bench, Slot

pytestmark = pytest.mark.cosim


def _words(rng: random.Random, kind: int) -> list[int]:
    words = [rng.getrandbits(rng.randrange(1, form.width + 1)) for _, form, _ in EVENT_FIELDS]
    return [kind, *words[1:]]


def _any_word(rng: random.Random) -> int:
    ends = [0, 1, -1, (1 << 47) - 1, -(1 << 47)]
    return rng.choice([*ends, *(rng.getrandbits(rng.randrange(1, 48)) - (1 << 24) for _ in "abc")])


def _random_slot(rng: random.Random) -> Slot:
    """A program that first writes the eight registers that it uses."""
    code: list[Instruction] = []
    entries = {}
    for kind in rng.sample(range(6), 3):
        entries[kind] = len(code)
        code += [Instruction(Op.MOV, n, 0, Space.SLOT, rng.randrange(128)) for n in range(8)]
        code += random_code(rng, 40, registers=8)
    verify(code, entries.values())
    return Slot([one.encoded() for one in code], entries, [_any_word(rng) for _ in range(512)])


def _random_bench(rng: random.Random) -> Bench:
    """Three programs for three kinds each, queue pairs that collide, kinds that are not heard."""
    slots = [_random_slot(rng) for _ in range(3)]
    rows = {(qp, place): _any_word(rng) for qp in range(4) for place in range(16)}
    kinds = [rng.randrange(6) for _ in range(40)]
    events = [(rng.randrange(3), rng.randrange(4), _words(rng, kind)) for kind in kinds]
    return Bench(slots, rows, events)


def test_many_random_programs(seed: int, request: pytest.FixtureRequest) -> None:
    """All instructions; what is stored shows in later events of the queue pair, and at the end."""
    rng, count = random.Random(seed), max(request.config.getoption("--volume"), 3)
    cycles = sum(_random_bench(rng).run() for _ in range(count))
    print(f"{9 * count} programs, {40 * count} events, {cycles} cycles")


def _law_slot(name: str) -> Slot:
    made = compile_law(load(name))
    entries = made.program.entries
    kinds = {kind: entries[one] for kind, one in enumerate(EVENTS) if one in entries}
    words = made.program.slot_words(made.law.integers("default", 1000))
    return Slot(list(made.program.code), kinds, words)


@pytest.mark.parametrize("first", range(0, len(law_names()), QPS))
def test_laws_at_once(first: int, seed: int, request: pytest.FixtureRequest) -> None:
    """Programs of the compiler, each on a queue pair of its own, under plausible events."""
    rng = random.Random(seed)
    slots = [_law_slot(name) for name in law_names()[first : first + QPS]]
    now, events = 1000, []
    for _ in range(96 * request.config.getoption("--volume")):
        now += rng.randrange(1, 10_000)
        law, base = rng.randrange(len(slots)), 4180
        words = dict.fromkeys(NAMES, 0) | {"now": now, "base": base, "mtu": 1000}
        words |= {"kind": rng.choice(sorted(slots[law].entries))}
        words |= {"rtt": base + rng.randrange(0, rng.choice([100, 3000]))}
        words |= {"bytes": rng.randrange(9000), "seq": now >> 10, "next": (now >> 10) + 30}
        words |= {"rate": rng.randrange(1 << 22, 1 << 28), "min_rate": 1 << 18}
        words |= {"max_rate": 1 << 28, "init_rate": 1 << 26, "predicted": 1, "prediction": 1 << 20}
        events.append((law, law, list(words.values())))
    cycles = Bench(slots, {}, events).run()
    print(f"{cycles / len(events):.0f} cycles per event")


def _short(text: str) -> list[int]:
    return [one.encoded() for one in assemble(text)]


def test_traps_and_latency() -> None:
    """An illegal operation, an overrun and a fall change nothing; then the queue pair goes on."""
    good = "mov r1, e.rtt\nst s[3], r1\nst s[0], r1\nend"
    bad = Slot([*_short("mov r1, #9\nst s[3], r1"), 63 << 26], {0: 0}, [])
    fell = Slot(_short("mov r1, #9\nst s[3], r1\n" + "st s[3], r1\n" * 1022), {0: 0}, [])
    words = [0] * len(NAMES)
    words[NAMES.index("rtt")] = 77
    slots = [Slot(_short(good), {0: 0}, []), bad, fell]
    bench = Bench(slots, {(1, 3): 5}, [(1, 1, words), (2, 1, words), (0, 1, words)])
    assert [one[1] for one in bench.wanted[1]] == [Status.ILLEGAL, Status.FELL, Status.DONE]
    bench.run()
    alone, least = ([(slot, 0, words)] for slot in (0, 3))
    slots.append(Slot(_short("end"), {0: 0}, []))
    more = Bench(slots, {}, alone).run() - Bench(slots, {}, least).run()
    assert more == 3 * THREADS + 2 + 2  # turns, stores, and their way to the row


def test_the_next_event_of_a_queue_pair() -> None:
    """It reads at once what the one before has stored last, of fourteen words."""
    text = "add! r15, s[15], #1\n" + "".join(f"mov! r{n}, #{n}\n" for n in range(2, 15)) + "end"
    slot = Slot(_short(text), {0: 0}, [])
    Bench([slot], {}, [(0, 0, [0] * len(NAMES))] * 10).run()


def test_an_overrun() -> None:
    slot = Slot(_short("mov r1, #9\nst s[3], r1\nfrc r1, r1, #3\nend"), {0: 0}, [])
    bench = Bench([slot], {}, [(0, 0, [0] * len(NAMES))], budget=5)
    assert bench.wanted[0][0][1] == Status.OVERRUN
    bench.run()


def _flips(rng: random.Random, code: int, wide: bool) -> dict[int, int]:
    """One bit or two of some words: instructions, slot memory, entries."""
    chosen = {at: 40 for at in rng.sample(range(code), 3 if wide else 1)}
    chosen |= {PROGRAM_SLOT + n: 56 for n in rng.sample(range(128), 12 if wide else 1)}
    chosen |= {PROGRAM_ENTRIES + rng.randrange(6): 19}
    return {
        at: sum(1 << n for n in rng.sample(range(bits), rng.randrange(1, 3)))
        for at, bits in chosen.items()
    }


def test_damaged_words(seed: int, request: pytest.FixtureRequest) -> None:
    """One wrong bit or two, anywhere: an event that needs the word stores nothing, others do."""
    rng, ended = random.Random(seed), Counter[Status]()
    for n in range(max(request.config.getoption("--volume"), 4)):
        bench = _random_bench(rng)
        for slot in bench.slots:
            slot.flips = _flips(rng, len(slot.code), n % 2 == 0)
        bench = Bench(bench.slots, bench.start, bench.events)
        ended.update(one[1] for of_qp in bench.wanted for one in of_qp)
        bench.run()
    assert ended[Status.DAMAGED] > 10
    assert ended[Status.DONE] > 10


@pytest.mark.parametrize("bits", [(n,) for n in range(0, 56, 5)] + [(3, 50), (47, 48), (0, 1)])
def test_a_damaged_word_in_an_events_last_instruction_but_one(bits: tuple[int, ...]) -> None:
    """It is noticed before the event's stores are made; a table is read in a second turn."""
    mask = sum(1 << bit for bit in bits)
    words = [0] * len(NAMES)
    read = Slot(_short("mov! r0, p[5]\nend"), {0: 0}, {5: 77}, {PROGRAM_SLOT + 5: mask})
    found = Slot(_short("mov r1, #3\nldx r1, r1, p[300]\nend"), {0: 0}, {}, {1327: mask})
    beside = Slot(_short("mov! r0, p[4]\nend"), {0: 0}, {4: 9}, {PROGRAM_SLOT + 5: mask})
    # An index of 300 is made of 44, whose word the first turn reads for nothing.
    table = Slot(_short("mov r1, #3\nldx r1, r1, p[300]\nend"), {0: 0}, {303: 5}, {1068: mask})
    bench = Bench([read, found, beside, table], {}, [(slot, slot, words) for slot in range(4)])
    assert bench.wanted[0][0][1] == bench.wanted[1][0][1] == Status.DAMAGED
    assert bench.wanted[2][0][1] == bench.wanted[3][0][1] == Status.DONE
    bench.run()


def test_a_number_of_queue_pairs_that_is_no_power_of_two() -> None:
    with pytest.raises(ValueError, match="qps must be a power of two, not 3"):
        Core(3)
