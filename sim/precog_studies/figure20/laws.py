"""The laws of figure 20, as ``--law`` takes them, and the thesis' own three in the fabric.

The thesis' law runs as its program did (`Pid.thesis`): a fixed target of 5 us, gains that were
learnt on the incast, 10 Gb/s at a flow's start. Its adjuster (27)-(28) can only raise the target.
Its window is one bandwidth-delay product, as HPCC's authors gave TIMELY and DCQCN one.
"""

from functools import cache

from precog_models.image import Image, pretrained
from precog_sim.experiments import thesis_program
from precog_sim.network import Pid

__all__ = ["LAWS", "predpid", "predpid_rttch", "predpid_rttch_win"]

#: By the key in the record: the name for people, and the law. The last one is Precog's own.
LAWS: dict[str, tuple[str, str]] = {
    "predpid": ("PREDPID", f"{__name__}:predpid"),
    "predpid-rttch": ("PREDPID + RTTch", f"{__name__}:predpid_rttch"),
    "predpid-rttch-win": ("PREDPID + RTTch + WIN", f"{__name__}:predpid_rttch_win"),
    "timely": ("TIMELY", "timely"),
    "dcqcn": ("DCQCN", "dcqcn"),
    "hpcc": ("HPCC", "hpcc"),
    "dctcp": ("DCTCP", "dctcp"),
    "swift": ("Swift", "swift"),
    "theta-powertcp": ("θ-PowerTCP", "theta-powertcp"),
    "lockstep": ("lockstep, as cards run it", "card:lockstep"),
}


@cache
def _model() -> Image:
    return pretrained()


def predpid() -> Pid:
    """LSTM + PID with the fixed target."""
    return thesis_program(_model())


def predpid_rttch() -> Pid:
    """The same with the target adjuster of section 3.5.4."""
    return thesis_program(_model(), preset="thesis-rttch")


def predpid_rttch_win() -> Pid:
    """The same, and at most a bandwidth-delay product in flight."""
    return thesis_program(_model(), preset="thesis-rttch", window="bdp")
