"""The block PORT, wired: parameters between bank and card, and the port's events to the profiler.

::

    bank ─► ENABLE, EPOCH, MOST ─► card ─► arrivals, departures ─┐
            SLOT ──────────────────────────────────────────────► ├─► profiler
                                           events of queues ─────┘
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream

from precog_hw.csr.bank import RegisterBank
from precog_hw.measure.profiler import Profiler
from precog_hw.measure.queue_layouts import queue_event_layout
from precog_hw.packet.card import Card
from precog_spec.contract import QueueEvent

__all__ = ["attach"]

_PAUSE = 4  # cycles until an event shows in the profiler's `idle`


def attach(
    m: Module, bank: RegisterBank, card: Card, profiler: Profiler, *, slots: int
) -> stream.Interface:
    """Let the port's events into a profiler while no others wait; the card adds them up till then.

    Parameters
    ----------
    m : Module
        Of the NIC.
    bank : RegisterBank
        Of a map with the block PORT.
    card : Card
        With `port`.
    profiler : Profiler
        That is `shared`.
    slots : int
        QP slots.

    Returns
    -------
    stream.Interface
        Where the other events go in, which wait no longer than without the port.
    """
    others = stream.Signature(queue_event_layout(slots)).create(path=("queue_event",))
    given, event = card.o_port, profiler.i.payload
    gives, recent = Signal(name="port_gives"), Signal(_PAUSE, name="port_recent")
    named = Signal(name="port_named")
    m.d.comb += [
        card.port_enable.eq(bank.port_control_enable),
        card.port_epoch.eq(bank.port_control_epoch),
        card.port_most.eq(bank.port_most_most),
        bank.port_announced_announced.eq(card.announced),
        named.eq(bank.port_slot_slot < slots),
        gives.eq(given.valid & named & ~others.valid & profiler.idle & ~recent.any()),
        given.ready.eq(~named | (gives & profiler.i.ready)),
        others.ready.eq(profiler.i.ready),
        profiler.i.valid.eq(others.valid | gives),
        event.eq(others.payload),
    ]
    m.d.sync += recent.eq(Cat(gives, recent))
    with m.If(~others.valid):
        m.d.comb += [
            event.qp.eq(bank.port_slot_slot),
            event.t.eq(given.payload.t),
            event.kind.eq(Mux(given.payload.departs, QueueEvent.DEPARTURE, QueueEvent.ARRIVAL)),
            event.size.eq(given.payload.size),
        ]
    return others
