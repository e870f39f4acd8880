#include "carry/places.hpp"

#include "base/text.hpp"
#include "process/scratch_folder.hpp"
#include "terminal/exit.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <pwd.h>
#include <unistd.h>

namespace hearth::cli::carry {

namespace {

namespace fs = std::filesystem;

// docs/carry.md shows this table.
const std::array k_tools{
    Tool{"vllm", "VLLM_CACHE_ROOT", "", Base::cache, "vllm", {"vllm", "torch", "triton"}},
    Tool{"inductor", "TORCHINDUCTOR_CACHE_DIR", "", Base::temporary, "torchinductor_%u", {"torch", "triton"}},
    Tool{"triton", "TRITON_CACHE_DIR", "", Base::home, ".triton/cache", {"triton"}},
    Tool{"flashinfer",
         "FLASHINFER_WORKSPACE_BASE",
         ".cache/flashinfer",
         Base::home,
         ".cache/flashinfer",
         {"flashinfer_python", "torch"},
         true},
    Tool{"deepgemm", "DG_JIT_CACHE_DIR", "", Base::home, ".deep_gemm", {"deep_gemm"}, true},
    Tool{"tilelang", "TILELANG_CACHE_DIR", "", Base::home, ".tilelang/cache", {"tilelang"}, true},
    Tool{"cute", "CUTE_DSL_CACHE_DIR", "", Base::temporary, "%u/cutlass_python_cache", {"nvidia_cutlass_dsl"}},
    Tool{"sglang", "SGLANG_CACHE_DIR", "", Base::cache, "sglang", {"sglang", "torch", "triton"}, true},
    Tool{"cuda", "CUDA_CACHE_PATH", "", Base::home, ".nv/ComputeCache", {}, false, true},
    Tool{"warp", "WARP_CACHE_PATH", "", Base::cache, "warp", {"warp_lang"}},
    Tool{"numba", "NUMBA_CACHE_DIR", "", Base::none, "", {"numba", "numba_cuda"}},
    Tool{"jax", "JAX_COMPILATION_CACHE_DIR", "", Base::none, "", {"jax", "jaxlib"}},
    Tool{"torch-extensions", "TORCH_EXTENSIONS_DIR", "", Base::cache, "torch_extensions", {"torch"}, true},
    Tool{"aiter", "AITER_JIT_DIR", "", Base::none, "", {"amd_aiter", "aiter", "torch"}},
};

std::string variable(const char* name)
{
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string user_name()
{
    for (const char* name : {"LOGNAME", "USER", "LNAME", "USERNAME"})
        if (std::string value = variable(name); !value.empty())
            return value;
    const passwd* const user = ::getpwuid(::getuid());
    return user != nullptr ? user->pw_name : std::to_string(::getuid());
}

std::string base_of(Base base)
{
    std::string home = variable("HOME");
    if (home.empty())
        if (const passwd* const user = ::getpwuid(::getuid()))
            home = user->pw_dir;
    const std::string cache = variable("XDG_CACHE_HOME");
    return base == Base::temporary ? temporary_folder()
           : base == Base::home    ? home
           : cache.empty()         ? home + "/.cache"
                                   : cache;
}

std::string directory_of(const Tool& tool)
{
    if (const std::string value = variable(std::string(tool.variable).c_str()); !value.empty())
        return tool.below.empty() ? value : value + "/" + std::string(tool.below);
    if (tool.base == Base::none)
        fail(fmt::format("{} keeps its cache where {} says, and that is not set. Set it, or name a directory.",
                         tool.name, tool.variable));
    std::string below(tool.fallback);
    if (const std::size_t user = below.find("%u"); user != std::string::npos)
        below.replace(user, 2, user_name());
    return base_of(tool.base) + "/" + below;
}

// Absolute, without "." and "..", and without a slash at its end. Links in it stay as they are.
std::string plain(const std::string& path)
{
    std::string text = fs::absolute(path).lexically_normal().string();
    while (text.size() > 1 && text.back() == '/')
        text.pop_back();
    return text;
}

}  // namespace

std::span<const Tool> tools()
{
    return k_tools;
}

Place place_of(const std::string& word)
{
    if (word.find('/') != std::string::npos) {
        const std::string directory = plain(word);
        return {directory, directory, nullptr};
    }
    std::vector<std::string_view> names;
    for (const Tool& tool : k_tools) {
        if (tool.name == word)
            return {word, plain(directory_of(tool)), &tool};
        names.push_back(tool.name);
    }
    const std::string_view meant = base::closest(word, names);
    fail_usage(fmt::format("There is no tool {}.{} There are {}; a directory has a slash in it, as in ./{}.",
                           in_quotes(word), meant.empty() ? "" : fmt::format(" Did you mean {}?", meant),
                           base::listed(names), printable(word)));
}

}  // namespace hearth::cli::carry
