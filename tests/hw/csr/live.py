"""The register suite on a whole device, through the driver's transport."""

import asyncio
import random

from tests.hw.csr.register_suite import OKAY, SLVERR, Suite

from precog_host.transport import BusError, Transport
from precog_spec.registers.model import RegisterMap

__all__ = ["check_device"]

_CODES = {"SLVERR": SLVERR}


def check_device(
    transport: Transport,
    regmap: RegisterMap,
    seed: int,
    *,
    refuses: bool = True,
    look: int | None = None,
    commands: bool = True,
) -> None:
    """Every check that a transport can make of a device fresh from reset.

    Parameters
    ----------
    transport : Transport
    regmap : RegisterMap
    seed : int
    refuses : bool
        Accesses that are refused raise `BusError`.
    look : int or None
        As `Suite.changes_nothing_else` says.
    commands : bool
        That check, too, which starts commands.
    """

    async def read(address: int) -> tuple[int, int]:
        try:
            return OKAY, transport.read32(address)
        except BusError as error:
            return _CODES[error.response], 0

    async def write(address: int, value: int) -> int:
        try:
            transport.write32(address, value)
        except BusError as error:
            return _CODES[error.response]
        return OKAY

    async def run() -> None:
        suite = Suite(regmap, read, write, random.Random(seed), live=True)
        await suite.reset_values()
        await suite.bit_bash()
        await suite.no_aliases()
        await suite.commands_read_as_zero()
        await suite.read_only()
        if refuses:
            await suite.unmapped()
        await suite.misaligned()
        if commands:
            await suite.changes_nothing_else(look=look)

    asyncio.run(run())
