"""How an agent reads and sets a device as a whole: scale, what models share, all counters."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from precog_host.device import Device
from precog_host.transport import DeviceError
from precog_models.forecast.forecaster import Settings
from precog_models.image import Image
from precog_models.tree_image import TreeImage
from precog_spec.contract import PROFILE_CENTER, PROFILE_GAIN, PROFILE_INPUTS, HeadKind

from .observing import Scale

__all__ = [
    "all_counters",
    "apply_settings",
    "begin_samples",
    "begin_trace",
    "fill_sets",
    "scale_of",
    "seat_pairs",
]

_PARTS = {"center": PROFILE_CENTER, "gain": PROFILE_GAIN}


def begin_samples(device: Device, period_us: float) -> None:
    """Let a device sample its queues, every `period_us` if it takes no samples yet.

    Raises
    ------
    DeviceError
        It has no trace, forecasts or queue profiler.
    """
    if device.trace is None or device.forecast is None or device.profiler is None:
        raise DeviceError(
            "agent needs trace, forecasts and queue profiler: build the device with "
            "trace=1,forecast=1,profile=1, or name an emulated one so, as in "
            "emu:trace=1,forecast=1,profile=1"
        )
    if not device.profiler.parameters()["period_us"]:
        device.profiler.set_parameters(period_us=period_us)


def begin_trace(device: Device) -> None:
    """Let a device record what an agent reads: every decision and forecast."""
    assert device.trace is not None
    device.trace.configure(kinds=("decision", "forecast"), all_qps=True, every=1)


def fill_sets(
    device: Device, name: str, images: Sequence[Image | TreeImage], kept: AbstractSet[int]
) -> list[int]:
    """Load images into sets that no slot stands for; the sets, in their order.

    Parameters
    ----------
    name : str
        The device's, for errors.
    kept : set of int
        Sets that must stay as they are.

    Raises
    ------
    ValueError
        The device has too few sets, or cannot run such a model; nothing is written then.
    """
    for image in images:
        if image.header.steps > device.sizes.steps:
            raise ValueError(
                f"steps must be at most {device.sizes.steps}, not {image.header.steps}"
            )
        if isinstance(image, TreeImage) != bool(device.sizes.tree):
            raise ValueError(f"{name} must run models of the other kind of cell")
    free = [m.set for m in device.model.sets() if not m.slots and m.set not in kept]
    if len(free) < len(images):
        raise ValueError(f"{name} must have {len(images)} free sets, not {len(free)}")
    for number, image in zip(free, images, strict=False):
        device.model.write_set(number, image.payload)
    return free[: len(images)]


def seat_pairs(device: Device, slots: Mapping[int, int]) -> None:
    """Let queue pairs name slots of queue models; nothing is written where they do already."""
    assert device.forecast is not None
    for qp, slot in slots.items():
        if device.forecast.pair(qp).model_slot != slot:
            device.forecast.configure(qp, model_slot=slot)


def scale_of(device: Device) -> Scale:
    """How a device with a queue profiler measures now."""
    assert device.profiler is not None
    values = device.profiler.parameters()
    scales = [
        [int(values[f"{name}_{part}"] * fmt.one) for name in PROFILE_INPUTS]
        for part, fmt in _PARTS.items()
    ]
    period = round(values["period_us"] * 1e6 / device.tick_ps)
    return Scale(max(1, period), device.tick_ps, *scales)


def apply_settings(device: Device, settings: Settings) -> bool:
    """Write what queue models share, where it differs; whether the scale has changed.

    These are normalisation, calibration and the first bin of congestion.
    """
    assert device.forecast is not None
    assert device.profiler is not None
    scale = settings.normaliser
    values = {"center": scale.centers, "gain": scale.gains}
    wanted = {
        f"{name}_{part}": value / _PARTS[part].one
        for part, numbers in values.items()
        for name, value in zip(PROFILE_INPUTS, numbers, strict=True)
    }
    shown = device.profiler.parameters()
    changed = any(shown[name] != value for name, value in wanted.items())
    if changed:
        device.profiler.set_parameters(**wanted)
    if (device.forecast.knots(HeadKind.QUEUE) != settings.knots).any():
        device.forecast.set_knots(HeadKind.QUEUE, settings.knots)
    if device.forecast.parameters()["threshold_bin"] != settings.threshold_bin:
        device.forecast.set_parameters(threshold_bin=settings.threshold_bin)
    return changed


def all_counters(device: Device) -> dict[str, int]:
    """Every counter of one instant, by a name such as ``packet.events.icrc_bad``."""
    with device.one_instant():
        return _counted(device)


def _counted(device: Device) -> dict[str, int]:
    found = {f"core.{name}": value for name, value in device.counters().items()}
    for name, part in (
        ("queues", device.profiler),
        ("forecasts", device.forecast),
        ("pacer", device.pacer),
        ("waiting", device.wire),
    ):
        if part is not None:
            found |= {f"{name}.{event}": value for event, value in part.counters().items()}
    if device.trace is not None:
        traced = device.trace.state().counters
        found |= {f"trace.{event}": value for event, value in traced.items()}
    if device.packet is not None:
        for table, events in device.packet.counters().items():
            found |= {f"packet.{table}.{event}": value for event, value in events.items()}
    return found
