"""How a Verilated model is clocked: the header between its generated code and ``clocks.h``."""

import re
from pathlib import Path

__all__ = ["model_header"]

#: A model that leaves a VCD file in the folder that PRECOG_WAVES names, called after the build.
#: Time is in half cycles: inputs settle in the first, and the state after the edge is in the
#: second. A dump is on disk at once, so that a test that fails leaves its last cycle, too.
_WAVES = """\
#include <dlfcn.h>
#include <unistd.h>
#include <cstdlib>
#include <string>
#include "verilated_vcd_c.h"
class Model : public {prefix} {{
    VerilatedVcdC file;
    uint64_t time = 0;
    int level = -1;  // of the clock at the last dump
    static VerilatedContext* traced(VerilatedContext* context) {{
        context->traceEverOn(true);  // before the model is constructed
        return context;
    }}
public:
    Model(VerilatedContext* context, const char* name) : {prefix}(traced(context), name) {{
        static int made = 0;
        Dl_info library;
        const char* folder = std::getenv("PRECOG_WAVES");
        if (!folder || !dladdr(reinterpret_cast<void*>(&made), &library)) return;
        std::string build = library.dli_fname;  // .../build/lib.so
        build.resize(build.rfind('/'));
        build.erase(0, build.rfind('/') + 1);
        trace(&file, 99);
        file.open((std::string(folder) + "/" + build + "-" + std::to_string(getpid()) + "-" +
                   std::to_string(++made) + ".vcd").c_str());
    }}
    ~Model() {{ if (file.isOpen()) file.close(); }}
    void eval() {{
        {prefix}::eval();
        if (!file.isOpen() || clk == level) return;
        level = clk;
        file.dump(time++);
        file.flush();
    }}
}};"""


def model_header(model: Path, prefix: str, *, once: bool = True, waves: bool = False) -> str:
    """The Verilated class under a fixed name, and the keys to one evaluation per clock cycle.

    Verilator finds a rising edge by comparing each clock with its value at the last evaluation, so
    a cycle normally costs two evaluations, one of which does nothing, and both look at all inputs
    and clocks. A caller that knows which clocks rise can call what an edge does (``rising_edge``,
    the generated ``eval_nba``) and what follows inputs (``follow_inputs``, ``eval_ico``) directly.
    ``triggers_of`` asks Verilator's own comparison for the triggers of a clock, once. Only if the
    clock has several names (a netlist) two evaluations it is. An input ``unit_clk`` has a clock in
    each of its bits, for the units of the output ``active``. Without `once` combinational logic may
    look like a loop and has to settle: two evaluations, then, too. With `waves` the model writes
    what happens to a file.
    """
    root = f"{prefix}___024root"
    header = (model / f"{root}.h").read_text()
    code = "".join(path.read_text() for path in sorted(model.glob(f"{root}__*.cpp")))
    clocks = set(re.findall(r"\b__Vtrigprevexpr\w*\b", header))
    if not clocks:
        raise ValueError("the model must have a clock called clk, it has none")
    port = re.search(r"&unit_clk,(\d+),0\)", (model / f"{prefix}.h").read_text())
    units = 1 + int(port[1]) if port else 0
    one_word = re.search(r"VlUnpacked<QData/\*63:0\*/, 1> __VnbaTriggered;", header)
    direct = once and one_word is not None and (units > 0 or len(clocks) == 1)
    functions = ["eval_nba", "eval_triggers_vec__act"]
    follow = "(void)m;"
    if f"void {root}___eval_ico(" in code:
        functions.append("eval_ico")
        follow = f"m.rootp->__VicoTriggered[0] = 1; {root}___eval_ico(m.rootp);"
    edge = (
        f"m.rootp->__VnbaTriggered[0] = triggers; {root}___eval_nba(m.rootp); "
        "m.rootp->__VnbaTriggered[0] = 0;"
    )
    ask = f"{root}___eval_triggers_vec__act(m.rootp); return m.rootp->__VactTriggered[0];"
    lines = [
        "#pragma once",
        f'#include "{prefix}.h"',
        f'#include "{root}.h"',
        _WAVES.format(prefix=prefix) if waves else f"using Model = {prefix};",
        f"constexpr bool DIRECT = {str(direct).lower()};",
        f"constexpr bool GATED = {str(units > 0).lower()};",
        f"constexpr int UNITS = {units};",
        "constexpr uint32_t ALL_UNITS = (1u << UNITS) - 1;",
        *(f"void {root}___{name}({root}*);" for name in functions if direct),
        f"static inline uint32_t active_units(Model& m) {{ return {'m.active' if units else 0}; }}",
        "static inline void set_clocks(Model& m, bool clk, uint32_t units) "
        f"{{ m.clk = clk; {'m.unit_clk = units;' if units else '(void)units;'} }}",
        f"static inline void follow_inputs(Model& m) {{ {follow if direct else ''} }}",
        "static inline void rising_edge(Model& m, uint64_t triggers) "
        f"{{ {edge if direct else ''} }}",
        "static inline uint64_t triggers_of(Model& m, bool clk, uint32_t units) "
        f"{{ set_clocks(m, clk, units); {ask if direct else 'return 0;'} }}",
    ]
    return "\n".join([*lines, *_memories(header)]) + "\n"


def _memories(header: str) -> list[str]:
    """A table of the model's memories: a word's bits and bytes, how many, and where they begin."""
    found = re.findall(r"VlUnpacked<\w+(?:<\d+>)?/\*(\d+):0\*/, (\d+)> (\w+__DOT__\w+);", header)
    rows = []
    for high, depth, name in found:
        if name.startswith("__V"):
            continue
        shown = re.sub(r"__024\d+", "", name).replace("__DOT__", ".")
        at = f"m.rootp->{name}"
        rows.append(
            f'{{"{shown}", reinterpret_cast<uint8_t*>(&{at}), {int(high) + 1}, '
            f"static_cast<int64_t>(sizeof {at}) / {depth}, {depth}}},"
        )
    return [
        "#include <vector>",
        "struct Memory { const char* name; uint8_t* at; int64_t bits, bytes, depth; };",
        "static inline std::vector<Memory> memories(Model& m) { (void)m; return {",
        *rows,
        "}; }",
    ]
