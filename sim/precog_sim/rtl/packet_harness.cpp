// A Verilated block with packet streams: a run drives and takes whole frames with random idle cycles
// and back-pressure, and notes what monitored ports say in cycles in which their strobe is up.
#include <cstdint>
#include <cstring>
#include <vector>

#include "block.h"
#include "random.h"

namespace {

uint64_t word_of(const Port& port) {
    uint64_t value = 0;
    std::memcpy(&value, port.at, port.bytes < 8 ? port.bytes : 8);
    return value;
}

}  // namespace

// Port numbers of one AXI-Stream, then frames: `data` with `offsets` [n + 1], `user` [n] without
// the error flag, which stands in bit 0 on the last beat only.
struct Source {
    int64_t tdata, tkeep, tlast, tuser, tvalid, tready;
    int64_t frames, idle_256;
    const uint8_t* data;
    const int64_t* offsets;
    const uint64_t* user;
    int64_t sent;        // out: frames
    int64_t* first;      // out: cycle in which a frame's first beat was taken
    int64_t* last;       // out: and its last
};

struct Sink {
    int64_t tdata, tkeep, tlast, tuser, tvalid, tready;
    int64_t room, bytes_room, stall_256;
    uint8_t* data;       // out
    int64_t* offsets;    // out [room + 1]
    uint64_t* user;      // out: of the last beat
    int64_t* first;      // out: cycle in which a frame's first beat was taken
    int64_t* last;       // out: and its last
    int64_t taken;       // out: frames
    int64_t wanted;      // frames after which nobody need wait for more
};

struct Monitor {
    int64_t strobe, ports;
    const int64_t* port;  // numbers
    int64_t room, stride; // entries, bytes each
    uint8_t* data;        // out: values side by side, bytes of each port
    int64_t* cycle;       // out
    int64_t seen;         // out
};

// Runs until every source is empty, no frame stands half taken, and every sink has what it wants or
// no beat moved for `settle` cycles; or until none moves for `watchdog` cycles. `clocks` are ports that grow by `steps` every cycle. Returns cycles.
API int64_t packet_run(void* handle, int64_t n_sources, Source* sources, int64_t n_sinks, Sink* sinks,
                       int64_t n_monitors, Monitor* monitors, int64_t n_clocks, const int64_t* clocks,
                       const uint64_t* steps, uint64_t seed, int64_t settle, int64_t watchdog) {
    Block* block = static_cast<Block*>(handle);
    std::vector<Port>& ports = block->ports;
    Random random(seed);
    struct Offer { bool on = false; int64_t at = 0; };
    std::vector<Offer> offers(n_sources);
    struct Held { bool on = false; std::vector<uint8_t> data; uint64_t keep, last, user; };
    std::vector<Held> held(n_sinks);
    std::vector<bool> open(n_sinks, false), in(n_sources, false);
    for (int64_t n = 0; n < n_sources; ++n) {
        sources[n].sent = 0;
        if (sources[n].frames) offers[n].at = sources[n].offsets[0];
    }
    for (int64_t n = 0; n < n_sinks; ++n) { sinks[n].taken = 0; sinks[n].offsets[0] = 0; }
    std::vector<int64_t> fill(n_sinks, 0);
    for (int64_t n = 0; n < n_monitors; ++n) monitors[n].seen = 0;
    const int64_t start = block->cycles;
    auto leave = [&](int64_t result) {
        for (int64_t n = 0; n < n_sources; ++n) block->put(ports[sources[n].tvalid], 0);
        for (int64_t n = 0; n < n_sinks; ++n) block->put(ports[sinks[n].tready], 0);
        block->clocks->settle();
        return result;
    };
    for (int64_t quiet = 0;;) {
        bool waiting = false;
        for (int64_t n = 0; n < n_sources; ++n) {
            Source& s = sources[n];
            if (s.sent == s.frames) continue;
            waiting = true;
            if (offers[n].on || (s.idle_256 && random.chance(s.idle_256))) continue;
            const int64_t wide = ports[s.tdata].bytes, end = s.offsets[s.sent + 1];
            const int64_t left = end - offers[n].at, size = left < wide ? left : wide;
            std::memset(ports[s.tdata].at, 0xA5, wide);
            std::memcpy(ports[s.tdata].at, s.data + offers[n].at, size);
            const uint64_t keep = size == 64 ? ~0ull : (1ull << size) - 1;
            block->put(ports[s.tkeep], keep);
            const bool last = size == left;
            block->put(ports[s.tlast], last);
            block->put(ports[s.tuser], s.user[s.sent] & ~static_cast<uint64_t>(!last));
            block->put(ports[s.tvalid], 1);
            block->clocks->changed = true;
            offers[n].on = true;
        }
        for (int64_t n = 0; n < n_sinks; ++n)
            block->put(ports[sinks[n].tready], !(sinks[n].stall_256 && random.chance(sinks[n].stall_256)));
        block->clocks->settle();
        bool moved = false;
        for (int64_t n = 0; n < n_sinks; ++n) {
            Sink& s = sinks[n];
            const bool valid = *ports[s.tvalid].at, take = valid && *ports[s.tready].at;
            const Port& data = ports[s.tdata];
            const uint64_t keep = word_of(ports[s.tkeep]), last = *ports[s.tlast].at;
            const uint64_t user = word_of(ports[s.tuser]);
            Held& h = held[n];
            if (h.on && (!valid || keep != h.keep || last != h.last || user != h.user ||
                         std::memcmp(h.data.data(), data.at, data.bytes))) {
                block->fault = "an offer must stay until it is taken";
                return leave(BROKEN);
            }
            h.on = valid && !take;
            if (h.on) {
                h.data.assign(data.at, data.at + data.bytes);
                h.keep = keep; h.last = last; h.user = user;
            }
            if (!take) continue;
            moved = true;
            const int64_t size = __builtin_popcountll(keep);
            const bool whole = size == data.bytes;
            if (!size || (size < 64 && keep != (1ull << size) - 1) || !(last || whole)) {
                block->fault = "keep must be contiguous from bit 0, and full but on the last beat";
                return leave(BROKEN);
            }
            if (s.taken == s.room || fill[n] + size > s.bytes_room) return leave(OVERFLOW_);
            if (!open[n]) s.first[s.taken] = block->cycles;
            open[n] = !last;
            std::memcpy(s.data + fill[n], data.at, size);
            fill[n] += size;
            if (last) {
                s.last[s.taken] = block->cycles;
                s.user[s.taken] = user;
                s.offsets[++s.taken] = fill[n];
            }
        }
        for (int64_t n = 0; n < n_monitors; ++n) {
            Monitor& m = monitors[n];
            if (!*ports[m.strobe].at) continue;
            if (m.seen == m.room) return leave(OVERFLOW_);
            uint8_t* to = m.data + m.seen * m.stride;
            for (int64_t p = 0; p < m.ports; ++p) {
                std::memcpy(to, ports[m.port[p]].at, ports[m.port[p]].bytes);
                to += ports[m.port[p]].bytes;
            }
            m.cycle[m.seen++] = block->cycles;
        }
        for (int64_t n = 0; n < n_sources; ++n) in[n] = offers[n].on && *ports[sources[n].tready].at;
        const int64_t now = block->cycles;
        block->tick();
        for (int64_t n = 0; n < n_sources; ++n) {
            if (!in[n]) continue;
            moved = true;
            Source& s = sources[n];
            if (offers[n].at == s.offsets[s.sent]) s.first[s.sent] = now;
            const int64_t wide = ports[s.tdata].bytes, end = s.offsets[s.sent + 1];
            offers[n].at += wide;
            if (offers[n].at >= end) {
                s.last[s.sent] = now;
                offers[n].at = end;
                ++s.sent;
            }
            offers[n].on = false;
            block->put(ports[s.tvalid], 0);
        }
        for (int64_t n = 0; n < n_clocks; ++n) {
            block->put(ports[clocks[n]], word_of(ports[clocks[n]]) + steps[n]);
        }
        quiet = moved ? 0 : quiet + 1;
        for (int64_t n = 0; n < n_sinks; ++n) waiting |= open[n];
        bool enough = n_sinks > 0;
        for (int64_t n = 0; n < n_sinks; ++n) enough &= sinks[n].taken >= sinks[n].wanted;
        if (!waiting && (enough || quiet >= settle)) return leave(block->cycles - start);
        if (waiting && quiet >= watchdog) return leave(WATCHDOG);
    }
}
