"""The C++ side of the contract: how samples, events and decisions lie in their streams' payloads.

A struct's first field is the least significant; the layouts are `contract.SAMPLE_FIELDS`,
`law_fields.LAW_EVENT_FIELDS`, `law_fields.ACK_FIELDS` and `contract.DECISION_FIELDS`, so the
harness never states them; of send queues `contract.QUEUE_EVENT_FIELDS` and
`contract.FORECAST_FIELDS`.
"""

from collections.abc import Sequence

from precog_spec.contract import DECISION_FIELDS, FORECAST_FIELDS, QUEUE_EVENT_FIELDS, SAMPLE_FIELDS
from precog_spec.law_fields import ACK_FIELDS, LAW_EVENT_FIELDS

__all__ = ["DECISION_NAMES", "EVENT_NAMES", "SAMPLE_NAMES", "fields_header", "queue_fields_header"]

SAMPLE_NAMES = tuple(name for name, _ in SAMPLE_FIELDS)
EVENT_NAMES = tuple(name for name, _ in LAW_EVENT_FIELDS)
DECISION_NAMES = tuple(name for name, _ in DECISION_FIELDS)

_PRELUDE = """\
// Generated from precog_spec.contract; do not edit.
#pragma once
#include <cstdint>

// Verilator makes a payload of up to 64 bits an integer, a wider one an array of 32-bit words.
template <int LSB, int BITS, typename T>
static inline void put_field(T& payload, uint64_t value) {
    value &= (BITS == 64) ? ~0ull : ((1ull << BITS) - 1);
    if constexpr (requires { payload[0]; }) {
        constexpr int WORD = LSB / 32, SHIFT = LSB % 32;
        payload[WORD] |= static_cast<uint32_t>(value << SHIFT);
        if constexpr (SHIFT + BITS > 32) {
            payload[WORD + 1] |= static_cast<uint32_t>(value >> (32 - SHIFT));
        }
        if constexpr (SHIFT + BITS > 64) {
            payload[WORD + 2] |= static_cast<uint32_t>(value >> (64 - SHIFT));
        }
    } else {
        payload |= static_cast<T>(value << LSB);
    }
}

template <int LSB, int BITS, typename T>
static inline int64_t get_field(const T& payload) {
    constexpr uint64_t MASK = (BITS == 64) ? ~0ull : ((1ull << BITS) - 1);
    if constexpr (requires { payload[0]; }) {
        constexpr int WORD = LSB / 32, SHIFT = LSB % 32;
        uint64_t value = static_cast<uint64_t>(payload[WORD]) >> SHIFT;
        if constexpr (SHIFT + BITS > 32) {
            value |= static_cast<uint64_t>(payload[WORD + 1]) << (32 - SHIFT);
        }
        if constexpr (SHIFT + BITS > 64) {
            value |= static_cast<uint64_t>(payload[WORD + 2]) << (64 - SHIFT);
        }
        return static_cast<int64_t>(value & MASK);
    } else {
        return static_cast<int64_t>((static_cast<uint64_t>(payload) >> LSB) & MASK);
    }
}

template <typename T> static inline void clear_payload(T& payload) {
    if constexpr (requires { payload[0]; }) {
        for (auto& word : payload.m_storage) word = 0;
    } else {
        payload = 0;
    }
}
"""


def fields_header() -> str:
    """Text of ``fields.h``: pack samples and events, unpack decisions; their numbers of fields."""
    lines = [_PRELUDE]
    lines.append(f"constexpr int SAMPLE_FIELDS = {len(SAMPLE_FIELDS)};")
    lines.append(f"constexpr int EVENT_FIELDS = {len(LAW_EVENT_FIELDS)};")
    lines.append(f"constexpr int DECISION_FIELDS = {len(DECISION_FIELDS)};")
    lines.append(f"constexpr int SAMPLE_QP = {SAMPLE_NAMES.index('qp')};")
    lines.append(f"constexpr int DECISION_QP = {DECISION_NAMES.index('qp')};\n")
    packed = (("sample", SAMPLE_FIELDS), ("event", LAW_EVENT_FIELDS), ("ack", ACK_FIELDS))
    for what, fields in packed:
        lines += _packs(what, fields)
    lines += _unpacks("decision", DECISION_FIELDS)
    return "\n".join(lines)


def queue_fields_header(qp_bits: int) -> str:
    """Text of ``queue_fields.h``, behind ``fields.h``: pack queue events, unpack forecasts.

    Parameters
    ----------
    qp_bits : int
        Width of a slot number in the events.
    """
    event = [(name, qp_bits if name == "qp" else bits) for name, bits in QUEUE_EVENT_FIELDS]
    names = [name for name, _ in FORECAST_FIELDS]
    lines = [
        "// Generated from precog_spec.contract; do not edit.",
        "#pragma once",
        f"constexpr int QP_BITS = {qp_bits};",
        f"constexpr int FORECAST_FIELDS = {len(FORECAST_FIELDS)};",
        f"constexpr int FORECAST_QP = {names.index('qp')};",
        f"constexpr int FORECAST_T = {names.index('t')};\n",
        *_packs("queue_event", event),
        *_unpacks("forecast", FORECAST_FIELDS),
    ]
    return "\n".join(lines)


def _packs(what: str, fields: Sequence[tuple[str, int]]) -> list[str]:
    return [
        f"template <typename T> static inline void pack_{what}(T& p, const int64_t* f) {{",
        "    clear_payload(p);",
        *_calls(fields, "    put_field<{lsb}, {bits}>(p, f[{index}]);  // {name}"),
        "}\n",
    ]


def _unpacks(what: str, fields: Sequence[tuple[str, int]]) -> list[str]:
    return [
        f"template <typename T> static inline void unpack_{what}(const T& p, int64_t* f) {{",
        *_calls(fields, "    f[{index}] = get_field<{lsb}, {bits}>(p);  // {name}"),
        "}\n",
    ]


def _calls(fields: Sequence[tuple[str, int]], template: str) -> list[str]:
    """One line per field, with its position."""
    lines, lsb = [], 0
    for index, (name, bits) in enumerate(fields):
        lines.append(template.format(lsb=lsb, bits=bits, index=index, name=name))
        lsb += bits
    return lines
