"""Wrong arguments of every verb of ``precog fleet``: for each parameter some, and what is said.

Names in braces are places of the test: ``nope`` is not there, ``file`` holds a letter, ``list`` is
JSON of another kind, ``empty`` is an empty folder; others are what their names say.
"""

__all__ = ["ANYTHING", "FAILED", "REFUSED"]

Cases = tuple[tuple[str, str], ...]

#: Parameters that nothing can be wrong with before the work begins.
ANYTHING = {("rollback", "why"), ("train", "ray"), ("trainer", "ray")}

_CARD = "emu:trace=1,forecast=1,profile=1"
_AGENT = f"{{host0}} -d {_CARD}"
_TRAINER = "{trainer0} -t {empty} -r {repo} -k {keys}"
_NO_MEMBER = (
    ("{nope}", "{nope} must be a member's folder, but is not there: make one with precog fleet en"),
    (
        "{file}",
        "{file} must be a member's folder, but is a file: make one with precog fleet enroll",
    ),
    ("{empty}", "{empty} must be a member's folder, but is empty"),
    ("{authority}", "{authority} must be a member's folder, but is an authority's folder"),
    ("{asked}", "{asked} must have credentials: let the authority approve {asked}/request.json"),
)
_NO_TRAINER = (
    *_NO_MEMBER,
    ("{host0}", "{host0} must be a member of role trainer, not agent: enroll another folder"),
)
_NO_AUTHORITY = (
    ("{nope}", "{nope} must be an authority's folder, but is not there: make one with precog"),
    ("{file}", "{file} must be an authority's folder, but is a file"),
    ("{host0}", "{host0} must be an authority's folder, but is a member's folder"),
)
_NO_REPOSITORY = (
    ("{nope}", "{nope} must be a repository, but is not there: make one with precog fleet repos"),
    ("{file}", "{file} must be a repository, but is a file"),
    ("{keys}", "{keys} must be a repository, but is a folder of a repository's keys"),
)
_NO_SET = (
    ("{nope}", "{nope} must be a training set, but is not there: make one with precog fleet col"),
    ("{file}", "{file} must be a training set, but is a file"),
    ("{repo}", "{repo} must be a training set, but is a repository"),
)
_NO_MODELS = (
    ("{nope}", "{nope} must be a folder of models, but is not there: make one with precog fleet"),
    ("{file}", "{file} must be a folder of models, but is a file"),
    ("{host0}", "{host0} must be a folder of models, but is a member's folder"),
)
_USED = (
    ("{file}", "folder must be new, but {file} is a file"),
    ("{authority}", "folder must be new, but {authority} is an authority's folder"),
    ("{host0}", "folder must be new, but {host0} is a member's folder"),
    ("{repo}", "folder must be new, but {repo} is a repository"),
    ("{file}/x", "file {file}: No such folder"),
    ("/proc/x", "file /proc: Folder must take new files"),
)
_NO_KEYS = (("{nope}", "of its 2 keys, found 0 in {nope}: give --keys for the others"),)
_STAGES = {
    "shares": (
        ("{trainer0} --shares a", "shares must be numbers with commas, such as 50,250,1000, not"),
        ("{trainer0} --shares 9,5", "shares must rise from at least 1 to 1000, not (9, 5)"),
        ("{trainer0} --shares -1", "shares must be numbers with commas"),
        (f"{{trainer0}} --shares {'9' * 5000}", "shares must be numbers with commas"),
    ),
    "dwell": (
        ("{trainer0} --dwell -1", "dwell must be in 0..1e8 seconds, not -1"),
        ("{trainer0} --dwell 9 --patience 2", "dwell must be at most the patience, 2 s, not 9 s"),
    ),
    "patience": (("{trainer0} --patience nan", "patience must be in 0..1e8 seconds, not nan"),),
    "quorum": (("{trainer0} --quorum 2", "quorum must be above 0 and at most 1, not 2"),),
    "tolerance": (("{trainer0} --tolerance -1", "tolerance must be in 0..1, not -1"),),
}


def _after(words: str, cases: Cases) -> Cases:
    """The same wrong values behind other words."""
    return tuple((f"{words} {given}", said) for given, said in cases)


def _before(cases: Cases, words: str) -> Cases:
    return tuple((f"{given} {words}", said) for given, said in cases)


#: By verb and parameter: words, and what the refusal says; the status is 2, nothing is written.
REFUSED: dict[str, dict[str, Cases]] = {
    "init": {
        "folder": _before(_USED, "--name lab --router tls/10.0.0.1:7447"),
        "name": (
            ("{new} --name A_B --router tls/10.0.0.1:7447", "fleet must have a name of a-z"),
            ("{new} --router tls/10.0.0.1:7447", "missing option '--name'"),
        ),
        "router": (
            ("{new} --name lab", "missing option '--router'"),
            ("{new} --name lab --router tcp/10.0.0.1:7", "endpoint must be tls/<address>:<port>"),
            ("{new} --name lab --router tls/10.0.0.1", "endpoint must be tls/<address>:<port>"),
            ("{new} --name lab --router tls/10.0.0.1:0", "port must be in 1..65535, not 0"),
            ("{new} --name lab --router tls/999.0.0.1:7", "address must be a host name or an IP"),
            ("{new} --name lab --router tls/fe80::1:7", "IPv6 addresses stand in brackets"),
        ),
    },
    "enroll": {
        "folder": _before(_USED, "--name a"),
        "name": (
            ("{new} --name Ä", "member must have a name of a-z"),
            ("{new} --name authority", "not 'authority'"),
            ("{new}", "missing option '--name'"),
        ),
        "role": (("{new} --name a --role king", "role must be one of agent, router, trainer"),),
        "address": (
            ("{new} --name a --role router", "router must have an address, or no member can"),
            ("{new} --name a --role router --address x!y", "address must be a host name or an IP"),
            ("{new} --name a --role router --address 10.0.0.256", "address must be a host name"),
            ("{new} --name a --role router --address 10.0.0.1:7447", "address must be a host name"),
            (
                "{new} --name a --address 10.0.0.1",
                "address must be left out for role agent: others",
            ),
        ),
    },
    "join": {
        "folder": (
            *_before(_NO_MEMBER[:4], "{host0}.json"),
            ("{rack0} {host0}.json", "they must be for rack0, not host0"),
        ),
        "credentials": (
            ("{asked} {nope}", "file {nope}: No such file"),
            ("{asked} {empty}", "file {empty}: Is a directory"),
            ("{asked} {file}", "{file} must be credentials of precog fleet trust add, but is not"),
            ("{asked} {list}", "{list} must be credentials of precog fleet trust add"),
            ("{asked} {asked}/request.json", "must be credentials of precog fleet trust add"),
        ),
        "authority": (
            ("{asked} {host0}.json --authority xyz", "authority must be 64 hexadecimal digits"),
            (f"{{asked}} {{host0}}.json --authority {'00' * 32}", f"authority must be {'00' * 32}"),
        ),
    },
    "trust list": {"authority": _after("-a", _NO_AUTHORITY)},
    "trust add": {
        "request": (
            ("{nope} -a {authority} -o {new}", "file {nope}: No such file"),
            ("{asked} -a {authority} -o {new}", "file {asked}: Is a directory"),
            ("{file} -a {authority} -o {new}", "{file} must be a request of precog fleet enroll"),
            ("{list} -a {authority} -o {new}", "{list} must be a request of precog fleet enroll"),
            ("{host0}.json -a {authority} -o {new}", "must be a request of precog fleet enroll"),
        ),
        "authority": _after("{asked}/request.json -o {new} -a", _NO_AUTHORITY),
        "out": (
            ("{asked}/request.json -a {authority} -o {nope}/x", "file {nope}: No such folder"),
            ("{asked}/request.json -a {authority} -o {empty}", "file {empty}: Is a directory"),
        ),
    },
    "trust revoke": {
        "name": (
            ("nobody -a {authority}", "member must be one of gone, host0, rack0, trainer0, not"),
        ),
        "authority": _after("host0 -a", _NO_AUTHORITY),
    },
    "trust tell": {"authority": _after("-a", _NO_AUTHORITY)},
    "agent": {
        "folder": (
            *_before(_NO_MEMBER, f"-d {_CARD}"),
            (f"{{rack0}} -d {_CARD}", "{rack0} must be a member of role agent, not router"),
            (f"{{gone}} -d {_CARD}", "{gone} must be a member of role agent, but is revoked"),
        ),
        "device": (
            ("{host0}", "missing option '-d'"),
            ("{host0} -d pci:0000:ff:1f.7", "error: device pci:0000:ff:1f.7: there is no PCI card"),
            (
                "{host0} -d udp:127.0.0.1:9?tries=1",
                "error: device udp:127.0.0.1:9: no server listens there after 1 requests",
            ),
            ("{host0} -d nope:", "device nope:: device transport must be one of emu:"),
            ("{host0} -d nope", "device nope: device URI must be <transport>:<argument>"),
            ("{host0} -d emu:", "device emu:: agent needs trace, forecasts and queue profiler"),
            (
                "{host0} -d emu:size=1",
                "device emu:size=1: emulator argument 'size=1' must be one of",
            ),
            (f"{{host0}} -d {_CARD} -d {_CARD}", "devices must be at least one and differ"),
            (f"{{host0}} -d {_CARD} -d nope:", "device nope:: device transport must be one of"),
        ),
        "releases": (
            (f"{_AGENT} --root {{root}} --releases {{nope}}", "{nope} must be a repository, but"),
            (f"{_AGENT} --root {{root}} --releases {{empty}}", "{empty} must be a repository, but"),
            (f"{_AGENT} --root {{root}} --releases ftp://x", "releases must be a folder, http://"),
            (f"{_AGENT} --root {{root}} --releases http://", "releases must be at a server"),
            (
                f"{_AGENT} --releases {{repo}}",
                "root of {repo} must be given the first time: --root",
            ),
        ),
        "root": (
            (f"{_AGENT} --root {{root}}", "root must be left out without --releases"),
            (f"{_AGENT} --releases {{repo}} --root {{nope}}", "file {nope}: No such file"),
            (f"{_AGENT} --releases {{repo}} --root {{list}}", "root must be a repository's first"),
        ),
        "model": (
            (f"{_AGENT} --model {{nope}}", "file {nope}: No such file"),
            (f"{_AGENT} --model {{file}}", "{file}: not a complete safetensors file"),
        ),
        "qp": (
            (f"{_AGENT} --qp 99", f"qp must be in 0..63 on device {_CARD}, not 99"),
            (f"{_AGENT} --qp -1", "greater than or equal to 0, not '-1'"),
        ),
        "destination": (
            (f"{_AGENT} --destination x", "destination must be <QP>=<name> and each QP once"),
            (f"{_AGENT} --destination 1=A!B", "destination must be <QP>=<name> and each QP once"),
            (f"{_AGENT} --destination {'9' * 5000}=a", "destination must be <QP>=<name>"),
            (f"{_AGENT} --destination 99=a", f"qp must be in 0..63 on device {_CARD}, not 99"),
        ),
        "disk": ((f"{_AGENT} --disk 0", "greater than or equal to 1, not '0'"),),
        "metrics": (
            (f"{_AGENT} --metrics x", "metrics must be served at ADDRESS:PORT, not 'x'"),
            (f"{_AGENT} --metrics 127.0.0.1:99999", "metrics must be served at ADDRESS:PORT, not"),
        ),
        "router_at": (
            (f"{_AGENT} --router x", "endpoint must be tls/<address>:<port>, not 'x'"),
            (f"{_AGENT} --router tls/10.0.0.256:7", "address must be a host name or an IP"),
        ),
        "practice": (
            (
                "{host0} -d udp:127.0.0.1:9 --practice",
                "practice needs an emulated or simulated device, not udp:",
            ),
            ("{host0} -d emu: --practice", "practice needs a card such as emu:qps=4"),
        ),
    },
    "router": {
        "folder": (
            *_NO_MEMBER,
            ("{host0}", "{host0} must be a member of role router, not agent"),
        ),
        "listen": (
            ("{rack0} --listen x", "endpoint must be tls/<address>:<port>, not 'x'"),
            ("{rack0} --listen tcp/127.0.0.1:7", "endpoint must be tls/<address>:<port>"),
            ("{rack0} --listen tls/127.0.0.1:99999", "port must be in 1..65535, not 99999"),
        ),
        "metrics": (("{rack0} --metrics x", "metrics must be served at ADDRESS:PORT, not 'x'"),),
    },
    "up": {
        "folder": _USED,
        "agents": (
            ("{new} --agents 0", "greater than or equal to 1, not '0'"),
            ("{new} --agents -3", "greater than or equal to 1, not '-3'"),
            ("{new} --agents 257", "less than or equal to 256, not '257'"),
        ),
        "metrics": (
            ("{new} --metrics 0", "greater than or equal to 1, not '0'"),
            ("{new} --metrics 65500 --agents 90", "metrics must be at most 65535 less 89 agents"),
        ),
        "releases": _after("{new} --releases", _NO_REPOSITORY),
    },
    "demo": {
        "out": (
            ("-o {nope}/x", "file {nope}: No such folder"),
            ("-o {empty}", "file {empty}: Is a directory"),
        ),
        "agents": (("--agents 1", "greater than or equal to 2, not '1'"),),
        "seed": (("--seed -1", "greater than or equal to 0, not '-1'"),),
        "folder": (
            ("--folder {host0}", "folder must be new, but {host0} is a member's folder"),
            ("--folder {file}", "folder must be new, but {file} is a file"),
        ),
    },
    "collect": {
        "telemetry": (
            ("{nope} -o {new}", "telemetry must be a folder that is there, not {nope}"),
            ("{file} -o {new}", "telemetry must be a folder that is there, not {file}"),
        ),
        "out": (("{empty}", "missing option '-o'"), *_after("{empty} -o", _USED)),
        "since": (
            ("{empty} -o {new} --since soon", "since must be a time such as"),
            (
                "{empty} -o {new} --since 2026-01-02 --until 2026-01-01",
                "since must be before until, 2026-01-01, not 2026-01-02",
            ),
        ),
        "until": (("{empty} -o {new} --until soon", "until must be a time such as"),),
    },
    "train": {
        "folder": _before(_NO_SET, "-o {new}"),
        "out": (("{repo}", "missing option '-o'"),),
        "base": (
            ("{repo} -o {new} --base nobody", "shipped models: queue-1rtt"),
            ("{repo} -o {new} --base {file}", "{file}: not a complete safetensors file"),
        ),
        "rounds": (("{repo} -o {new} --rounds -1", "greater than or equal to 0, not '-1'"),),
        "updates": (("{repo} -o {new} --updates 0", "greater than or equal to 1, not '0'"),),
        "least": (("{repo} -o {new} --least 0", "greater than or equal to 1, not '0'"),),
        "seed": (("{repo} -o {new} --seed -1", "greater than or equal to 0, not '-1'"),),
        "workers": (("{repo} -o {new} --workers 0", "greater than or equal to 1, not '0'"),),
    },
    "evaluate": {
        "models": _before(_NO_MODELS, "{empty}"),
        "folder": _after("{models}", _NO_SET),
        "live": (
            ("{models} {empty} --live {empty}", "{empty} must be a folder of models, but is empty"),
            ("{models} {empty} --live nobody", "shipped models: queue-1rtt"),
        ),
        "seeds": (("{models} {empty} --seeds 0", "greater than or equal to 2, not '0'"),),
    },
    "repository init": {
        "folder": _before(_USED, "-k {new}"),
        "keys": (
            ("{new}", "missing option '-k'"),
            (
                "{new} -k {keys}",
                "folder must be new, but {keys} is a folder of a repository's keys",
            ),
            ("{new} -k {file}", "folder must be new, but {file} is a file"),
            ("{new} -k {new}/keys", "keys must lie outside of {new}, which others read, not in"),
        ),
        "root_keys": (("{new} -k {nope} --root-keys 1", "root threshold must be in 1..1 keys"),),
        "root_threshold": (("{new} -k {nope} --root-threshold 4", "must be in 1..3 keys"),),
        "targets_keys": (("{new} -k {nope} --targets-keys 17", "less than or equal to 16, not"),),
        "targets_threshold": (("{new} -k {nope} --targets-threshold 0", "greater than or equal"),),
    },
    "repository renew": {
        "folder": _before(_NO_REPOSITORY, "-k {keys}"),
        "keys": _after("{repo} -k", (("{nope}", "snapshot needs 1 of its 1 keys, found 0 in"),)),
    },
    "repository list": {"folder": _NO_REPOSITORY},
    "release": {
        "models": _before(_NO_MODELS, "-r {repo} -k {keys}"),
        "repository": _before(_after("{models} -r", _NO_REPOSITORY), "-k {keys}"),
        "keys": (
            ("{models} -r {repo}", "missing option '-k'"),
            *_after("{models} -r {repo} -k", _NO_KEYS),
        ),
        "record": (("{models} -r {repo} -k {keys} --record {nope}", "must have an evaluation"),),
        "force": (("{models} -r {repo} -k {keys} --force no", "reason must have 10 to 500 char"),),
    },
    "rollout": {
        "folder": _NO_TRAINER,
        "release": (
            ("{trainer0} 0", "greater than or equal to 1, not '0'"),
            ("{trainer0} x", "unable to parse string as an integer, not 'x'"),
            ("{trainer0} 1 --status", "release must be left out with --status, not 1"),
            (
                "{trainer0} 1 -r {repo}",
                "release 1 must be in {repo}, but that has none yet: make one with precog fleet",
            ),
        ),
        "repository": (
            ("{trainer0} 1", "repository of release 1 must be given: -r FOLDER"),
            *_after("{trainer0} 1 -r", _NO_REPOSITORY),
        ),
        "status": _after("--status", _NO_TRAINER),
        **_STAGES,
    },
    "rollback": {"folder": _NO_TRAINER},
    "trainer": {
        "folder": _before(_NO_TRAINER, "-t {empty} -r {repo} -k {keys}"),
        "telemetry": (
            (
                "{trainer0} -t {nope} -r {repo} -k {keys}",
                "telemetry must be a folder that is there",
            ),
            (
                "{trainer0} -t {file} -r {repo} -k {keys}",
                "telemetry must be a folder that is there",
            ),
        ),
        "repository": _before(_after("{trainer0} -t {empty} -r", _NO_REPOSITORY), "-k {keys}"),
        "keys": _after("{trainer0} -t {empty} -r {repo} -k", _NO_KEYS),
        "asks": ((f"{_TRAINER} --asks 0", "greater than or equal to 1, not '0'"),),
        "pause": ((f"{_TRAINER} --pause -1", "pause must be in 0..1e8, not -1"),),
        "hours": ((f"{_TRAINER} --hours nan", "hours must be in 0..1e8, not nan"),),
        "seeds": ((f"{_TRAINER} --seeds 0", "greater than or equal to 2, not '0'"),),
        "workers": ((f"{_TRAINER} --workers 0", "greater than or equal to 1, not '0'"),),
        **{
            name: tuple(
                (_TRAINER + words.removeprefix("{trainer0}"), said) for words, said in cases
            )
            for name, cases in _STAGES.items()
        },
    },
    "dashboard": {},
    "status": {
        "folder": _NO_MEMBER,
        "watch": (("{host0} --watch -j", "watch must be without --json"),),
    },
}

#: Runs that are right but fail, with status 1: verb and words, and what is said.
FAILED: Cases = (
    ("status {host0}", "no router answers at {endpoint}: see that one runs there"),
    ("trust tell -a {authority}", "no router was told: no router answers at {endpoint}"),
    ("router {rack0} --listen tls/203.0.113.9:7447", "this host has no such address"),
    ("router {rack0} --listen tls/127.0.0.1:{taken}", "another process has that port"),
    ("collect {empty} -o {new}", "no window in {empty}: telemetry is in the folder"),
    ("rollout {trainer0}", "no rollout was begun from {trainer0}: give the number of a"),
    ("rollout {trainer0} --status", "no rollout was begun from {trainer0}: give the number"),
    ("rollback {trainer0}", "rollout must have been made before it can be rolled back"),
)
