// Signed arithmetic of a Verilated model in fewer instructions: included before its code.
//
// Verilator extends a sign by a mask, a negation and an OR, and shifts with a branch for the case
// that nothing is left; two shifts do it. A tenth of a cycle's instructions are signs. The results
// are those of verilated_funcs.h, bits above the output's width included where those are defined.
#pragma once
#include "verilated.h"

static inline IData precog_extend(int bits, IData value) {
    return static_cast<IData>(static_cast<int32_t>(value << (32 - bits)) >> (32 - bits));
}
static inline QData precog_extend(int bits, QData value) {
    return static_cast<QData>(static_cast<int64_t>(value << (64 - bits)) >> (64 - bits));
}
static inline IData precog_shift_right(int bits, IData value, IData by) {
    return static_cast<IData>(static_cast<int32_t>(precog_extend(bits, value)) >> (by < 32 ? by : 31));
}

#define VL_EXTENDS_II(obits, bits, value) precog_extend(bits, static_cast<IData>(value))
#define VL_EXTENDS_QI(obits, bits, value) precog_extend(bits, static_cast<QData>(value))
#define VL_EXTENDS_QQ(obits, bits, value) precog_extend(bits, static_cast<QData>(value))
#define VL_MULS_III(bits, a, b) \
    (precog_extend(bits, static_cast<IData>(a)) * precog_extend(bits, static_cast<IData>(b)))
#define VL_MULS_QQQ(bits, a, b) \
    (precog_extend(bits, static_cast<QData>(a)) * precog_extend(bits, static_cast<QData>(b)))
#define VL_SHIFTRS_III(obits, bits, by_bits, value, by) \
    precog_shift_right(bits, static_cast<IData>(value), static_cast<IData>(by))
