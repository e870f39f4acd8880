#pragma once

#include "hearth/cache.hpp"
#include "hearth/explain.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::nvrtc {

// A header that is given with the program instead of lying in a file.
struct Header {
    std::string name;
    std::string content;
};

// Everything that nvrtcCreateProgram and nvrtcCompileProgram are given.
struct Program {
    std::string source{};
    std::string name{};                  // "default_program" when left empty, as NVRTC has it
    std::vector<std::string> options{};  // as NVRTC takes them; Options below writes them
    std::vector<Header> headers{};
    std::vector<std::string> name_expressions{};
    std::string target{};  // "sm_90", "compute_80", ...; "device": this machine's first GPU; empty: as the options say
};

// Writes options as NVRTC takes them.
//   .options = nvrtc::Options().standard(20).fast_math().include("/opt/cutlass/include")
class Options {
public:
    Options& target(std::string_view architecture) { return add("-arch=", architecture); }
    Options& standard(int year) { return add("-std=c++", std::to_string(year)); }
    Options& fast_math() { return add("--use_fast_math"); }
    Options& lto() { return add("-dlto"); }
    Options& relocatable() { return add("-rdc=true"); }
    Options& max_registers(int count) { return add("-maxrregcount=", std::to_string(count)); }
    Options& line_info() { return add("-lineinfo"); }
    Options& include(std::string_view directory) { return add("-I", directory); }
    Options& define(std::string_view name) { return add("-D", name); }
    Options& define(std::string_view name, std::string_view value)
    {
        return add("-D", std::string(name) + "=" + std::string(value));
    }
    // Any other, as it is.
    Options& add(std::string_view option, std::string_view value = {})
    {
        m_options.push_back(std::string(option) + std::string(value));
        return *this;
    }

    operator std::vector<std::string>() const { return m_options; }

private:
    std::vector<std::string> m_options;
};

struct CompileOptions {
    std::string library{};  // the libnvrtc to use; empty: HEARTH_NVRTC, then the first that is found
    std::chrono::milliseconds deadline{0};
};

enum class Outcome : std::uint8_t {
    hit,       // the cache had it
    compiled,  // NVRTC made it, and it is stored
    bypassed,  // NVRTC made it, and it cannot be stored; reason() says why
};
HEARTH_API std::string_view to_string(Outcome outcome);

// The whole result of a compile, be it a hit or not. A compile error is a result too: failed(), with its log.
class HEARTH_API Compiled {
public:
    Compiled(ArtifactLease artifact, Request request, Outcome outcome, std::string reason, std::string tier,
             std::string log)
        : m_artifact(std::move(artifact)), m_request(std::move(request)), m_outcome(outcome),
          m_reason(std::move(reason)), m_tier(std::move(tier)), m_log(std::move(log))
    {
    }

    bool failed() const noexcept { return m_artifact->failed(); }
    int status() const noexcept { return m_artifact->status; }  // the nvrtcResult
    // As NVRTC would have written it for this request.
    const std::string& log() const noexcept { return m_log; }

    // Empty when NVRTC gave none for this target.
    std::string_view ptx() const noexcept { return m_artifact->text("ptx"); }
    ByteView cubin() const noexcept { return m_artifact->bytes("cubin"); }
    ByteView lto_ir() const noexcept { return m_artifact->bytes("ltoir"); }
    ByteView optix_ir() const noexcept { return m_artifact->bytes("optixir"); }
    // What the compiler calls a name expression of the program; none for one that was not asked for.
    std::optional<std::string> lowered_name(std::string_view expression) const;

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
    std::string m_log;
};

// Compiles through the cache: exactly what NVRTC gives for this program and the headers it reads, at most once on this
// machine. libnvrtc is loaded when something has to be compiled, never for a hit.
// An Error means that nothing could be compiled at all: no library, no device, a source NVRTC cannot be given.
HEARTH_API Result<Compiled> compile(Cache& cache, const Program& program, const CompileOptions& options = {});

// Whether compile() would hit, and if not, what is different from the nearest entry: this option, that header. Nothing
// is compiled and nothing is counted.
HEARTH_API Result<Explanation> explain(Cache& cache, const Program& program, const CompileOptions& options = {});

}  // namespace hearth::nvrtc
