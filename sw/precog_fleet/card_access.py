"""How an agent reads and sets a device as a whole: scale, what models share, all counters."""

from precog_host.device import Device
from precog_models.contract import PROFILE_CENTER, PROFILE_GAIN, PROFILE_INPUTS, HeadKind
from precog_models.forecast.forecaster import Settings

from .observing import Scale

__all__ = ["all_counters", "apply_settings", "scale_of"]

_PARTS = {"center": PROFILE_CENTER, "gain": PROFILE_GAIN}


def scale_of(device: Device) -> Scale:
    """How a device with a queue profiler measures now."""
    assert device.queues is not None
    values = device.queues.parameters()
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
    assert device.forecasting is not None
    assert device.queues is not None
    scale = settings.normaliser
    values = {"center": scale.centers, "gain": scale.gains}
    wanted = {
        f"{name}_{part}": value / _PARTS[part].one
        for part, numbers in values.items()
        for name, value in zip(PROFILE_INPUTS, numbers, strict=True)
    }
    shown = device.queues.parameters()
    changed = any(shown[name] != value for name, value in wanted.items())
    if changed:
        device.queues.set_parameters(**wanted)
    if (device.forecasting.knots(HeadKind.QUEUE) != settings.knots).any():
        device.forecasting.set_knots(HeadKind.QUEUE, settings.knots)
    if device.forecasting.parameters()["threshold_bin"] != settings.threshold_bin:
        device.forecasting.set_parameters(threshold_bin=settings.threshold_bin)
    return changed


def all_counters(device: Device) -> dict[str, int]:
    """Every counter of one instant, by a name such as ``packet.events.icrc_bad``."""
    with device.one_instant():
        return _counted(device)


def _counted(device: Device) -> dict[str, int]:
    found = {f"core.{name}": value for name, value in device.counters().items()}
    for name, part in (
        ("queues", device.queues),
        ("forecasts", device.forecasting),
        ("pacer", device.pacing),
        ("waiting", device.waiting),
    ):
        if part is not None:
            found |= {f"{name}.{event}": value for event, value in part.counters().items()}
    if device.tracing is not None:
        traced = device.tracing.state().counters
        found |= {f"trace.{event}": value for event, value in traced.items()}
    if device.packets is not None:
        for table, events in device.packets.counters().items():
            found |= {f"packet.{table}.{event}": value for event, value in events.items()}
    return found
