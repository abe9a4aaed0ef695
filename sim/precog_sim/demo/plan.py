"""How large a demo is: the real one, and a small one that tests can afford."""

from dataclasses import dataclass

__all__ = ["PLANS", "Plan", "plan"]


@dataclass(frozen=True)
class Plan:
    """Sizes of a demo.

    Parameters
    ----------
    data : str
        Plan of `precog_sim.collect`.
    recipe : str
        Training preset of the model that is loaded.
    incast : str
        Preset of `network.INCASTS`.
    seeds : int
        Start-jitter seeds behind every table.
    pairs : int
        Seeds of the incast with prediction off and on.
    vectors : int
        Predictions compared between RTL and golden outside the loop.
    config : str
        Preset of `NicConfig`: the RTL in the loop.
    loop_seed, train_seed : int
        Seed of the run with the RTL, and of the training.
    """

    data: str = "precog"
    recipe: str = "precog"
    incast: str = "thesis"
    seeds: int = 20
    pairs: int = 10
    vectors: int = 100_000
    config: str = "predict64"
    loop_seed: int = 0
    train_seed: int = 1


PLANS: dict[str, Plan] = {
    "full": Plan(),
    "smoke": Plan(
        data="smoke",
        recipe="thesis",
        incast="hundredth",
        seeds=2,
        pairs=2,
        vectors=2_000,
        config="lanes16",
    ),
}


def plan(name: str) -> Plan:
    """The plan of that name.

    Raises
    ------
    ValueError
        There is none.
    """
    if name not in PLANS:
        raise ValueError(f"demo plan must be one of {', '.join(PLANS)}, not {name!r}")
    return PLANS[name]
