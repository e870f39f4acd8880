#include "serve/microhttpd.hpp"

#include "base/shared_library.hpp"
#include "terminal/exit.hpp"

#include <fmt/format.h>

#include <type_traits>

namespace hearth::cli {

namespace {

constexpr const char* k_library = "libmicrohttpd.so.12";

Microhttpd load_microhttpd()
{
    const Result<base::SharedLibrary> library = base::SharedLibrary::load(k_library);
    if (!library)
        fail(fmt::format("'hearth serve' needs libmicrohttpd (Debian: libmicrohttpd12). {}", library.error().message));
    Microhttpd all;
    base::FunctionFinder find(*library);
    find.need(all.start_daemon, "MHD_start_daemon");
    find.need(all.stop_daemon, "MHD_stop_daemon");
    find.need(all.create_response, "MHD_create_response_from_buffer");
    find.need(all.destroy_response, "MHD_destroy_response");
    find.need(all.add_header, "MHD_add_response_header");
    find.need(all.queue_response, "MHD_queue_response");
    find.need(all.lookup_value, "MHD_lookup_connection_value");
    find.need(all.connection_info, "MHD_get_connection_info");
    if (!find.missing().empty())
        fail(
            fmt::format("{} has no {}: it is not one that this command can use. Install libmicrohttpd 0.9.75 or later.",
                        k_library, find.missing()));
    return all;
}

}  // namespace

const Microhttpd& Microhttpd::get()
{
    static const Microhttpd loaded = load_microhttpd();
    return loaded;
}

}  // namespace hearth::cli
