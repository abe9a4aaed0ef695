// The Verilated NIC behind a C ABI: registers, samples and events through the NIC's own pins.
//
// Everything here happens on the pins of the exported top module: AXI4-Lite handshakes for
// registers, valid/ready streams for samples, events and decisions. A cycle is one rising edge. Nothing is
// clocked while the caller does other things: idle cycles change nothing (a tested property).
//
// Functions that can fail return a negative error (`Error`); nothing throws, nothing exits.
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "verilated.h"
#include "clocks.h"
#include "coverage.h"
#include "random.h"
#include "fields.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {

enum Error : int64_t {
    WATCHDOG = -1,      // no answer within the watchdog's cycles
    UNEXPECTED = -2,    // a decision that no sample asked for
    BAD_ARGUMENT = -3,  // the caller's fault
    IGNORED = -4,       // an event that the queue pair's law does not take
    NO_EVENTS = -5,     // a NIC without a port for them
    NO_ACKS = -7,       // likewise
};

constexpr int MAX_QPS = 1 << 16;
constexpr int64_t SETTLE = 2000;  // far above the usual pipeline's longest latency, in cycles

// Not every NIC takes events.
template <typename Top> constexpr bool takes_events = requires(Top top) { top.s_event_tvalid; };

template <typename Top> void offer_event(Top& top, const int64_t* event) {
    if constexpr (takes_events<Top>) {
        if (event) pack_event(top.s_event_tdata, event);
        else clear_payload(top.s_event_tdata);
        top.s_event_tvalid = event != nullptr;
    }
}

template <typename Top> bool event_ready(const Top& top) {
    if constexpr (takes_events<Top>) return top.s_event_tready;
    return false;
}

// Nor acknowledgements.
template <typename Top> constexpr bool takes_acks = requires(Top top) { top.s_law_ack_tvalid; };

template <typename Top> void offer_ack(Top& top, const int64_t* ack) {
    if constexpr (takes_acks<Top>) {
        if (ack) pack_ack(top.s_law_ack_tdata, ack);
        else clear_payload(top.s_law_ack_tdata);
        top.s_law_ack_tvalid = ack != nullptr;
    }
}

template <typename Top> bool ack_ready(const Top& top) {
    if constexpr (takes_acks<Top>) return top.s_law_ack_tready;
    return false;
}

// Bits of a memory to be inverted after a cycle.
struct Fault {
    int64_t cycle;
    uint8_t* at;
    uint8_t mask;
};

struct Nic {
    VerilatedContext context;
    Model top{&context, "nic"};
    int64_t cycles = 0;
    int64_t decisions = 0;
    int64_t watchdog = 100000;
    int64_t settle = SETTLE;
    std::optional<Clocks> clocks;  // from the first evaluation on
    std::vector<Fault> faults;     // to come, the last one first
    int64_t next_fault = INT64_MAX;
    std::vector<int64_t> forecast;  // queue pairs of the last visit's forecasts, in their order
    Nic() {
        top.clk = 0;
        top.rst = 0;
        top.s_sample_tvalid = 0;
        clear_payload(top.s_sample_tdata);
        offer_event(top, nullptr);
        offer_ack(top, nullptr);
        top.m_decision_tready = 0;
        top.s_axil_awvalid = 0;
        top.s_axil_awaddr = 0;
        top.s_axil_wvalid = 0;
        top.s_axil_wdata = 0;
        top.s_axil_wstrb = 0;
        top.s_axil_bready = 0;
        top.s_axil_arvalid = 0;
        top.s_axil_araddr = 0;
        top.s_axil_rready = 0;
        top.eval();
        clocks.emplace(top);
        pulse_reset();
    }
    ~Nic() {
        top.final();
        write_coverage(context);
    }

    void tick() {
        clocks->rise();
        ++cycles;
        while (__builtin_expect(cycles >= next_fault, 0)) {
            const Fault fault = faults.back();
            faults.pop_back();
            *fault.at ^= fault.mask;
            next_fault = faults.empty() ? INT64_MAX : faults.back().cycle;
        }
    }

    // For a model whose reset is connected; the prepared one starts in its reset state anyway.
    void pulse_reset() {
        top.rst = 1;
        clocks->changed = true;
        tick();
        tick();
        top.rst = 0;
        clocks->changed = true;
        tick();
    }

    int64_t write(uint32_t address, uint32_t data) {
        top.s_axil_awaddr = address;
        top.s_axil_awvalid = 1;
        top.s_axil_wdata = data;
        top.s_axil_wstrb = 0xF;
        top.s_axil_wvalid = 1;
        top.s_axil_bready = 1;
        clocks->changed = true;
        int64_t response = WATCHDOG;
        for (int64_t left = watchdog; left > 0; --left) {
            clocks->settle();
            const bool aw = top.s_axil_awvalid && top.s_axil_awready;
            const bool w = top.s_axil_wvalid && top.s_axil_wready;
            const bool b = top.s_axil_bvalid;
            const int code = top.s_axil_bresp;
            tick();
            if (aw) top.s_axil_awvalid = 0;
            if (w) top.s_axil_wvalid = 0;
            clocks->changed = aw || w;
            if (b) {
                response = code;
                break;
            }
        }
        top.s_axil_awvalid = 0;
        top.s_axil_wvalid = 0;
        top.s_axil_bready = 0;
        clocks->changed = true;
        clocks->settle();
        return response;
    }

    // Data in the low 32 bits, the response in bits 32 and 33.
    int64_t read(uint32_t address) {
        top.s_axil_araddr = address;
        top.s_axil_arvalid = 1;
        top.s_axil_rready = 1;
        clocks->changed = true;
        int64_t answer = WATCHDOG;
        for (int64_t left = watchdog; left > 0; --left) {
            clocks->settle();
            const bool ar = top.s_axil_arvalid && top.s_axil_arready;
            const bool r = top.s_axil_rvalid;
            const int64_t word = static_cast<int64_t>(static_cast<uint32_t>(top.s_axil_rdata)) |
                                 (static_cast<int64_t>(top.s_axil_rresp) << 32);
            tick();
            if (ar) top.s_axil_arvalid = 0;
            clocks->changed = ar;
            if (r) {
                answer = word;
                break;
            }
        }
        top.s_axil_arvalid = 0;
        top.s_axil_rready = 0;
        clocks->changed = true;
        clocks->settle();
        return answer;
    }

    // One sample in, its decision out; returns cycles from the sample's transfer to the decision's.
    int64_t decide(const int64_t* sample, int64_t* decision) {
        pack_sample(top.s_sample_tdata, sample);
        top.s_sample_tvalid = 1;
        top.m_decision_tready = 1;
        clocks->changed = true;
        int64_t left = watchdog;
        bool taken = false;
        do {  // `ready` must not depend on `valid` in the same cycle: it is read before the edge
            taken = top.s_sample_tready;
            tick();
        } while (!taken && --left > 0);
        top.s_sample_tvalid = 0;
        clocks->changed = true;
        return answer(decision, left, WATCHDOG);
    }

    // Take the next decision: cycles until then, or `none` if it does not come in `left`.
    int64_t answer(int64_t* decision, int64_t left, int64_t none) {
        const int64_t start = cycles;
        int64_t result = none;
        for (; left > 0; --left) {
            if (top.m_decision_tvalid) {
                unpack_decision(top.m_decision_tdata, decision);
                tick();
                ++decisions;
                result = cycles - start;
                break;
            }
            tick();
        }
        top.m_decision_tready = 0;
        clocks->changed = true;
        return result;
    }

    // One event in, its decision out; returns cycles as `decide`.
    int64_t event(const int64_t* what, int64_t* decision) {
        if (!takes_events<Model>) return NO_EVENTS;
        offer_event(top, what);
        top.m_decision_tready = 1;
        clocks->changed = true;
        int64_t left = watchdog;
        bool taken = false;
        do {
            taken = event_ready(top);
            tick();
        } while (!taken && --left > 0);
        offer_event(top, nullptr);
        clocks->changed = true;
        return answer(decision, left < settle ? left : settle, taken ? IGNORED : WATCHDOG);
    }

    // One acknowledgement in, its decision out; returns cycles as `decide`.
    int64_t acknowledge(const int64_t* what, int64_t* decision) {
        if (!takes_acks<Model>) return NO_ACKS;
        offer_ack(top, what);
        top.m_decision_tready = 1;
        clocks->changed = true;
        int64_t left = watchdog;
        bool taken = false;
        do {
            taken = ack_ready(top);
            tick();
        } while (!taken && --left > 0);
        offer_ack(top, nullptr);
        clocks->changed = true;
        return answer(decision, left < settle ? left : settle, taken ? IGNORED : WATCHDOG);
    }

    // Samples and events at random times, each in order; decisions as they come out. Returns their
    // number, once `settle` cycles are quiet after all has been taken.
    int64_t mixed(int64_t samples_n, const int64_t* samples, int64_t events_n,
                  const int64_t* events, int64_t* out, uint64_t seed, int sample_256,
                  int event_256, int stall_256) {
        if (!takes_events<Model>) return NO_EVENTS;
        Random random(seed);
        int64_t sent = 0, told = 0, made = 0, quiet = 0;
        bool offering = false, telling = false;
        while (sent < samples_n || told < events_n || quiet < settle) {
            if (!offering && sent < samples_n && random.chance(sample_256)) {
                pack_sample(top.s_sample_tdata, samples + sent * SAMPLE_FIELDS);
                top.s_sample_tvalid = 1;
                offering = clocks->changed = true;
            }
            if (!telling && told < events_n && random.chance(event_256)) {
                offer_event(top, events + told * EVENT_FIELDS);
                telling = clocks->changed = true;
            }
            const bool accept = !random.chance(stall_256);
            clocks->changed |= top.m_decision_tready != accept;
            top.m_decision_tready = accept;
            clocks->settle();
            const bool in = offering && top.s_sample_tready;
            const bool heard = telling && event_ready(top);
            const bool answer = top.m_decision_tvalid && top.m_decision_tready;
            if (answer) {
                if (made == samples_n + events_n) return finish_batch(UNEXPECTED);
                unpack_decision(top.m_decision_tdata, out + made++ * DECISION_FIELDS);
                ++decisions;
            }
            tick();
            if (in) {
                ++sent;
                offering = false;
                top.s_sample_tvalid = 0;
                clocks->changed = true;
            }
            if (heard) {
                ++told;
                telling = false;
                offer_event(top, nullptr);
                clocks->changed = true;
            }
            quiet = (in || heard || answer) ? 0 : quiet + 1;
            if ((sent < samples_n || told < events_n) && quiet > watchdog) {
                return finish_batch(WATCHDOG);
            }
        }
        return finish_batch(made);
    }

    // Keep the pipeline full: `n` samples in, each decision put where its sample was; returns the
    // number of decisions. Decisions are in order per QP; between QPs any order is accepted. A
    // sample without a decision after `settle` quiet cycles was dropped: its latency is -1.
    int64_t batch(int64_t n, const int64_t* samples, int64_t* out, int32_t* latency, uint64_t seed,
                  int idle_256, int stall_256, int32_t* commit_order) {
        std::vector<int32_t> head(MAX_QPS, -1), tail(MAX_QPS, -1), next(n, -1);
        std::vector<int64_t> entered(n, 0);
        Random random(seed);
        int64_t sent = 0, received = 0, quiet = 0;
        bool offering = false;
        for (int64_t i = 0; i < n; ++i) latency[i] = -1;
        while (received < n && !(sent == n && quiet > settle)) {
            if (!offering && sent < n && !(idle_256 && random.chance(idle_256))) {
                pack_sample(top.s_sample_tdata, samples + sent * SAMPLE_FIELDS);
                top.s_sample_tvalid = 1;
                offering = clocks->changed = true;
            }
            const bool accept = !(stall_256 && random.chance(stall_256));
            clocks->changed |= top.m_decision_tready != accept;
            top.m_decision_tready = accept;
            clocks->settle();
            const bool in = offering && top.s_sample_tready;
            const bool answer = top.m_decision_tvalid && top.m_decision_tready;
            if (answer) {
                int64_t fields[DECISION_FIELDS];
                unpack_decision(top.m_decision_tdata, fields);
                const int64_t qp = fields[DECISION_QP];
                const int32_t index = head[qp];
                if (index < 0) return finish_batch(UNEXPECTED);
                head[qp] = next[index];
                std::memcpy(out + index * DECISION_FIELDS, fields, sizeof fields);
                latency[index] = static_cast<int32_t>(cycles + 1 - entered[index]);
                commit_order[received] = index;
                ++received;
                ++decisions;
            }
            tick();
            if (in) {
                const int64_t qp = samples[sent * SAMPLE_FIELDS + SAMPLE_QP];
                if (qp < 0 || qp >= MAX_QPS) return finish_batch(BAD_ARGUMENT);
                if (head[qp] < 0) head[qp] = static_cast<int32_t>(sent);
                else next[tail[qp]] = static_cast<int32_t>(sent);
                tail[qp] = static_cast<int32_t>(sent);
                entered[sent] = cycles;
                ++sent;
                offering = false;
                top.s_sample_tvalid = 0;
                clocks->changed = true;
            }
            quiet = (in || answer) ? 0 : quiet + 1;
            if (sent < n && quiet > watchdog) return finish_batch(WATCHDOG);
        }
        return finish_batch(received);
    }

    int64_t finish_batch(int64_t result) {
        top.s_sample_tvalid = 0;
        offer_event(top, nullptr);
        top.m_decision_tready = 0;
        clocks->changed = true;
        return result;
    }
};

}  // namespace

API void* precog_new(void) { return new (std::nothrow) Nic; }
API void precog_free(void* handle) { delete static_cast<Nic*>(handle); }
// A new instance in the old one's place: what memory and registers held is gone, counts go on.
API void precog_reset(void* handle) {
    Nic* nic = static_cast<Nic*>(handle);
    const int64_t cycles = nic->cycles, decisions = nic->decisions, watchdog = nic->watchdog;
    const int64_t settle = nic->settle;
    const bool strict = nic->clocks->strict, gated = nic->clocks->gated;
    nic->~Nic();
    new (nic) Nic;
    nic->cycles += cycles;
    nic->decisions = decisions;
    nic->watchdog = watchdog;
    nic->settle = settle;
    nic->clocks->strict = strict;
    nic->clocks->gated = gated;
}

API int64_t precog_axil_write(void* handle, uint32_t address, uint32_t data) {
    return static_cast<Nic*>(handle)->write(address, data);
}
API int64_t precog_axil_read(void* handle, uint32_t address) {
    return static_cast<Nic*>(handle)->read(address);
}
API int64_t precog_decide(void* handle, const int64_t* sample, int64_t* decision) {
    return static_cast<Nic*>(handle)->decide(sample, decision);
}
API int64_t precog_event(void* handle, const int64_t* event, int64_t* decision) {
    return static_cast<Nic*>(handle)->event(event, decision);
}
API int64_t precog_acknowledge(void* handle, const int64_t* ack, int64_t* decision) {
    return static_cast<Nic*>(handle)->acknowledge(ack, decision);
}
API int64_t precog_mixed(void* handle, int64_t samples_n, const int64_t* samples, int64_t events_n,
                         const int64_t* events, int64_t* decisions, uint64_t seed, int sample_256,
                         int event_256, int stall_256) {
    return static_cast<Nic*>(handle)->mixed(samples_n, samples, events_n, events, decisions, seed,
                                            sample_256, event_256, stall_256);
}
API int64_t precog_decide_each(void* handle, int64_t n, const int64_t* samples, int64_t* decisions,
                               int32_t* latency) {
    Nic* nic = static_cast<Nic*>(handle);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t result = nic->decide(samples + i * SAMPLE_FIELDS, decisions + i * DECISION_FIELDS);
        if (result < 0) return result;
        latency[i] = static_cast<int32_t>(result);
    }
    return n;
}
API int64_t precog_batch(void* handle, int64_t n, const int64_t* samples, int64_t* decisions,
                         int32_t* latency, uint64_t seed, int idle_256, int stall_256,
                         int32_t* commit_order) {
    return static_cast<Nic*>(handle)->batch(n, samples, decisions, latency, seed, idle_256,
                                            stall_256, commit_order);
}
API void precog_idle(void* handle, int64_t n) {
    for (Nic* nic = static_cast<Nic*>(handle); n > 0; --n) nic->tick();
}
API int64_t precog_cycles(void* handle) { return static_cast<Nic*>(handle)->cycles; }
API int64_t precog_decisions(void* handle) { return static_cast<Nic*>(handle)->decisions; }
API int64_t precog_pending(void* handle) {
    return static_cast<Nic*>(handle)->top.m_decision_tvalid;
}
API void precog_set_settle(void* handle, int64_t cycles) {
    static_cast<Nic*>(handle)->settle = cycles;
}
API void precog_set_watchdog(void* handle, int64_t cycles) {
    static_cast<Nic*>(handle)->watchdog = cycles;
}
API void precog_set_strict(void* handle, int on) { static_cast<Nic*>(handle)->clocks->strict = on || !DIRECT; }
API void precog_set_gating(void* handle, int on) { static_cast<Nic*>(handle)->clocks->gated = on && GATED; }

// Memories, for whoever injects faults: name, bits and bytes of a word, words.
API int64_t precog_memories(void* handle) { return memories(static_cast<Nic*>(handle)->top).size(); }
API const char* precog_memory(void* handle, int64_t n, int64_t* sizes) {
    const Memory memory = memories(static_cast<Nic*>(handle)->top)[n];
    sizes[0] = memory.bits;
    sizes[1] = memory.bytes;
    sizes[2] = memory.depth;
    return memory.name;
}
// The words themselves, little endian.
API uint8_t* precog_memory_words(void* handle, int64_t n) {
    return memories(static_cast<Nic*>(handle)->top)[n].at;
}
// Bits to be inverted, rows of {memory, word, bit, cycles from now}, the soonest first.
API void precog_faults(void* handle, int64_t n, const int64_t* rows) {
    Nic* nic = static_cast<Nic*>(handle);
    const std::vector<Memory> all = memories(nic->top);
    nic->faults.clear();
    for (const int64_t* row = rows + 4 * (n - 1); row >= rows; row -= 4) {
        const Memory& memory = all[row[0]];
        uint8_t* at = memory.at + row[1] * memory.bytes + row[2] / 8;
        nic->faults.push_back({nic->cycles + row[3], at, static_cast<uint8_t>(1 << row[2] % 8)});
    }
    nic->next_fault = n ? nic->faults.back().cycle : INT64_MAX;
}
