"""A packet that was granted: out with it, and which one is behind it?"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory
from precog_hw.stream.packet import USER
from precog_hw.stream.queue import Queue

from .layouts import StoreConfig, following_layout, leaving_layout

__all__ = ["Release"]

_LINK = ("cell", "bytes", "label")


class Release(wiring.Component):
    """Per-packet state other than its cells: its user bits, and the packet behind it.

    ::

        end of a packet ─► [users] ─┬─► queue ─► o_job
        joins a queue ──► [behind] ─┼─► queue ─► o_following
        popped ─────────────────────┘

    Latency: 3 cycles from `popped_stb`. Throughput: one per cycle, up to `ROOM` in each queue.

    Parameters
    ----------
    config : StoreConfig

    Members
    -------
    user_stb, user_cell, user : In
        A packet's first cell, and what travels with it.
    joins_stb, joins_behind : In
        A packet joins a queue behind the one of this first cell.
    joins : In(following_layout(config))
        It.
    popped_stb, popped_more : In
        A packet leaves its queue, and another one is in it.
    popped : In(following_layout(config))
        The one that leaves.
    o_job : Out(stream.Signature(leaving_layout(config)))
        The packet that leaves.
    o_following : Out(stream.Signature(following_layout(config)))
        The packet behind it.
    """

    ROOM = 4

    o_job: stream.Interface
    o_following: stream.Interface

    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        following = following_layout(config)
        super().__init__(
            {
                "user_stb": In(1),
                "user_cell": In(config.cell_bits),
                "user": In(USER),
                "joins_stb": In(1),
                "joins_behind": In(config.cell_bits),
                "joins": In(following),
                "popped_stb": In(1),
                "popped_more": In(1),
                "popped": In(following),
                "o_job": Out(stream.Signature(leaving_layout(config))),
                "o_following": Out(stream.Signature(following)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, following = self._config, following_layout(self._config)
        m.submodules.jobs = jobs = Queue(leaving_layout(config), self.ROOM)
        m.submodules.followers = followers = Queue(following, self.ROOM)
        wiring.connect(m, jobs.o, wiring.flipped(self.o_job))
        wiring.connect(m, followers.o, wiring.flipped(self.o_following))

        # A word is read after its packet has joined: never where it is written.
        link = data.StructLayout({name: following[name].shape for name in _LINK})
        m.submodules.users = users = plain_memory(USER, config.cells)
        m.submodules.behind = behind = plain_memory(link, config.cells)
        user_write, user_read = users.write_port(), users.read_port()
        write, read = behind.write_port(), behind.read_port()
        m.d.sync += [
            user_write.addr.eq(self.user_cell),
            user_write.data.eq(self.user),
            user_write.en.eq(self.user_stb),
            write.en.eq(self.joins_stb),
            write.addr.eq(self.joins_behind),
            *(write.data[name].eq(self.joins[name]) for name in _LINK),
        ]
        m.d.comb += [user_read.addr.eq(self.popped.cell), read.addr.eq(self.popped.cell)]

        left, job, found = Signal(following), Signal(leaving_layout(config)), Signal(following)
        goes, more = Signal(2), Signal(2)
        m.d.sync += [
            left.eq(self.popped),
            goes.eq(Cat(self.popped_stb, goes)),
            more.eq(Cat(self.popped_stb & self.popped_more, more)),
            job.cell.eq(left.cell),
            job.bytes.eq(left.bytes),
            job.user.eq(user_read.data),
            *(found[name].eq(read.data[name]) for name in _LINK),
            found.qp.eq(left.qp),
        ]
        m.d.comb += [
            jobs.i.valid.eq(goes[1]),
            jobs.i.payload.eq(job),
            followers.i.valid.eq(more[1]),
            followers.i.payload.eq(found),
        ]
        return m
