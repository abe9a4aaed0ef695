"""``sim:``: the Verilated NIC behind the driver's transport interface.

``sim:`` alone is preset ``lanes64``; ``sim:lanes16`` another preset of `NicConfig`, and
``sim:qps=128,lanes=16`` sizes by name; ``width=64`` adds the packet path. A board's preset has
behavioural multipliers here. Every register access is an AXI4-Lite transaction on the RTL's pins.
"""

import numpy as np
from numpy.typing import NDArray

from precog_host.samples import checked_samples
from precog_host.transport import DeviceError
from precog_spec.config import OPTIONS, PRESETS, NicConfig, option_value

from .axil import AxilTransport
from .build import told_queues
from .library import NicLibrary, RtlError, RtlNic
from .packet_nic import PacketNic
from .queues import RtlQueues
from .verilate import VerilateError

__all__ = ["RtlTransport", "loop_config", "open_rtl", "parse_config"]

_ADDRESS_BITS = 16  # of the exported NIC


class RtlTransport(AxilTransport):
    """Registers and samples of a NIC in a shared library.

    Parameters
    ----------
    nic : NicLibrary
        It is closed with the transport.
    queues : RtlQueues, optional
        Of a NIC that is told what send queues do.

    Attributes
    ----------
    told_queues : RtlQueues or None
    """

    def __init__(self, nic: NicLibrary, queues: RtlQueues | None = None) -> None:
        super().__init__(_ADDRESS_BITS)
        self.nic = nic
        self.told_queues = queues

    def axil_read(self, address: int) -> tuple[int, int]:
        """One transaction: the word and RRESP."""
        return self.nic.axil_read(address)

    def axil_write(self, address: int, value: int) -> int:
        """One transaction: BRESP."""
        return self.nic.axil_write(address, value)

    def decide(self, samples: NDArray[np.int64]) -> NDArray[np.int64]:
        """Decisions [m, 8] on samples [n, 3] through the full pipeline; dropped ones leave none."""
        run = self.nic.batch(checked_samples(samples), allow_drops=True)
        return run.decisions[run.latency >= 0]

    def close(self) -> None:
        """Free the RTL."""
        self.nic.close()


def parse_config(argument: str) -> NicConfig:
    """A configuration from a URI's argument.

    Raises
    ------
    DeviceError
        Not a preset, not a size, or a size that cannot be built.
    """
    values = {**vars(PRESETS["lanes64"])}  # one by one they need not be buildable
    for part in argument.split(",") if argument else ():
        name, equals, text = part.partition("=")
        if not equals and name in PRESETS:
            values = {**vars(PRESETS[name])}
        elif name not in OPTIONS:
            known = ", ".join([*PRESETS, *(f"{known}=<number>" for known in OPTIONS)])
            raise DeviceError(f"simulator argument {part!r} must be one of {known}")
        else:
            try:
                values[name] = option_value(name, text)
            except ValueError as error:
                raise DeviceError(f"simulator argument {part!r} {error}") from error
    try:
        return NicConfig(**{**values, "dsp": "generic"})  # a vendor's block is no Verilog
    except ValueError as error:
        raise DeviceError(f"simulator: {error}") from error


def loop_config(uri: str) -> NicConfig | None:
    """What `uri` says of a Verilated NIC that decides in a network; None: another transport.

    A wrong one is refused here before it is built, which takes minutes.

    Raises
    ------
    DeviceError
        The argument is not a configuration.
    ValueError
        The NIC has packets.
    """
    scheme, _, argument = uri.partition(":")
    if scheme != "sim":
        return None
    config = parse_config(argument)
    if config.width:
        raise ValueError("device in the loop must have no packets: leave width out")
    return config


def open_rtl(argument: str) -> RtlTransport | PacketNic:
    """The Verilated NIC that `argument` describes, built if need be.

    Raises
    ------
    DeviceError
        The argument is not a configuration, or the RTL cannot be built.
    """
    config = parse_config(argument)
    try:
        if config.width:
            return PacketNic(config)
        nic = RtlNic(config)
        return RtlTransport(nic, RtlQueues(nic, config.qps) if told_queues(config) else None)
    except (VerilateError, RtlError) as error:
        raise DeviceError(f"simulator: {error}") from error
