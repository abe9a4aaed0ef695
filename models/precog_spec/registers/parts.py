"""Which parts a device has, as the fields of its sizes say."""

from precog_spec.config import PACKET_PARTS

__all__ = ["built", "lacking"]


def lacking(sizes: object, part: str) -> str:
    """The field that keeps a part out of a device.

    Parameters
    ----------
    sizes : NicConfig
    part : str
        Name of the part's field; empty for what every device has.

    Returns
    -------
    str
        That field's name, `width` for a part of the packet path where there is none; empty if the
        device has the part.
    """
    fields = ("width", part) if part in PACKET_PARTS else (part,)
    return next((name for name in fields if name and not getattr(sizes, name)), "")


def built(sizes: object, part: str) -> bool:
    """Whether a device has a part; arguments as `lacking`."""
    return not lacking(sizes, part)
