// Rising edges of a Verilated model: only of the units that have work, in one evaluation.
#pragma once
#include <cstdint>

#include "model.h"

struct Clocks {
    Model& top;
    bool strict = !DIRECT;  // two evaluations per cycle, as Verilator's manual has it
    bool gated = GATED;     // units that have no work are not clocked
    bool changed = false;   // inputs have changed since combinational outputs followed them

    // The model must have been evaluated once, with all clocks low.
    explicit Clocks(Model& model) : top(model) {
        always = triggers_of(top, true, 0);
        for (int unit = 0; unit < UNITS; ++unit) {
            const uint64_t its = triggers_of(top, false, 1u << unit);
            for (int byte = 0; byte < 256; ++byte) {
                if (byte >> unit % 8 & 1) triggers[unit / 8][byte] |= its;
            }
        }
        triggers_of(top, false, 0);
    }

    // The outputs afterwards are those of the new state under the same inputs.
    void rise() {
        if (gated || !strict) settle();  // which units have work depends on the inputs too
        const uint32_t units = gated ? active_units(top) : ALL_UNITS;
        if (__builtin_expect(strict, 0)) {
            set_clocks(top, false, 0);
            top.eval();
            set_clocks(top, true, units);
            top.eval();
            changed = false;
            return;
        }
        uint64_t set = always;
        for (int n = 0; 8 * n < UNITS; ++n) set |= triggers[n][units >> 8 * n & 255];
        rising_edge(top, set);
    }

    // Let combinational outputs follow inputs that changed after the last edge.
    void settle() {
        if (!changed) return;
        if (strict) top.eval();
        else follow_inputs(top);
        changed = false;
    }

private:
    uint64_t always = 0;                           // Verilator's triggers of the clock,
    uint64_t triggers[UNITS / 8 + 1][256] = {};  // and of the units' clocks, by 8 bits of `active`
};
