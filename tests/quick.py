"""The smoke tests of ``make quick``: one for each block.

``python -m tests.quick`` runs them. ``tests/test_quick.py`` fails if a block has none.
"""

import sys
from pathlib import Path

__all__ = ["HARDWARE", "MODELS", "SOFTWARE", "chosen"]

_ROOT = Path(__file__).parents[1]

#: Folder or module of ``precog_hw``: a test of it. The store's is Verilated.
HARDWARE = {
    "adapters": "adapters/test_lookup_window.py",
    "boards": "boards/test_ecp5.py",
    "bridge": "bridge/test_serial.py",
    "compose": "compose/test_missed.py",
    "corundum": "corundum/test_interface.py",
    "csr": "csr/test_bus_share.py",
    "fixed": "test_fixed.py",
    "latest": "test_latest.py",
    "mac": "mac/test_transmit.py::test_bytes_that_come_too_late",
    "measure": "measure/test_feature.py::test_exact_with_latency_and_lead",
    "micro": "micro/test_machine.py::test_sums_and_words",
    "pace": "pace/test_arithmetic.py",
    "packet": "packet/test_shim.py",
    "predict": "predict/test_carried.py::test_golden_replays_the_order",
    "rate": "rate/test_psched.py",
    "store": "store/test_packet_store.py::test_exact_whatever_comes",
    "stream": "stream/test_stream.py",
}

#: Folder of ``precog_models``: a test of it.
MODELS = {
    "bridge": "bridge/test_etherbone.py",
    "data": "data/test_trace.py",
    "forecast": "forecast/test_metrics.py",
    "importer": "importer/test_limits.py",
    "laws": "laws/test_refused.py",
    "measure": "measure/test_base_rtt.py",
    "nic": "test_nic.py::test_dropped_samples_change_nothing",
    "pace": "pace/test_pacer.py",
    "packet": "packet/test_icrc.py",
    "predict": "predict/test_ecc.py",
    "rate": "rate/test_window.py",
    "store": "store/test_packet_store.py",
    "train": "train/test_baselines.py",
}

#: Any other package: a test of it.
SOFTWARE = {
    "precog_spec": "spec/registers/test_precog.py",
    "precog_host": "sw/test_registers.py",
    "precog_fleet": "fleet/test_records.py",
    "precog_lab": "lab/test_parts.py::test_addresses",
    "precog_net": "net/test_topologies.py",
    "precog_sim": "sim/network/test_wheel.py",
    "precog_studies": "studies/test_rivals.py::test_jain_s_index",
}


def chosen() -> list[str]:
    """Paths of the chosen tests, from the root of the repository, as pytest takes them."""
    return [
        *(f"tests/hw/{test}" for test in HARDWARE.values()),
        *(f"tests/models/{test}" for test in MODELS.values()),
        *(f"tests/{test}" for test in SOFTWARE.values()),
    ]


if __name__ == "__main__":
    import pytest

    sys.exit(pytest.main([*sys.argv[1:], *(str(_ROOT / test) for test in chosen())]))
