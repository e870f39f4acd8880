#pragma once

#include <microhttpd.h>

namespace hearth::cli {

// libmicrohttpd, opened when a server starts. Debian's is linked with GnuTLS, which would cost every start of this
// command milliseconds.
struct Microhttpd {
    // Fails with a sentence that names the package if it is not there.
    static const Microhttpd& get();

    decltype(&::MHD_start_daemon) start_daemon = nullptr;
    decltype(&::MHD_stop_daemon) stop_daemon = nullptr;
    decltype(&::MHD_create_response_from_buffer) create_response = nullptr;
    decltype(&::MHD_destroy_response) destroy_response = nullptr;
    decltype(&::MHD_add_response_header) add_header = nullptr;
    decltype(&::MHD_queue_response) queue_response = nullptr;
    decltype(&::MHD_lookup_connection_value) lookup_value = nullptr;
    decltype(&::MHD_get_connection_info) connection_info = nullptr;
};

}  // namespace hearth::cli
