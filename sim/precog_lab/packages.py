"""Debian packages of the lab: what it needs, what is missing, and where their files are.

Guests' packages are never installed: ``apt-get download`` and ``dpkg-deb -x`` put them into a
cache folder, which needs no rights. QEMU runs on this machine and must be installed.
"""

import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

__all__ = ["EXTRAS", "GUEST", "KERNEL", "QEMU", "Cache", "LabError", "default_cache"]

#: The program that must be installed, and the package that has it.
QEMU = ("qemu-system-x86_64", "qemu-system-x86")

#: A meta package whose first dependency is the kernel. The cloud kernel has no soft-RoCE.
KERNEL = "linux-image-amd64"

#: Guests' packages, libraries with them.
GUEST = (
    *("busybox-static", "iproute2", "rdma-core", "ibverbs-utils", "rdmacm-utils", "perftest"),
    *("ibverbs-providers", "libibverbs1", "librdmacm1", "libibumad3", "libnl-3-200"),
    *("libnl-route-3-200", "libpci3", "libudev1", "libmnl0", "libelf1", "libbpf1", "libcap2"),
    *("libtirpc3", "libselinux1", "libpcre2-8-0", "zlib1g", "libzstd1", "libgcc-s1", "libc6"),
    *("libgssapi-krb5-2", "libkrb5-3", "libk5crypto3", "libcom-err2", "libkrb5support0"),
    *("libkeyutils1", "libssl3", "libbsd0", "libmd0", "pciutils", "libkmod2", "liblzma5"),
)

#: Programs with libraries that depend on the release, 50 MB: only for a workload of their name.
EXTRAS = ("fio",)

_KERNEL_PARTS = (
    "./boot/vmlinuz-*",
    *(
        f"./lib/modules/*/kernel/{part}*"
        for part in (
            *("arch/x86/crypto/", "block/", "crypto/", "drivers/block/", "drivers/char/"),
            *("drivers/dax/", "drivers/infiniband/", "drivers/net/net_failover"),
            *("drivers/net/virtio_net", "drivers/nvme/", "drivers/uio/", "drivers/virtio/"),
            *("fs/configfs/", "lib/", "net/"),
        )
    ),
)
_MACHINE = "x86_64"
_TOOLS = {"apt-get": "apt", "apt-cache": "apt", "dpkg-deb": "dpkg", "tar": "tar"}
_DONE = "complete"


class LabError(RuntimeError):
    """The lab cannot run, or what ran in it failed."""


def default_cache() -> Path:
    """Folder of packages and images that are kept."""
    return user_cache_path("precog") / "lab"


@dataclass(frozen=True)
class Cache:
    """A folder with unpacked packages and what is made of them.

    Parameters
    ----------
    folder : Path
    extras : tuple of str
        Of `EXTRAS`.
    """

    folder: Path
    extras: tuple[str, ...] = ()

    @property
    def root(self) -> Path:
        """Packages' files, as they would lie under /."""
        return self.folder / "root"

    @property
    def fetched(self) -> bool:
        """All guests' packages are there."""
        return {KERNEL, *GUEST, *self.extras} <= self._there()

    def _there(self) -> set[str]:
        """What has been fetched, as it was asked for."""
        done = self.folder / _DONE
        return set(done.read_text().partition("\n")[0].split()) if done.exists() else set()

    def missing(self) -> dict[str, str]:
        """What a run would need and does not find, and what mends it.

        Guests' packages are mended by `fetch`, QEMU's by root.
        """
        found: dict[str, str] = {}
        if platform.machine() != _MACHINE:
            found[f"{_MACHINE} machine"] = f"the lab does not run on {platform.machine()}"
        program, package = QEMU
        if shutil.which(program) is None:
            found[package] = f"apt-get install --no-install-recommends {package}"
        if not self.fetched:
            how = " ".join(("precog lab --fetch", *(f"-w {name}" for name in self.extras)))
            found |= dict.fromkeys(sorted({KERNEL, *GUEST, *self.extras} - self._there()), how)
            for tool, owner in _TOOLS.items():
                if shutil.which(tool) is None:
                    found[owner] = f"a machine with Debian's {tool}"
        return found

    def fetch(self) -> None:
        """Download and unpack guests' packages; nothing is installed.

        Raises
        ------
        LabError
            A tool is missing or failed.
        """
        for tool in _TOOLS:
            if shutil.which(tool) is None:
                raise LabError(f"{tool} must be there to fetch Debian packages: it is not")
        extras = sorted({*self.extras, *(set(EXTRAS) & self._there())})
        debs = self.folder / "debs"
        for old in (debs, self.root):
            shutil.rmtree(old, ignore_errors=True)
        (self.folder / _DONE).unlink(missing_ok=True)
        debs.mkdir(parents=True)
        self.root.mkdir()
        names = [_kernel_package(), *_named(GUEST), *extras]
        names += [one for name in extras for one in _libraries(name) if one not in names]
        _run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", *names], debs)
        for deb in sorted(debs.glob("*.deb")):
            if deb.name.startswith("linux-image"):
                _unpack_kernel(deb, self.root)
            else:
                _run(["dpkg-deb", "-x", str(deb), str(self.root)])
        versions = "".join(f"{deb.name}\n" for deb in sorted(debs.glob("*.deb")))
        shutil.rmtree(debs)
        wanted = " ".join((KERNEL, *GUEST, *extras))
        (self.folder / _DONE).write_text(f"{wanted}\n{versions}")


def _kernel_package() -> str:
    """The package of the newest kernel of this release."""
    for line in _run(["apt-cache", "depends", KERNEL]).splitlines():
        kind, _, name = line.strip().partition(" ")
        if kind == "Depends:" and name.startswith("linux-image"):
            return name.strip()
    raise LabError(f"{KERNEL} must depend on a kernel: apt-get update may be due")


def _libraries(name: str) -> list[str]:
    """Libraries that a package depends on, and those that these depend on."""
    shown = _run(["apt-cache", "depends", "--recurse", "--important", name])
    lines = {line.strip() for line in shown.splitlines() if line[:1].isalpha()}
    return sorted(line for line in lines if line.startswith("lib"))


def _named(names: Sequence[str]) -> list[str]:
    """Names under which this release has packages: some libraries' end in t64."""
    candidates = [known for name in names for known in (name, f"{name}t64")]
    shown = _run(["apt-cache", "show", "--no-all-versions", *candidates], check=False)
    there = {line[9:].strip() for line in shown.splitlines() if line.startswith("Package: ")}
    found = []
    for name in names:
        known = next((one for one in (name, f"{name}t64") if one in there), None)
        if known is None:
            raise LabError(f"package {name} must be known to apt: apt-get update may be due")
        found.append(known)
    return found


def _unpack_kernel(deb: Path, root: Path) -> None:
    """The kernel, and those of its 4,000 modules that a guest could need."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as archive:
        _run(
            ["tar", "-x", "-C", str(root), "--wildcards", *_KERNEL_PARTS],
            stdin=archive,
        )


def _run(
    command: list[str],
    folder: Path | None = None,
    *,
    check: bool = True,
    stdin: "subprocess.Popen[bytes] | None" = None,
) -> str:
    """What a tool prints."""
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL if stdin is None else stdin.stdout,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if check and done.returncode:
        raise LabError(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
