// A Verilated block with several input streams and one output stream; outputs leave in any order.
#include <cstdint>
#include <cstring>
#include <vector>

#include "block.h"
#include "random.h"

// Words side by side; those of `paired`, a port that goes with the payload, in the same way (or -1).
struct Feed {
    int64_t payload, valid, ready, paired;
    int64_t words;
    const uint8_t* data;
    const uint8_t* paired_data;
    int64_t taken;  // out
};

// Runs until `count` results are out. At each one the `n_watched` ports, the first of which is the
// output's payload, are copied to `results`, side by side. Of the port `strobes` each bit is
// counted. Returns cycles.
API int64_t feed_run(void* handle, int64_t n_feeds, Feed* feeds, int64_t o_valid, int64_t o_ready,
                     int64_t count, int64_t n_watched, const int64_t* watched, uint8_t* results,
                     int64_t strobes, int64_t* counts, uint64_t seed, int64_t idle_256,
                     int64_t stall_256, int64_t watchdog) {
    Block* block = static_cast<Block*>(handle);
    std::vector<Port>& ports = block->ports;
    Random random(seed);
    std::vector<bool> offered(n_feeds, false);
    std::vector<uint8_t> held;
    const Port& out = ports[watched[0]];
    const int64_t start = block->cycles;
    int64_t seen = 0;
    bool waiting = false;
    auto leave = [&](int64_t result) {
        for (int64_t n = 0; n < n_feeds; ++n) block->put(ports[feeds[n].valid], 0);
        block->put(ports[o_ready], 0);
        block->clocks->settle();
        return result;
    };
    // Goes on for a while after the last result: nothing more may come.
    for (int64_t quiet = 0; seen < count || quiet < 64;) {
        if (quiet == watchdog) return leave(WATCHDOG);
        for (int64_t n = 0; n < n_feeds; ++n) {
            Feed& feed = feeds[n];
            if (offered[n] || feed.taken == feed.words) continue;
            if (idle_256 && random.chance(idle_256)) continue;
            const Port& payload = ports[feed.payload];
            block->copy(payload, feed.data + feed.taken * payload.bytes);
            if (feed.paired >= 0) {
                const Port& paired = ports[feed.paired];
                block->copy(paired, feed.paired_data + feed.taken * paired.bytes);
            }
            block->put(ports[feed.valid], 1);
            offered[n] = true;
        }
        block->put(ports[o_ready], !(stall_256 && random.chance(stall_256)));
        block->clocks->settle();
        const bool valid = *ports[o_valid].at, take = valid && *ports[o_ready].at;
        if (waiting && (!valid || std::memcmp(held.data(), out.at, out.bytes))) {
            block->fault = "an offer must stay until it is taken";
            return leave(BROKEN);
        }
        waiting = valid && !take;
        if (waiting) held.assign(out.at, out.at + out.bytes);
        if (take) {
            if (seen == count) return leave(OVERFLOW_);
            for (int64_t n = 0; n < n_watched; ++n) {
                std::memcpy(results, ports[watched[n]].at, ports[watched[n]].bytes);
                results += ports[watched[n]].bytes;
            }
            ++seen;
        }
        for (int64_t bit = 0; bit < 8; ++bit) counts[bit] += *ports[strobes].at >> bit & 1;
        bool moved = take;
        for (int64_t n = 0; n < n_feeds; ++n) {
            if (!offered[n] || !*ports[feeds[n].ready].at) continue;
            ++feeds[n].taken;
            offered[n] = false;
            moved = true;
        }
        block->tick();
        for (int64_t n = 0; n < n_feeds; ++n) {
            if (!offered[n]) block->put(ports[feeds[n].valid], 0);
        }
        quiet = moved ? 0 : quiet + 1;
    }
    return leave(block->cycles - start);
}
