// Any Verilated block with streams of words behind a C ABI: scripted inputs, outputs that are noted.
//
// `ports.h` (generated) lists the top's ports. A port's value is its bytes, least significant first,
// as Verilator keeps it on a little-endian machine. A source offers each of its words from a given
// cycle on, until it is taken; a sink takes a word whenever it is free, and is then busy as long as
// the link needs for it. Nothing throws, nothing exits; a negative result is an error.
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "verilated.h"
#include "model.h"
#include "random.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {

struct Port {
    const char* name;
    uint8_t* at;
    int64_t bytes;
};

constexpr int64_t WATCHDOG = -1;   // a source waited for so many cycles
constexpr int64_t BROKEN = -2;     // an output took back what it offered
constexpr int64_t OVERFLOW_ = -3;  // more came out than the caller has room for

struct Block {
    VerilatedContext context;
    Model top{&context, "block"};
    std::vector<Port> ports;
    int64_t cycles = 0;

    Block() {
#define PORT(name) ports.push_back({#name, reinterpret_cast<uint8_t*>(&top.name), \
                                    static_cast<int64_t>(sizeof top.name)});
#include "ports.h"
#undef PORT
        for (const Port& port : ports) std::memset(port.at, 0, port.bytes);
        top.clk = 0;
        top.rst = 1;
        top.eval();
        rise();
        rise();
        top.rst = 0;
        cycles = 0;
    }
    ~Block() { top.final(); }

    void rise() {
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
        ++cycles;
    }
};

}  // namespace

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

API void* stream_new(void) { return new (std::nothrow) Block; }
API void stream_free(void* handle) { delete static_cast<Block*>(handle); }
API int64_t stream_ports(void* handle) { return static_cast<Block*>(handle)->ports.size(); }
API const char* stream_name(void* handle, int64_t n) { return static_cast<Block*>(handle)->ports[n].name; }
API int64_t stream_bytes(void* handle, int64_t n) { return static_cast<Block*>(handle)->ports[n].bytes; }
API int64_t stream_cycles(void* handle) { return static_cast<Block*>(handle)->cycles; }
API void stream_poke(void* handle, int64_t n, const uint8_t* value) {
    Block* block = static_cast<Block*>(handle);
    std::memcpy(block->ports[n].at, value, block->ports[n].bytes);
    block->top.eval();
}

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
                std::memcpy(ports[s.payload].at, s.data + s.taken * s.stride, s.stride);
            }
            *ports[s.valid].at = offers;
        }
        bool ready = block->cycles * sink->den >= sink->free_at;
        if (sink->stall_256) ready = ready && !random.chance(sink->stall_256);
        *ports[sink->ready].at = ready;
        block->top.eval();

        const Port& out = ports[sink->payload];
        const bool valid = *ports[sink->valid].at;
        if (holds && (!valid || std::memcmp(held.data(), out.at, out.bytes))) return BROKEN;
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
        block->rise();
        std::memcpy(ports[clock].at, &now, ports[clock].bytes);
    }
    return count;
}
