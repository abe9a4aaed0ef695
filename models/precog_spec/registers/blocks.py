"""The names of each block in every layer: option, registers, gateware, model, driver, commands.

The documents print this table, and a test checks that each name exists and that none is missing.
The aim is one name everywhere; `Block.other_names` says how far a block is from that. Two kinds of
names are not a block's own: an option or command that several blocks share (``laws``, ``cc
param``), and an option that is the block's name with a quantity (``law_cores``, ``macs``).
"""

from collections import Counter
from dataclasses import dataclass, fields

from precog_spec.markdown import table

__all__ = ["BLOCKS", "Block", "page"]


@dataclass(frozen=True)
class Block:
    """One block; an empty name means that a layer has no such part.

    Attributes
    ----------
    name : str
        What documents call it.
    option : str
        Field of `NicConfig` that builds it; empty if it is always built.
    registers : str
        Blocks of the register map, separated by spaces.
    gateware, model, emulator : str
        Source files, from the package's folder.
    driver : str
        Attribute of `Device`.
    command : str
        Group of the command line.
    """

    name: str
    option: str
    registers: str
    gateware: str
    model: str
    emulator: str
    driver: str
    command: str

    @property
    def other_names(self) -> set[str]:
        """Names in the layers that differ from the block's, without folders, prefix and suffix."""
        mine = {self.driver, self.registers.split(" ")[0].lower()}
        mine |= {
            path.rpartition("/")[2].removesuffix(".py")
            for path in (self.gateware, self.model, self.emulator)
        }
        if not self.option.startswith(self.name):
            mine |= {self.option} - _shared("option")
        mine |= {name.rpartition(" ")[2] for name in {self.command} - _shared("command")}
        return mine - {"", self.name}


#: name|option|registers|gateware|model|emulator|driver|command
_ROWS = """\
packet|width|PACKET PACKET_QP PACKET_COUNTERS LOOKUP|packet/card.py|packet/card.py|packet.py|packet|packet
pacer|grants|PACER|pace/pacer.py|pace/pacer.py|pacer.py|pacer|cc pacer
profiler|profile|PROFILER|measure/profiler.py|measure/profiler.py|profiler.py|profiler|cc profiler
forecast|forecast|FORECAST|predict/forecast.py|predict/forecast.py|forecast.py|forecast|cc forecast
receiver|receiver|RECEIVER|rate/receiver.py|rate/receiver.py|receiver.py|receiver|cc receiver
senders|senders|SENDERS|packet/senders.py|packet/senders.py|senders.py|senders|packet senders
port|port|PORT|packet/port.py|packet/port.py|port.py|port|packet port
trace|trace|TRACE|csr/trace.py|trace.py|trace.py|trace|trace
wire|wire|WIRE|pace/wire.py|store/packet_store.py|wire.py|wire|packet wire
ecc|ecc|ECC|predict/ecc.py|predict/ecc.py|ecc.py|ecc|ecc
law|law_cores|LAW|rate/engine/core.py|rate/engine/machine.py|law.py|law|law
mac|macs|MAC|mac/port.py|mac.py|mac.py|mac|packet mac
interrupt||INTERRUPT|||interrupt.py|interrupt|interrupt
reset||RESET|||reset.py|reset|device reset
watchdog||WATCHDOG|csr/watchdog.py|||watchdog|cc watchdog
counters||COUNTERS|csr/counters.py||counters.py||cc counter
pid||PID|rate/pid.py|rate/pid.py|||cc param
trials|trials|TRIALS TRIAL_SUMS|rate/trials.py|rate/trials.py|trials.py|trials|cc trials
psched|laws|PSCHED|rate/psched.py|rate/psched.py|||cc sla
measure||MEASURE|measure/feature.py|measure/feature.py|||cc param
model||MODEL|predict/model_store.py|predict/lstm.py|model.py|model|model
destination|destinations|DESTINATION|measure/destinations.py|measure/destinations.py|||packet destination
qp||QP|csr/qp.py||qp.py|qp|qp
id||ID|||||device show
"""  # noqa: E501

#: In the order of the documents.
BLOCKS = tuple(
    Block(*(cell.strip() for cell in row.split("|"))) for row in _ROWS.strip().splitlines()
)


def _shared(column: str) -> set[str]:
    """Names in a column that stand in more than one row."""
    counts = Counter(getattr(block, column) for block in BLOCKS)
    return {name for name, count in counts.items() if count > 1}


def page() -> str:
    """The table as a page in Markdown."""
    columns = [field.name for field in fields(Block)]
    rows = [
        [block.name, *(f"`{x}`" if (x := getattr(block, n)) else "" for n in columns[1:])]
        for block in BLOCKS
    ]
    lines = [
        "# Names of the blocks",
        "",
        "Each row is one block, each column a layer. An empty cell means that the layer has",
        "no such part. An empty option means that the block is always built.",
        "",
        table(columns, rows),
        "",
    ]
    return "\n".join(lines)
