"""The guests' image: a kernel, and an initial file system of some modules and programs.

An image's name is the hash of all that is in it, so that it is made again only if that changed.
"""

import hashlib
import lzma
import stat
import subprocess
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from .packages import Cache, LabError

__all__ = [
    "FURTHER",
    "MODULES",
    "PROGRAMS",
    "Contents",
    "Image",
    "archive",
    "build",
    "depends",
    "module_order",
]

#: Modules that guests load, with all that these depend on.
MODULES = (
    *("virtio_pci", "virtio_net", "virtio_console", "crc32_generic", "crc32c_generic"),
    *("ib_uverbs", "rdma_ucm", "rdma_rxe", "ib_umad"),
)

#: Modules of a kernel that serves and mounts storage over RDMA.
NVME_MODULES = ("crct10dif_generic", "null_blk", "nvmet_rdma", "nvme_rdma")

#: Modules through which a program waits for the interrupts of a PCI card.
PCI_MODULES = ("uio_pci_generic",)

#: Programs of the guests.
PROGRAMS = (
    *("/bin/busybox", "/bin/ip", "/usr/bin/rdma", "/usr/bin/rping"),
    *("/usr/bin/ibv_devinfo", "/usr/bin/ib_write_bw", "/usr/bin/ib_read_bw"),
    *("/usr/bin/ib_send_bw", "/usr/bin/ib_atomic_bw", "/usr/bin/lspci"),
)

#: What a workload needs that not all guests have.
FURTHER = {"fio": ("/usr/bin/fio",)}

_PROVIDER = "/etc/libibverbs.d/rxe.driver"
_LIBRARIES = (
    *("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"),
    "usr/lib/x86_64-linux-gnu/ceph",  # fio's, which its own path leads to
)
_LOADER = "/lib64/ld-linux-x86-64.so.2"
_XZ = b"\xfd7zXZ\x00"
_ELF = b"\x7fELF"
_NEWC = "070701"
_KEPT = 3  # images of other contents that stay


@dataclass(frozen=True)
class Image:
    """What QEMU boots."""

    kernel: Path
    initramfs: Path
    release: str  #: of the kernel


def build(cache: Cache) -> Image:
    """The image of the cache's packages, made if it is not there.

    Raises
    ------
    LabError
        A file is missing.
    """
    root = cache.root
    kernels = sorted((root / "boot").glob("vmlinuz-*"))
    if not kernels:
        raise LabError(f"kernel must be in {root / 'boot'}, it is not: precog lab --fetch")
    kernel = kernels[-1]
    release = kernel.name.partition("-")[2]
    further = [name for extra in cache.extras for name in FURTHER[extra]]
    contents = _programs(root, further) | _modules(root, release)
    contents["/init"] = _read(files(__package__).joinpath("init.sh").read_bytes(), 0o755)
    digest = hashlib.sha256(kernel.read_bytes())
    for name, (mode, data) in sorted(contents.items()):
        digest.update(f"{name} {mode} {len(data)}\n".encode())
        digest.update(data)
    folder = cache.folder / "images"
    made = folder / digest.hexdigest()[:16]
    image = Image(made / "vmlinux", made / "initramfs", release)
    if not made.exists():
        part = made.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        (part / "vmlinux").write_bytes(_unpacked(kernel.read_bytes()))
        (part / "initramfs").write_bytes(archive(contents))
        part.rename(made)
    return image


#: Files of an initial file system: mode and bytes by path.
Contents = dict[str, tuple[int, bytes]]


def _read(data: bytes, mode: int = 0o644) -> tuple[int, bytes]:
    return mode, data


def _programs(root: Path, further: Iterable[str]) -> Contents:
    """Programs and the libraries that the loader finds for them."""
    found: Contents = {}
    drivers = sorted((root / "usr/lib/x86_64-linux-gnu/libibverbs").glob("librxe-*.so"))
    if not drivers:
        raise LabError(f"soft-RoCE's library must be below {root}: precog lab --fetch")
    names = [*PROGRAMS, *further]
    names += [f"/{driver.relative_to(root)}" for driver in drivers]
    for name in names:
        path = _inside(root, name)
        if not path.is_file():
            raise LabError(f"{name} must be below {root}, it is not: precog lab --fetch")
        found[name] = _read(path.read_bytes(), 0o755)
        for library in _needed(root, path):
            found[f"/lib/x86_64-linux-gnu/{library.name}"] = _read(library.read_bytes(), 0o755)
    # Programs load it when a thread ends, so that no list of needs names it.
    for folder in _LIBRARIES:
        for library in (root / folder).glob("libgcc_s.so.1"):
            found[f"/lib/x86_64-linux-gnu/{library.name}"] = _read(library.read_bytes(), 0o755)
    found[_LOADER] = _read(_inside(root, _LOADER).read_bytes(), 0o755)
    found[_PROVIDER] = _read(_inside(root, _PROVIDER).read_bytes())
    return found


def _inside(root: Path, name: str) -> Path:
    """A file below `root`; absolute links are read as those of the guest."""
    path = root / name.lstrip("/")
    for _ in range(8):
        if not path.is_symlink():
            break
        target = path.readlink()
        path = root / str(target).lstrip("/") if target.is_absolute() else path.parent / target
    return path


def _needed(root: Path, program: Path) -> list[Path]:
    """Shared libraries of a program, by the packages' own loader."""
    search = ":".join(str(root / folder) for folder in _LIBRARIES)
    loader = _inside(root, _LOADER)
    command = [str(loader), "--library-path", search, "--list", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    if "not a dynamic executable" in done.stderr or "statically linked" in done.stdout:
        return []
    found = []
    for line in done.stdout.splitlines():
        name, arrow, where = (part.strip() for part in line.partition("=>"))
        if not arrow:
            continue
        path = where.partition(" (")[0]
        if not path.startswith(str(root)):
            raise LabError(f"{program.name} needs {name}, which no package of the lab has")
        found.append(Path(path))
    return found


def _modules(root: Path, release: str) -> Contents:
    """Modules and the order in which they are loaded."""
    there = {
        path.name.partition(".ko")[0].replace("-", "_"): path
        for path in (root / "lib/modules" / release / "kernel").rglob("*.ko*")
    }
    loaded = {name: _module(path) for name, path in there.items()}
    order = module_order(MODULES, {name: depends(data) for name, data in loaded.items()})
    found: Contents = {f"/modules/{name}.ko": _read(loaded[name]) for name in order}
    found["/modules/order"] = _listed(order)
    for part, wanted in (("nvme", NVME_MODULES), ("pci", PCI_MODULES)):
        known = [name for name in wanted if name in there]
        later = module_order(known, {name: depends(data) for name, data in loaded.items()})
        later = [name for name in later if name not in order]
        found |= {f"/modules/{name}.ko": _read(loaded[name]) for name in later}
        found[f"/modules/{part}"] = _listed(later)
    return found


def _listed(names: Iterable[str]) -> tuple[int, bytes]:
    """A file that names modules in the order in which they are loaded."""
    return _read("".join(f"{name}.ko\n" for name in names).encode())


def _module(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def depends(module: bytes) -> list[str]:
    """Modules that one needs, as its section .modinfo says."""
    _, _, behind = module.partition(b"\0depends=")
    text = behind.partition(b"\0")[0].decode("ascii", "replace")
    return [name.replace("-", "_") for name in text.split(",") if name]


def module_order(wanted: Iterable[str], depends: Mapping[str, Iterable[str]]) -> list[str]:
    """`wanted` and all that they depend on, each behind what it needs.

    Raises
    ------
    LabError
        A module is not there, though the kernel is not built with it either.
    """
    order: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in order:
            return
        if name not in depends:
            raise LabError(f"module {' of '.join((name, *path))} must be in the kernel's package")
        for other in depends[name]:
            visit(other, (name, *path))
        order.append(name)

    for name in wanted:
        visit(name, ())
    return order


def _unpacked(kernel: bytes) -> bytes:
    """The kernel without its compression, which QEMU starts 1.5 s sooner; or as it is."""
    at = kernel.find(_XZ)
    while at >= 0:
        try:
            found = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(kernel[at:])
        except lzma.LZMAError:
            found = b""
        if found.startswith(_ELF):
            return found
        at = kernel.find(_XZ, at + 1)
    return kernel


def archive(contents: Contents) -> bytes:
    """A compressed cpio archive, "newc"; see Linux, Documentation/driver-api/early-userspace."""
    folders: dict[str, None] = {}
    for name in contents:
        for parent in reversed(Path(name).parents):
            if str(parent) != "/":
                folders[str(parent)] = None
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in folders]
    entries += [(name, stat.S_IFREG | mode, data) for name, (mode, data) in contents.items()]
    entries.append(("TRAILER!!!", 0, b""))
    raw = bytearray()
    for number, (name, mode, data) in enumerate(entries):
        path = name.lstrip("/").encode() + b"\0"
        values = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        raw += _NEWC.encode() + b"".join(b"%08x" % value for value in values) + path
        raw += bytes(-len(raw) % 4)
        raw += data
        raw += bytes(-len(raw) % 4)
    packer = zlib.compressobj(1, wbits=31)
    return packer.compress(bytes(raw)) + packer.flush()
