"""Mutants that no test can notice, and why: they do what the block does."""

__all__ = ["EXPLAINED", "explanation"]

#: By file, the line as it was and as it is.
EXPLAINED: dict[tuple[str, str, str], str] = {
    (
        "hw/precog_hw/packet/checksum.py",
        "ip_checksum.i.eq(_not(ip_sum[:16] + ip_sum[16:])),",
        "ip_checksum.i.eq(_not(ip_sum[:17] + ip_sum[16:])),",
    ): "the complement takes 16 bits: a 17th of one summand changes none of them",
    (
        "hw/precog_hw/stream/queue.py",
        "m.d.sync += [out.eq(read.data), valid.eq(1)]",
        "m.d.sync += [out.eq(read.data), []]",
    ): "while a row waits the output is valid",
    (
        "models/precog_models/measure/rtt_collector.py",
        "if beyond >= _PSN_HALF:  # the timed PSN is not acknowledged",
        "if beyond > _PSN_HALF:  # the timed PSN is not acknowledged",
    ): "a PSN half of all away has been refused before, as stale or as never sent",
    (
        "models/precog_models/packet/cps_rx.py",
        "return ShimFault.LENGTH, None, 0",
        "return ShimFault.LENGTH, None, 1",
    ): "whether the score of a refused shim was clamped has no effect",
}


def explanation(file: str, old: str, new: str) -> str:
    """Why this mutant is none, or nothing."""
    return EXPLAINED.get((file, old, new), "")
