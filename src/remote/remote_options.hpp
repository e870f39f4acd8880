#pragma once

#include "hearth/remote.hpp"
#include "remote/url.hpp"

#include <initializer_list>
#include <string_view>

namespace hearth::remotes {

struct Resolved {
    RemoteOptions options;
    Url url;  // without the options of the tier
};

// An option in the address, after its '?', overrides the one in `options`: it is about that one server.
// An Error names the value that cannot be used.
Result<Resolved> resolve_options(RemoteOptions options);

// Used when a store is opened. An option that is neither the tier's, nor about TLS, nor one of these is an Error that
// lists the valid ones.
Status check_options(const Url& url, std::initializer_list<std::string_view> of_the_store);

}  // namespace hearth::remotes
