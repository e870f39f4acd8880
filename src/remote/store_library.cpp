#include "remote/store_library.hpp"

#include "base/error.hpp"
#include "base/shared_library.hpp"
#include "remote/server_kinds.hpp"

#include <atomic>
#include <dlfcn.h>
#include <fmt/format.h>

namespace hearth::remotes {

namespace {

// An address of ours, to find the file that this code is in.
const char k_here = 0;

// relaxed: set when the library is loaded, before anybody can ask.
constinit std::atomic<Stores> g_stores{Stores::of_programs};

std::string folder_of_this_library()
{
    std::string path = base::mapped_file(&k_here);
    if (Dl_info info{}; path.empty() && ::dladdr(&k_here, &info) != 0 && info.dli_fname != nullptr)
        path = info.dli_fname;
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string{} : path.substr(0, slash + 1);
}

}  // namespace

void choose_stores(Stores which) noexcept
{
    g_stores.store(which, std::memory_order_relaxed);
}

Result<std::unique_ptr<RemoteStore>> open_store(const StoreOptions& options)
{
    const Url& url = options.url;
    const ServerKind* kind = kind_of_server(url.scheme);
    if (!kind)
        return error(Code::invalid_argument, "\"{}://\" is no kind of remote. There are {}.", url.scheme,
                     all_schemes());
    const bool for_dropin = g_stores.load(std::memory_order_relaxed) == Stores::of_dropins;
    const std::string file = fmt::format("libhearth_{}{}.so", for_dropin ? "dropin_" : "", kind->library);
    Result<base::SharedLibrary> library = base::SharedLibrary::load(folder_of_this_library() + file);
    if (!library)
        library = base::SharedLibrary::load(file);
    if (!library)
        return error(Code::unavailable,
                     "{} cannot be loaded, and {} is not used: {}. It is built with Hearth where {} "
                     "can be found, and lies beside {}.",
                     file, url.shown(), library.error().message, kind->package,
                     for_dropin ? "the drop-in libraries" : "libhearth.so");
    OpenSymbol* const open = library->find<OpenSymbol>(k_open_symbol);
    if (open == nullptr)
        return error(Code::other_version,
                     "{} is another version's, and {} is not used. Install both of the same version.", file,
                     url.shown());
    Result<std::unique_ptr<RemoteStore>> opened = Error{};
    open(options, base::fork_registry(), opened);
    return opened;
}

}  // namespace hearth::remotes
