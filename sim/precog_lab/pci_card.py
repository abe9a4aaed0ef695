"""A device's registers behind the BAR of a QEMU guest, through ``x-pci-proxy-dev``.

QEMU sends each access as a message and waits, its processor with it, for the answer. A bus that
refuses has no word for that on PCI: the guest reads all ones. Refusals are kept by name.
"""

import os
import selectors
import socket
import threading
from collections.abc import Callable

from precog_host.device import Device
from precog_host.transport import BusError
from precog_spec.registers.precog import build_map

from .pci_config import ConfigSpace
from .pci_messages import REFUSED, Access, Command, Message, MessageError, answer, receive

__all__ = ["PciCard"]

_WORD = 4
_KEPT = 20  # refusals that are kept; all are counted
_ONE = (1).to_bytes(8, "little")
_STALL_S = 5.0  # for the rest of a message that has begun


class PciCard:
    """One PCI function.

    Parameters
    ----------
    device : Device
        Its transport answers for the BAR.
    wire : callable, optional
        Told when the interrupt pin goes up or down. KVM listens on the descriptor of SET_IRQFD by
        itself; under emulation QEMU does not.

    Attributes
    ----------
    config : ConfigSpace
    lock : lock
        Held during an access, and by others who use the device.
    reads, writes, interrupts : int
        Words read and written; how often the pin went up.
    refused : int
        Messages and accesses that were refused.
    refusals : list of str
        The first of them, in words.
    """

    def __init__(self, device: Device, wire: Callable[[bool], None] = lambda _: None) -> None:
        self.device = device
        self.config = ConfigSpace(1 << build_map(device.sizes, device.identity).address_bits)
        self.lock = threading.RLock()
        self.reads = self.writes = self.interrupts = self.refused = 0
        self.refusals: list[str] = []
        self._wire = wire
        self._up = False
        self._intr: int | None = None
        self._resample: int | None = None

    def serve(self, channel: socket.socket) -> None:
        """Answer messages until the other end closes or says what this protocol does not have.

        The card can be served to another connection afterwards.
        """
        channel.settimeout(_STALL_S)
        with selectors.DefaultSelector() as selector:
            selector.register(channel, selectors.EVENT_READ)
            try:
                while True:
                    heard = {key.fileobj for key, _ in selector.select()}
                    if self._resample in heard:
                        self._resampled()
                    if channel not in heard:
                        continue
                    message = receive(channel)
                    if message is None:
                        return
                    if message.command is Command.SET_IRQFD:
                        self._connect(message, selector)
                    else:
                        self._handle(message, channel)
            except MessageError as error:
                self._refuse(str(error))
            except TimeoutError:
                self._refuse(f"message must be whole within {_STALL_S:.0f} s")
            except (BrokenPipeError, ConnectionResetError):
                return  # QEMU has gone
            finally:
                self._disconnect()

    def look(self) -> None:
        """The device may have raised or cleared an interrupt."""
        with self.lock:
            pending = bool(self.device.registers.fields("INTERRUPT", "STATE")["pending"])
            self.config.pend(pending)
            up = pending and not self.config.masked
            if up == self._up:
                return
            self._up = up
            self.interrupts += up
            if up:
                self._signal()
            self._wire(up)

    # --- messages --------------------------------------------------------------------------------

    def _handle(self, message: Message, channel: socket.socket) -> None:
        with self.lock:
            value = self._value(message)
            message.close()
            if message.command.answered:
                self.look()  # the pin is down before the write that clears its reason is over
                answer(channel, value)

    def _value(self, message: Message) -> int:
        """What the message's answer says."""
        command = message.command
        if command is Command.RESET:
            self.config.reset()
        if command in (Command.CFG_READ, Command.CFG_WRITE):
            return self._configuration(message.access(), command)
        if command in (Command.BAR_READ, Command.BAR_WRITE):
            return self._register(message.access(), command)
        if command is Command.RET:
            self._refuse("message RET must come from the card, not to it")
        return 0

    def _configuration(self, access: Access, command: Command) -> int:
        try:
            if command is Command.CFG_READ:
                return self.config.read(access.address, access.size)
            self.config.write(access.address, access.size, access.value)
        except ValueError as error:
            self._refuse(str(error))
            return REFUSED
        return 0

    def _register(self, access: Access, command: Command) -> int:
        bar = self.config.bar
        offset = -1 if bar is None else access.address - bar
        if not 0 <= offset <= self.config.bar_size - _WORD:
            place = "disabled" if bar is None else f"{bar:#x}..{bar + self.config.bar_size - 1:#x}"
            self._refuse(f"{command.name} must be in BAR 0, {place}, not at {access.address:#x}")
            return REFUSED
        if access.size != _WORD or offset % _WORD or not access.memory:
            self._refuse(
                f"{command.name} must be of {_WORD} aligned bytes of memory, "
                f"not {access.size} at {offset:#x}"
            )
            return REFUSED
        try:
            if command is Command.BAR_READ:
                self.reads += 1
                return self.device.transport.read32(offset)
            self.writes += 1
            self.device.transport.write32(offset, access.value & 0xFFFF_FFFF)
        except BusError as error:
            self._refuse(str(error))
            return 0xFFFF_FFFF
        return 0

    def _refuse(self, why: str) -> None:
        self.refused += 1
        if len(self.refusals) < _KEPT:
            self.refusals.append(why)

    # --- the interrupt pin -----------------------------------------------------------------------

    def _connect(self, message: Message, selector: selectors.BaseSelector) -> None:
        """Take the descriptors of the pin: one that we write, one that says that it was seen."""
        if len(message.descriptors) != 2:
            message.close()
            self._refuse(f"SET_IRQFD must bring 2 descriptors, not {len(message.descriptors)}")
            return
        if self._resample is not None:
            selector.unregister(self._resample)
        self._disconnect()
        self._intr, self._resample = message.descriptors
        try:
            selector.register(self._resample, selectors.EVENT_READ)
        except (PermissionError, ValueError):  # a plain file: it never says anything
            self._disconnect()
            self._refuse("SET_IRQFD must bring two eventfds, not plain files")

    def _disconnect(self) -> None:
        for descriptor in (self._intr, self._resample):
            if descriptor is not None:
                os.close(descriptor)
        self._intr = self._resample = None

    def _signal(self) -> None:
        if self._intr is not None:
            os.write(self._intr, _ONE)

    def _resampled(self) -> None:
        """KVM has lowered the pin: it goes up again if the reason is still there."""
        assert self._resample is not None
        os.read(self._resample, len(_ONE))
        if self._up:
            self._signal()
