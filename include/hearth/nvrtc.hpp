#pragma once

#include "hearth/compiled.hpp"
#include "hearth/explain.hpp"

#include <future>
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
    // Any other option, as it is.
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

using hearth::Outcome;

// The whole result of a compile; status() is the nvrtcResult.
class HEARTH_API Compiled : public CompileResult {
public:
    Compiled(CompileResult result, std::string log) : CompileResult(std::move(result)), m_log(std::move(log)) {}

    // As NVRTC would have written it for this request.
    const std::string& log() const noexcept { return m_log; }

    // Empty when NVRTC gave none for this target.
    std::string_view ptx() const noexcept { return artifact().text("ptx"); }
    ByteView cubin() const noexcept { return artifact().bytes("cubin"); }
    ByteView lto_ir() const noexcept { return artifact().bytes("ltoir"); }
    ByteView optix_ir() const noexcept { return artifact().bytes("optixir"); }
    // The compiler's name for one of the program's name expressions; none for any other expression.
    std::optional<std::string> lowered_name(std::string_view expression) const;

private:
    std::string m_log;
};

// Compiles through the cache: exactly what NVRTC gives for this program and the headers it reads, at most once on this
// machine. libnvrtc is loaded when something has to be compiled, never for a hit.
// An Error means that nothing could be compiled at all: no library, no device, a source NVRTC cannot be given.
HEARTH_API Result<Compiled> compile(Cache& cache, const Program& program, const CompileOptions& options = {});

// The same on a worker of the cache, which may be moved meanwhile. If it is closed first, the future has an Error.
HEARTH_API std::future<Result<Compiled>> compile_async(Cache& cache, Program program, CompileOptions options = {});

// What a libnvrtc says of itself. It is loaded for that once on a machine; from then on the cache knows.
struct LibraryFacts {
    int major = 0;
    int minor = 0;
    std::vector<int> architectures{};  // 80 for sm_80; empty for versions that do not tell
};
HEARTH_API Result<LibraryFacts> library_facts(Cache& cache, const std::string& library = {});

// Whether compile() would hit, and if not, what is different from the nearest entry: this option, that header. Nothing
// is compiled and nothing is counted.
HEARTH_API Result<Explanation> explain(Cache& cache, const Program& program, const CompileOptions& options = {});

}  // namespace hearth::nvrtc
