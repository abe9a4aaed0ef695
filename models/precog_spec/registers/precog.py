"""Precog's register map: the blocks that a core of given sizes has, in address order.

Real quantities keep the formats of `precog_spec.contract`; a test compares them. Times are in
ticks of TICK_PS.
"""

from precog_spec.config import NicConfig
from precog_spec.registers.counters import counter_block
from precog_spec.registers.ecc import ecc_block
from precog_spec.registers.forecast import forecast_block
from precog_spec.registers.identity import Identity, id_block
from precog_spec.registers.interrupt import interrupt_block
from precog_spec.registers.law import law_block
from precog_spec.registers.laws import psched_block
from precog_spec.registers.mac import mac_block
from precog_spec.registers.measure import measure_block
from precog_spec.registers.model import Block, RegisterMap
from precog_spec.registers.model_sets import model_block
from precog_spec.registers.pacer import pacer_block
from precog_spec.registers.packet import packet_blocks
from precog_spec.registers.pid import pid_block
from precog_spec.registers.port import port_block
from precog_spec.registers.profiler import profiler_block
from precog_spec.registers.qp import qp_block
from precog_spec.registers.receiver import receiver_block
from precog_spec.registers.reset import reset_block
from precog_spec.registers.senders import senders_block
from precog_spec.registers.trace import trace_block
from precog_spec.registers.trials import sums_block, trials_block
from precog_spec.registers.watchdog import watchdog_block
from precog_spec.registers.wire import wire_block

__all__ = ["build_map"]


def build_map(sizes: NicConfig, identity: Identity) -> RegisterMap:
    """The register map of a core.

    Parameters
    ----------
    sizes : NicConfig
    identity : Identity

    Returns
    -------
    RegisterMap
    """
    return RegisterMap(
        (
            id_block(sizes, identity),
            measure_block(identity.tick_ps),
            model_block(sizes.sets),
            pid_block(identity.tick_ps),
            *((psched_block(identity.tick_ps),) if sizes.laws else ()),
            *((trials_block(identity.tick_ps), sums_block()) if sizes.trials else ()),
            watchdog_block(),
            qp_block(),
            *((pacer_block(wire=bool(sizes.wire)),) if sizes.grants else ()),
            *((profiler_block(),) if sizes.profile else ()),
            *((forecast_block(identity.tick_ps),) if sizes.forecast else ()),
            counter_block(sizes),
            *(packet_blocks(sizes) if sizes.width else ()),
            *((receiver_block(identity.tick_ps),) if sizes.receiver else ()),
            *((senders_block(identity.tick_ps),) if sizes.senders else ()),
            *((port_block(sizes.qps),) if sizes.port else ()),
            *((trace_block(),) if sizes.trace else ()),
            *((wire_block(sizes.wire),) if sizes.wire else ()),
            *((_ecc(sizes),) if sizes.ecc else ()),
            *((_law(sizes, identity),) if sizes.law_cores else ()),
            interrupt_block(sizes),
            reset_block(sizes),
            *((mac_block(sizes.macs),) if sizes.macs else ()),
        )
    )


def _ecc(sizes: NicConfig) -> Block:
    return ecc_block(sizes.sets, tree=bool(sizes.tree), programs=sizes.guards_programs)


def _law(sizes: NicConfig, identity: Identity) -> Block:
    return law_block(sizes.law_cores, identity.tick_ps, ecc=sizes.guards_programs)
