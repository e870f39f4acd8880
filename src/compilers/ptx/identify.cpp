#include "base/elf.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/of_process.hpp"
#include "compilers/ptx/linker.hpp"
#include "gpu/library_memo.hpp"
#include "hearth/libraries.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace hearth::ptx {

namespace {

constexpr const char* k_configured = "HEARTH_NVJITLINK";
constexpr const char* k_driver = "libcuda.so.1";
constexpr const char* k_driver_compiler = "libnvidia-ptxjitcompiler.so.1";  // what the driver compiles PTX with

struct KnownLinkers : gpu::LibraryMemo<Identity> {};

Error unusable(const std::string& path, const std::string& why)
{
    return error(Code::unavailable,
                 "{} cannot be used as libnvJitLink: it is {}. Name another with {}, or leave it unset.", path, why,
                 k_configured);
}

// No identity and no error: none was found, and no path was configured.
Result<std::optional<Identity>> find_nvjitlink(Cache& cache, const std::string& configured_by_caller,
                                               std::vector<std::string>& passed_over)
{
    std::string configured = configured_by_caller;
    if (const char* path = std::getenv(k_configured); configured.empty() && path != nullptr)
        configured = path;
    if (std::optional<Identity> known = base::of_process<KnownLinkers>().find(configured))
        return known;

    std::error_code ignored;
    const std::vector<std::string> candidates =
        configured.empty() ? files_matching(library_directories(), "libnvJitLink.so*")
                           : std::vector{std::filesystem::weakly_canonical(configured, ignored).string()};
    for (const std::string& path : candidates) {
        std::string mismatch = base::elf_mismatch(base::system_files(), path);
        std::string build = mismatch.empty() ? build_of_file(cache, path) : std::string{};
        if (mismatch.empty() && build.empty())
            mismatch = "a file that cannot be read";
        if (mismatch.empty()) {
            Identity identity{Linker::nvjitlink, path, std::move(build)};
            base::of_process<KnownLinkers>().remember(configured, identity);
            return std::optional(std::move(identity));
        }
        if (!configured.empty())
            return unusable(path, mismatch);
        passed_over.push_back(fmt::format("{} ({})", path, mismatch));
    }
    return std::optional<Identity>{};
}

// The driver's own version is in its file's name; the build-ids tell builds of one version apart.
std::optional<Identity> find_driver(Cache& cache)
{
    const std::vector<std::string> directories = loader_directories();
    const auto first_of = [&](const char* name) -> std::string {
        for (const std::string& path : files_matching(directories, name))
            if (base::elf_mismatch(base::system_files(), path).empty())
                return path;
        return {};
    };
    Identity identity{Linker::driver, first_of(k_driver), {}};
    if (identity.path.empty())
        return std::nullopt;
    identity.build = build_of_file(cache, identity.path);
    identity.compiler = first_of(k_driver_compiler);
    if (!identity.compiler.empty())
        identity.its_build = build_of_file(cache, identity.compiler);
    return identity;
}

}  // namespace

Result<Identity> identify(Cache& cache, const CompileOptions& options)
{
    std::vector<std::string> passed_over;
    if (options.linker != Linker::driver) {
        Result<std::optional<Identity>> found = find_nvjitlink(cache, options.library, passed_over);
        HEARTH_TRY(found);
        if (*found)
            return **std::move(found);
    }
    if (options.linker != Linker::nvjitlink)
        if (std::optional<Identity> driver = find_driver(cache))
            return *std::move(driver);
    return error(Code::unavailable,
                 "Nothing here turns PTX into a CUBIN: no {} was found{}{}. Install the CUDA toolkit, the Python "
                 "package nvidia-nvjitlink or a CUDA driver, or say where libnvJitLink is with {}.",
                 options.linker == Linker::driver      ? "libcuda.so.1 (the driver)"
                 : options.linker == Linker::nvjitlink ? "libnvJitLink"
                                                       : "libnvJitLink and no libcuda.so.1 (the driver)",
                 passed_over.empty() ? "" : "; passed over: ", fmt::join(passed_over, ", "), k_configured);
}

}  // namespace hearth::ptx
