"""What flows through the rate unit."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from precog_hw.csr.layouts import QP_CONFIG_LAYOUT
from precog_spec.config import NicConfig
from precog_spec.contract import RECIPROCAL_BITS, Fmt

__all__ = ["ADVICE", "MODEL", "TRUSTED_ADVICE", "job_layout", "rate_sample_layout"]

#: What the predictor says about a sample.
ADVICE = data.StructLayout(
    {
        "valid": unsigned(1),  # `rtt_pred` is a prediction of the RTT
        "late": unsigned(1),  # it is not, because it missed its deadline
        "rtt_pred": unsigned(Fmt.SRTT.width),
    }
)

#: The model that says it; zeros: none does.
MODEL = data.StructLayout({"set": unsigned(8), "version": unsigned(32)})

#: The same, and the skill monitor's word for it.
TRUSTED_ADVICE = data.StructLayout({**ADVICE.members, "trusted": unsigned(1)})


def rate_sample_layout(config: NicConfig) -> data.StructLayout:
    """A sample on which a decision is to be made once its `ADVICE` comes."""
    return data.StructLayout(
        {
            "qp": unsigned(config.qp_bits),
            "rtt": unsigned(Fmt.RTT.width),  # ticks
            "srtt": unsigned(Fmt.SRTT.width),  # passed on into the decision
            "base": unsigned(Fmt.RTT.width),  # ticks
        }
        | ({"t": unsigned(Fmt.TIME.width)} if config.trials else {})  # for the trial
    )


def job_layout(config: NicConfig) -> data.StructLayout:
    """A sample with its target: all that the law needs but the prediction."""
    return data.StructLayout(
        {
            "sample": rate_sample_layout(config),
            "config": QP_CONFIG_LAYOUT,
            "target": unsigned(Fmt.SRTT.width),
            "moved": unsigned(1),  # the adjuster fired
            "n": unsigned(5),  # shift and mantissa of 1 / target
            "y": unsigned(RECIPROCAL_BITS),
            "most": unsigned(38),  # from this RTT on e(t) is ERR's greatest number
            "low": unsigned(Fmt.SRTT.width),  # ends of what a prediction may say
            "high": unsigned(Fmt.SRTT.width),
        }
    )
