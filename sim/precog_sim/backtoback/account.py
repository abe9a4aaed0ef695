"""The books: each counter of both cards must be what the wire and the endpoints say."""

from collections.abc import Iterator

from .node import SLOTS
from .run import BackToBack

__all__ = ["check"]


def check(run: BackToBack) -> None:
    """Compare everything once all has been said; differences go to `run.differences`.

    A card's counters are those of an instant in which nothing was in flight.

    Raises
    ------
    DeviceError
        A card is never idle.
    """
    for side in range(2):
        run.nodes[side].finish()
        for line in run.nodes[side].differences:
            run.differ(f"side {side}, {line}")
        with run.nodes[side].device.one_instant(idle=True):
            facts = (*_endpoints(run, side), *_packets(run, side), *_nic(run, side))
        for what, wanted, got in facts:
            if wanted != got:
                run.differ(f"side {side}, {what}: {wanted!r} expected, not {got!r}")


_Fact = tuple[str, object, object]


def _endpoints(run: BackToBack, side: int) -> Iterator[_Fact]:
    """What was said has been heard; every frame came, or was lost by the wire."""
    for slot in range(len(SLOTS)):
        said, heard = run.ends[side][slot], run.ends[1 - side][slot]
        yield f"slot {slot}: bytes that the peer heard", said.said, heard.heard
        yield f"slot {slot}: nothing left to say", True, said.idle()
    seen, other, wire = run.seen[side], run.seen[1 - side], run.wires[side]
    yield "frames on the wire", sum(seen.sent) + sum(seen.cnps), wire.sent
    yield "frames that came to the peer", wire.sent - wire.lost, sum(other.came)
    yield "marks that came to the peer", wire.marked, sum(other.marks_came)
    lost = wire.lost
    not_heard = sum(seen.cnps) - sum(other.cnps_came)
    yield "CNPs lost are among the frames lost", True, 0 <= not_heard <= lost


def _packets(run: BackToBack, side: int) -> Iterator[_Fact]:
    """The packet path's counters and destinations."""
    seen, node = run.seen[side], run.nodes[side]
    counters = {table: node.counts(table) for table in ("tx", "rx", "events")}
    came = sum(seen.came)
    tx = {"inserted": sum(seen.sent) + sum(seen.cnps)}
    rx = {"of_qp": came}
    for table, known in (("tx", tx), ("rx", rx)):
        for name, count in counters[table].items():
            yield f"{table} {name}", known.get(name, 0), count
    events = counters["events"]
    cnps, marks = sum(seen.cnps), sum(seen.marks_came) - seen.cnps_marked
    timed = ("samples", "retransmission", "nak", "timeout", "forgotten")
    known = {
        "extracted": came,
        "icrc_ok": came,
        "cnp_sent": cnps,
        "cnp_limited": marks - cnps,
        "refused_cnp": sum(seen.cnps_came) - sum(seen.cnps_acted),
        "rtt_refused_psn": seen.psns_refused,
        "rtt_samples": sum(seen.samples),
        "rtt_corrected": seen.corrected,
        "rtt_started": sum(events[f"rtt_{name}"] for name in timed),
    }
    # How a timed packet was given up only the collector knows; that each was, the sum says.
    open_ended = ("rtt_coalesced", *(f"rtt_{name}" for name in timed[1:]))
    for name, count in events.items():
        if name not in open_ended:
            yield f"event {name}", known.get(name, 0), count
    for slot in range(len(SLOTS)):
        status = node.path.destination(slot)
        samples, marks = (numbers[slot] for numbers in seen.cleared)
        yield f"samples of destination {slot}", seen.samples[slot] - samples, status.samples
        yield f"marks of destination {slot}", seen.marks_acted[slot] - marks, status.marks
        yield f"score of destination {slot}", seen.shown[slot], status.score


def _nic(run: BackToBack, side: int) -> Iterator[_Fact]:
    """The core's counters, the receiver's, and those of forecasts."""
    seen, node = run.seen[side], run.nodes[side]
    core, receiver = node.counts("core"), node.counts("receiver")
    forecasts = node.counts("forecasts")
    samples = sum(seen.samples)
    events = seen.told
    for slot, (_, _, hears) in enumerate(SLOTS):
        if hears:
            events += seen.scores_followed[slot]
    yield "samples", samples, core["samples"]
    if not node.merges:
        yield "events", events, core["events"]
    yield "decisions", core["samples"] + core["events"], core["decisions"]
    for name in ("dropped", "ignored", "load_errors", "fallbacks", "late", "held"):
        yield name, 0, core[name]
    predicted = sum(
        n for n, (law, _, _) in zip(seen.samples, SLOTS, strict=True) if law == "predpid"
    )
    yield "predictions", predicted, core["predictions"] + core["unskilled"]
    yield "scores that the receiver heard", sum(seen.scores_followed), receiver["scores"]
    yield "scores that were too old", 0, receiver["aged"]
    yield "profiles that led to forecasts", node.profiles(), forecasts["forecasts"]
    for name in ("no_model", "dropped", "stale", "wrong_head"):
        yield f"forecasts: {name}", 0, forecasts[name]
