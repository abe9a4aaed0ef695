// Behind harness.cpp, for NICs that watch send queues and forecast them: what queues do goes in,
// and forecasts come out, through the NIC's own pins.
#include "queue_fields.h"

namespace {

constexpr int64_t VISIT_CYCLES = 4;  // of the profiler, a queue pair
constexpr int64_t LONGEST = 8000;    // a profile's way: 3100 measured, 16 lanes, new model, 8 steps

// What a send queue does. It never waits but after reset.
int64_t observe(Nic& nic, const int64_t* what) {
    Model& top = nic.top;
    pack_queue_event(top.s_queue_tdata, what);
    top.s_queue_tvalid = 1;
    nic.clocks->changed = true;
    bool taken = false;
    for (int64_t left = nic.watchdog; !taken && left > 0; --left) {
        nic.clocks->settle();
        taken = top.s_queue_tready;
        nic.tick();
    }
    top.s_queue_tvalid = 0;
    nic.clocks->changed = true;
    return taken ? 0 : WATCHDOG;
}

// It is `t`: every queue pair is visited, and forecasts are taken, each into its queue pair's row,
// until a whole round and the longest way of a profile were quiet. Returns their number.
int64_t visit(Nic& nic, int64_t t, int64_t* rows) {
    const int64_t longest = nic.settle > LONGEST ? nic.settle : LONGEST;
    const int64_t round = (VISIT_CYCLES << QP_BITS) + longest;
    Model& top = nic.top;
    int64_t made = 0, quiet = 0;
    top.now = t;
    top.m_forecast_tready = 1;
    nic.forecast.clear();
    nic.clocks->changed = true;
    while (quiet < round) {
        nic.clocks->settle();
        if (top.m_forecast_tvalid) {
            int64_t fields[FORECAST_FIELDS];
            unpack_forecast(top.m_forecast_tdata, fields);
            if (fields[FORECAST_QP] >> QP_BITS || fields[FORECAST_T] != t) return UNEXPECTED;
            std::memcpy(rows + fields[FORECAST_QP] * FORECAST_FIELDS, fields, sizeof fields);
            nic.forecast.push_back(fields[FORECAST_QP]);
            ++made;
            quiet = 0;
        }
        nic.tick();
        ++quiet;
    }
    top.m_forecast_tready = 0;
    nic.clocks->changed = true;
    return made;
}

}  // namespace

API int64_t precog_observe(void* handle, const int64_t* what, int64_t*) {
    return observe(*static_cast<Nic*>(handle), what);
}
API const int64_t* precog_forecast_order(void* handle) {
    return static_cast<Nic*>(handle)->forecast.data();
}
API int64_t precog_visit(void* handle, const int64_t* t, int64_t* rows) {
    return visit(*static_cast<Nic*>(handle), *t, rows);
}
