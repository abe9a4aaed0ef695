"""Programs that run in the guests: a server on the first, a client on each of the others."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["WORKLOADS", "Task", "Workload"]

_PORT = 18515  # perftest's own
_PORT_RPING = 7174
_PORT_NVME, _PORT_FIO = 4420, 4440
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
    return _until(f"grep -q ':{port:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6")


def _until(test: str) -> str:
    """Ends when a test is true; fails after half a minute."""
    return f"n=0; until {test}; do n=$((n+1)); [ $n -gt 600 ] && exit 1; usleep 50000; done"


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


_NQN = "nqn.2026-01.lab:disk"
_TARGET = "/config/nvmet"
_LOADED = (
    "{ [ -e /sys/module/nvme_rdma ] || while read -r m; do case $m in "
    "null_blk.ko) insmod /modules/$m nr_devices=0;; *) insmod /modules/$m;; esac; "
    "done < /modules/nvme; }"
)


def _copied(task: Task, disk: str) -> str:
    """Writes blocks, reads them back, compares."""
    count = f"bs=4096 count={task.messages}"
    return (
        f"dd if=/dev/urandom of=/tmp/data {count} && dd if=/tmp/data of={disk} {count} oflag=direct"
        f" && dd if={disk} of=/tmp/back {count} iflag=direct && cmp /tmp/data /tmp/back"
    )


def _verified(task: Task, disk: str) -> str:
    """Writes blocks at random places, several at a time, and verifies each one's checksum."""
    return (
        f"fio --name=lab --filename={disk} --rw=randwrite --bs=4096 --size={4096 * task.messages}"
        " --direct=1 --ioengine=libaio --iodepth=4 --thread"
        " --verify=crc32c --verify_fatal=1 --do_verify=1"
    )


def _nvme(base: int, work: Callable[[Task, str], str]) -> Workload:
    """A disk over RDMA: the kernel's own READs, WRITEs and SENDs, data verified from end to end.

    Parameters
    ----------
    base : int
        TCP-like port of the first target.
    work : callable
        What a client does with the block device.
    """

    def server(task: Task) -> str:
        port = base + task.number
        disk = f"/config/nullb/nullb{port}"
        system = f"{_TARGET}/subsystems/{_NQN}{port}"
        place = f"{_TARGET}/ports/{port}"
        made = (
            _LOADED,
            f"{{ [ -e {_TARGET} ] || mount -t configfs none /config; }}",
            f"mkdir {disk}",
            f"echo 1 > {disk}/memory_backed",
            f"echo 16 > {disk}/size",
            f"echo 1 > {disk}/power",
            f"mkdir {system}",
            f"echo 1 > {system}/attr_allow_any_host",
            f"mkdir {system}/namespaces/1",
            # Older kernels number disks by themselves, newer ones take the folder's name.
            f"{{ d=/dev/nullb{port}; [ -b $d ] || d=/dev/nullb$(cat {disk}/index); }}",
            f"echo -n $d > {system}/namespaces/1/device_path",
            f"echo 1 > {system}/namespaces/1/enable",
            f"mkdir {place}",
            f"echo rdma > {place}/addr_trtype",
            f"echo ipv4 > {place}/addr_adrfam",
            f"echo {task.hub} > {place}/addr_traddr",
            f"echo {port} > {place}/addr_trsvcid",
            f"ln -s {system} {place}/subsystems/",
        )
        return " && ".join(made)

    def client(task: Task) -> str:
        options = (
            f"transport=rdma,traddr={task.hub},trsvcid={base + task.number},"
            f"nqn={_NQN}{base + task.number},nr_io_queues={task.pairs},queue_size=16,"
            "keep_alive_tmo=600"
        )
        made = (
            _LOADED,
            f"echo {options} > /dev/nvme-fabrics",
            f"{{ {_until('[ -b /dev/nvme0n1 ]')}; }}",
            work(task, "/dev/nvme0n1"),
            "echo 1 > /sys/class/nvme/nvme0/delete_controller",
        )
        return " && ".join(made)

    def ready(task: Task) -> str:
        place = f"{_TARGET}/ports/{base + task.number}/subsystems/{_NQN}{base + task.number}"
        return _until(f"[ -e {place} ]")

    return Workload(server, client, ready)


#: By name; the sizes of messages give some thousand frames in all.
WORKLOADS: dict[str, Workload] = {
    "write": _perftest("ib_write_bw", "-s", "8192"),
    "read": _perftest("ib_read_bw", "-s", "8192", "-o", "4"),
    "send": _perftest("ib_send_bw", "-s", "8192", "-r", "16"),
    "atomic": _perftest("ib_atomic_bw", "-o", "4"),
    "rping": _rping(),
    "nvme": _nvme(_PORT_NVME, _copied),
    "fio": _nvme(_PORT_FIO, _verified),
}
