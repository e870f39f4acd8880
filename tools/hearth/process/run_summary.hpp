#pragma once

#include "hearth/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hearth::cli {

// What the programs of one `hearth run` compiled.
struct RunSummary {
    struct Compile {
        std::string name;
        std::string reason;
        double spent_ms = 0;
        bool after_ready = false;
    };

    // Programs that a compiler starts, such as cicc by nvcc, while that is compiled itself.
    struct Steps {
        std::map<std::string, std::uint64_t> hits_of;  // by tier; "" has those that waited for another's
        std::uint64_t compiled = 0;
        double saved_ms = 0;
    };

    // Of one compiler or framework.
    struct Counts {
        std::uint64_t hits = 0;  // and those that waited for another's
        std::uint64_t compiled = 0;
        std::uint64_t forbidden = 0;
    };

    Steps steps;
    std::map<std::string, Counts> of;              // by compiler: "nvrtc", "command", "triton"
    std::map<std::string, std::uint64_t> hits_of;  // by tier
    std::uint64_t compiled = 0;
    std::uint64_t after_ready = 0;     // of what was compiled, and what was past the cache
    std::uint64_t waited = 0;          // for another thread or process that compiled the same kernel
    std::uint64_t past_the_cache = 0;  // compiled, and cannot be kept
    std::uint64_t forbidden = 0;       // needed a compile, and compiling is forbidden
    double saved_ms = 0;
    double spent_ms = 0;
    std::vector<Compile> slowest;  // of what was compiled, the slowest first
    std::uint64_t processes = 0;
    std::vector<std::string> warnings;  // of the cache, the first few

    std::uint64_t hits() const;
    std::string as_text() const;
    std::string as_json() const;
};

// The file to which the programs write one line per compile.
class RunLog {
public:
    // Creates it empty, and readable by nobody else: at `path`, where it stays, or in the temporary folder until
    // remove(). An Error if no file can be created.
    static Result<RunLog> make(const std::string& path);
    static Result<RunLog> make();
    RunLog(RunLog&& other) noexcept : m_path(std::exchange(other.m_path, {})), m_keep(other.m_keep) {}
    RunLog& operator=(RunLog&&) = delete;
    ~RunLog() { remove(); }

    const std::string& path() const { return m_path; }
    RunSummary read() const;
    void remove();

private:
    enum class Keep : bool { no, yes };
    RunLog(std::string path, Keep keep) : m_path(std::move(path)), m_keep(keep) {}

    std::string m_path;
    Keep m_keep;
};

}  // namespace hearth::cli
