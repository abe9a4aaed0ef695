"""The block RECEIVER, wired: rows, parameters and counters between bank and receiver.

::

    bank ─┬─ window ──► [RowWindow] ─► rows ─► receiver ◄─ available ─ [BandwidthMeter] ◄─ sent
          ├─ BANDS .. BUDGET ────────────────►    │
          └─ COUNTERS ◄─ [counters] ◄─── events ──┘
"""

from amaranth.hdl import Cat, Module, Signal, Value

from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.counter_table import CounterTables
from precog_hw.csr.layouts import registers_layout
from precog_hw.csr.row_window import RowWindow
from precog_hw.csr.window_ports import connect_window
from precog_hw.packet.card import Card
from precog_hw.rate.receiver import BandwidthMeter, Receiver
from precog_spec.law_fields import ScoreCommand
from precog_spec.receiver_fields import Act, Band, ReceiverKind
from precog_spec.registers.model import Access, resets
from precog_spec.registers.receiver import RECEIVER_EVENTS, RECEIVER_PARAMETERS, RECEIVER_QP_CONFIG

__all__ = ["attach"]

_CONFIG = registers_layout(RECEIVER_QP_CONFIG, Access.RW)


def attach(
    m: Module,
    bank: RegisterBank,
    tables: CounterTables,
    card: Card,
    receiver: Receiver,
    *,
    slots: int,
) -> Value:
    """Put window, parameters, counters and the meter between a bank, a card and a receiver.

    Parameters
    ----------
    m : Module
        Of the NIC; the parts become its submodules.
    bank : RegisterBank
        Of a map with the block RECEIVER.
    tables : CounterTables
    card : Card
        Whose scores are received, and whose packets to the wire take bandwidth.
    receiver : Receiver
    slots : int
        QP slots.

    Returns
    -------
    Value
        Every row is as reset has it: scores may come.
    """
    # A row that is applied anew has no band: the receiver takes back what that had led to.
    m.submodules.receiver_window = window = RowWindow(
        _CONFIG, slots, resets(RECEIVER_QP_CONFIG), sweep_applies=True
    )
    connect_window(m, bank, "receiver", RECEIVER_QP_CONFIG, window, ("fetch", "apply"))
    command, config = window.o.payload, receiver.i_config
    m.d.comb += [
        config.valid.eq(window.o.valid & command.apply),
        config.payload.qp.eq(command.row),
        config.payload.clear.eq(~window.ready),
        window.sweep.eq(bank.reset_command_receiver),
        bank.reset_state_receiver.eq(window.sweeping),
        *(config.payload.config[name].eq(command.config[name]) for name in _CONFIG.members),
        window.o.ready.eq(config.ready | ~command.apply),
    ]
    for register in RECEIVER_PARAMETERS:
        for field in register.fields:
            value = getattr(bank, port("receiver", register.name, field.name))
            m.d.comb += receiver.parameters[field.name].eq(value)
    m.submodules.bandwidth = meter = BandwidthMeter()
    # Registers: the sum of a window is long enough without the choice of a frame.
    m.d.sync += [meter.sent.eq(card.frame_sent), meter.size.eq(card.frame_bytes)]
    m.d.comb += [
        receiver.heard.eq(card.score_heard),
        receiver.heard_slot.eq(card.score_slot),
        receiver.heard_score.eq(card.score),
        meter.ticks.eq(bank.receiver_window_window_ticks),
        meter.budget.eq(bank.receiver_budget_budget),
        receiver.available.eq(meter.available),
    ]
    counters = tables.events("receiver_events", "receiver", "counters", len(RECEIVER_EVENTS))
    m.d.sync += counters.events.eq(_events(receiver))
    return window.ready


def _events(receiver: Receiver) -> Value:
    """Strobes for the counters."""
    stb, kind, result = receiver.commit_stb, receiver.commit.event.kind, receiver.commit.result
    acts = result.acts

    def did(act: Act) -> Value:
        return stb & acts[act.value.bit_length() - 1]

    commands = did(Act.COMMAND)
    events: dict[str, Value | Signal] = {
        "scores": stb & (kind == ReceiverKind.SCORE),
        "merged": receiver.merged,
        **{f"to_{band.name.lower()}": did(Act.BAND) & (result.band == band) for band in Band},
        "aged": did(Act.AGED),
        "reduced": commands & (result.command == ScoreCommand.REDUCE),
        "held": commands & (result.command == ScoreCommand.HOLD),
        "starved": did(Act.STARVED),
        "boosted": did(Act.BOOST) & (result.boost != 0),
        "restored": did(Act.BOOST) & (result.boost == 0),
        "quotas": did(Act.QUOTA) & (kind != ReceiverKind.CONFIGURE),
        "short": did(Act.SHORT),
    }
    return Cat(events[name] for name, _ in RECEIVER_EVENTS)
