"""The place at which a law's function ended with an exception.

Compiled code says only that it did. The function is called once more, in Python, on the event that
the flow's row still has; Python names the line. Telemetry is gone with its packet.
"""

import sys
import traceback
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.congestion import LawSetup
from precog_sim.network.program import EVENT, EVENT_WORDS, EVENTS, TELEMETRY, word
from precog_sim.network.program_loops import MOST_TURNS, EndlessLoopError, counting

__all__ = ["why_failed"]


def why_failed(setup: LawSetup, row: NDArray[np.float64]) -> str:
    """Say which function of a law failed, and where and why if that shows again.

    Parameters
    ----------
    setup : LawSetup
    row : ndarray of float64
        The flow's event and state as the failed call left them.
    """
    law = setup.program
    assert law is not None
    name = list(EVENTS)[int(row[word("window")])]
    function = law.python[name]
    again = row.copy()
    again[word("rate")] = again[word("max_rate")]
    words = law.state.itemsize // 8
    state = again[EVENT_WORDS : EVENT_WORDS + words].view(law.state)
    told = [np.zeros(1, TELEMETRY)][: function.__code__.co_argcount - 3]
    tables = (setup.parameters, state, again[:EVENT_WORDS].view(EVENT), *told)
    rule, place = "keep every index within its array, end its loops, and raise nothing", ""
    tracer = sys.gettrace()
    sys.settrace(counting(function.__code__.co_filename))
    try:
        function(*(table.view(np.recarray)[0] for table in tables))
    except Exception as error:
        frames = [
            one
            for one in traceback.extract_tb(error.__traceback__)
            if one.filename == function.__code__.co_filename
        ]
        why = str(error)
        if isinstance(error, EndlessLoopError):
            rule = f"end its loops within {MOST_TURNS:,} turns"
            why = "give it a bound, such as `for turn in range(50)`"
        if frames:
            text = f", `{frames[-1].line}`," if frames[-1].line else ""
            file = Path(frames[-1].filename).name
            place = f"; line {frames[-1].lineno} of {file}{text} does not: {why}"
    finally:
        sys.settrace(tracer)
    return f"law {law.name}: {name} must {rule}{place}"
