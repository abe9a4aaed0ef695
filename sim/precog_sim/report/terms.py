"""The glossary: the page's last section, and the tooltips of its columns."""

from dataclasses import dataclass

__all__ = ["TERMS", "Term"]


@dataclass(frozen=True)
class Term:
    """A term and what it means, in one or two sentences."""

    name: str
    text: str


#: Terms by key, in the order of the glossary.
TERMS: dict[str, Term] = {
    "rtt": Term(
        "RTT",
        "Round-trip time: from sending a packet to receiving its acknowledgement. Base RTT: the "
        "same with every queue empty.",
    ),
    "incast": Term(
        "Incast",
        "Many senders to one receiver at once. The switch port before the receiver is the "
        "bottleneck.",
    ),
    "p99": Term(
        "99 % RTT",
        "The time that only one sample in a hundred exceeds. Users of a distributed service wait "
        "for the slowest answer, so the tail counts, not the mean.",
    ),
    "sample": Term(
        "One sample per round trip",
        "What a card really collects: it times one packet, waits for its acknowledgement, then "
        "times the next one sent. “Every packet” counts all of them and weighs fast flows more.",
    ),
    "fct": Term(
        "FCT, slowdown",
        "Flow completion time; slowdown is that time over the time the flow would need alone in "
        "the network.",
    ),
    "rate": Term(
        "Mean rate",
        "As in the thesis: the sum of all flow sizes over the sum of all completion times. "
        "Finishing short flows first raises it.",
    ),
    "jain": Term(
        "Jain’s index",
        "Fairness: one if all flows get the same rate, near nought if one flow gets everything.",
    ),
    "mape": Term(
        "MAPE",
        "Mean absolute percentage error of the predicted RTT. “Balanced” weighs calm and violent "
        "moments alike; “as they come” does not. “At work”: in the closed loop, where the "
        "predictor’s own decisions make the RTTs.",
    ),
    "persistence": Term(
        "Persistence",
        "The simplest predictor: the next RTT is the present one. A predictor is worth its cost "
        "only by what it saves against this.",
    ),
    "pid": Term(
        "PID",
        "A controller that reacts to the error, its long-run average and its change. Here it "
        "multiplies the sending rate.",
    ),
    "lstm": Term(
        "LSTM",
        "A small recurrent neural network: it reads the last few RTTs in order and carries a "
        "memory from one to the next.",
    ),
    "cps": Term(
        "CPS",
        "Congestion prediction score: the same forecast as a number that travels in a packet, so "
        "that the receiver can act on it. Not used in this run.",
    ),
    "golden": Term(
        "RTL, golden model",
        "RTL is the hardware description that becomes the chip; the golden model computes the same "
        "in integer software. They must agree in every bit.",
    ),
    "lanes": Term("Lanes", "Multiply-accumulate units that work in parallel in the LSTM engine."),
    "confidence": Term(
        "95 % confidence (±)",
        "Over random start jitters: repeated with other seeds, the mean would lie in this range "
        "nineteen times in twenty.",
    ),
    "laws": Term(
        "TIMELY, DCTCP, DCQCN, HPCC",
        "Published laws. TIMELY reads the slope of the RTT; DCTCP and DCQCN read marks that "
        "switches put on packets when queues are long; HPCC reads queue lengths that every switch "
        "writes into packets.",
    ),
}
