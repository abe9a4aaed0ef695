"""What a Verilated NIC does most: ``python -m precog_sim.rtl.practice LIBRARY``.

A hundredth of the incast with predictions, and with programs if there is a law engine. The library
counts where it goes meanwhile, and `compiling` has the compiler lay the code out by that.
"""

import sys
from pathlib import Path

from precog_host.device import Device
from precog_models.image import pretrained
from precog_sim.loop import LoopSetup, run_in_loop
from precog_sim.network import Record, incast

from .library import NicLibrary
from .transport import RtlTransport

__all__ = ["main", "practise"]

_PREDICTIONS, _EVENTS = 6, 1  # runs: predictions are what is waited for


def practise(library: Path) -> None:
    """Let the NIC in `library` make every decision of short incasts.

    Raises
    ------
    RtlError
        It broke its contract.
    """
    setups = [LoopSetup(image=pretrained())] * _PREDICTIONS
    setups += [LoopSetup(algorithm=law) for law in ("timely", "dcqcn")] * _EVENTS
    record = Record(log=False, packets=False, probe_us=0.0)
    for seed, setup in enumerate(setups):
        with Device(RtlTransport(NicLibrary(library))) as device:
            if setup.image is None and device.law is None:
                continue
            run_in_loop(device, setup, incast("hundredth"), seed=seed, record=record)


def main() -> int:
    """The command."""
    practise(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
