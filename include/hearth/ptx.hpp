#pragma once

#include "hearth/cache.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// PTX text to a CUBIN, through the cache.

namespace hearth::ptx {

enum class Input : std::uint8_t {
    ptx,
    lto_ir,  // as NVRTC's -dlto gives it; needs nvJitLink
};

// Everything that the linker is given.
struct Program {
    std::string text{};                  // PTX, or the bytes of LTO-IR
    std::string name{};                  // as the log shows it; "ptx input" when left empty
    std::vector<std::string> options{};  // as nvJitLink takes them: "-O3", "-maxrregcount=32", "-lineinfo", ...
    std::string target{};                // "sm_90"; "device": this machine's first GPU; empty: as the options say
    Input input = Input::ptx;
};

// Who turns PTX into a CUBIN.
enum class Linker : std::uint8_t {
    automatic,  // nvJitLink where it is found, else the driver
    nvjitlink,
    driver,  // needs a GPU; takes -O, -g, -lineinfo, -maxrregcount and -verbose
};

struct CompileOptions {
    Linker linker = Linker::automatic;
    std::string library{};  // the libnvJitLink to use; empty: HEARTH_NVJITLINK, then the first that is found
    std::chrono::milliseconds deadline{0};
};

enum class Outcome : std::uint8_t {
    hit,       // the cache had it
    compiled,  // the linker made it, and it is stored
    bypassed,  // the linker made it, and it cannot be stored; reason() says why
};
HEARTH_API std::string_view to_string(Outcome outcome);

// The whole result of a compile, be it a hit or not. Text that is no PTX is a result too: failed(), with the log.
class HEARTH_API Compiled {
public:
    Compiled(ArtifactLease artifact, Request request, Outcome outcome, std::string reason, std::string tier)
        : m_artifact(std::move(artifact)), m_request(std::move(request)), m_outcome(outcome),
          m_reason(std::move(reason)), m_tier(std::move(tier))
    {
    }

    bool failed() const noexcept { return m_artifact->failed(); }
    int status() const noexcept { return m_artifact->status; }  // the nvJitLinkResult, or the driver's CUresult
    // What the linker wrote: its errors, then what it told besides.
    std::string_view log() const noexcept { return m_artifact->text("log"); }

    // Empty when it failed, or when -ptx asked for PTX.
    ByteView cubin() const noexcept { return m_artifact->bytes("cubin"); }
    // What LTO-IR came to with the option -ptx.
    std::string_view ptx() const noexcept { return m_artifact->text("ptx"); }

    Outcome outcome() const noexcept { return m_outcome; }
    const std::string& reason() const noexcept { return m_reason; }  // of a miss or a bypass
    const std::string& tier() const noexcept { return m_tier; }      // that answered; empty when none did
    const Request& request() const noexcept { return m_request; }
    const Artifact& artifact() const noexcept { return *m_artifact; }

private:
    ArtifactLease m_artifact;
    Request m_request;
    Outcome m_outcome;
    std::string m_reason;
    std::string m_tier;
};

// Compiles through the cache: exactly what the linker gives for this program, at most once on this machine. Neither
// nvJitLink nor the driver is loaded for a hit, but for the target "device", which asks the driver.
// An Error means that nothing could be compiled at all: no library, no device, a text the linker cannot be given.
HEARTH_API Result<Compiled> compile(Cache& cache, const Program& program, const CompileOptions& options = {});

// The request that compile() would look up. Nothing is compiled.
struct Planned {
    Request request;
    std::string bypass;  // why it would not be looked up; empty: it would
};
HEARTH_API Result<Planned> plan(const Program& program, const CompileOptions& options = {});

}  // namespace hearth::ptx
