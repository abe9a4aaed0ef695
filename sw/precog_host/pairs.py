"""Queue pairs of a device as an operator has them: enabled, changed, and taken away again."""

from collections.abc import Iterable, Iterator

from precog_spec.registers.model import resets
from precog_spec.registers.qp import QP_CONFIG

from .device import Device
from .driver.qp import QpStatus

__all__ = ["add", "change", "first_law", "remove", "states"]


def first_law(device: Device) -> str:
    """The law of a queue pair for which none is named: timely, or pid without a law engine."""
    return "timely" if device.law is not None else "pid"


def add(
    device: Device,
    numbers: Iterable[int],
    *,
    algorithm: str | None = None,
    preset: str = "precog",
    model_slot: int | None = None,
) -> None:
    """Enable slots; each starts anew.

    Parameters
    ----------
    algorithm : str, optional
        A law; `first_law` if not given.

    Raises
    ------
    ValueError
        A slot does not exist or is enabled already, a slot of the law engine has no program, or a
        value does not fit; nothing is changed then.
    DeviceError
        The device refused.
    """
    wanted = list(dict.fromkeys(numbers))
    for number in wanted:
        if device.qp(number).status().enable:
            raise ValueError(
                f"QP {number} must not be enabled already: change it with precog cc algo set, or "
                f"take it away first with precog qp del {number}"
            )
    law = algorithm or first_law(device)
    _check_law(device, law)
    planned = [
        device.qp(number).planned(preset=preset, enable=True, algorithm=law, model_slot=model_slot)
        for number in wanted
    ]
    for number, config in zip(wanted, planned, strict=True):
        device.qp(number).apply(config)


def change(
    device: Device,
    numbers: Iterable[int],
    *,
    algorithm: str,
    preset: str | None = None,
    model_slot: int | None = None,
) -> None:
    """Give other laws to queue pairs that are enabled; each starts anew.

    Raises
    ------
    ValueError
        A slot does not exist or is not enabled, a slot of the law engine has no program, or a value
        does not fit; nothing is changed then.
    DeviceError
        The device refused.
    """
    wanted = list(dict.fromkeys(numbers))
    _check_enabled(device, wanted)
    _check_law(device, algorithm)
    planned = [
        device.qp(number).planned(preset=preset, algorithm=algorithm, model_slot=model_slot)
        for number in wanted
    ]
    for number, config in zip(wanted, planned, strict=True):
        device.qp(number).apply(config)


def remove(device: Device, numbers: Iterable[int]) -> None:
    """Disable slots, take their connections, and bring their rows to what they were at reset.

    Raises
    ------
    ValueError
        A slot does not exist, or is neither enabled nor bound; nothing is changed then.
    DeviceError
        The device refused.
    """
    wanted = list(dict.fromkeys(numbers))
    bound = device.packet.used() if device.packet is not None else set()
    _check_enabled(device, [number for number in wanted if number not in bound])
    for number in wanted:
        device.qp(number).apply(resets(QP_CONFIG))
        if device.forecast is not None:
            device.forecast.configure(number, off=True, source="none")
        if device.packet is not None and number in bound:
            device.packet.unbind(number)


def states(device: Device) -> Iterator[QpStatus]:
    """All queue pairs that are enabled."""
    for number in range(device.sizes.qps):
        state = device.qp(number).status()
        if state.enable:
            yield state


def _check_law(device: Device, name: str) -> None:
    """A slot without a program would have its queue pairs run the safe law, unasked."""
    for one in device.law.slots() if device.law is not None else ():
        if name == f"law:{one.slot}" and one.law is None:
            raise ValueError(
                f"law slot {one.slot} must have a program, not none: load one with precog law load "
                f"LAW --slot {one.slot}"
            )


def _check_enabled(device: Device, numbers: Iterable[int]) -> None:
    for number in numbers:
        if not device.qp(number).status().enable:
            raise ValueError(f"QP {number} must be enabled: precog qp add {number}")
