// One Verilated block behind a C ABI: its ports by number, its clock; for the harnesses of blocks.
//
// `ports.h` (generated) lists the top's ports. A port's value is its bytes, least significant first,
// as Verilator keeps it on a little-endian machine. Nothing throws, nothing exits.
#pragma once
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "verilated.h"
#include "clocks.h"
#include "coverage.h"
#include "model.h"

#define API extern "C" __attribute__((visibility("default")))

struct Port {
    const char* name;
    uint8_t* at;
    int64_t bytes;
};

// What a run returns when it fails.
constexpr int64_t WATCHDOG = -1;   // no progress for so many cycles
constexpr int64_t BROKEN = -2;     // an output broke a rule of the stream: see `fault`
constexpr int64_t OVERFLOW_ = -3;  // more came out than the caller has room for

struct Block {
    VerilatedContext context;
    Model top{&context, "block"};
    std::vector<Port> ports;
    int64_t cycles = 0;  // since the reset
    const char* fault = "";
    std::optional<Clocks> clocks;  // from the first evaluation on

    Block() {
#define PORT(name) ports.push_back({#name, reinterpret_cast<uint8_t*>(&top.name), \
                                    static_cast<int64_t>(sizeof top.name)});
#include "ports.h"
#undef PORT
        for (const Port& port : ports) std::memset(port.at, 0, port.bytes);
        top.clk = 0;
        top.eval();
        clocks.emplace(top);
#ifndef NO_RESET  // with a reset tied low, these cycles would count: time would be 2 ahead of `cycles`
        top.rst = 1;
        clocks->changed = true;
        tick();
#ifdef LATE_RESET  // a register holds it for the second of the two cycles
        top.rst = 0;
        clocks->changed = true;
#endif
        tick();
        top.rst = 0;
        clocks->changed = true;
#endif
        clocks->settle();
        cycles = 0;
    }
    ~Block() {
        top.final();
        write_coverage(context);
    }

    void tick() {
        clocks->rise();
        ++cycles;
    }

    // Changes an input. Logic that follows inputs is evaluated once for all changes, by `settle`,
    // and not at all in a cycle in which no input changes.
    void copy(const Port& port, const uint8_t* value) {
        if (!std::memcmp(port.at, value, port.bytes)) return;
        std::memcpy(port.at, value, port.bytes);
        clocks->changed = true;
    }
    void put(const Port& port, uint64_t value) {  // of at most 64 bits
        copy(port, reinterpret_cast<const uint8_t*>(&value));
    }
};

API void* block_new(void) { return new (std::nothrow) Block; }
API void block_free(void* handle) { delete static_cast<Block*>(handle); }
API int64_t block_ports(void* handle) { return static_cast<Block*>(handle)->ports.size(); }
API const char* block_name(void* handle, int64_t n) { return static_cast<Block*>(handle)->ports[n].name; }
API int64_t block_bytes(void* handle, int64_t n) { return static_cast<Block*>(handle)->ports[n].bytes; }
API const char* block_fault(void* handle) { return static_cast<Block*>(handle)->fault; }
API int64_t block_cycles(void* handle) { return static_cast<Block*>(handle)->cycles; }
API void block_poke(void* handle, int64_t n, const uint8_t* value) {
    Block* block = static_cast<Block*>(handle);
    block->copy(block->ports[n], value);
}
API const uint8_t* block_at(void* handle, int64_t n) { return static_cast<Block*>(handle)->ports[n].at; }
API void block_settle(void* handle) { static_cast<Block*>(handle)->clocks->settle(); }
API void block_tick(void* handle, int64_t n) {
    for (Block* block = static_cast<Block*>(handle); n > 0; --n) block->tick();
}
// Up to the first cycle in which one of the bits (port, place, level) is at its level; how often.
API int64_t block_tick_until(void* handle, int64_t n, const int64_t* bits, int64_t most) {
    Block* block = static_cast<Block*>(handle);
    for (int64_t ticks = 0; ticks < most; ++ticks) {
        block->clocks->settle();
        for (const int64_t* bit = bits; bit < bits + 3 * n; bit += 3) {
            if ((block->ports[bit[0]].at[bit[1] / 8] >> bit[1] % 8 & 1) == bit[2]) return ticks;
        }
        block->tick();
    }
    return most > 0 ? most : 0;
}
