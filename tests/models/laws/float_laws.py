"""lockstep, swift and theta-PowerTCP in floats, written from their formulas, not from the files.

Times are ticks, windows bytes, rates bytes per tick. One event from a given state; returned are the
new state, rate, window, and how near the closest decision was, as a relative distance.
"""

import math
from collections.abc import Callable, Mapping

__all__ = ["FLOATS"]

State = dict[str, float]
Words = Mapping[str, float]
Result = tuple[State, float, float, float]
_HALF = 1 << 23
_WRAP = 1 << 24
_NONE = _WRAP - 1
_NO_SUM = (1 << 28) - 1


def _near(*pairs: tuple[float, float]) -> float:
    return min(abs(a - b) / max(abs(a), abs(b), 1.0) for a, b in pairs)


def _heard(p: Words, s: State, e: Words, outward: float) -> tuple[bool, bool]:
    """lockstep: turns of the RTT, whether the base is noise's, whether there is jitter."""
    psn, parts, last = int(s["round"]) % _WRAP, int(s["round"]) >> 24, s["last"]
    low, sinks, jolts, block = parts & 1023, parts >> 10 & 3, parts >> 12 & 31, parts >> 17
    change = min(max(e["rtt"] - last, -1023), 1023) if last else 0
    ends = block >= (32 if jolts >= p["jitter"] else 8)
    turn = s["change"]
    zigzag = min(abs(change), abs(turn)) if change * turn < 0 else 0
    s["zigzag"] += math.floor(zigzag - s["zigzag"]) / 256
    fell = (low - e["base"]) % 1024
    if 0 < fell < 512 and last - e["rtt"] > 2 * fell:
        sinks = min(sinks + 1, 2)
    jolts = min(max(jolts - 1, 0) + (5 if zigzag == 1023 else 0), 31)
    if ends:
        block, s["current"], s["previous"] = 0, outward, s["current"]
    s["current"] = min(s["current"], outward)
    block += 1
    parts = int(e["base"]) % 1024 | sinks << 10 | jolts << 12 | block << 17
    s |= {"round": parts << 24 | psn, "last": e["rtt"], "change": change}
    return sinks == 2, jolts >= p["jitter"]


def _refer(s: State, psn: float) -> None:
    """lockstep: the round ends behind this PSN."""
    s["round"] = int(s["round"]) >> 24 << 24 | int(psn) % _WRAP


def _begin(s: State, e: Words, jitter: bool) -> None:
    """lockstep: a new round."""
    _refer(s, e["next"])
    if not jitter:
        s |= {"current": _NONE, "previous": _NONE, "round": int(s["round"]) % (1 << 41)}


def lockstep(p: Words, s: State, e: Words) -> Result:
    """research/law.md, section 1, and the eight additions of the file's docstring."""
    s = dict(s)
    reach, parts = divmod(int(s["rounds"]), 1 << 32)
    watched, lift, rounds, slower = parts.to_bytes(4, "little")
    first, w1 = divmod(int(s["w1"]), 1 << 32)
    s["w1"] = w1 / 256
    rtt, long = e["rtt"], e["base"] + lift + 1.5 * p["marks"]
    if p["marks"] and not e["marked"] and rtt > long:
        rtt = min(rtt, e["base"] + lift + p["clear"])
    sinks, jitter = _heard(p, s, e, rtt)
    noise = math.floor(p["noise"] * s["zigzag"]) if sinks and s["zigzag"] > p["gate"] else 0
    base, link = e["base"] + lift + noise, e["max_rate"]
    tally = int(s["tally"])
    level = tally >> 8 & 3
    idle, ahead, count = tally & 255, tally >> 10 & 15, tally >> 14
    bdp, least = link * base, e["min_rate"] * base
    if s["w"] == 0:
        s["w"] = s["w0"] = s["w1"] = e["init_rate"] * base
        level = idle = ahead = count = 0
        _refer(s, e["seq"] - 1)
        first = int(e["seq"])
        reach = p["reach"] + max(p["reach"] - e["base"], 0)
        s |= {"least": _NO_SUM}
        s |= {"current": e["rtt"], "previous": _NONE}
    s["mean"] += e["rtt"] + (1 << 28)
    if s["mean"] >= 16 << 28:
        s["least"], s["mean"] = min(s["least"], s["mean"] % (1 << 28) + 1), 0
    worst = min(s["current"], s["previous"])
    if jitter:
        rtt = worst = max(worst - p["allow"], base)
    q = rtt - base
    rho = max(s["w"] / bdp, 2**-24)
    aim = min(p["s"] * rho**-0.5, p["cap"]) * max(base, reach)
    old = (e["seq"] - first) % (1 << 15) >= p["young"]
    high = 2 * aim + p["slack"]
    near = _near((s["w"], e["mtu"]))
    if s["w"] < e["mtu"]:
        wanted = s["w"] * (base + aim) / rtt + p["add"] * (e["mtu"] - s["w"])
        s["w"] = min(max(s["w"] + p["small"] * (wanted - s["w"]), least), bdp)
        s["w0"] = s["w1"] = held = s["w"]
        level = idle = slower = 0
        ahead = count = 14
        reach *= not old
        _begin(s, e, jitter)
    else:
        near = min(near, _near((q, 0.6 * aim), (q, high)))
        weight = 4 if e["bytes"] > 2 * e["mtu"] else 1
        idle = min(idle + weight * (q < 0.6 * aim), 255)
        count = min(count + weight, 255)
        full = count >= 16
        if full and q <= high and ahead >= 8 and idle < count - ahead:
            ahead, count, full = ahead - 8, count - 8, False
        if 0 < (e["seq"] - s["round"]) % _WRAP < _HALF and (full or q > high):
            count = max(count - ahead, 1)
            worst -= base
            near = min(near, _near((worst, high)))
            w = s["w"]
            if worst > high:
                w = min(w, s["w0"] * (base + aim) / (base + worst))
                level = 0
            elif idle >= 0.6 * count:
                ramp = min(0.05 * 3**level, 1) * bdp
                packet = 0 if e["bytes"] > 2 * e["mtu"] else e["mtu"]
                w += min(ramp, max(p["most"] * w, packet)) * (2 * idle / count - 1)
                level = min(level + 1, 3)
            else:
                level = 0
            w = min(w, bdp)
            near = min(near, _near((8 * w, bdp)))
            watched += 1
            limit = math.floor(p["rise"] * min(max(24 * w / bdp - 2, 0), 1))
            near = min(near, _near((24 * w, 2 * bdp)))
            if watched >= p["watch"] or limit == 0:
                above = s["least"] // 16 - (base - lift) - p["spare"]
                lift, watched, s["least"] = max(above, 0), 0, _NO_SUM
            lift = min(lift, limit)
            rounds, slower = rounds + 1, 0
            if rounds >= p["slip"]:
                rounds, slower = 0, e["now"] % 256
            s["w0"], s["w1"], s["w"] = s["w1"], w, w
            near = min(near, _near((w, 8 * e["mtu"]), (2 * w, 3 * e["mtu"])))
            idle, ahead = 0, 14 if 2 * w < 3 * e["mtu"] else 8 if w < 8 * e["mtu"] else 0
            count = ahead
            reach *= not old
            _begin(s, e, jitter)
        if q <= high:
            s["w"] += p["g"] * min(e["bytes"], s["w"]) * max(aim - q, p["floor"]) / base
        s["w"] = min(max(s["w"], least), bdp)
        held = s["w"]
        if q > high:
            held = min(held, max(s["w0"] * (base + aim) / rtt, least))
    parts = int.from_bytes((watched, int(lift), rounds, int(slower)), "little")
    s["rounds"] = int(reach) << 32 | parts
    s["w1"] = first % (1 << 15) << 32 | round(s["w1"] * 256)
    s["tally"] = count << 14 | ahead << 10 | level << 8 | idle
    time = min(max(rtt, base), base + p["stretch"])
    rate = min(max(held / time, e["min_rate"]), link)
    rate = max(rate * (1 - min(slower / 256 * e["mtu"] / held, 0.5)), e["min_rate"])
    return s, rate, max(held, 1) + 2 * max(e["bytes"] - e["mtu"], 0), near


def swift(p: Words, s: State, e: Words) -> Result:
    """Swift, algorithm 1, with the base RTT in place of the topology's terms."""
    s = dict(s)
    base = e["base"]
    w = s["w"] or e["init_rate"] * base
    s["rtt"] = e["rtt"]
    packets = max(w / e["mtu"], 2**-16)
    target = base + p["queue"] + min(p["scaling"] / math.sqrt(packets), p["most"])
    near = _near((e["rtt"], target), (w, e["mtu"]))
    if e["rtt"] < target:
        w += p["ai"] * (e["mtu"] * min(e["bytes"] / w, 1) if w >= e["mtu"] else e["bytes"])
    elif not s["was_cut"] or (e["now"] - s["cut_t"]) % (1 << 40) >= e["rtt"]:
        w *= max(1 - p["beta"] * (e["rtt"] - target) / e["rtt"], 1 - p["max_cut"])
        s["cut_t"], s["was_cut"] = e["now"], 1
    s["w"] = max(min(max(w, e["min_rate"] * base), e["max_rate"] * base), 2**-8)
    rate = min(max(s["w"] / e["rtt"], e["min_rate"]), e["max_rate"])
    return s, rate, max(s["w"], 1), near


def theta_powertcp(p: Words, s: State, e: Words) -> Result:
    """PowerTCP, algorithm 2, once per RTT."""
    s = dict(s)
    tau = round(e["base"] * p["tau_part"])  # whole ticks: a thousandth of 1 us
    if s["w"] == 0:
        s |= {"w": e["init_rate"] * e["base"], "power": 1.0, "rtt": e["rtt"], "t": e["now"]}
        s["reference"] = e["next"]
    elif 0 < (e["seq"] - s["reference"]) % _WRAP < _HALF:
        passed = min(max((e["now"] - s["t"]) % (1 << 40), 1), _WRAP - 1)
        gradient = min(max((e["rtt"] - s["rtt"]) / passed + 1, 0), 256)
        now = gradient * min(e["rtt"] / tau, 256)
        s["power"] += (now - s["power"]) * min(passed / tau, 1)
        s["power"] = min(max(s["power"], 2**-6), 256)
        w = p["gamma"] * (s["w"] / s["power"] + p["beta"]) + (1 - p["gamma"]) * s["w"]
        s["w"] = min(max(w, e["min_rate"] * e["base"]), e["max_rate"] * e["base"])
        s |= {"rtt": e["rtt"], "t": e["now"], "reference": e["next"]}
    rate = min(max(s["w"] / tau, e["min_rate"]), e["max_rate"])
    return s, rate, max(s["w"], 1), 1.0


FLOATS: dict[str, Callable[[Words, State, Words], Result]] = {
    "lockstep": lockstep,
    "swift": swift,
    "theta_powertcp": theta_powertcp,
}
