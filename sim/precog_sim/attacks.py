"""What an attacker can do at worst, in figures: `tests/integration/test_attacks.py` asserts each.

Everything is as after reset, with ticks of 1 ns. What a packet must be to have an effect at all is
in `precog_models.packet.trust` and `precog_models.measure.rtt_collector`.
"""

__all__ = [
    "DAMAGED_EFFECTS",
    "FLOOD_CNPS_PER_MS",
    "FLOOD_US_TO_FLOOR",
    "LYING_RTT_LEAST_TICKS",
    "PSNS",
    "PSNS_BESIDE_FLIGHT",
    "REPLAYED_ACK_SAMPLES",
]

#: Cuts, samples ended, CNPs made in answer, echoes: by any number of packets with a wrong ICRC.
DAMAGED_EFFECTS = 0

#: PSNs that there are. An answer of somebody who does not see the packets has a chance of
#: (PSNs in flight + `PSNS_BESIDE_FLIGHT`) in `PSNS` to have an effect.
PSNS = 1 << 24
PSNS_BESIDE_FLIGHT = 1

#: Samples that a replay of acknowledges made or ended, however many came.
REPLAYED_ACK_SAMPLES = 0

#: The shortest RTT that a peer makes a card believe by lying about its turnaround, unless the
#: answer itself comes sooner.
LYING_RTT_LEAST_TICKS = 33

#: CNPs with a right ICRC, as many as the wire takes: those that have an effect on a queue pair.
FLOOD_CNPS_PER_MS = 40

#: How long such a flood must last until a queue pair of DCQCN at 40 Gb/s is at its floor of 1 Gb/s,
#: by preset. The ICRC is no secret: who knows two addresses and a QPN can do this.
FLOOD_US_TO_FLOOR = {"paper": 125, "vendor": 200}
