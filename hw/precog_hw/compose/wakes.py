"""Which units of a NIC have work: what the whole adds to its core's."""

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Signal, Value, ValueLike

from precog_hw.activity import UNITS, hold
from precog_hw.csr.counter_table import EventCounters

from .parts import Parts

__all__ = ["wakes"]


def wakes(
    parts: Parts, counters: EventCounters, causes: Mapping[str, ValueLike], resetting: Value
) -> None:
    """What the host does reaches every unit: parameters, commands, models."""
    m, nic, core = parts.m, parts.nic, parts.core
    axil = nic.s_axil
    host = axil.awvalid | axil.wvalid | axil.arvalid | axil.bvalid | axil.rvalid
    awake = Signal()
    counted, caused = counters.events.any(), Cat(*causes.values()).any()
    if parts.config.ecc:
        found = core.ecc_events
        counted |= found.as_value().any()
        if parts.config.guards_programs:
            counted |= core.law_damaged_stb
        caused |= found.corrected | found.uncorrectable | found.injected | found.refused
    # These options add free-running registers at the top level.
    others = Const(parts.now is not None or bool(parts.config.forecast))
    shows, block = 4, parts.tables.block
    if block is not None:  # its counters, of all parts, have their turns
        counted |= block.counts
        shows = block.latency
    busy = host | parts.window.busy | resetting | core.activity.store
    m.d.comb += [
        awake.eq(hold(m, "host", busy, 16)),
        nic.active.eq(core.activity.as_value() | awake.replicate(len(UNITS))),
        nic.active.nic.eq(hold(m, "nic", awake | caused | others, 4)),
        nic.active.csr.eq(hold(m, "csr", awake | caused, 4)),
        nic.active.results.eq(hold(m, "results", awake | counted | parts.tables.busy, shows)),
    ]
