"""Worst effects of attacks: tests assert these figures, and docs/guide/security.md states them."""

#: Of a law's rate, what congestion scores can take at any time (`psched_cut`'s reset).
SCORES_TAKE_MOST = 0.5

#: What they can take in all from one sample that finds congestion to the next one that does, in
#: samples' worth of the law's rate; but for `SCORES_TAKE_LAST` of each sample after the eighth.
SCORES_TAKE_SAMPLES = 1.0
SCORES_TAKE_LAST = 2.0**-8

#: How long scores act of a peer that lets no sample come any more.
SCORES_UNJUDGED_US = 200.0

#: Share of its throughput that a flow on an empty path loses to right scores with a forged 100
#: after each sample, and to an unending 100, while scores must show skill.
FORGED_SCORES_COST = 0.0

#: The same where scores are followed blindly (`psched_skill=0`), of a flow of some 40 round trips.
BLIND_SCORES_COST = 0.03

#: Share of the law's rate that a peer takes which knows all there is to know, and forges as often
#: as the skill monitor lets pass, on the path that is worst for it.
BEST_FORGER_TAKES = 0.06

#: Packets of peers that are unknown or not enabled that extraction rewrites.
STRANGERS_REWRITTEN = 0

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
