#pragma once

#include <string>
#include <string_view>

namespace hearth::remotes {

// One row for each kind of server: what is known about it outside of the folder that talks to it.
struct ServerKind {
    std::string_view name;     // the tier's, unless its address says another
    std::string_view schemes;  // of its addresses, with blanks between
    std::string_view library;  // what talks to it: libhearth_LIBRARY.so
    std::string_view package;  // the Debian package that is needed to build it
    std::string_view samples;  // of addresses, with blanks between
};

// Null: there is no such kind.
const ServerKind* kind_of_server(std::string_view scheme);

// For sentences: "redis, rediss, ... and s3", and what an address may look like.
std::string all_schemes();
std::string sample_addresses();

}  // namespace hearth::remotes
