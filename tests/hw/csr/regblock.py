"""A bank that PeakRDL-regblock makes of our SystemRDL, in a bench with the same ports as ours.

Tables are external to that bank as to ours: here they are words in registers, those of counters
too, which do not count. Its bus has its own rules (`RULES`).
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from peakrdl_regblock import RegblockExporter
from peakrdl_regblock.cpuif.axi4lite import AXI4Lite_Cpuif_flattened
from peakrdl_regblock.identifier_filter import kw_filter
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl import RDLCompiler
from tests.hw.csr import side
from tests.hw.csr.register_suite import Rules

from precog_spec.registers.generate import systemrdl
from precog_spec.registers.model import Access, Block, RegisterMap, Table

__all__ = ["hardware", "regblock_verilog", "rules"]

_AXIL = (
    *(("input", name, 16) for name in ("awaddr", "araddr")),
    *(("input", name, 3) for name in ("awprot", "arprot")),
    *(("input", name, 1) for name in ("awvalid", "wvalid", "bready", "arvalid", "rready")),
    *(("output", name, 1) for name in ("awready", "wready", "bvalid", "arready", "rvalid")),
    *(("output", name, 2) for name in ("bresp", "rresp")),
    *(("input", "wdata", 32), ("input", "wstrb", 4), ("output", "rdata", 32)),
)


def rules(regmap: RegisterMap) -> Rules:
    """Bytes are written by their strobes; addresses are of words, and of no more than needed."""
    return Rules(
        address_bits=(regmap.size - 1).bit_length(),
        partial_writes=True,
        ignores_low_bits=True,
        refuses_in_tables=False,
    )


def hardware(regmap: RegisterMap) -> dict[str, int]:
    """What each hardware-owned word reads in the bench."""
    return side.hardware_words(regmap, lambda word: word.address * 0x0101_0101 & 0xFFFF_FFFF)


def regblock_verilog(regmap: RegisterMap, name: str) -> str:
    """Package, bank and bench, which is module `name`, in SystemVerilog."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "precog.rdl"
        path.write_text(systemrdl(regmap))
        compiler = RDLCompiler()
        for udp in ALL_UDPS:
            compiler.register_udp(udp)
        compiler.compile_file(str(path))
        RegblockExporter().export(
            compiler.elaborate(),
            folder,
            cpuif_cls=AXI4Lite_Cpuif_flattened,
            module_name="bank",
            package_name="bank_pkg",
            err_if_bad_addr=True,
        )
        made = [(Path(folder) / file).read_text() for file in ("bank_pkg.sv", "bank.sv")]
    return "\n".join([*made, *_bench(regmap, name)])


def _bench(regmap: RegisterMap, name: str) -> Iterator[str]:
    w1c, pulses = side.places(regmap, Access.W1C), side.places(regmap, Access.PULSE)
    loads = side.loadable(regmap)
    ports = [
        ("input", "clk", 1),
        ("input", "rst", 1),
        *((direction, f"s_axil_{port}", bits) for direction, port, bits in _AXIL),
        ("input", "w1c_set", max(side.width(w1c), 1)),
        ("output", "w1c", max(side.width(w1c), 1)),
        ("output", "pulses", max(side.width(pulses), 1)),
        ("input", "load", max(len(loads), 1)),
        ("input", "load_data", 32),
        ("input", "count", 1),
    ]
    yield f"module {name}({', '.join(port for _, port, _ in ports)});"
    for direction, port, bits in ports:
        # A bit, too, is a vector where it is one of many.
        vector = bits > 1 or port in ("w1c_set", "w1c", "pulses", "load")
        yield f"  {direction} [{bits - 1}:0] {port};" if vector else f"  {direction} {port};"
    yield "  bank_pkg::precog__in_t hwif_in;"
    yield "  bank_pkg::precog__out_t hwif_out;"
    axil = []
    for _, port, bits in _AXIL:
        short = f"[{rules(regmap).address_bits - 1}:0]" if bits == 16 else ""
        axil.append(f".s_axil_{port}(s_axil_{port}{short})")
    yield f"  bank bank(.clk, .rst, {', '.join(axil)}, .hwif_in, .hwif_out);"
    values = hardware(regmap)

    for word, register, field, at in w1c:
        path = _path(word.block.name, register.name, field.name)
        bits = f"[{at + field.bits - 1}:{at}]"
        sets = "hwset" if field.bits == 1 else "next"
        yield f"  assign hwif_in.{path}.{sets} = w1c_set{bits};"
        yield f"  assign w1c{bits} = hwif_out.{path}.value;"
    for word, register, field, at in pulses:
        path = _path(word.block.name, register.name, field.name)
        shown = f"hwif_out.{path}.value"
        if field.bits > 1:  # the strobe comes a cycle before the value
            yield f"  logic written_{at};"
            yield f"  always_ff @(posedge clk) written_{at} <= hwif_out.{path}.swmod;"
            shown = f"{shown} & {{{field.bits}{{written_{at}}}}}"
        yield f"  assign pulses[{at + field.bits - 1}:{at}] = {shown};"
    for n, (word, register) in enumerate(loads):
        for field in register.fields:
            if field.access is Access.RW:
                path = _path(word.block.name, register.name, field.name)
                new = f"load_data[{field.lsb + field.bits - 1}:{field.lsb}]"
                yield f"  assign hwif_in.{path}.we = load[{n}];"
                yield f"  assign hwif_in.{path}.next = {new};"
    for word, register in side.own_words(regmap):
        for field in register.fields:
            if field.access is Access.RO and not register.constant:
                path = _path(word.block.name, register.name, field.name)
                value = (values[word.name] & field.mask) >> field.lsb
                yield f"  assign hwif_in.{path}.next = {field.bits}'h{value:x};"
    for placed in regmap.blocks:
        for table in placed.block.tables:
            yield from _table(placed.block, table, values)
    yield "endmodule"


def _table(block: Block, table: Table, values: dict[str, int]) -> Iterator[str]:
    path, base = _path(block.name, table.name), f"{block.name}_{table.name}"
    words = table.stride // 4
    yield f"  logic [31:0] {base} [{table.count * words}];"
    yield f"  logic [31:0] {base}_mask [{words}];"
    yield "  initial begin"
    for n in range(words):
        register = table.registers[n] if n < len(table.registers) else None
        mask = register.mask(Access.RW) if register else 0
        yield f"    {base}_mask[{n}] = 32'h{mask:x};"
        for index in range(table.count):
            name = f"{block.name}.{table.name}[{index}].{register.name}" if register else ""
            yield f"    {base}[{index * words + n}] = 32'h{values.get(name, 0):x};"
    yield "  end"
    high = max(words.bit_length() - 1, 1) + 1
    word = f"hwif_out.{path}[i].addr[{high}:2]" if words > 1 else "0"
    out, into = f"hwif_out.{path}[i]", f"hwif_in.{path}[i]"
    place = f"{base}[i * {words} + {word}]"
    yield f"  for (genvar i = 0; i < {table.count}; i++) begin : g_{base}"
    yield f"    wire [31:0] old = {place};"
    yield f"    wire [31:0] by = {out}.wr_biten & {base}_mask[{word}];"
    yield "    logic read, written;"
    yield "    logic [31:0] data;"
    yield f"    assign {into}.rd_ack = read;"
    yield f"    assign {into}.wr_ack = written;"
    yield f"    assign {into}.rd_data = data;"
    yield "    always @(posedge clk) begin"
    yield f"      read <= {out}.req & ~{out}.req_is_wr;"
    yield f"      written <= {out}.req & {out}.req_is_wr;"
    yield "      data <= old;"
    yield f"      if ({out}.req & {out}.req_is_wr) {place} <= old & ~by | {out}.wr_data & by;"
    yield "    end"
    yield "  end"


def _path(*names: str) -> str:
    return ".".join(kw_filter(name) for name in names)
