"""Registers by name: blocks found by walking the device's list, fields by the map's declaration."""

from precog_spec.config import NicConfig
from precog_spec.registers.identity import MAGIC, PORT_AT, Identity
from precog_spec.registers.model import HEADER_WORDS, VENDOR, Block, Field, Register
from precog_spec.registers.precog import build_map
from precog_spec.registers.trials import TRIALS_ID

from .snapshots import Snapshots
from .transport import BusError, DeviceError, Transport

__all__ = ["Registers"]

_MAX_BLOCKS = 64


class Registers:
    """Named access to a device's registers.

    Parameters
    ----------
    transport : Transport

    Attributes
    ----------
    sizes : NicConfig
        What the device says about its size.
    identity : Identity
        Its contract, tick and largest model.
    snapshots : Snapshots
        Its counters.

    Raises
    ------
    DeviceError
        The list of blocks is broken, a block has an unknown major version, one is missing, or a
        table is not as the map declares it.
    BusError
        The bus refused an access.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.snapshots = Snapshots(self)
        self._bases = self._walk()
        expected = build_map(NicConfig(laws=False, ecc=False), Identity(0))
        self._blocks: dict[str, Block] = {}
        for placed in expected.blocks:
            self._add(placed.block)
        if self.read("ID", "MAGIC") != MAGIC:
            raise DeviceError(
                f"device magic must be {MAGIC:#010x}, not {self.read('ID', 'MAGIC'):#010x}"
            )
        try:
            self.sizes = self._sizes()
            self.identity = self._identity()
        except ValueError as error:
            raise DeviceError(f"device says that {error}") from error
        for placed in build_map(self.sizes, self.identity).blocks:
            self._add(placed.block)
        self._check_tables()

    def _sizes(self) -> NicConfig:
        pool, engine = self.fields("ID", "POOL"), self.fields("ID", "ENGINE")
        packets = self.fields("ID", "PACKETS")
        return NicConfig(
            qps=pool["qps"],
            sets=pool["sets"],
            lanes=engine["lanes"],
            columns=engine["columns"],
            steps=engine["steps"],
            width=packets["width"],
            laws=bool(self.fields("ID", "LAWS")["laws"]),
            grants=bool(self.fields("ID", "GRANTS")["grants"]),
            profile=bool(self.fields("ID", "PROFILE")["profile"]),
            forecast=bool(self.fields("ID", "FORECAST")["forecast"]),
            tree=bool(self.fields("ID", "TREES")["tree"]),
            trace=bool(self.fields("ID", "TRACING")["trace"]),
            receiver=bool(self.fields("ID", "RECEIVES")["receiver"]),
            wire=self.fields("ID", "CELLS")["wire"],
            law_cores=self.fields("ID", "LAW_ENGINE")["law_cores"],
            trials=TRIALS_ID in self._bases,
            ecc=bool(self.fields("ID", "GUARDS")["ecc"]),
            macs=packets["macs"],
            ipv6=bool(packets["ipv6"]),
            destinations=not packets["no_destinations"],
            cnps=not packets["no_cnps"],
            icrc=not packets["no_icrc"],
            senders=bool(packets["senders"]),
            port=bool(self.read("ID", "PACKETS") >> PORT_AT & 1),
        )

    def _identity(self) -> Identity:
        engine = self.fields("ID", "ENGINE")
        return Identity(
            contract_hash=self.read("ID", "CONTRACT"),
            tick_ps=self.read("ID", "TICK_PS"),
            inputs=engine["inputs"],
            outputs=engine["outputs"],
        )

    def _walk(self) -> dict[int, tuple[int, int]]:
        """Block id: (base, version word)."""
        found: dict[int, tuple[int, int]] = {}
        base = 0
        for _ in range(_MAX_BLOCKS):
            kind = self.transport.read32(base)
            if kind >> 16 != VENDOR:
                raise DeviceError(
                    f"block at {base:#06x} must have vendor {VENDOR:#06x}, not {kind >> 16:#06x}"
                )
            found[kind & 0xFFFF] = base, self.transport.read32(base + 4)
            following = self.transport.read32(base + 8)
            if following == 0:
                return found
            if following <= base or following % 4:
                raise DeviceError(
                    f"block after {base:#06x} must lie behind it, not at {following:#06x}"
                )
            base = following
        raise DeviceError(f"device must have at most {_MAX_BLOCKS} blocks")

    def _add(self, block: Block) -> None:
        if block.id not in self._bases:
            raise DeviceError(f"device has no {block.name} block (type {block.type:#010x})")
        major = self._bases[block.id][1] >> 16
        if major != block.version[0]:
            raise DeviceError(
                f"{block.name} block must have major version {block.version[0]}, not {major}: "
                "update the host package"
            )
        self._blocks[block.name] = block

    def _check_tables(self) -> None:
        for block in self._blocks.values():
            for table in block.tables:
                at = self._bases[block.id][0] + block.descriptor_offset(table.name)
                seen = self.transport.read32(at), self.transport.read32(at + 4)
                wanted = block.table_offset(table.name), table.shape
                if seen != wanted:
                    raise DeviceError(
                        f"{block.name}.{table.name} must be described by {wanted}, not {seen}"
                    )

    def version(self, block: str) -> tuple[int, int]:
        """Version of a block as the device has it: major, minor."""
        word = self._bases[self._blocks[block].id][1]
        return word >> 16, word & 0xFFFF

    def outdated(self, block: str, since: int, does: str) -> str:
        """Why the device lacks what a block `does` from a minor version on; empty: it has it."""
        major, minor = self.version(block)
        if minor >= since:
            return ""
        return (
            f"its {block} block is {major}.{minor}, and {does} from {major}.{since} on: "
            "build its gateware anew"
        )

    def register(self, block: str, name: str) -> Register:
        """Declaration of a register."""
        return self._blocks[block].register(name)

    def registers(self, block: str) -> tuple[Register, ...]:
        """Declarations of a block's registers."""
        return self._blocks[block].registers

    def block_names(self) -> list[str]:
        """Names of the blocks, in address order."""
        return sorted(self._blocks, key=lambda name: self._bases[self._blocks[name].id][0])

    def address(self, block: str, name: str) -> int:
        """Byte address of a register."""
        declared = self._blocks[block]
        return self._bases[declared.id][0] + declared.offset(name)

    def entry_address(self, block: str, table: str, index: int, name: str) -> int:
        """Byte address of a register in a table.

        Raises
        ------
        ValueError
            The table has no such entry.
        """
        declared = self._blocks[block]
        shape = declared.table(table)
        if not 0 <= index < shape.count:
            raise ValueError(f"{table} index must be in 0..{shape.count - 1}, not {index!r}")
        position = [register.name for register in shape.registers].index(name)
        start = self._bases[declared.id][0] + declared.table_offset(table)
        return start + index * shape.stride + position * 4

    def read(self, block: str, name: str) -> int:
        """A register's word."""
        return self._read(self.address(block, name), f"{block}.{name}")

    def write(self, block: str, name: str, word: int) -> None:
        """Set a register's word."""
        self._write(self.address(block, name), word, f"{block}.{name}")

    def fields(self, block: str, name: str) -> dict[str, int]:
        """A register's fields by name."""
        word = self.read(block, name)
        return {field.name: field.get(word) for field in self.register(block, name).fields}

    def write_fields(self, block: str, name: str, **values: int) -> None:
        """Set a register; fields that are not named become 0.

        Raises
        ------
        ValueError
            A value does not fit its field.
        """
        register = self.register(block, name)
        word = 0
        for field, value in values.items():
            word = register.field(field).put(word, value)
        self.write(block, name, word)

    def entry(self, block: str, table: str, index: int, name: str) -> dict[str, int]:
        """Fields of a register in a table."""
        address = self.entry_address(block, table, index, name)
        word = self._read(address, f"{block}.{table}[{index}].{name}")
        return {field.name: field.get(word) for field in self._entry_fields(block, table, name)}

    def write_entry(self, block: str, table: str, index: int, name: str, **values: int) -> None:
        """Set a register in a table; fields that are not named become 0."""
        word = 0
        for field in self._entry_fields(block, table, name):
            word = field.put(word, values.get(field.name, 0))
        address = self.entry_address(block, table, index, name)
        self._write(address, word, f"{block}.{table}[{index}].{name}")

    def _entry_fields(self, block: str, table: str, name: str) -> tuple[Field, ...]:
        for register in self._blocks[block].table(table).registers:
            if register.name == name:
                return register.fields
        raise KeyError(f"{table} has no register {name!r}")

    def dump(self) -> list[tuple[int, str, int]]:
        """(address, name, word) of every readable word that is not a table's."""
        rows = []
        for name in self.block_names():
            block = self._blocks[name]
            base = self._bases[block.id][0]
            for position, header in zip(
                range(HEADER_WORDS), ("TYPE", "VERSION", "NEXT"), strict=True
            ):
                at = base + 4 * position
                rows.append((at, f"{name}.{header}", self.transport.read32(at)))
            for register in block.registers:
                word = self.read(name, register.name)
                rows.append((self.address(name, register.name), f"{name}.{register.name}", word))
        return rows

    def _read(self, address: int, name: str) -> int:
        try:
            return self.transport.read32(address)
        except BusError as error:
            raise BusError("read", address, error.response, name) from error

    def _write(self, address: int, word: int, name: str) -> None:
        try:
            self.transport.write32(address, word)
        except BusError as error:
            raise BusError("write", address, error.response, name) from error
