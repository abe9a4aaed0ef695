#pragma once
#include <cstdint>

// xorshift64*: idle cycles and back-pressure must be repeatable from a seed on any machine.
struct Random {
    uint64_t state;
    explicit Random(uint64_t seed) : state(seed * 2685821657736338717ull + 88172645463325252ull) {}
    uint32_t next() {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return static_cast<uint32_t>((state * 2685821657736338717ull) >> 32);
    }
    bool chance(int of_256) { return static_cast<int>(next() & 255) < of_256; }
};
