"""The parts of a NIC, as far as its configuration has them."""

from dataclasses import dataclass

from amaranth.hdl import Module, Value
from amaranth.lib import wiring

from precog_hw.core import Core
from precog_hw.csr.bank import RegisterBank
from precog_hw.csr.counter_table import CounterTables
from precog_hw.csr.qp import QpWindow
from precog_hw.micro.core import MicroCore
from precog_hw.pace.wire_mode import WireMode
from precog_hw.packet.card import Card
from precog_hw.rate.receiver import Receiver
from precog_spec.config import NicConfig

__all__ = ["Parts"]


@dataclass(frozen=True)
class Parts:
    """What is joined, and whose ports lead outside.

    Attributes
    ----------
    m : Module
        Of the NIC.
    nic : PrecogNic
    config : NicConfig
    tick_ps : int
    bank, tables, core, window
        Every NIC has them.
    card, wire, receiver
        With packets; with `config.wire`; with `config.receiver`.
    now : Value, optional
        Ticks, where anybody needs them.
    """

    m: Module
    nic: wiring.Component
    config: NicConfig
    tick_ps: int
    bank: RegisterBank
    tables: CounterTables
    core: Core | MicroCore
    window: QpWindow
    card: Card | None
    wire: WireMode | None
    receiver: Receiver | None
    now: Value | None
