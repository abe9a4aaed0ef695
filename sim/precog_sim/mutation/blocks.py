"""The blocks of the campaign: a file, and what must notice a mistake in it.

Of a block of gateware these are its tests, which compare with the golden model, then its proofs. Of
a golden model they are its own tests alone: those of the gateware would notice a mistake in one of
both, not the same in both.
"""

from dataclasses import dataclass

__all__ = ["BLOCKS", "Block"]


@dataclass(frozen=True)
class Block:
    """One file.

    Attributes
    ----------
    name : str
    file : str
    tests : tuple of str
        Arguments of pytest.
    proofs : tuple of str
        Names or patterns of `precog_sim.formal`, asked of what the tests let pass.
    """

    name: str
    file: str
    tests: tuple[str, ...]
    proofs: tuple[str, ...] = ()


_HW, _MODELS = "hw/precog_hw", "models/precog_models"
BLOCKS = (
    Block(
        "queue", f"{_HW}/stream/queue.py", ("tests/hw/stream/test_stream.py",), ("queue.bounded",)
    ),
    Block(
        "arbiter",
        f"{_HW}/stream/packet_arbiter.py",
        ("tests/hw/stream/test_packet_arbiter.py",),
        ("arbiter.turns.8", "arbiter.burst.8"),
    ),
    Block(
        "checksum",
        f"{_HW}/packet/checksum.py",
        ("tests/hw/packet/test_checksum.py",),
        ("checksum.*.lengths", "checksum.*.last"),
    ),
    Block(
        "rtt",
        f"{_HW}/measure/rtt_collector.py",
        ("tests/hw/measure/test_rtt_collector.py",),
        ("samples.rules",),
    ),
    Block(
        "laws",
        f"{_HW}/rate/law_stage.py",
        ("tests/hw/rate/test_law_events.py", "tests/hw/rate/test_score_events.py"),
        ("laws.stage",),
    ),
    Block("psched", f"{_HW}/rate/psched.py", ("tests/hw/rate/test_psched.py",), ("psched.near",)),
    Block(
        "pace",
        f"{_HW}/pace/pipeline.py",
        ("tests/hw/pace/test_pacer.py", "tests/hw/pace/test_rates.py"),
        ("pace.any",),
    ),
    Block("axil", f"{_HW}/csr/axil.py", ("tests/hw/csr/test_bank.py",), ("axil.rules",)),
    Block(
        "rtt golden",
        f"{_MODELS}/measure/rtt_collector.py",
        ("tests/models/measure/test_rtt_collector.py", "tests/models/packet/test_opcodes.py"),
    ),
    Block("pid golden", f"{_MODELS}/rate/pid.py", ("tests/models/rate/test_pid.py",)),
    Block("score golden", f"{_MODELS}/packet/cps_rx.py", ("tests/models/packet/test_cps.py",)),
)
