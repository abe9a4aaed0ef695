"""Worst effects of attacks: tests assert these figures, and docs/security.md states them."""

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
