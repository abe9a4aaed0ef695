"""The block PORT: what a card's senders have announced, which one slot's queue model forecasts.

It stands in the map of a NIC with `NicConfig.port`.
"""

from precog_spec.frames.cps import EPOCH_LEAST
from precog_spec.registers.model import Access, Block, Field, Register

__all__ = ["PORT_BITS", "most_bits", "port_block", "port_parameters"]

_RW, _RO = Access.RW, Access.RO
_MOST_BITS, _RESET_BITS = 24, 20
#: Bytes that all queue pairs together can have announced.
PORT_BITS = 30


def most_bits(qps: int) -> int:
    """Bits of the largest rest of one of `qps` queue pairs; all of them fit `PORT_BITS`."""
    return min(_MOST_BITS, PORT_BITS - (qps - 1).bit_length())


def port_parameters(qps: int) -> tuple[Register, ...]:
    """Registers that the host sets, on a device of `qps` queue pairs."""
    bits = most_bits(qps)
    return (
        Register(
            "CONTROL",
            "Whether bytes are counted. Another value of either field withdraws all of them.",
            (
                Field("enable", 1, _RW, "Bytes that senders announce are counted."),
                Field(
                    "epoch",
                    4,
                    _RW,
                    f"An epoch is {1 << EPOCH_LEAST} << this many ticks: a queue pair without "
                    "data in this one and the last has nothing announced any more.",
                    lsb=4,
                    reset=6,
                ),
            ),
        ),
        Register(
            "SLOT",
            "Set aside for the port: the profiler counts the port's bytes there, and the slot's "
            "queue model forecasts them.",
            (Field("slot", 16, _RW, "QP slot; without such a slot no score is carried."),),
        ),
        Register(
            "MOST",
            "How much a sender is believed.",
            (
                Field(
                    "most",
                    bits,
                    _RW,
                    "A queue pair can have announced this much; what it announces beyond counts "
                    "when it comes.",
                    reset=(1 << min(bits, _RESET_BITS)) - 1,
                    unit="bytes",
                ),
            ),
        ),
    )


def port_block(qps: int) -> Block:
    """The block on a device of `qps` queue pairs."""
    return Block(
        "PORT",
        "The queue before this card's own port: bytes that its senders have announced, in the "
        "RETHs of WRITEs, and that have not come yet.",
        id=0x4A,
        version=(1, 0),
        registers=(
            *port_parameters(qps),
            Register(
                "ANNOUNCED",
                "Now.",
                (Field("announced", PORT_BITS, _RO, "Bytes.", unit="bytes"),),
                volatile=True,
            ),
        ),
    )
