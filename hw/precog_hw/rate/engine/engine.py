# Parts are made for their members, too, where a test elaborates none of them.
# amaranth: UnusedElaboratable=no
"""The law engine: its programs, and the stage of a NIC that runs them."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.passing import pass_ports
from precog_hw.predict.layouts import program_signature
from precog_spec.config import NicConfig

from .stage import ProgramStage
from .store import ProgramStore

__all__ = ["LawEngine", "host_ports"]

#: Members for the host: parameters, loading, the map, what is shown.
_HOST_PORTS = (
    *("threshold", "budget", "counts", "trap", "fail_stb"),
    *("begin_stb", "begin_bank", "word_stb", "word", "commit_stb", "commit_crc", "status"),
    *("words", "busy", "map_stb", "map_slot", "map_enable", "map_bank", "load_error"),
    *("map_error", "query_slot", "query_entry", "query_bank", "query_valid", "query_version"),
    "query_name",
)

#: What `ProgramStore` and `ProgramStage` say to each other.
_TO_STAGE = ("program", "code", "code_stb", "slot_word", "slot_stb", "entry", "entry_stb")
_TO_STORE = ("slot", "running", "fail_stb", "fail_slot", "fail_bank")
_INNER = (*_TO_STAGE, *_TO_STORE, "busy")
#: As above, with ECC of programs; and what leads to the scrubber instead.
_GUARDED = ("check", "copies")
_SCRUBBED = ("scrub", "scrubbed", "suspect", "put", "put_ready", "valid", "spoil_stb", "spoil_bank")


def host_ports(config: NicConfig) -> tuple[str, ...]:
    """Members for the host."""
    guarded = ("loaded_stb", "loaded_bank", "damaged_stb") if config.guards_programs else ()
    return (*_HOST_PORTS, *guarded)


class LawEngine(wiring.Component):
    """`ProgramStage` and `ProgramStore`, with all other members of both.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    fail_stb : Out(1)
        An event ended in a trap.
    busy, works : Out(1)
        The store decides on a commit; the stage has work.
    ecc : In(program_signature)
        With ECC of programs: the scrubber.
    loaded_stb, loaded_bank : Out(1), Out(3)
        As above, as `ProgramStore`.
    damaged_stb : Out(1)
        As `ProgramStage`.
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        self._stage, self._store = ProgramStage(config), ProgramStore(config)
        members = {
            name: member
            for part in (self._stage, self._store)
            for name, member in part.signature.members.items()
            if name not in (*_INNER, *_GUARDED, *_SCRUBBED)
        }
        if config.guards_programs:
            members["ecc"] = In(program_signature(config.law_cores))
        members |= {"fail_stb": Out(1), "busy": Out(1), "works": Out(1)}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.stage = stage = self._stage
        m.submodules.store = store = self._store
        m.d.comb += [getattr(stage, name).eq(getattr(store, name)) for name in _TO_STAGE]
        m.d.comb += [getattr(store, name).eq(getattr(stage, name)) for name in _TO_STORE]
        m.d.comb += [
            self.fail_stb.eq(stage.fail_stb),
            self.busy.eq(store.busy),
            self.works.eq(stage.busy),
        ]
        if self._config.guards_programs:
            self._scrub(m)
        for part in (stage, store):
            names = [n for n in part.signature.members if n in self.signature.members]
            names = [n for n in names if n not in _INNER]
            streams = [n for n in names if part.signature.members[n].is_signature]
            pass_ports(m, self, part, [n for n in names if n not in streams])
            for name in streams:
                wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(part, name))
        return m

    def _scrub(self, m: Module) -> None:
        """The scrubber reads words in the cores, and writes them through the store."""
        stage, store, ecc = self._stage, self._store, self.ecc
        m.d.comb += [
            *(getattr(stage, name).eq(getattr(store, name)) for name in _GUARDED),
            stage.scrub.eq(ecc.request),
            ecc.answer.eq(stage.scrubbed),
            ecc.suspect.eq(stage.suspect),
            store.put.eq(ecc.put),
            ecc.put_ready.eq(store.put_ready),
            ecc.valid.eq(store.valid),
            store.spoil_stb.eq(ecc.fail_stb),
            store.spoil_bank.eq(ecc.request.place.bank),
        ]
