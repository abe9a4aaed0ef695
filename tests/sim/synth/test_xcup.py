"""Options of the area on UltraScale+: what would be ignored is refused."""

import pytest

from precog_sim.synth import xcup


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--block", "pacer", "--preset", "tiny"], "--preset: not allowed with argument --block"),
        (
            ["--engine", "corundum-100g", "--block", "pacer"],
            "--block: not allowed with argument --engine",
        ),
        (["--engine", "tiny"], "--engine: invalid choice: 'tiny' (choose from"),
    ],
)
def test_refused(arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        xcup.main(arguments)
    assert error in capsys.readouterr().err
