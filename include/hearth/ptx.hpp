#pragma once

#include "hearth/compiled.hpp"
#include "hearth/explain.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// PTX text to a CUBIN, through the cache; hearth/cuda.hpp makes it a function.

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
    automatic,  // nvJitLink if it is found, else the driver
    nvjitlink,
    driver,  // needs a GPU; takes -O, -g, -lineinfo, -maxrregcount and -verbose
};

struct CompileOptions {
    Linker linker = Linker::automatic;
    std::string library{};  // the libnvJitLink to use; empty: HEARTH_NVJITLINK, then the first that is found
    std::chrono::milliseconds deadline{0};
};

using hearth::Outcome;

// The whole result of a compile; status() is the nvJitLinkResult, or the driver's CUresult. Text that is no PTX is a
// result too: failed(), with the log.
class HEARTH_API Compiled : public CompileResult {
public:
    explicit Compiled(CompileResult result) : CompileResult(std::move(result)) {}

    // What the linker wrote: its errors, then its other messages.
    std::string_view log() const noexcept { return artifact().text("log"); }
    // Empty when it failed, or when -ptx asked for PTX.
    ByteView cubin() const noexcept { return artifact().bytes("cubin"); }
    // The PTX of LTO-IR that was given with the option -ptx.
    std::string_view ptx() const noexcept { return artifact().text("ptx"); }
};

// Compiles through the cache: exactly what the linker gives for this program, at most once on this machine. A hit loads
// neither nvJitLink nor the driver, except that the target "device" asks the driver.
// An Error means that nothing could be compiled at all: no library, no device, a text the linker cannot be given.
HEARTH_API Result<Compiled> compile(Cache& cache, const Program& program, const CompileOptions& options = {});

// Whether compile() would hit, and if not, what is different from the nearest entry. Nothing is compiled and nothing is
// counted.
HEARTH_API Result<Explanation> explain(Cache& cache, const Program& program, const CompileOptions& options = {});

}  // namespace hearth::ptx
