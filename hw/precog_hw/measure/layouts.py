"""What flows through the measuring path."""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from precog_hw.config import NicConfig
from precog_models.contract import Fmt

__all__ = ["feature_layout", "measured_layout"]


def measured_layout(config: NicConfig) -> data.StructLayout:
    """An RTT sample of a queue pair that exists."""
    return data.StructLayout(
        {
            "qp": unsigned(config.qp_bits),
            "rtt": unsigned(Fmt.RTT.width),  # ticks
            "t": unsigned(Fmt.TIME.width),  # ticks; when the sample was completed
        }
    )


def feature_layout(config: NicConfig) -> data.StructLayout:
    """A sample with everything that is derived from it."""
    return data.StructLayout(
        {
            "qp": unsigned(config.qp_bits),
            "rtt": unsigned(Fmt.RTT.width),  # ticks
            "srtt": unsigned(Fmt.SRTT.width),  # S_t of (2), this sample included
            "k": signed(Fmt.X.width),  # K_t of (3)
            "base": unsigned(Fmt.RTT.width),  # base RTT in ticks, this sample included
        }
    )
