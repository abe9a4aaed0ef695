"""The record as a page of Markdown."""

from collections.abc import Collection, Mapping
from typing import Any

from precog_spec.markdown import table
from precog_studies.paired import DRAWS
from precog_studies.prediction.arms import ARMS, EARLIER, FALSE, OFF, WITHOUT_MODEL
from precog_studies.prediction.judged import BOUNDS, FIGURES, GOALS, NO_HARM, SHOWN

__all__ = ["against", "modelled", "page", "rooms"]

_TOP = """# Predictions of a receiver's load, in the closed loop

Made by `{command}` from commit {commit}; do not edit. For machines: `{record}`.
{more}
What can a sender be told that its own RTTs do not show? How many flows share the receiver's link.
The receiver counts the flows that have announced more than {least} KB until all of them have come,
and says the number's binary logarithm, rounded up, on each ACK: the level, 4 bits. The law
`lockstep_hints` cuts its window to 2 fair shares where a level of 2 or more and a queue of its
own agree. It ends the cut by steps: up to 1.5 shares when it finds a short queue, beyond when it
finds the link idle. A lower level raises a cut window to a fair share at once. A window of less
than a packet keeps half a fair share, whatever queue it meets. A flow that believes a level at
its start begins with 2 fair shares; the receiver's first word replaces the belief. A level is
heeded only by a sender that has at most half as many such flows of its own: else its own link
holds them back. A window of less than a packet rises at an idle link without a cut, too. No
prediction has a part in that, and the all-to-all gains by little else.

The arms differ in who knows what, and when. Each has the seeds of `off`, lockstep without any
prediction. A cell is the figure, and in brackets its ratio to `off` with the 95 % interval:
{seeds} paired seeds, drawn again {draws} times. Percentiles are of all seeds' flows together.
Slowdown is over the time alone in the network. Queues are those of all switch ports, sampled each
5 µs; 99 % of them are near empty, so p99.9 is given, too. Receivers' queues are those of the last
hops to the incasts' receivers, sampled each 5 µs while an incast flow to that receiver is under
way, all receivers of a run together. Figures of queues are means over seeds. Background flows are
web search, in `services` single messages of workers, too; every case runs until all flows are done.
What was tried on the way is in [its own page](prediction_tried.md).
"""
_DEFINED = """
* `first_echo`: no more than 16 KB in flight until 16 KB have been acknowledged.
* A cut is never deeper than 2 / 16 of the link; what a receiver that lies can take is the rest.
* `bulk`: a message of more than 3 MB, 30 bandwidth-delay products, has the law's preset `bulk`. It
  believes a level of 3, so that it starts at a quarter of the link, and the receiver's first word
  gives back no more than that; a lower level does not raise it at once. A message that lasts so
  long need not be there first.
* `bulk_alone`: such messages start at 25 Gb/s; all run lockstep, and no receiver says N.
* `prior`: the level of a flow's class, the median in three runs of other seeds. It needs a class
  that the sender knows: a service, a collective.
* `persistence`, `ar`, `tree`, `lstm`, `gru`: a NIC's own forecast from its last 8 starts to the
  destination: times, sizes, and the levels that these flows were told. The LSTM and the tree are
  integers, as the engine runs them; the GRU is as large as the LSTM, in real numbers. All were
  trained on `services` of other seeds. Their runs are repeated with the forecasts until no forecast
  changes: then each NIC predicts in the loop.
* `oracle`: the flows that will share the link 10 µs after the start, by a fluid model of all
  arrivals.
* Lies are of all receivers; of `liars`, of four of 64. Guesses replace the prior.
"""

_HOSTS = f"""* `{WITHOUT_MODEL}`, `tree_cold`, `tree_warm` and so on: the same forecasts as hosts
  heed them, by their own code (`precog_host.trial`). Each host tries a model on its own starts,
  receiver by receiver; an outcome counts once its flow has ended. Where the model has passed, it
  decides alone. Elsewhere a start believes what the receiver told last, untried, as all starts of
  a host without a model do (`{WITHOUT_MODEL}`). `cold`: trials begin empty with each run. `warm`:
  they go on from {EARLIER} runs of other seeds, in which no guess was heeded; each of these draws
  its services, and all its pairs of hosts, anew. `fleet`: cold hosts that have the outcomes of all
  warm ones, by receiver, as their prior. False guesses in `services` are those that hosts try.
"""

_BOUNDED = (
    "No law beats the first bound: a host's link takes all of the job's packets at line rate, and",
    "a chain of flows that wait for each other takes the sum of their times alone. The second one",
    "holds for laws that leave the background's bytes as they are under `off`: the link carries",
    "those that had arrived by then, too. Means over seeds; the interval is that of the ratios.",
)


def page(said: Mapping[str, Any], record: str) -> str:
    """Goals and misses, then a table for each case."""
    cases = said["cases"]
    top = _TOP.format(
        record=record,
        least=30,
        draws=DRAWS,
        more="".join(map(_more, said.get("more", ()))),
        **{k: said[k] for k in ("command", "commit", "seeds")},
    )
    arms = {**ARMS, **FALSE}
    used = list(dict.fromkeys(arm for case in cases.values() for arm in case["arms"]))
    lines = [top, table(["arm", "what is known"], ([f"`{arm}`", arms[arm].title] for arm in used))]
    lines += [*_defined(used), *_goals(cases), *rooms(cases), *against(cases)]
    lines += [*modelled(cases), *_harm(cases)]
    for case in cases.values():
        lines += _table(case)
    return "\n".join(lines)


def _more(run: Mapping[str, Any]) -> str:
    """A later run, whose arms the record has, too."""
    arms = ", ".join(f"`{arm}`" for arm in run["arms"])
    return (
        f"\nArms of `{run['command']}` from commit {run['commit']}: {arms}. All other arms of that "
        "run have the same\nfigures as in the record.\n"
    )


def _defined(used: Collection[str]) -> list[str]:
    """What the arms are; of hosts' arms only if there are any."""
    if not any({**ARMS, **FALSE}[arm].earlier is not None for arm in used):
        return [_DEFINED]
    return [_DEFINED.rstrip(), _HOSTS]


def _goals(cases: Mapping[str, Any]) -> list[str]:
    meant = [arm for arm in ARMS if arm != OFF and any(arm in c["arms"] for c in cases.values())]
    if not meant:
        return []
    rows = []
    for name, case in cases.items():
        for goal in GOALS[name]:
            cells = [
                _ratio(case["arms"][arm], goal.figure) if arm in case["arms"] else ""
                for arm in meant
            ]
            rows.append([name, FIGURES[goal.figure][0], f"≤ {goal.most:g}", *cells])
    lines = ["## Goals", "", "Ratio to `off`; **bold**: the goal is missed.", ""]
    lines += [table(["case", "figure", "goal", *meant], rows), ""]
    for arm in meant:
        met = [
            ok
            for case in cases.values()
            if arm in case["arms"]
            for ok in case["arms"][arm]["met"].values()
        ]
        lines.append(f"* `{arm}` meets {sum(met)} of {len(met)}.")
    return [*lines, ""]


def _ratio(arm: Mapping[str, Any], figure: str) -> str:
    text = f"{arm['figures'][figure]['ratio']:.3g}"
    return text if arm["met"][figure] else f"**{text}**"


def rooms(cases: Mapping[str, Any]) -> list[str]:
    """How far the jobs are from what no law can beat."""
    asked = {name: case for name, case in cases.items() if case.get("room")}
    if not asked:
        return []
    rows = []
    for name, case in asked.items():
        for bound, one in case["room"].items():
            told = f"{one['ratio']:.2f} ({one['low']:.2f}–{one['high']:.2f})"
            least = f"{1 / one['ratio']:.2f}"
            rows.append([name, BOUNDS[bound], f"{one['before']:.0f}", told, least])
    head = ["case", "bound", "µs", "`off` over it", "least ratio to `off`"]
    lines = ["## How soon a job could end", "", *_BOUNDED, "", table(head, rows), ""]
    for name, case in asked.items():
        goal = next(goal.most for goal in GOALS[name] if goal.figure == "job")
        within = [bound for bound, one in case["room"].items() if 1 / one["ratio"] <= goal]
        verdict = "both bounds leave" if len(within) == len(BOUNDS) else "not every bound leaves"
        link = ", ".join(f"{part} {us:.0f}" for part, us in case["link"].items())
        lines.append(
            f"* `{name}`: {verdict} room for the goal of {goal:g}. "
            f"The link to the receiver that ends last, µs of `off`: {link}."
        )
    return [*lines, ""]


def against(cases: Mapping[str, Any]) -> list[str]:
    """The LSTM's figures over those of each rival."""
    asked = {name: case["against"] for name, case in cases.items() if case["against"]}
    if not asked:
        return []
    rivals = list(next(iter(asked.values())))
    rows = []
    better, worse, count = dict.fromkeys(rivals, 0), dict.fromkeys(rivals, 0), 0
    for name, told in asked.items():
        for goal in GOALS[name]:
            ones = {rival: told[rival][goal.figure] for rival in rivals}
            count += 1
            for rival, one in ones.items():
                better[rival] += one["high"] < 1
                worse[rival] += one["low"] > 1
            rows.append([name, FIGURES[goal.figure][0], *map(_interval, ones.values())])
    lines = ["## Does the LSTM earn its place?", ""]
    lines += ["Its figures over a rival's; **bold**: the 95 % interval lies above 1.", ""]
    lines += [table(["case", "figure", *(f"`{rival}`" for rival in rivals)], rows), ""]
    for rival in rivals:
        lines.append(
            f"* Of {count} figures it is better than `{rival}` in {better[rival]}, worse in "
            f"{worse[rival]}; in the others the interval has 1."
        )
    return [*lines, ""]


def modelled(cases: Mapping[str, Any]) -> list[str]:
    """Figures of hosts with a model, or a false source, over those of hosts without one."""
    asked = {name: case["model"] for name, case in cases.items() if case.get("model")}
    if not asked:
        return []
    arms = list(dict.fromkeys(arm for told in asked.values() for arm in told))
    lines = ["## What a model changes for a host", ""]
    lines += [f"Figures over those of `{WITHOUT_MODEL}`, a host without a model; **bold**: the"]
    lines += ["95 % interval lies above 1. The last arms show what a false source costs.", ""]
    rows = []
    for name, told in asked.items():
        for figure in (one for one in next(iter(told.values())) if one not in SHOWN):
            cells = [_interval(told[arm][figure]) if arm in told else "" for arm in arms]
            rows.append([name, FIGURES[figure][0], *cells])
    return [*lines, table(["case", "figure", *(f"`{arm}`" for arm in arms)], rows), ""]


def _interval(one: Mapping[str, float]) -> str:
    text = f"{one['ratio']:.2f} ({one['low']:.2f}–{one['high']:.2f})"
    return f"**{text}**" if one["low"] > 1 else text


def _harm(cases: Mapping[str, Any]) -> list[str]:
    """The false predictions that do harm."""
    rows = []
    for name, case in cases.items():
        for arm in (arm for arm in FALSE if arm in case["arms"]):
            met = case["arms"][arm]["met"]
            missed = [
                f"{FIGURES[figure][0]} {case['arms'][arm]['figures'][figure]['high']:.2f}"
                for figure, ok in met.items()
                if not ok
            ]
            told = "; ".join(missed) or "none"
            rows.append([name, f"`{arm}`", f"{sum(met.values())} of {len(met)}", told])
    if not rows:
        return []
    head = ["case", "arm", "figures that hold", "those that do not, and their upper ends"]
    return [
        "## False predictions",
        "",
        f"The upper end of each interval must be at most {NO_HARM}. What flows to lying hosts lose",
        "is not judged for `liars`: it is the column of four hosts in the last table.",
        "",
        table(head, rows),
        "",
    ]


def _table(case: Mapping[str, Any]) -> list[str]:
    first = case["arms"][OFF]["figures"]
    known = ", ".join(f"{kind} {level}" for kind, level in case["prior"].items())
    lines = [f"## {case['title']}", "", f"Levels of the prior: {known}.", ""]
    rows = []
    for arm, told in case["arms"].items():
        cells = [_cell(one, plain=arm == OFF) for one in told["figures"].values()]
        rows.append([f"`{arm}`", *cells])
    lines.append(table(["arm", *(FIGURES[name][0] for name in first)], rows))
    unfinished = sum(told["unfinished"] for told in case["arms"].values())
    if unfinished:
        lines += ["", f"{unfinished} flows did not end; they count with the time that they had."]
    return [*lines, ""]


def _cell(one: Mapping[str, float], *, plain: bool) -> str:
    after = one["after"]
    text = f"{after:.0f}" if after >= 100 else f"{after:.3g}"
    if plain:
        return text
    return f"{text} ({one['ratio']:.2f}, {one['low']:.2f}–{one['high']:.2f})"
