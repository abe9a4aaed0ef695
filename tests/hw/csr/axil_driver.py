"""AXI4-Lite accesses in a pysim test bench."""

from typing import Any

OKAY, SLVERR = 0, 2
TIMEOUT_CYCLES = 100


async def write(
    ctx: Any,
    axil: Any,
    addr: int,
    data: int,
    *,
    strb: int = 0xF,
    aw_delay: int = 0,
    w_delay: int = 0,
    b_delay: int = 0,
) -> int:
    """Write one word, each channel after its own delay in cycles; the response code."""
    ctx.set(axil.awaddr, addr)
    ctx.set(axil.wdata, data)
    ctx.set(axil.wstrb, strb)
    sent = {"aw": False, "w": False}
    answered_at: int | None = None
    for cycle in range(TIMEOUT_CYCLES):
        ctx.set(axil.awvalid, not sent["aw"] and cycle >= aw_delay)
        ctx.set(axil.wvalid, not sent["w"] and cycle >= w_delay)
        if ctx.get(axil.bvalid) and answered_at is None:
            assert all(sent.values()), "response before the request"
            answered_at = cycle
        ready = answered_at is not None and cycle - answered_at >= b_delay
        ctx.set(axil.bready, ready)
        awv, awr, wv, wr, bv, br, resp = await _sample(
            ctx,
            axil.awvalid,
            axil.awready,
            axil.wvalid,
            axil.wready,
            axil.bvalid,
            axil.bready,
            axil.bresp,
        )
        sent["aw"] |= bool(awv and awr)
        sent["w"] |= bool(wv and wr)
        if bv and br:
            ctx.set(axil.bready, 0)
            return int(resp)
    raise TimeoutError(f"write to {addr:#x} was not answered")


async def read(ctx: Any, axil: Any, addr: int, *, r_delay: int = 0) -> tuple[int, int]:
    """Read one word; (response code, data)."""
    ctx.set(axil.araddr, addr)
    sent = False
    answered_at: int | None = None
    for cycle in range(TIMEOUT_CYCLES):
        ctx.set(axil.arvalid, not sent)
        if ctx.get(axil.rvalid) and answered_at is None:
            answered_at = cycle
        ctx.set(axil.rready, answered_at is not None and cycle - answered_at >= r_delay)
        arv, arr, rv, rr, resp, data = await _sample(
            ctx, axil.arvalid, axil.arready, axil.rvalid, axil.rready, axil.rresp, axil.rdata
        )
        sent |= bool(arv and arr)
        if rv and rr:
            ctx.set(axil.rready, 0)
            return int(resp), int(data)
    raise TimeoutError(f"read of {addr:#x} was not answered")


async def _sample(ctx: Any, *signals: Any) -> tuple[Any, ...]:
    result = await ctx.tick().sample(*signals)
    return tuple(result[2:])
