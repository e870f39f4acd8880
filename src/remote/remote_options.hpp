#pragma once

#include "hearth/remote.hpp"
#include "remote/url.hpp"

namespace hearth::remotes {

struct Resolved {
    RemoteOptions options;
    Url url;  // without what was an option of the tier's
};

// What the address says behind its '?' counts more than what the options say: it is nearer to the server it is about.
// An Error names the value that cannot be used.
Result<Resolved> resolve_options(RemoteOptions options);

}  // namespace hearth::remotes
