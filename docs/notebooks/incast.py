"""
The thesis' incast, step by step
================================

Twenty hosts send to one host through one switch, at 100 Gb/s. Three flows are long and seventeen
are short. We run the incast under two laws, look at the queue and at the RTTs, change the number of
senders, and read single decisions of a card.

You need ``.venv`` of the checkout, or its extra ``sim``. The first run compiles the simulator,
which takes a minute or two; later runs load it.
"""

# %%
# Run it
# ------
#
# A scenario and a law make a run. ``hpcc`` is HPCC with the constants of its authors' simulator: it
# reads queue lengths that switches write into packets. ``card:lockstep`` is Precog's law in the
# integers of a card: it knows nothing but RTTs. A tenth of the thesis' bytes is enough to look at;
# ``incast("thesis")`` has all of them.

import matplotlib.pyplot as plt

from precog_host.device import Device
from precog_net.laws import law
from precog_sim.law_loop import EngineSetup, run_with_engine
from precog_sim.network import Record, incast, measure, run
from precog_sim.network.asking import LOG_FIELDS
from precog_spec.engine.events import Kind

LAWS = {"lockstep": "card:lockstep", "HPCC": "hpcc"}
record = Record(probe_us=2.0)  # the queue's length every 2 us
results = {name: run(incast("tenth"), law(text), record=record) for name, text in LAWS.items()}

for name, result in results.items():
    figures = measure(result)
    print(
        f"{name:8}  mean completion {figures.mean_fct_ms:.2f} ms, "
        f"p99 of RTTs {figures.sample_p99_us:.1f} us, "
        f"largest queue {figures.max_queue_kb:.0f} KB, "
        f"fairness of the short flows {figures.jain:.3f}"
    )

# %%
# Queue and RTT
# -------------
#
# All flows start at once at line rate, so the queue is longest at the start. What differs is how
# long it stays and where it settles. Each dot of the lower row is one RTT sample; the base RTT is
# 4.18 us.

figure, axes = plt.subplots(2, 2, figsize=(9, 5), sharex=True, sharey="row", layout="constrained")
for column, (name, result) in enumerate(results.items()):
    queue, rtt = axes[:, column]
    queue.plot(result.probe_t_us / 1000, result.probe_queue[:, 0] / 1000, linewidth=0.8)
    queue.set_title(name)
    rtt.plot(result.sample_t_us / 1000, result.sample_rtt_us, ".", markersize=1.5)
    rtt.set_xlabel("time (ms)")
    queue.set_yscale("symlog", linthresh=1)
    rtt.set_yscale("log")
axes[0, 0].set_ylabel("queue (KB)")
axes[1, 0].set_ylabel("RTT (us)")
plt.show()

# %%
# Change N
# --------
#
# More senders mean a deeper queue at the start: each one sends a window before it hears anything.
# ``senders=`` takes the preset's first flows, or repeats its last one.

for senders in (4, 20, 60):
    for name, text in LAWS.items():
        figures = measure(run(incast("hundredth", senders=senders), law(text)))
        print(
            f"N = {senders:2}  {name:8}  largest queue {figures.max_queue_kb:6.0f} KB, "
            f"p99 of RTTs {figures.sample_p99_us:6.1f} us, "
            f"last flow ends after {figures.last_fct_ms:.3f} ms"
        )

# %%
# Look at decisions
# -----------------
#
# A device can decide in place of the simulator's own code. ``emu:`` is the golden model behind the
# driver that real cards have; ``sim:`` is the RTL and decides the same to the bit. Every decision
# is a row of integers: what the law heard of an acknowledgement, and what it answered. Times are in
# ticks of 1 ns, windows in bytes, rates in bytes per tick with 24 fraction bits.

with Device.open("emu:law_cores=1,qps=32") as device:
    looped = run_with_engine(device, EngineSetup("lockstep"), incast("hundredth"))

column = {name: n for n, name in enumerate(LOG_FIELDS)}  # the second `qp` is the answer's
first = looped.log[(looped.log[:, 0] == Kind.ACK) & (looped.log[:, column["qp"]] == 0)]
print(f"{len(looped.log)} decisions, {len(first)} on acknowledgements of flow 0")
print(f"{'t (ns)':>8} {'RTT (ns)':>9} {'window (B)':>11} {'rate (Gb/s)':>12}")
for row in first[:8]:
    gbps = row[column["rate"]] / (1 << 24) * 8
    print(f"{row[column['t']]:8} {row[column['rtt']]:9} {row[column['window']]:11} {gbps:12.3f}")

# %%
# Flow 0 is a long one: its window shrinks while the short flows are there, and opens when the link
# is free.

figure, (rtt, window) = plt.subplots(2, 1, figsize=(9, 4.5), sharex=True, layout="constrained")
t = first[:, column["t"]] / 1e6
rtt.plot(t, first[:, column["rtt"]] / 1000, linewidth=0.8)
rtt.set_ylabel("RTT (us)")
window.plot(t, first[:, column["window"]] / 1000, linewidth=0.8)
window.set_ylabel("window (KB)")
window.set_xlabel("time (ms)")
plt.show()

# %%
# Go on
# -----
#
# * ``Device.open("sim:tiny,law_cores=1,qps=32")`` lets the RTL decide; ``precog sim law lockstep``
#   compares each of its decisions with the golden model's.
# * ``LAWS`` takes any name that ``precog sim fabric --law`` takes, and files of your own laws.
