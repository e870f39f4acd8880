#pragma once

#include "hearth/remote.hpp"
#include "remote/url.hpp"

#include <initializer_list>
#include <string_view>

namespace hearth::remotes {

struct Resolved {
    RemoteOptions options;
    Url url;  // without what was an option of the tier's
};

// What the address says behind its '?' counts more than what the options say: it is nearer to the server it is about.
// An Error names the value that cannot be used.
Result<Resolved> resolve_options(RemoteOptions options);

// For who opens a store: an option that is neither the tier's, nor about TLS, nor one of these is an Error that says
// which there are.
Status check_options(const Url& url, std::initializer_list<std::string_view> of_the_store);

}  // namespace hearth::remotes
