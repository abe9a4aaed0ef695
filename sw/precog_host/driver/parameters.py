"""Parameters that all queue pairs share, in real units, and presets of them."""

from collections.abc import Mapping

from precog_models.law_presets import ALL_PRESETS
from precog_models.presets import law_preset
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
        timely: str | None = None,
        dcqcn: str | None = None,
        psched: str | None = None,
        **values: float,
    ) -> None:
        """Set some parameters, in real units, after all of the presets that are given.

        Parameters
        ----------
        preset : str, optional
            Of pid and predpid (`precog_models.presets`).
        timely, dcqcn, psched : str, optional
            Of those laws and of the predictive scheduler (`precog_models.law_presets`).
        **values
            By the names that `read` shows.

        Raises
        ------
        ValueError
            As `planned`; nothing is written then.
        """
        self.write(self.planned(preset, timely=timely, dcqcn=dcqcn, psched=psched, **values))

    def write(self, words: Mapping[tuple[str, str], Mapping[str, int]]) -> None:
        """Write what `planned` returned."""
        for (block, register), word in words.items():
            self._registers.write_fields(block, register, **word)

    def planned(
        self,
        preset: str | None = None,
        /,
        *,
        timely: str | None = None,
        dcqcn: str | None = None,
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
        integers = self._presets(preset, timely=timely, dcqcn=dcqcn, psched=psched)
        unknown = sorted(integers.keys() - {field.name for _, _, field in known.values()})
        if unknown and self._registers.sizes.law_cores:
            law = unknown[0].split("_")[0]
            raise ValueError(
                f"parameters of {law} come with its program on this device (law_cores is not 0): "
                f"precog law load {law} --preset <name>"
            )
        if unknown:
            raise ValueError(
                f"device must have timely, dcqcn and psched for a preset of theirs, but it has no "
                f"{unknown[0]} (built with laws=0)"
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

    def _presets(self, preset: str | None, **of_laws: str | None) -> dict[str, int]:
        """Field name to integer, of the presets that are given."""
        integers: dict[str, int] = {}
        if preset is not None:
            integers |= law_preset(preset).parameters(self._tick_ps)
        for law, name in of_laws.items():
            presets = ALL_PRESETS[law]
            if name is None:
                continue
            if name not in presets:
                raise ValueError(f"{law} preset must be one of {', '.join(presets)}, not {name!r}")
            values = presets[name].parameters(self._tick_ps)
            integers |= {f"{law}_{field}": value for field, value in values.items()}
        return integers
