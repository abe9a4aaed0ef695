# amaranth: UnusedElaboratable=no
"""What the constructors refuse."""

import pytest

from precog_hw.dsp import Multiplier
from precog_hw.predict.activation import Tanh
from precog_hw.predict.engine import LstmEngine
from precog_spec.config import NicConfig


@pytest.mark.parametrize(("a_bits", "b_bits"), [(19, 8), (8, 0)])
def test_operands_must_fit_the_block(a_bits, b_bits):
    with pytest.raises(ValueError, match=r"must be in 1\.\.18, not (19|0)"):
        Multiplier(a_bits, b_bits)


def test_narrow_pipe_is_refused():
    with pytest.raises(ValueError, match="columns must be at least 2 at 128 lanes, not 1"):
        LstmEngine(NicConfig(lanes=128, columns=1))


def test_arguments_must_reach_the_table_s_end():
    with pytest.raises(ValueError, match="wider than the table's range, not 12"):
        Tanh(12, 11, sigmoid=False, dsp="generic")
