#pragma once

#include "hearth/result.hpp"
#include "ir.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace eph {

struct LinkedModule {
    std::string name;  // what imports call it
    Module module;
};

// Modules whose calls have found their functions, ready to run.
// Thread safety: run() may be called from many threads at once. Ownership: it owns the modules; move-only.
class Program {
public:
    Program(Program&&) = default;
    Program& operator=(Program&&) = default;
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() = default;

    // An Error when a function is missing, or when a caller was compiled against another signature than it has: IR that
    // does not belong together never runs.
    static hearth::Result<Program> link(std::vector<LinkedModule> modules);

    struct Limits {
        std::uint64_t steps = 1'000'000'000;
        std::uint32_t depth = 1000;  // of calls
    };
    // What main() of the module "main" gives back.
    hearth::Result<std::int64_t> run(const Limits& limits) const;
    hearth::Result<std::int64_t> run() const { return run(Limits{}); }

private:
    friend class Interpreter;
    Program() = default;

    // A function, and the numbers of those it calls, by its module's numbers for them.
    struct LinkedFunction {
        const Function* function = nullptr;
        const std::vector<std::uint32_t>* callees = nullptr;
    };

    std::vector<LinkedModule> m_modules;
    std::vector<std::vector<std::uint32_t>> m_callees;  // of each module
    std::vector<LinkedFunction> m_functions;
    std::uint32_t m_main = 0;
};

}  // namespace eph
