"""AXI4-Lite accesses on the pins of a Verilated bank, cycle by cycle."""

import random
from collections.abc import Callable

from precog_sim.rtl.block import RtlBlock

__all__ = ["Pins"]

_CYCLES = 100  # that an access may take

#: Called in each cycle of an access, with its number, when that access' signals are set.
Each = Callable[[int], None]


class Pins:
    """A master; each channel waits for random cycles, unless it shall not.

    Parameters
    ----------
    block : RtlBlock
    rng : Random
    """

    def __init__(self, block: RtlBlock, rng: random.Random) -> None:
        self.block, self.rng = block, rng

    def write(
        self,
        address: int,
        data: int,
        strb: int = 15,
        *,
        at_once: bool = False,
        each: Each | None = None,
    ) -> int:
        """One word; the response."""
        aw, w, b = self._delays(at_once, 3)
        self.block.poke(s_axil_awaddr=address, s_axil_wdata=data, s_axil_wstrb=strb)
        sent_aw = sent_w = False
        taken = None
        for n in range(_CYCLES):
            valid_aw, valid_w = not sent_aw and n >= aw, not sent_w and n >= w
            seen = self.block.peek("s_axil_bvalid")
            taken = n + b if seen and taken is None else taken
            ready = taken is not None and n >= taken
            self.block.poke(s_axil_awvalid=valid_aw, s_axil_wvalid=valid_w, s_axil_bready=ready)
            if each:
                each(n)
            response = self.block.peek("s_axil_bresp")
            sent_aw |= bool(valid_aw and self.block.peek("s_axil_awready"))
            sent_w |= bool(valid_w and self.block.peek("s_axil_wready"))
            assert not seen or (sent_aw and sent_w), "response before the request"
            self.block.tick()
            if ready:
                self.block.poke(s_axil_bready=0)
                return response
        raise TimeoutError(f"write to {address:#x} was not answered")

    def read(
        self, address: int, *, at_once: bool = False, each: Each | None = None
    ) -> tuple[int, int]:
        """One word: response, data."""
        ar, r = self._delays(at_once, 2)
        self.block.poke(s_axil_araddr=address)
        sent = False
        taken = None
        for n in range(_CYCLES):
            valid = not sent and n >= ar
            seen = self.block.peek("s_axil_rvalid")
            taken = n + r if seen and taken is None else taken
            ready = taken is not None and n >= taken
            self.block.poke(s_axil_arvalid=valid, s_axil_rready=ready)
            if each:
                each(n)
            got = self.block.peek("s_axil_rresp"), self.block.peek("s_axil_rdata")
            sent |= bool(valid and self.block.peek("s_axil_arready"))
            self.block.tick()
            if ready:
                self.block.poke(s_axil_rready=0)
                return got
        raise TimeoutError(f"read of {address:#x} was not answered")

    def _delays(self, at_once: bool, count: int) -> list[int]:
        return [0 if at_once else self.rng.choice((0, 0, 0, 0, 2)) for _ in range(count)]
