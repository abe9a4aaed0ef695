"""No control: every queue pair keeps its initial rate."""

from .language import Record, clamp

__all__ = ["PARAMETERS", "STATE", "WINDOWED"]

PARAMETERS = ()
STATE = ()
WINDOWED = False


def on_sample(p: Record, s: Record, e: Record) -> int:
    """The initial rate, whatever happened."""
    return clamp(e.init_rate, e.min_rate, e.max_rate)


on_ack = on_sample
on_cnp = on_sample
on_loss = on_sample
on_timer = on_sample
on_score = on_sample
