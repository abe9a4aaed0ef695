// A Verilated block with streams of words: scripted inputs, outputs that are noted.
//
// A source offers each of its words from a given cycle on, until it is taken; a sink takes a word
// whenever it is free, and is then busy as long as the link needs for it.
#include <cstdint>
#include <cstring>
#include <vector>

#include "block.h"
#include "random.h"

struct Source {
    int64_t payload, valid, ready;
    int64_t words, stride;   // bytes of a word
    const uint8_t* data;
    const int64_t* not_before;  // cycles
    int64_t* taken_at;       // out
    int64_t taken;           // in and out: words
};

// A word whose bits from `size_bit` on, `size_bits` many, are s keeps the sink busy for
// (s + extra) * num / den cycles since the last one ended; with num = 0 it stalls at random.
struct Sink {
    int64_t payload, valid, ready;
    int64_t size_bit, size_bits, extra, num, den, stall_256;
    int64_t room, stride;
    uint8_t* data;           // out
    int64_t* cycle;          // out
    int64_t taken;           // out
    int64_t free_at;         // in and out: cycle * den
};

struct Monitor {
    int64_t strobe, port;
    int64_t room, stride;
    uint8_t* data;           // out
    int64_t* cycle;          // out
    int64_t seen;            // out
};

// Runs `count` cycles; `clock` is a port that grows by one every cycle, cut to `clock_bits`.
API int64_t stream_run(void* handle, int64_t count, int64_t n_sources, Source* sources, Sink* sink,
                       Monitor* monitor, int64_t clock, int64_t clock_bits, uint64_t seed,
                       int64_t watchdog) {
    Block* block = static_cast<Block*>(handle);
    std::vector<Port>& ports = block->ports;
    Random random(seed);
    std::vector<uint8_t> held(ports[sink->payload].bytes);
    bool holds = false;
    std::vector<int64_t> waits(n_sources, 0);
    sink->taken = monitor->seen = 0;
    for (const int64_t end = block->cycles + count; block->cycles < end;) {
        for (int64_t n = 0; n < n_sources; ++n) {
            Source& s = sources[n];
            const bool offers = s.taken < s.words && s.not_before[s.taken] <= block->cycles;
            if (offers) {
                block->copy(ports[s.payload], s.data + s.taken * s.stride);
            }
            block->put(ports[s.valid], offers);
        }
        bool ready = block->cycles * sink->den >= sink->free_at;
        if (sink->stall_256) ready = ready && !random.chance(sink->stall_256);
        block->put(ports[sink->ready], ready);
        block->clocks->settle();

        const Port& out = ports[sink->payload];
        const bool valid = *ports[sink->valid].at;
        if (holds && (!valid || std::memcmp(held.data(), out.at, out.bytes))) {
            block->fault = "an offer must stay until it is taken";
            return BROKEN;
        }
        holds = valid && !ready;
        if (holds) std::memcpy(held.data(), out.at, out.bytes);
        if (valid && ready) {
            if (sink->taken == sink->room) return OVERFLOW_;
            std::memcpy(sink->data + sink->taken * sink->stride, out.at, out.bytes);
            sink->cycle[sink->taken++] = block->cycles;
            if (sink->num) {
                uint64_t size = 0;
                for (int64_t bit = 0; bit < sink->size_bits; ++bit) {
                    const int64_t at = sink->size_bit + bit;
                    size |= static_cast<uint64_t>(out.at[at / 8] >> (at % 8) & 1) << bit;
                }
                const int64_t now = block->cycles * sink->den;
                // The wire goes on without a break if the word was there less than a cycle late.
                const int64_t from = now - sink->free_at < sink->den ? sink->free_at : now;
                sink->free_at = from + (static_cast<int64_t>(size) + sink->extra) * sink->num;
            }
        }
        if (*ports[monitor->strobe].at) {
            if (monitor->seen == monitor->room) return OVERFLOW_;
            const Port& port = ports[monitor->port];
            std::memcpy(monitor->data + monitor->seen * monitor->stride, port.at, port.bytes);
            monitor->cycle[monitor->seen++] = block->cycles;
        }
        for (int64_t n = 0; n < n_sources; ++n) {
            Source& s = sources[n];
            if (!*ports[s.valid].at) continue;
            if (*ports[s.ready].at) {
                s.taken_at[s.taken++] = block->cycles;
                waits[n] = 0;
            } else if (++waits[n] > watchdog) {
                return WATCHDOG;
            }
        }
        uint64_t now = 0;
        std::memcpy(&now, ports[clock].at, ports[clock].bytes);
        now = (now + 1) & ((1ull << clock_bits) - 1);
        block->tick();
        block->put(ports[clock], now);
    }
    block->clocks->settle();
    return count;
}
