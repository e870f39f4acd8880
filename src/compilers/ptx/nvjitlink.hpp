#pragma once

#include "compilers/common/loaded_compiler.hpp"
#include "compilers/common/stepped_calls.hpp"
#include "compilers/ptx/linker.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace hearth::ptx {

// The functions of a loaded libnvJitLink.
struct NvJitLink {
    using Handle = void*;
    using Output = compilers::SteppedOutput;

    // What can be asked for.
    enum What : std::uint8_t { k_cubin, k_ptx, k_lto_ir, k_error_log, k_info_log, k_count };

    int (*create)(Handle*, std::uint32_t, const char* const*) = nullptr;
    int (*destroy)(Handle*) = nullptr;
    int (*add)(Handle, int, const void*, std::size_t, const char*) = nullptr;
    int (*add_file)(Handle, int, const char*) = nullptr;
    int (*complete)(Handle) = nullptr;
    std::array<Output, k_count> outputs{};
    int (*version)(unsigned*, unsigned*) = nullptr;  // before 12.4 there is none
    compilers::LoadedCompiler* compiler = nullptr;

    // Loads it if this process has not.
    static Result<NvJitLink> load(const std::string& path);

    int create_with(Handle* handle, std::span<const std::string> options) const;
    Bytes fetch(Handle handle, What what) const { return outputs[what].fetch(handle, 0).bytes; }
    std::string name_and_version() const;
};

// nvJitLinkResult
inline constexpr int k_link_success = 0;
inline constexpr int k_link_internal = 6;
inline constexpr int k_link_null_input = 10;

// The sections' names by NvJitLink::What.
inline constexpr std::array<const char*, NvJitLink::k_count> k_link_sections{"cubin", "ptx", "ltoir", "error log",
                                                                             "info log"};

// Whether the same input always ends like this. Internal errors, failures of the thread pool and unknown codes may not
// happen the next time.
bool is_deterministic(int result);

// Options whose output no cache can know.
inline bool tells_times(std::string_view option)
{
    return option == "-time" || option.starts_with("-time=");
}
inline constexpr const char* k_why_times = "-time tells what no cache can know";

// Links one program.
Result<Artifact> link_with_nvjitlink(const NvJitLink& linker, const Job& job);

}  // namespace hearth::ptx
