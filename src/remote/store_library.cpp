#include "remote/store_library.hpp"

#include "base/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace hearth::remote {

namespace {

// Something of ours, to find the file that we are in.
const char k_here = 0;

std::string folder_of_this_library()
{
    Dl_info info{};
    if (::dladdr(&k_here, &info) == 0 || info.dli_fname == nullptr)
        return {};
    const std::string path = info.dli_fname;
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string{} : path.substr(0, slash + 1);
}

// The kind of server that a scheme speaks of; also the tier's usual name.
std::string kind_of(const std::string& scheme)
{
    if (scheme.starts_with("redis"))
        return "redis";
    return scheme == "http" || scheme == "https" || scheme == "s3" ? "http" : "";
}

}  // namespace

Result<std::unique_ptr<RemoteStore>> open_store(const StoreOptions& options)
{
    const std::string kind = kind_of(options.url.scheme);
    if (kind.empty())
        return Error{Code::invalid_argument,
                     fmt::format("\"{}://\" is no kind of remote. There are redis, rediss, redis+unix, redis+cluster, "
                                 "rediss+cluster, http, https and s3.",
                                 options.url.scheme),
                     {}};
    const std::string file = fmt::format("libhearth_{}.so", kind);
    Result<base::SharedLibrary> library = base::SharedLibrary::load(folder_of_this_library() + file);
    if (!library)
        library = base::SharedLibrary::load(file);
    if (!library)
        return Error{Code::unavailable,
                     fmt::format("{} cannot be loaded, and {} is not used: {}. It is built with Hearth where {} is "
                                 "installed, and lies beside libhearth.so.",
                                 file, options.url.shown(), library.error().message,
                                 kind == "redis" ? "libhiredis-dev" : "libcurl4-openssl-dev"),
                     {}};
    OpenSymbol* const open = library->find<OpenSymbol>(k_open_symbol);
    if (open == nullptr)
        return Error{Code::incompatible,
                     fmt::format("{} is another version's, and {} is not used. Install both of the same version.", file,
                                 options.url.shown()),
                     {}};
    Result<std::unique_ptr<RemoteStore>> opened = Error{};
    open(options, base::fork_registry(), opened);
    return opened;
}

}  // namespace hearth::remote
