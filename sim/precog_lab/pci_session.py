"""What a driver does with a card, from the first look on; the same inside a guest and outside.

Run as a program it opens a device by its URI and prints what it found as one line of JSON. Nothing
in the result depends on the speed of the card.
"""

import json
import random
import sys
import zlib
from dataclasses import asdict
from typing import Any

from precog_host import pairs
from precog_host.device import Device
from precog_host.transport import DeviceError
from precog_spec.registers.model import Access, Register, RegisterMap
from precog_spec.registers.precog import build_map

__all__ = ["session"]

_PEER = "10.0.0.2"
_SLOTS = (0, 1, 3)
_SCORE = 40
_CAUSE = "icrc"
_ALL = 0xFFFF_FFFF
_SEED = 1


def session(device: Device) -> dict[str, Any]:
    """Bring the card up, try each register that keeps what is written, use the driver.

    Parameters
    ----------
    device : Device
        Fresh from reset, with a packet path and laws.
    """
    assert device.packet is not None
    regmap = build_map(device.sizes, device.identity)
    found: dict[str, Any] = {
        "identity": asdict(device.identity),
        "sizes": asdict(device.sizes),
        "at_rest": _digest(device, regmap),
    }
    found["words"], found["lost"] = _bash(device, regmap)
    pairs.add(device, _SLOTS)
    for slot in _SLOTS:
        device.packet.bind(slot, _PEER, remote_qp=0x100 + slot, local_qp=0x200 + slot)
        device.packet.set_score(slot, _SCORE + slot)
    found["bindings"] = [str(one) for one in device.packet.bindings()]
    found["states"] = [str(one) for one in pairs.states(device)]
    found["counters"] = device.counters()
    device.interrupt.enable([_CAUSE])
    device.interrupt.bring_up([_CAUSE])
    found["raised"] = asdict(device.interrupt.state())
    device.interrupt.clear(device.interrupt.causes)
    found["cleared"] = asdict(device.interrupt.state())
    device.interrupt.enable([])
    pairs.remove(device, _SLOTS)
    found["in_the_end"] = _digest(device, regmap)
    return found


def _digest(device: Device, regmap: RegisterMap) -> int:
    """CRC-32 of all words that hardware does not move."""
    moving = {
        f"{word.block.name}.{word.register.name}"
        for word in regmap.words()
        if word.register is not None and not word.table and _moves(word.register)
    }
    rows = [row for row in device.registers.dump() if row[1] not in moving]
    return zlib.crc32(repr(rows).encode())


def _moves(register: Register) -> bool:
    """Time alone may change it."""
    return register.volatile or any(one.name == "busy" for one in register.fields)


def _bash(device: Device, regmap: RegisterMap) -> tuple[int, list[str]]:
    """How many words kept what they should of a random pattern and its inverse; those that lost."""
    rng = random.Random(_SEED)
    read, write = device.transport.read32, device.transport.write32
    words, lost = 0, []
    for word in regmap.words():
        if word.register is None or word.table or word.register.mask(Access.PULSE, Access.W1C):
            continue
        mask = word.register.mask(Access.RW)
        if not mask:
            continue
        words += 1
        before = read(word.address)
        pattern = rng.getrandbits(32)
        for value in (pattern, pattern ^ _ALL):
            write(word.address, value)
            if (read(word.address) ^ value) & mask:
                lost.append(word.name)
        write(word.address, before)
    return words, lost


def main() -> None:
    """Print the session with the device of the first argument; exit status 2 if it fails."""
    if "--help" in sys.argv:
        print(__doc__)
        return
    try:
        with Device.open(sys.argv[1]) as device:
            print(json.dumps(session(device), sort_keys=True))
    except DeviceError as error:
        print(f"error: {error}")
        sys.exit(2)


if __name__ == "__main__":
    main()
