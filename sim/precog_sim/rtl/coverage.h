// What a build with coverage leaves: which lines of its Verilog ran.
#pragma once
#include "verilated.h"
#if VM_COVERAGE
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "verilated_cov.h"
#endif

// Into a new file of the folder that PRECOG_COVERAGE names, called after the build.
inline void write_coverage([[maybe_unused]] VerilatedContext& context) {
#if VM_COVERAGE
    static int made = 0;
    Dl_info library;
    const char* folder = std::getenv("PRECOG_COVERAGE");
    if (!folder || !dladdr(reinterpret_cast<void*>(&made), &library)) return;
    std::string build = library.dli_fname;  // .../build/lib.so
    build.resize(build.rfind('/'));
    build.erase(0, build.rfind('/') + 1);
    context.coveragep()->write(std::string(folder) + "/" + build + "-" + std::to_string(getpid()) +
                               "-" + std::to_string(++made) + ".dat");
#endif
}
