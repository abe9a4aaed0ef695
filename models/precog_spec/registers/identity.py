"""The block ID: what a device is, how large it is, which contract it keeps."""

from dataclasses import dataclass

from precog_spec.config import PACKET_PARTS, NicConfig
from precog_spec.registers.model import Access, Block, Field, Register

__all__ = ["MAGIC", "PORT_AT", "Identity", "id_block"]

#: The letters PRCG.
MAGIC = 0x50524347

#: Bit of PACKETS that says that announced bytes count; devices without them have no field there.
PORT_AT = 23

# Registers that say whether a part was built: name, text, field of `NicConfig`, text of the field.
_PARTS = (
    ("LAWS", "Whether the device has PSCHED, and events for it and for programs.", "laws",
     "It has."),
    ("GRANTS", "Whether the device has a pacer that gives grants.", "grants", "It does."),
    ("PROFILE", "Whether the device has a queue profiler.", "profile", "It does."),
    ("FORECAST", "Whether each QP may have a second model, which forecasts its queue.", "forecast",
     "It may."),
    ("TREES", "What a queue model is.", "tree", "A decision tree, not an LSTM."),
    ("TRACING", "Whether the device has a trace FIFO.", "trace", "It does."),
    ("RECEIVES", "Whether the device has a receiver that acts on congestion scores.", "receiver",
     "It does."),
    ("GUARDS", "Whether stored models have check bits and are scrubbed.", "ecc", "They are."),
)  # fmt: skip

# Parts that a packet path may lack: field of `NicConfig`, what the device then does not do. The bit
# is 1 for a missing part: older devices, which cannot lack one, read 0 here.
_WITHOUT = tuple(
    zip(
        PACKET_PARTS,
        (
            "Destinations have neither enables nor numbers.",
            "Packets with CE are not answered.",
            "The ICRC of received packets is not checked.",
        ),
        strict=True,
    )
)


@dataclass(frozen=True)
class Identity:
    """Facts that a core states about itself, in addition to its sizes.

    Parameters
    ----------
    contract_hash : int
        `precog_spec.contract.CONTRACT_HASH`.
    tick_ps : int
        Length of a tick in picoseconds.
    inputs, outputs : int
        Largest model that the engine runs.
    """

    contract_hash: int
    tick_ps: int = 1000
    inputs: int = 8
    outputs: int = 16

    def __post_init__(self) -> None:
        if not 1 <= self.tick_ps < 1 << 24:
            raise ValueError(f"tick_ps must be in 1..16777215, not {self.tick_ps!r}")


def _fact(name: str, bits: int, value: int, doc: str, lsb: int = 0, unit: str = "") -> Field:
    return Field(name, bits, Access.RO, doc, lsb=lsb, reset=value, unit=unit)


def _facts(name: str, doc: str, *fields: Field) -> Register:
    return Register(name, doc, fields, constant=True)


def _port(sizes: NicConfig) -> tuple[Field, ...]:
    """The fact of a device that counts announced bytes."""
    if not sizes.port:
        return ()
    return (_fact("port", 1, sizes.port, "Bytes that they announce do.", lsb=PORT_AT),)


def id_block(sizes: NicConfig, identity: Identity) -> Block:
    """The block of a device with these sizes, which states this identity."""
    return Block(
        "ID",
        "What this device is, how large it is, and which contract it keeps.",
        id=0x01,
        version=(1, 9),
        registers=(
            _facts("MAGIC", "'PRCG'.", _fact("magic", 32, MAGIC, "0x50524347.")),
            _facts(
                "CONTRACT",
                "Hash of the number formats and tables; a model image must carry the same.",
                _fact("contract", 32, identity.contract_hash, "Contract hash."),
            ),
            _facts(
                "TICK_PS",
                "Length of a tick.",
                _fact("tick_ps", 24, identity.tick_ps, "Tick.", unit="ps"),
            ),
            _facts(
                "POOL",
                "Numbers of QP slots and of model sets.",
                _fact("qps", 17, sizes.qps, "QP slots."),
                _fact("sets", 8, sizes.sets, "Model sets.", lsb=24),
            ),
            _facts(
                "ENGINE",
                "Size of the LSTM engine and of the models that it runs.",
                _fact("lanes", 8, sizes.lanes, "Multiply-accumulate lanes."),
                _fact("columns", 4, sizes.columns, "Units finished per cycle.", lsb=8),
                _fact("steps", 4, sizes.steps, "Longest window T.", lsb=12),
                _fact("inputs", 4, identity.inputs, "Most inputs I.", lsb=16),
                _fact("outputs", 5, identity.outputs, "Most outputs O.", lsb=20),
            ),
            Register("SCRATCH", "Does nothing.", (Field("scratch", 32, Access.RW, "Any value."),)),
            _facts(
                "PACKETS",
                "Whether packets flow through the device.",
                _fact("width", 10, sizes.width, "Bits in a beat; 0: none do.", unit="bits"),
                _fact("macs", 2, sizes.macs, "Gigabit ports that count frames.", lsb=16),
                _fact("ipv6", 1, sizes.ipv6, "IPv6 packets are understood.", lsb=18),
                *(
                    _fact(f"no_{name}", 1, 1 - getattr(sizes, name), meaning, lsb=lsb)
                    for lsb, (name, meaning) in enumerate(_WITHOUT, 19)
                ),
                _fact("senders", 1, sizes.senders, "QPs that send here count.", lsb=22),
                *_port(sizes),
            ),
            *(
                _facts(name, doc, _fact(size, 1, getattr(sizes, size), meaning))
                for name, doc, size, meaning in _PARTS
            ),
            _facts(
                "CELLS",
                "Whether packets wait in the device for their grants.",
                _fact("wire", 16, sizes.wire, "Cells of their memory; 0: none wait."),
            ),
            _facts(
                "LAW_ENGINE",
                "Whether the device runs laws that are programs.",
                _fact("law_cores", 4, sizes.law_cores, "Cores of its law engine; 0: none."),
            ),
        ),
    )
