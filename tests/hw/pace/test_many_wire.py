"""Wire mode as a parameter makes it: packets of 16,384 queue pairs, each at its rate.

Only with --volume: the block takes minutes to build.
"""

import numpy as np
import pytest

from precog_hw.store.layouts import StoreConfig
from precog_models.store.packet_store import Outcome

from .wire_driver import OVERHEAD, Bench, first_beats

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("wire-many")]

#: Two packets of a cell for each queue pair. Cells are small: to write the Verilog of a memory of
#: 4 MiB takes longer than all else.
MANY = StoreConfig(qps=16_384, width=64, cells=32_768, cell_bytes=16, longest=4608)
SIZE = MANY.cell_bytes
EACH = 4  # packets of a queue pair
FIRST = 2  # ticks by which the gap behind a packet that is not filed may be off besides


def test_everybody_at_its_rate(seed: int, volume: int) -> None:
    """1 / 16,384 of 2 bytes per tick each, to 0.1 %; RTL = golden in each event of both logs."""
    if volume == 1:
        pytest.skip("only with --volume")
    bench = Bench(MANY, seed)
    line = 2.0
    for qp in range(MANY.qps):
        bench.rate(qp, line / MANY.qps)
    bench.block.poke(hold=1, quota=2)
    order = bench.rng.sample(range(MANY.qps), MANY.qps)
    sent = [bench.paced(qp, SIZE) for _ in range(EACH) for qp in order]
    found = first_beats(bench.run(sent, seed=seed, idle=0.89))
    assert {*found} == {*range(MANY.qps)}  # nobody starves
    packet = (SIZE + OVERHEAD) / line
    gap, beats = packet * MANY.qps, SIZE // bench.step
    for qp, times in found.items():
        assert len(times) == EACH, qp
        # One packet may be ahead at either end. The first one does not come through the wheel.
        late = np.abs(np.diff(times) - gap) - (packet + beats)
        assert late[0] <= FIRST, qp
        assert late[1:].max() <= 0, qp
        assert abs((times[-1] - times[0]) / (gap * (EACH - 1)) - 1) < 1e-3, qp
    seen = bench.store.seen
    assert seen["STORED"] == seen["POP"] == bench.paced_out == len(sent)
    assert not any(seen[kind.name] for kind in list(Outcome)[2:])
    print("most cells at once:", bench.store.most_used)
    assert bench.block.peek("free") == MANY.cells
    bench.block.close()
