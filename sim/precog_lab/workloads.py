"""Programs that run in the guests: a server on the first, a client on each of the others."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["WORKLOADS", "Task", "Workload"]

_PORT = 18515  # perftest's own
_PORT_RPING = 7174
_ECT0 = 2  # soft-RoCE sends packets that no switch may mark, unless the traffic class says so
_DEPTH = 8


@dataclass(frozen=True)
class Task:
    """One connection of a workload."""

    number: int  #: of the client, from 0 on
    hub: str  #: the server's address
    messages: int
    pairs: int
    timeout: int  #: exponent of the endpoint's time-out: 4.096 µs · 2^n


@dataclass(frozen=True)
class Workload:
    """A workload's commands, for sh."""

    server: Callable[[Task], str]
    client: Callable[[Task], str]
    ready: Callable[[Task], str]  #: ends when the server listens


def _listens(port: int) -> str:
    """Ends when somebody listens on a TCP port."""
    return (
        f"n=0; until grep -q ':{port:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6; do "
        "n=$((n+1)); [ $n -gt 600 ] && exit 1; usleep 50000; done"
    )


def _patiently(command: str) -> str:
    """Tries again for some seconds."""
    return f"n=0; until {command}; do n=$((n+1)); [ $n -gt 5 ] && exit 1; sleep 1; done"


def _perftest(program: str, *options: str) -> Workload:
    def command(task: Task) -> str:
        return " ".join(
            (
                *(program, "-d", "rxe0", "-x", "1", "-F", "-m", "1024", "-t", str(_DEPTH)),
                *("-p", str(_PORT + task.number), "-n", str(task.messages)),
                *("-q", str(task.pairs), "-u", str(task.timeout), f"--tclass={_ECT0}", *options),
            )
        )

    return Workload(
        command,
        lambda task: f"{command(task)} {task.hub}",
        lambda task: _listens(_PORT + task.number),
    )


def _rping() -> Workload:
    def end(task: Task, role: str) -> str:
        port = _PORT_RPING + task.number
        return f"rping {role} -a {task.hub} -p {port} -C {task.messages} -S 2048 -V"

    return Workload(
        lambda task: end(task, "-s"),
        # A connection manager's port is in no table of the kernel: ask until somebody answers.
        lambda task: _patiently(end(task, "-c")),
        lambda _: "sleep 1",
    )


#: By name; the sizes of messages give some thousand frames in all.
WORKLOADS: dict[str, Workload] = {
    "write": _perftest("ib_write_bw", "-s", "8192"),
    "read": _perftest("ib_read_bw", "-s", "8192", "-o", "4"),
    "send": _perftest("ib_send_bw", "-s", "8192", "-r", "16"),
    "atomic": _perftest("ib_atomic_bw", "-o", "4"),
    "rping": _rping(),
}
