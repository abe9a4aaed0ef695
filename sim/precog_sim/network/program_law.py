"""Plug-ins of law programs, and of several laws in one run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.congestion import CongestionControl, LawSetup, LinkFacts
from precog_sim.network.ecn import Ecn
from precog_sim.network.law_tables import Laws
from precog_sim.network.layout import Window
from precog_sim.network.program import Program, program
from precog_sim.network.program_integer import integer_program

__all__ = ["Mixed", "Programmed"]

#: Marking for laws that hear of notifications and say nothing of marks: DCQCN, SIGCOMM 2015.
_NOTIFIED = Ecn(5_000, 200_000, 0.01)
_SOME_LINK = LinkFacts(1e8, 1e11, 4000.0, 1000, whole_bps=False)


@dataclass(frozen=True)
class Programmed(CongestionControl):
    """A law program (`program`).

    Parameters
    ----------
    module : module, str or Path
        The program; or a law of `precog_models.laws` by its name, or a file of that language.
    preset : str, optional
        A name in its ``PRESETS``.
    values : dict of str to float
        Parameters that differ from the preset's.

    Raises
    ------
    ValueError
        The module is no program, or the preset or a parameter is none of its.
    """

    retime: bool = True
    module: ModuleType | str | Path = ""
    preset: str | None = None
    values: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window != "none":
            raise ValueError(f"window must be the program's own (WINDOWED), not {self.window!r}")
        self.program.record(self.values, self.preset)

    @property
    def program(self) -> Program:
        """The compiled law."""
        if isinstance(self.module, ModuleType):
            return program(self.module)
        return integer_program(self.module)

    @property
    def label(self) -> str:
        """Name for tables."""
        return self.program.name

    def __repr__(self) -> str:
        return f"Programmed({self.label}, {self.start_gbps}, {self.preset}, {self.values})"

    def setup(self, link: LinkFacts) -> LawSetup:
        """The kernel's view of the plug-in."""
        settings = self.program.settings
        marking = settings["MARKING_BDP"]
        ecn = _NOTIFIED if settings["CNP_US"] > 0 else None
        if marking is not None:
            low, high = (int(share * link.bdp) for share in marking[:2])
            ecn = Ecn(low, high, marking[2])
        values = self.program.with_facts(self.values, link.facts)
        return LawSetup(
            self.program,
            self.program.record(values, self.preset),
            header=settings["HEADER"],
            ack_bytes=settings["ACK_BYTES"],
            window=Window.OWN if settings["WINDOWED"] else Window.NONE,
            retime=self.retime,
            cnp_us=settings["CNP_US"],
            ecn=ecn,
        )


@dataclass(frozen=True, eq=False)
class Mixed(CongestionControl):
    """Several laws in one run.

    Parameters
    ----------
    laws : sequence of CongestionControl
    of : sequence of int
        Each flow's law, by its place.

    Raises
    ------
    ValueError
        There is no law, `of` names one that is not there, or they cannot be in one run.
    """

    laws: Sequence[CongestionControl] = ()
    of: Sequence[int] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.laws:
            raise ValueError("laws must be at least one, not none")
        wrong = [k for k in self.of if not 0 <= k < len(self.laws)]
        if wrong:
            raise ValueError(f"law of a flow must be in 0..{len(self.laws) - 1}, not {wrong[0]}")
        setups = [law.setup(_SOME_LINK) for law in self.laws]
        Laws(setups, np.array(self.of, dtype=np.int64), [None] * len(setups))  # they fit together

    @property
    def label(self) -> str:
        """Name for tables."""
        return "+".join(law.label for law in self.laws)

    def parts(self, flows: int) -> tuple[tuple[CongestionControl, ...], NDArray[np.int64]]:
        """The laws, and each flow's.

        Raises
        ------
        ValueError
            There is not one law per flow.
        """
        if len(self.of) != flows:
            raise ValueError(f"laws must be one for each of {flows} flows, not {len(self.of)}")
        return tuple(self.laws), np.array(self.of, dtype=np.int64)

    def start_rates(self, top: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rates of the flows at their start; `top` are their links', all in bit/s."""
        of = np.array(self.of, dtype=np.int64)
        every = np.array([law.start_rates(top) for law in self.laws])
        return np.asarray(every[of, np.arange(len(of))])
