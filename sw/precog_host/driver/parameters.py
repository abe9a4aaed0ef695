"""Parameters that all queue pairs share, in real units, and presets of them."""

from collections.abc import Mapping

from precog_models.presets import law_preset
from precog_models.psched_presets import PSCHED_PRESETS
from precog_spec.registers.model import Field

from ..registers import Registers
from ..units import from_real, real_name, to_real

__all__ = ["ParametersDriver"]


class ParametersDriver:
    """The fields of the device's parameter blocks under the names that users see.

    Parameters
    ----------
    registers : Registers
    """

    def __init__(self, registers: Registers) -> None:
        self._registers = registers
        self._tick_ps = registers.identity.tick_ps

    def _known(self) -> dict[str, tuple[str, str, Field]]:
        """Presented name: (block, register, field)."""
        return {
            real_name(field): (block, register.name, field)
            for block in self._registers.sizes.parameter_blocks
            for register in self._registers.registers(block)
            for field in register.fields
        }

    def read(self) -> dict[str, float | int]:
        """Parameters that all queue pairs share, in real units."""
        return {
            name: to_real(field, self._registers.fields(block, register)[field.name], self._tick_ps)
            for name, (block, register, field) in self._known().items()
        }

    def set(
        self,
        preset: str | None = None,
        /,
        *,
        psched: str | None = None,
        **values: float,
    ) -> None:
        """Set some parameters, in real units, after all of the presets that are given.

        Parameters
        ----------
        preset : str, optional
            Of pid and predpid (`precog_models.presets`).
        psched : str, optional
            Of the predictive scheduler (`precog_models.psched_presets`).
        **values
            By the names that `read` shows.

        Raises
        ------
        ValueError
            As `planned`; nothing is written then.
        """
        self.write(self.planned(preset, psched=psched, **values))

    def write(self, words: Mapping[tuple[str, str], Mapping[str, int]]) -> None:
        """Write what `planned` returned."""
        for (block, register), word in words.items():
            self._registers.write_fields(block, register, **word)

    def planned(
        self,
        preset: str | None = None,
        /,
        *,
        psched: str | None = None,
        **values: float,
    ) -> dict[tuple[str, str], dict[str, int]]:
        """The fields by block and register that `set` would write, checked.

        Raises
        ------
        ValueError
            A name is unknown or a value does not fit.
        """
        known = self._known()
        integers = self._presets(preset, psched)
        unknown = sorted(integers.keys() - {field.name for _, _, field in known.values()})
        if unknown:
            raise ValueError(
                f"device must have psched for a preset of it, but it has no {unknown[0]} "
                "(built with laws=0)"
            )
        writes: dict[tuple[str, str], dict[str, int]] = {}
        for block, register, field in known.values():
            if field.name in integers:
                writes.setdefault((block, register), {})[field.name] = integers[field.name]
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"parameter {name!r} must be one of {', '.join(known)}")
            block, register, field = known[name]
            word = writes.setdefault((block, register), self._registers.fields(block, register))
            word[field.name] = from_real(field, value, self._tick_ps)
        return writes

    def _presets(self, preset: str | None, psched: str | None) -> dict[str, int]:
        """Field name to integer, of the presets that are given."""
        integers: dict[str, int] = {}
        if preset is not None:
            integers |= law_preset(preset).parameters(self._tick_ps)
        if psched is not None:
            if psched not in PSCHED_PRESETS:
                known = ", ".join(PSCHED_PRESETS)
                raise ValueError(f"psched preset must be one of {known}, not {psched!r}")
            values = PSCHED_PRESETS[psched].parameters(self._tick_ps)
            integers |= {f"psched_{field}": value for field, value in values.items()}
        return integers
