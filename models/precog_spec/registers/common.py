"""Registers that several blocks have: a window on one row of many, a 64-bit counter."""

from precog_spec.registers.model import Access, Field, Register

__all__ = [
    "command_registers",
    "counter_registers",
    "fraction_of",
    "load_registers",
    "ticks_of",
    "window_registers",
]

RO, W1C, RW, PULSE = Access.RO, Access.W1C, Access.RW, Access.PULSE


def window_registers(
    what: str,
    commands: tuple[tuple[str, str], ...],
    errors: str,
    affects: tuple[str, ...] = (),
) -> tuple[Register, ...]:
    """SELECT, COMMAND, STATE and ERROR of a block that is a window on one row of many.

    Parameters
    ----------
    what : str
        What a row is of.
    commands : tuple of (str, str)
        Name and documentation of each command.
    errors : str
        What is out of range.
    affects : tuple of str
        What commands may change in other blocks.
    """
    return (
        Register("SELECT", f"The {what}.", (Field("index", 16, RW, f"Number of the {what}."),)),
        *command_registers(
            f"Acts on the {what} that SELECT names; wait until STATE.busy is 0.",
            commands,
            errors,
            affects,
        ),
    )


def command_registers(
    doc: str,
    commands: tuple[tuple[str, str], ...],
    errors: str,
    affects: tuple[str, ...] = (),
) -> tuple[Register, ...]:
    """COMMAND, documented by `doc`, STATE and ERROR; other arguments as `window_registers`."""
    return (
        Register(
            "COMMAND",
            doc,
            tuple(Field(name, 1, PULSE, text, lsb=n) for n, (name, text) in enumerate(commands)),
            affects=affects,
        ),
        Register(
            "STATE",
            "Whether a command is being executed.",
            (Field("busy", 1, RO, "A command is being executed."),),
        ),
        Register(
            "ERROR",
            "What went wrong; each bit stays until 1 is written to it.",
            (
                Field("range", 1, W1C, f"A command named {errors} that does not exist."),
                Field("overrun", 1, W1C, "A command came while busy and was ignored.", lsb=1),
            ),
        ),
    )


def load_registers(place: str, size: int, refused: str) -> tuple[Register, ...]:
    """CRC, COMMAND, DATA and WORDS of a block that loads images.

    Parameters
    ----------
    place : str
        What takes an image; a register of that name in capitals chooses it.
    size : int
        Bytes of an image.
    refused : str
        When a load is refused.
    """
    return (
        Register(
            "CRC",
            f"CRC-32 (Ethernet) expected over the image's {size} bytes.",
            (Field("crc", 32, RW, "Expected CRC."),),
        ),
        Register(
            "COMMAND",
            f"Begin invalidates the {place} and takes words; commit checks and makes it valid.",
            (
                Field("begin", 1, PULSE, f"Start a load into {place.upper()}; refused {refused}."),
                Field("commit", 1, PULSE, "End the load.", lsb=1),
            ),
            affects=("COUNTERS.COUNTERS",),
        ),
        Register(
            "DATA",
            "The next four bytes of the image, the first in the low byte.",
            (Field("data", 32, PULSE, "Image word."),),
            affects=("COUNTERS.COUNTERS",),
        ),
        Register("WORDS", "Words taken since BEGIN.", (Field("words", 16, RO, "Words."),)),
    )


def counter_registers(*, volatile: bool = False) -> tuple[Register, ...]:
    """The two halves of a 64-bit counter; a `volatile` one counts by itself."""
    return (
        Register("LOW", "Bits 31..0.", (Field("low", 32, RO, "Low half."),), volatile=volatile),
        Register("HIGH", "Bits 63..32.", (Field("high", 32, RO, "High half."),), volatile=volatile),
    )


def fraction_of(value: float, frac_bits: int) -> int:
    """Nearest integer to ``value * 2**frac_bits``, ties up."""
    return int((value * (1 << frac_bits) + 0.5) // 1)


def ticks_of(us: float, tick_ps: int) -> int:
    """Microseconds in ticks of `tick_ps` picoseconds, rounded."""
    return round(us * 1e6 / tick_ps)
