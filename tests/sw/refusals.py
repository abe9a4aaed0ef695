"""For each command on a device: a run that is accepted, and for each parameter one that is not."""

from dataclasses import dataclass, field

__all__ = ["ANYTHING", "RUNS", "Run"]


@dataclass(frozen=True)
class Run:
    """A command's parameters by name, each with the words that give it.

    Attributes
    ----------
    good : dict of str to str
        Accepted on the prepared device of the test, which changes by it.
    bad : dict of str to str
        Each in place of the good one makes the run one that must be refused.
    changes : bool
        Whether the good run changes registers.
    first : str
        A command that makes the good run one that is accepted.
    """

    good: dict[str, str] = field(default_factory=dict)
    bad: dict[str, str] = field(default_factory=dict)
    changes: bool = True
    first: str = ""


#: Parameters that nothing can be wrong with: text that is only compared.
ANYTHING = {(f"qp {verb}", name) for verb in ("import", "follow") for name in ("ifname", "port")}

_SLOTS = Run({"numbers": "1"}, {"numbers": "1 99"}, changes=False)
_LAW = {"preset": "--preset precog", "model_slot": "--model-slot 0"}
_NO_LAW = {"preset": "--preset nobody", "model_slot": "--model-slot 4"}
_CAUSES = Run({"causes": "dropped load"}, {"causes": "dropped nobody"})
#: By the words of the command.
RUNS: dict[str, Run] = {
    "serve": Run(
        bad={
            "udp": "--udp 65536",
            "bind": "--bind 203.0.113.7",
            "token_file": "--token-file {tmp}/nobody/token",
            "hold": "--hold 0",
            "turn": "--turn 0",
            "demo": "--demo",
        }
    ),
    "monitor": Run(
        {"once": "--once", "trace": "--trace", "screenshot": ""},
        {
            "qp": "--qp 1,99",
            "interval": "--interval 0",
            "count": "--count 2",
            "screenshot": "--screenshot {tmp}/picture.png",
            "browser": "--browser 0",
            "demo": "--demo",
        },
    ),
    "model load": Run(
        {"model": "rtt-incast", "slot": "--slot 3", "set_": "--set 3"},
        {"model": "{tmp}/cut.safetensors", "slot": "--slot 4", "set_": "--set 0"},
    ),
    # The device of the test has packets, so no law engine: test_law_slots has the good runs.
    "law load": Run(
        bad={
            "law": "nobody",
            "slot": "timely --slot 8",
            "preset": "timely --preset nobody",
            "assignments": "timely nothing=1",
        }
    ),
    "law set": Run(
        bad={
            "budget": "--budget 0",
            "threshold_us": "--threshold-us nan",
            "timer_us": "--timer-us -1",
        }
    ),
    "law del": Run(bad={"slot": "8"}),
    "model del": Run({"slot": "0"}, {"slot": "2"}),
    "model show": Run(
        bad={"model": "nobody", "evaluation": "--evaluation {tmp}/cut.safetensors"}, changes=False
    ),
    "qp import": Run(
        {
            "source": "{tmp}/list.json",
            "remote": "--remote 10.0.0.9",
            "peer": "--peer 21=10.0.0.8",
            "preset": "--preset precog",
            "algorithm": "--algo pid",
            "mode": "--mode s",
            "mtu": "--mtu 4096",
            "first_slot": "--first-slot 3",
        },
        {
            "source": "{tmp}/cut.safetensors",
            "remote": "--remote 10.0.0",
            "peer": "--peer 99=10.0.0.8",
            "preset": "--preset nobody",
            "algorithm": "--algo nobody",
            "mode": "--mode q",
            "mtu": "--mtu 4097",
            "first_slot": "--first-slot 8",
        },
    ),
    "qp follow": Run(
        {
            "source": "--from {tmp}/one.json",
            "remote": "--remote 10.0.0.9",
            "peer": "--peer 21=10.0.0.8",
            "count": "--count 1",
            "every": "--every 0.05",
            "preset": "--preset precog",
            "algorithm": "--algo pid",
            "mode": "--mode s",
            "mtu": "--mtu 4096",
            "first_slot": "--first-slot 3",
        },
        {
            "source": "--from {tmp}/cut.safetensors",
            "command": "--command {tmp}/nobody",
            "remote": "--remote fe80::1%eth0",
            "peer": "--peer 99=fe80::1%eth0",
            "count": "--count 0",
            "every": "--every 0",
            "preset": "--preset nobody",
            "algorithm": "--algo nobody",
            "mode": "--mode q",
            "mtu": "--mtu 4097",
            "first_slot": "--first-slot 8",
            "believe": "--believe",
            "model": "--believe --model rtt-incast",
            "prior": "--prior {tmp}/nobody",
            "outcomes": "--outcomes {tmp}/outcomes.json",
        },
    ),
    "qp show": _SLOTS,
    "qp add": Run(
        {"numbers": "3 4", "algorithm": "--algo pid", **_LAW},
        {"numbers": "3 1", "algorithm": "--algo nobody", **_NO_LAW},
    ),
    "qp del": Run({"numbers": "1 2"}, {"numbers": "1 3"}),
    "qp pacer show": _SLOTS,
    "qp pacer set": Run(
        {
            "numbers": "1 3",
            "priority": "--priority 5",
            "mtu": "--mtu 2048",
            "psn": "--psn 7",
            "windows": "--windows",
        },
        {
            "numbers": "1 99",
            "priority": "--priority 8",
            "mtu": "--mtu 1500",
            "psn": "--psn 16777216",
        },
    ),
    "qp profiler show": _SLOTS,
    "qp profiler clear": _SLOTS,
    "qp forecast show": _SLOTS,
    "qp forecast set": Run(
        {"numbers": "1 3", "model_slot": "--model-slot 1", "source": "--source max"},
        {
            "numbers": "1 99",
            "model_slot": "--model-slot 4",
            "source": "--source nobody",
            "off": "--off",
        },
    ),
    "qp receiver show": _SLOTS,
    "qp receiver set": Run(
        {"numbers": "1 3", "commands": "--commands", "quota": "--quota 9"},
        {"numbers": "1 99", "quota": "--quota 65536"},
    ),
    "cc algo set": Run(
        {"name": "pid", "qp": "--qp 1 --qp 2", **_LAW},
        {"name": "nobody", "qp": "--qp 1 --qp 3", **_NO_LAW},
    ),
    "cc param set": Run(
        {
            "assignments": "ki=-0.5 kp=1",
            "preset": "--preset thesis",
            "psched": "--psched source",
        },
        {
            "assignments": "ki=-0.5 kp=1e30",
            "preset": "--preset nobody",
            "psched": "--psched nobody",
        },
    ),
    "cc sla show": _SLOTS,
    "cc sla set": Run(
        {
            "qp": "--qp 1 --qp 2",
            "psched": "--psched",
            "priority": "--priority 3",
            "latency_us": "--latency-us 12",
            "min_gbps": "--min-gbps 1",
            "max_gbps": "--max-gbps 40",
            "init_gbps": "--init-gbps 10",
        },
        {
            "qp": "--qp 1 --qp 99",
            "priority": "--priority 8",
            "latency_us": "--latency-us nan",
            "min_gbps": "--min-gbps 41",
            "max_gbps": "--max-gbps 1e9",
            "init_gbps": "--init-gbps 41",
        },
    ),
    "cc watchdog set": Run({"period_us": "--period-us 100"}, {"period_us": "--period-us 1e-9"}),
    "cc pacer set": Run(
        {"overhead": "--overhead 20", "pause": "--pause 3"},
        {"overhead": "--overhead 65536", "pause": "--pause 256"},
    ),
    "cc profiler set": Run(
        {"period_us": "--period-us 9", "every": "--every 3"},
        {"period_us": "--period-us nan", "every": "--every -1"},
    ),
    "cc forecast set": Run(
        {
            "threshold_bin": "--threshold-bin 2",
            "rtt_budget_us": "--rtt-budget-us 3",
            "carry_age_us": "--carry-age-us 9",
        },
        {
            "threshold_bin": "--threshold-bin 99",
            "rtt_budget_us": "--rtt-budget-us 0",
            "carry_age_us": "--carry-age-us inf",
        },
    ),
    "cc receiver set": Run(
        {"assignments": "score_us=9 low=20"}, {"assignments": "score_us=9 low=2000"}
    ),
    "packet param set": Run(
        {"assignments": "timeout=5000 shim_port=1000"},
        {"assignments": "timeout=5000 shim_port=65536"},
    ),
    "packet binding add": Run(
        {
            "slot": "4",
            "remote": "10.0.0.9",
            "remote_qp": "--remote-qp 19",
            "local_qp": "--local-qp 20",
            "mode": "--mode r",
            "destination": "--destination 7",
            "score": "--score 4",
            "score_source": "--score-source max",
            "mtu": "--mtu 4096",
        },
        {
            "slot": "2",
            "remote": "10.0.0",
            "remote_qp": "--remote-qp 16777216",
            "local_qp": "--local-qp -1",
            "mode": "--mode q",
            "destination": "--destination 256",
            "score": "--score 101",
            "score_source": "--score-source nobody",
            "mtu": "--mtu 1500",
        },
    ),
    "packet binding del": Run({"slot": "2"}, {"slot": "1"}),
    "packet score set": Run(
        {"slot": "2", "score": "--score 9", "source": "--source rtt"},
        {"slot": "1", "score": "--score 101", "source": "--source nobody"},
    ),
    "packet score del": Run({"slot": "2"}, {"slot": "1"}),
    "packet destination show": Run({"number": "5"}, {"number": "256"}, changes=False),
    "packet destination set": Run({"number": "5", "enable": "--no-enable"}, {"number": "256"}),
    "packet destination clear": Run({"number": "5"}, {"number": "256"}, changes=False),
    "packet port show": Run({}, {}, changes=False),
    "packet port set": Run(
        {
            "enable": "--enable",
            "slot": "--slot 7",
            "epoch_us": "--epoch-us 20",
            "most": "--most 5000",
        },
        {"slot": "--slot 8", "epoch_us": "--epoch-us 0", "most": "--most 16777216"},
    ),
    "packet senders show": Run({"slots": "1"}, {"slots": "1 99"}, changes=False),
    "packet senders set": Run(
        {
            "say": "--say",
            "heed": "--heed",
            "own": "--no-own",
            "epoch_us": "--epoch-us 20",
            "least": "--least 5000",
            "hold_us": "--hold-us 100",
        },
        {
            "epoch_us": "--epoch-us 0",
            "least": "--least -1",
            "hold_us": "--hold-us 1e9",
        },
    ),
    "packet senders believe": Run(
        {"slot": "2", "level": "3"},
        {"slot": "99", "level": "16"},
        first="packet senders set --heed",
    ),
    "packet wire show": Run({"slots": "1"}, {"slots": "1 99"}, changes=False),
    "packet wire set": Run(
        {"hold": "--no-hold", "limit": "--limit 9", "expiry": "--expiry 1000", "quota": ""},
        {"limit": "--limit 257", "expiry": "--expiry 0", "quota": "--quota 8"},
    ),
    "ecc set": Run({"enable": "--on", "period": "--period 9"}, {"period": "--period 65536"}),
    "ecc inject": Run(
        {"number": "3", "row": "2", "word": "4", "bits": "7 8", "model": "--model rtt-incast"},
        {
            "number": "0",
            "row": "32",
            "word": "16",
            "bits": "7 36",
            "model": "--model {tmp}/cut.safetensors",
            "second": "--second",
            "tree": "--tree",
        },
    ),
    # The device has no law engine: test_ecc has the good runs.
    "ecc program inject": Run(
        bad={
            "bank": "8 0 1",
            "word": "0 1542 1",
            "bits": "0 0 40",
            "core": "0 0 1 --core 8",
            "law": "0 0 1 --law nobody",
        }
    ),
    "trace set": Run(
        {
            "kind": "--kind decision --kind receiver",
            "qp": "--qp 1",
            "every": "--every 3",
            "threshold": "--threshold 4",
        },
        {
            "kind": "--kind decision --kind nobody",
            "qp": "--qp 8",
            "every": "--every 0",
            "threshold": "--threshold 99999",
            "all_qps": "--all-qps",
        },
    ),
    "trace read": Run(
        {"limit": "--limit 2", "output": "-o {tmp}/records"},
        {"limit": "--limit -1", "output": "-o {tmp}/nobody/records"},
    ),
    "interrupt set": _CAUSES,
    "interrupt raise": _CAUSES,
    "interrupt clear": Run({"causes": "dropped"}, {"causes": "all nobody"}, changes=False),
    "device reset": Run({"parts": "laws rtt trace"}, {"parts": "laws rtt nobody"}),
    "register export": Run(
        {"format_": "-f md", "output": "-o {tmp}/map"},
        {"format_": "-f pdf", "output": "-o {tmp}/nobody/map"},
        changes=False,
    ),
    "dump save": Run({"path": "{tmp}/dump"}, {"path": "{tmp}/nobody/dump"}, changes=False),
    # Its devices are opened only by a member of a fleet.
    "fleet agent": Run(
        bad={
            "folder": "{tmp}/nobody",
            "releases": "{tmp}/nobody --releases nobody",
            "root": "{tmp}/nobody --root {tmp}/nobody",
            "model": "{tmp}/nobody --model {tmp}/cut.safetensors",
            "qp": "{tmp}/nobody --qp 99",
            "destination": "{tmp}/nobody --destination nobody",
            "disk": "{tmp}/nobody --disk 0",
            "metrics": "{tmp}/nobody --metrics nobody",
            "router_at": "{tmp}/nobody --router nobody",
        }
    ),
    # Only emu: and sim: can be in the loop: every run on a served device is refused.
    "sim incast": Run(
        bad={
            "law": "--law nobody",
            "scenario": "--scenario senders8",
            "senders": "--senders 8",
            "size": "--size 1000",
            "jitter_ns": "--jitter-ns 1",
            "timing": "--timing nobody",
            "preset": "--preset precog",
            "target_us": "--target-us 9",
            "start_gbps": "--start-gbps 5",
            "model": "--model rtt-incast",
            "timely": "--law timely --timely paper",
            "dcqcn": "--law dcqcn --dcqcn paper",
            "in_the_loop": "--in-the-loop golden",
            "scores": "--scores oracle",
            "queue_model": "--scores queue --queue-model queue-4rtt",
            "seeds": "--seeds 2",
        }
    ),
    "sim law": Run(
        bad={
            "name": "nobody",
            "assignments": "lockstep nobody=1",
            "preset": "lockstep --preset nobody",
            "scenario": "lockstep --scenario senders8",
            "senders": "lockstep --senders 8",
            "size": "lockstep --size 1000",
            "timing": "lockstep --timing nobody",
            "start_gbps": "lockstep --start-gbps 5",
            "seed": "lockstep --seed 2",
            "arm": "lockstep --arm lstm",
        }
    ),
}
