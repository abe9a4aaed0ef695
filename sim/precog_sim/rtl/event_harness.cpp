// A Verilated block that takes a stream of events and gives one result for each, in order.
#include <cstdint>
#include <cstring>
#include <vector>

#include "block.h"
#include "random.h"

// Events are payloads side by side. At every result the `n_watched` ports are copied to `results`,
// side by side, and the cycles since its event was taken to `latency`. Returns cycles.
API int64_t event_run(void* handle, int64_t i_payload, int64_t i_valid, int64_t i_ready,
                      int64_t o_payload, int64_t o_valid, int64_t o_ready, int64_t count,
                      const uint8_t* events, int64_t n_watched, const int64_t* watched,
                      uint8_t* results, int64_t* latency, uint64_t seed, int64_t idle_256,
                      int64_t stall_256, int64_t watchdog) {
    Block* block = static_cast<Block*>(handle);
    std::vector<Port>& ports = block->ports;
    Random random(seed);
    std::vector<int64_t> taken(count);
    std::vector<uint8_t> held;
    const int64_t size = ports[i_payload].bytes, start = block->cycles;
    int64_t sent = 0, seen = 0;
    bool offered = false, waiting = false;
    auto leave = [&](int64_t result) {
        block->put(ports[i_valid], 0);
        block->put(ports[o_ready], 0);
        block->clocks->settle();
        return result;
    };
    // Goes on for a while after the last result: nothing more may come.
    for (int64_t quiet = 0; seen < count || quiet < 16;) {
        if (quiet == watchdog) return leave(WATCHDOG);
        if (!offered && sent < count && !(idle_256 && random.chance(idle_256))) {
            block->copy(ports[i_payload], events + sent * size);
            block->put(ports[i_valid], 1);
            offered = true;
        }
        block->put(ports[o_ready], !(stall_256 && random.chance(stall_256)));
        block->clocks->settle();
        const bool valid = *ports[o_valid].at, take = valid && *ports[o_ready].at;
        const Port& out = ports[o_payload];
        if (waiting && (!valid || std::memcmp(held.data(), out.at, out.bytes))) {
            block->fault = "an offer must stay until it is taken";
            return leave(BROKEN);
        }
        if (valid && !waiting) {
            if (seen >= sent) {
                block->fault = "a result must follow its event";
                return leave(BROKEN);
            }
            latency[seen] = block->cycles - taken[seen];
        }
        waiting = valid && !take;
        if (waiting) held.assign(out.at, out.at + out.bytes);
        if (take) {
            for (int64_t n = 0; n < n_watched; ++n) {
                std::memcpy(results, ports[watched[n]].at, ports[watched[n]].bytes);
                results += ports[watched[n]].bytes;
            }
            ++seen;
        }
        const bool in = offered && *ports[i_ready].at;
        if (in) taken[sent++] = block->cycles;
        block->tick();
        if (in) {
            offered = false;
            block->put(ports[i_valid], 0);
        }
        quiet = in || take ? 0 : quiet + 1;
    }
    return leave(block->cycles - start);
}
