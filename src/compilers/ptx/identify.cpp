#include "base/digest.hpp"
#include "base/elf.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hex.hpp"
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
constexpr std::uint64_t k_largest_library = std::uint64_t{1} << 30U;

// Never destroyed: threads may still compile while the program ends.
gpu::LibraryMemo<Identity>& g_known = *new gpu::LibraryMemo<Identity>;

// Empty if the file cannot be read.
std::string build_of(const std::string& path)
{
    base::Files& files = base::system_files();
    if (std::string build_id = base::elf_build_id(files, path); !build_id.empty())
        return build_id;
    int error = 0;
    const Bytes content = base::read_file(files, path.c_str(), k_largest_library, error);
    if (error != 0)
        return {};
    const base::Sha256 sum = base::sha256(content);
    return base::to_hex(std::as_bytes(std::span(sum)));
}

Error unusable(const std::string& path, const std::string& why)
{
    return error(Code::unavailable,
                 "{} cannot be used as libnvJitLink: it is {}. Name another with {}, or leave it unset.", path, why,
                 k_configured);
}

// No identity and no error: none was found, and no path was configured.
Result<std::optional<Identity>> find_nvjitlink(const std::string& configured_by_caller,
                                               std::vector<std::string>& passed_over)
{
    std::string configured = configured_by_caller;
    if (const char* path = std::getenv(k_configured); configured.empty() && path != nullptr)
        configured = path;
    if (std::optional<Identity> known = g_known.find(configured))
        return known;

    std::error_code ignored;
    const std::vector<std::string> candidates =
        configured.empty() ? files_matching(library_directories(), "libnvJitLink.so*")
                           : std::vector{std::filesystem::weakly_canonical(configured, ignored).string()};
    for (const std::string& path : candidates) {
        std::string mismatch = base::elf_mismatch(base::system_files(), path);
        std::string build = mismatch.empty() ? build_of(path) : std::string{};
        if (mismatch.empty() && build.empty())
            mismatch = "a file that cannot be read";
        if (mismatch.empty()) {
            Identity identity{Linker::nvjitlink, path, std::move(build)};
            g_known.remember(configured, identity);
            return std::optional(std::move(identity));
        }
        if (!configured.empty())
            return unusable(path, mismatch);
        passed_over.push_back(fmt::format("{} ({})", path, mismatch));
    }
    return std::optional<Identity>{};
}

// The driver's own version is in its file's name; the build-ids tell builds of one version apart.
std::optional<Identity> find_driver()
{
    const std::vector<std::string> directories = loader_directories();
    for (const std::string& path : files_matching(directories, k_driver)) {
        if (!base::elf_mismatch(base::system_files(), path).empty())
            continue;
        Identity identity{Linker::driver, path, {}};
        identity.build = std::filesystem::path(path).filename().string() + " " + build_of(path);
        for (const std::string& compiler : files_matching(directories, k_driver_compiler))
            if (base::elf_mismatch(base::system_files(), compiler).empty()) {
                identity.build += " " + build_of(compiler);
                break;
            }
        return identity;
    }
    return std::nullopt;
}

}  // namespace

Result<Identity> identify(const CompileOptions& options)
{
    std::vector<std::string> passed_over;
    if (options.linker != Linker::driver) {
        Result<std::optional<Identity>> found = find_nvjitlink(options.library, passed_over);
        HEARTH_TRY(found);
        if (*found)
            return **std::move(found);
    }
    if (options.linker != Linker::nvjitlink)
        if (std::optional<Identity> driver = find_driver())
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
