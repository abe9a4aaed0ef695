"""RTTs as hosts hear them: time stamps with noise, and a base that is learnt (`Hearing`)."""

from precog_models.measure.base_rtt import base_step
from precog_sim.network.control import Cfg
from precog_sim.network.draws import of_flow
from precog_sim.network.jit import outlined
from precog_sim.network.net import Net
from precog_sim.network.outside import ticks
from precog_sim.network.program import word

__all__ = ["heard"]

_BASE = word("base")
_LEAST_PS = 1000


@outlined
def heard(net: Net, f: int, rtt: int, now: int) -> int:
    """The RTT of `rtt` ps that the flow's law hears; its base, where it is learnt, follows."""
    noise = net.cfg[Cfg.NOISE_PS]
    if noise > 0:
        rtt += int((2 * of_flow(net, f) - 1) * noise)
        rtt = max(rtt, _LEAST_PS)
    if net.cfg[Cfg.BASE_LEARNT] != 0:
        net.state[f, _BASE] = base_step(net.learnt[f], ticks(rtt), ticks(now), 0)
    return rtt
