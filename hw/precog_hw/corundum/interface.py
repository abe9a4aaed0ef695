"""Corundum's application block from outside: every parameter and port of `mqnic_app_block`, once.

Names, ranges and defaults are those of Corundum's template at commit 1ca0151b (December 2023), in
its order. What the groups mean:

============================ =====================================================================
``s_axil_app_ctrl``          the host's registers of the application (PCIe BAR2)
``m_axil_ctrl``              the application's way to the registers of the NIC
``*_dma_*``                  the application's way to host memory, and RAM that the NIC accesses
``ptp_*``                    the NIC's clock
``*_direct_*``               packets next to the MAC, in the MAC's clocks
``*_sync_*``                 packets of a port in the core's clock: here Precog sits
``*_if_*``                   packets of an interface
``m_axi_ddr``, ``m_axi_hbm`` memory
============================ =====================================================================
"""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["APP_ID", "PARAMETERS", "PORTS", "STREAMS", "Port"]

APP_ID = 0x12340001  # what Corundum's template and its test bench agree upon


@dataclass(frozen=True)
class Port:
    """One port.

    Parameters
    ----------
    name : str
    inward : bool
        An input of the block.
    width : str
        Verilog expression of its bits; empty for a port without a range.
    """

    name: str
    inward: bool
    width: str = ""

    @property
    def range(self) -> str:
        """As in Verilog, without brackets."""
        return f"{self.width}-1:0" if self.width and not self.width.isdigit() else self._fixed

    @property
    def _fixed(self) -> str:
        return f"{int(self.width) - 1}:0" if self.width else ""


def _memory_parameters(kind: str) -> dict[str, str]:
    """Of DDR or HBM."""
    axi = f"AXI_{kind}"
    users = {
        f"{axi}_{channel}USER_{what}": value
        for channel in ("AW", "W", "B", "AR", "R")
        for what, value in (("ENABLE", "0"), ("WIDTH", "1"))
    }
    return {
        **{f"{kind}_CH": "1", f"{kind}_ENABLE": "0", f"{kind}_GROUP_SIZE": "1"},
        **{f"{axi}_DATA_WIDTH": "256", f"{axi}_ADDR_WIDTH": "32"},
        **{f"{axi}_STRB_WIDTH": f"({axi}_DATA_WIDTH/8)", f"{axi}_ID_WIDTH": "8"},
        **users,
        **{f"{axi}_MAX_BURST_LEN": "256", f"{axi}_NARROW_BURST": "0"},
        **{f"{axi}_FIXED_BURST": "0", f"{axi}_WRAP_BURST": "0"},
    }


def _axil_parameters(name: str) -> dict[str, str]:
    return {
        f"{name}_DATA_WIDTH": "32",
        f"{name}_ADDR_WIDTH": "16",
        f"{name}_STRB_WIDTH": f"({name}_DATA_WIDTH/8)",
    }


#: Default of each parameter, a Verilog expression.
PARAMETERS: dict[str, str] = {
    **{"IF_COUNT": "1", "PORTS_PER_IF": "1", "SCHED_PER_IF": "PORTS_PER_IF"},
    "PORT_COUNT": "IF_COUNT*PORTS_PER_IF",
    **{"CLK_PERIOD_NS_NUM": "4", "CLK_PERIOD_NS_DENOM": "1"},
    **{"PTP_CLK_PERIOD_NS_NUM": "4", "PTP_CLK_PERIOD_NS_DENOM": "1", "PTP_TS_WIDTH": "96"},
    **{"PTP_PORT_CDC_PIPELINE": "0", "PTP_PEROUT_ENABLE": "0", "PTP_PEROUT_COUNT": "1"},
    **{"PTP_TS_ENABLE": "1", "TX_TAG_WIDTH": "16", "MAX_TX_SIZE": "9214", "MAX_RX_SIZE": "9214"},
    **_memory_parameters("DDR"),
    **_memory_parameters("HBM"),
    "APP_ID": f"32'h{APP_ID:08x}",
    **{f"APP_{name}_ENABLE": "1" for name in ("CTRL", "DMA")},
    **{f"APP_AXIS_{name}_ENABLE": "1" for name in ("DIRECT", "SYNC", "IF")},
    **{"APP_STAT_ENABLE": "1", "APP_GPIO_IN_WIDTH": "32", "APP_GPIO_OUT_WIDTH": "32"},
    **{"DMA_ADDR_WIDTH": "64", "DMA_IMM_ENABLE": "0", "DMA_IMM_WIDTH": "32"},
    **{"DMA_LEN_WIDTH": "16", "DMA_TAG_WIDTH": "16"},
    **{"RAM_SEL_WIDTH": "4", "RAM_ADDR_WIDTH": "16", "RAM_SEG_COUNT": "2"},
    **{"RAM_SEG_DATA_WIDTH": "256*2/RAM_SEG_COUNT", "RAM_SEG_BE_WIDTH": "RAM_SEG_DATA_WIDTH/8"},
    "RAM_SEG_ADDR_WIDTH": "RAM_ADDR_WIDTH-$clog2(RAM_SEG_COUNT*RAM_SEG_BE_WIDTH)",
    "RAM_PIPELINE": "2",
    **_axil_parameters("AXIL_APP_CTRL"),
    **_axil_parameters("AXIL_CTRL"),
    **{"AXIS_DATA_WIDTH": "512", "AXIS_KEEP_WIDTH": "AXIS_DATA_WIDTH/8"},
    "AXIS_TX_USER_WIDTH": "TX_TAG_WIDTH + 1",
    "AXIS_RX_USER_WIDTH": "(PTP_TS_ENABLE ? PTP_TS_WIDTH : 0) + 1",
    "AXIS_RX_USE_READY": "0",
    "AXIS_SYNC_DATA_WIDTH": "AXIS_DATA_WIDTH",
    "AXIS_SYNC_KEEP_WIDTH": "AXIS_SYNC_DATA_WIDTH/8",
    "AXIS_SYNC_TX_USER_WIDTH": "AXIS_TX_USER_WIDTH",
    "AXIS_SYNC_RX_USER_WIDTH": "AXIS_RX_USER_WIDTH",
    "AXIS_IF_DATA_WIDTH": "AXIS_SYNC_DATA_WIDTH*2**$clog2(PORTS_PER_IF)",
    "AXIS_IF_KEEP_WIDTH": "AXIS_IF_DATA_WIDTH/8",
    "AXIS_IF_TX_ID_WIDTH": "12",
    "AXIS_IF_RX_ID_WIDTH": "PORTS_PER_IF > 1 ? $clog2(PORTS_PER_IF) : 1",
    "AXIS_IF_TX_DEST_WIDTH": "$clog2(PORTS_PER_IF)+4",
    "AXIS_IF_RX_DEST_WIDTH": "8",
    "AXIS_IF_TX_USER_WIDTH": "AXIS_SYNC_TX_USER_WIDTH",
    "AXIS_IF_RX_USER_WIDTH": "AXIS_SYNC_RX_USER_WIDTH",
    **{"STAT_ENABLE": "1", "STAT_INC_WIDTH": "24", "STAT_ID_WIDTH": "12"},
}


def _group(prefix: str, inward: bool, *fields: tuple[str, str]) -> Iterator[Port]:
    """Ports of one bundle; a field that begins with ``<`` runs against its direction."""
    for name, width in fields:
        yield Port(prefix + name.lstrip("<"), inward != name.startswith("<"), width)


def _axil(prefix: str, parameter: str, inward: bool) -> Iterator[Port]:
    address, word = f"{parameter}_ADDR_WIDTH", f"{parameter}_DATA_WIDTH"
    request = [("addr", address), ("prot", "3"), ("valid", ""), ("<ready", "")]
    answer = [("<valid", ""), ("ready", "")]
    strobes = ("strb", f"{parameter}_STRB_WIDTH")
    yield from _group(f"{prefix}_aw", inward, *request)
    yield from _group(f"{prefix}_w", inward, ("data", word), strobes, ("valid", ""), ("<ready", ""))
    yield from _group(f"{prefix}_b", inward, ("<resp", "2"), *answer)
    yield from _group(f"{prefix}_ar", inward, *request)
    yield from _group(f"{prefix}_r", inward, ("<data", word), ("<resp", "2"), *answer)


def _dma(kind: str) -> Iterator[Port]:
    """Descriptors and their status, for one of the two DMA interfaces."""
    for way in ("read", "write"):
        immediate = [("imm", "DMA_IMM_WIDTH"), ("imm_en", "")] if way == "write" else []
        yield from _group(
            f"m_axis_{kind}_dma_{way}_desc_",
            False,
            ("dma_addr", "DMA_ADDR_WIDTH"),
            ("ram_sel", "RAM_SEL_WIDTH"),
            ("ram_addr", "RAM_ADDR_WIDTH"),
            *immediate,
            ("len", "DMA_LEN_WIDTH"),
            ("tag", "DMA_TAG_WIDTH"),
            ("valid", ""),
            ("<ready", ""),
        )
        yield from _group(
            f"s_axis_{kind}_dma_{way}_desc_status_",
            True,
            ("tag", "DMA_TAG_WIDTH"),
            ("error", "4"),
            ("valid", ""),
        )


def _dma_ram(kind: str) -> Iterator[Port]:
    """RAM of the application that the DMA engine accesses, in segments."""

    def segments(parameter: str) -> str:
        return f"RAM_SEG_COUNT*RAM_{parameter}_WIDTH"

    sel, addr = ("sel", segments("SEL")), ("addr", segments("SEG_ADDR"))
    data = segments("SEG_DATA")
    each = "RAM_SEG_COUNT"
    yield from _group(
        f"{kind}_dma_ram_wr_",
        True,
        *((f"cmd_{name}", width) for name, width in (sel, ("be", segments("SEG_BE")), addr)),
        *(("cmd_data", data), ("cmd_valid", each), ("<cmd_ready", each), ("<done", each)),
    )
    yield from _group(
        f"{kind}_dma_ram_rd_",
        True,
        *((f"cmd_{name}", width) for name, width in (sel, addr)),
        *(("cmd_valid", each), ("<cmd_ready", each)),
        *(("<resp_data", data), ("<resp_valid", each), ("resp_ready", each)),
    )


def _axis(name: str, count: str, parameter: str, way: str, both: bool) -> Iterator[Port]:
    """A packet stream into the block and out of it; `both` ways with ``tid`` and ``tdest``."""
    fields = [
        ("tdata", f"{count}*{parameter}_DATA_WIDTH"),
        ("tkeep", f"{count}*{parameter}_KEEP_WIDTH"),
        ("tvalid", count),
        ("<tready", count),
        ("tlast", count),
    ]
    for extra in ("ID", "DEST") if both else ():
        fields.append((f"t{extra.lower()}", f"{count}*{parameter}_{way}_{extra}_WIDTH"))
    fields.append(("tuser", f"{count}*{parameter}_{way}_USER_WIDTH"))
    yield from _group(f"s_axis_{name}_", True, *fields)
    yield from _group(f"m_axis_{name}_", False, *fields)


def _completions(name: str, count: str) -> Iterator[Port]:
    fields = (
        ("ts", f"{count}*PTP_TS_WIDTH"),
        ("tag", f"{count}*TX_TAG_WIDTH"),
        ("valid", count),
        ("<ready", count),
    )
    yield from _group(f"s_axis_{name}_cpl_", True, *fields)
    yield from _group(f"m_axis_{name}_cpl_", False, *fields)


def _packets(tap: str, count: str, parameter: str) -> Iterator[Port]:
    """One of the three places at which packets pass."""
    clocked, tagged = tap == "direct", tap == "if"
    for way in ("tx", "rx"):
        if clocked:
            yield from _group(f"direct_{way}_", True, ("clk", count), ("rst", count))
        yield from _axis(f"{tap}_{way}", count, parameter, way.upper(), tagged)
        if way == "tx":
            yield from _completions(f"{tap}_tx", count)


def _memory(kind: str) -> Iterator[Port]:
    """AXI4 to memory."""
    upper, name = kind.upper(), f"m_axi_{kind}_"
    channels = f"{upper}_CH"

    def of(what: str) -> str:
        return f"{channels}*{what if what.isdigit() else f'AXI_{upper}_{what}_WIDTH'}"

    sizes = {"len": "8", "size": "3", "burst": "2", "lock": "", "cache": "4", "prot": "3"}

    def request(channel: str) -> Iterator[Port]:
        yield from _group(
            name + channel,
            False,
            *(("id", of("ID")), ("addr", of("ADDR"))),
            *((field, of(size) if size else channels) for field, size in sizes.items()),
            *(("qos", of("4")), ("user", of(f"{channel.upper()}USER"))),
            *(("valid", channels), ("<ready", channels)),
        )

    yield from _group(f"{kind}_", True, ("clk", channels), ("rst", channels))
    yield from request("aw")
    yield from _group(
        f"{name}w",
        False,
        *(("data", of("DATA")), ("strb", of("STRB")), ("last", channels), ("user", of("WUSER"))),
        *(("valid", channels), ("<ready", channels)),
    )
    yield from _group(
        f"{name}b",
        True,
        *(("id", of("ID")), ("resp", of("2")), ("user", of("BUSER"))),
        *(("valid", channels), ("<ready", channels)),
    )
    yield from request("ar")
    yield from _group(
        f"{name}r",
        True,
        *(("id", of("ID")), ("data", of("DATA")), ("resp", of("2")), ("last", channels)),
        *(("user", of("RUSER")), ("valid", channels), ("<ready", channels)),
    )
    yield from _group(f"{kind}_", True, ("status", channels))


def _clock() -> Iterator[Port]:
    plain = ("clk", "rst", "sample_clk", "td_sd", "pps", "pps_str", "sync_locked")
    yield from _group("ptp_", True, *((name, "") for name in plain))
    for kind in ("rel", "tod"):
        name = f"sync_ts_{kind}"
        yield from _group("ptp_", True, (name, "PTP_TS_WIDTH"), (f"{name}_step", ""))
    yield from _group("ptp_", True, ("sync_pps", ""), ("sync_pps_str", ""))
    names = ("locked", "error", "pulse")
    yield from _group("ptp_perout_", True, *((name, "PTP_PEROUT_COUNT") for name in names))


#: Packet taps that pass through untouched: prefix of both sides behind ``s_axis_``, ``m_axis_``.
STREAMS = tuple(f"{tap}_{way}" for tap in ("direct", "if") for way in ("tx", "tx_cpl", "rx"))

PORTS: tuple[Port, ...] = (
    *_group("", True, ("clk", ""), ("rst", "")),
    *_axil("s_axil_app_ctrl", "AXIL_APP_CTRL", True),
    *_axil("m_axil_ctrl", "AXIL_CTRL", False),
    *_dma("ctrl"),
    *_dma("data"),
    *_dma_ram("ctrl"),
    *_dma_ram("data"),
    *_clock(),
    *_packets("direct", "PORT_COUNT", "AXIS"),
    *_packets("sync", "PORT_COUNT", "AXIS_SYNC"),
    *_packets("if", "IF_COUNT", "AXIS_IF"),
    *_memory("ddr"),
    *_memory("hbm"),
    *_group(
        "m_axis_stat_",
        False,
        *(("tdata", "STAT_INC_WIDTH"), ("tid", "STAT_ID_WIDTH"), ("tvalid", ""), ("<tready", "")),
    ),
    *_group("gpio_", True, ("in", "APP_GPIO_IN_WIDTH"), ("<out", "APP_GPIO_OUT_WIDTH")),
    *_group("jtag_", True, ("tdi", ""), ("<tdo", ""), ("tms", ""), ("tck", "")),
)
