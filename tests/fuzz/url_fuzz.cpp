#include "fuzz/fuzz.hpp"
#include "remote/remote_options.hpp"

#include <string>
#include <string_view>

namespace {

using namespace hearth;

void try_input(std::string_view text)
{
    const Result<remotes::Url> url = remotes::parse_url(text);
    if (!url) {
        fuzz::require(!url.error().message.empty(), "what is no address is refused with a sentence");
        return;
    }
    fuzz::require(url->hosts.size() <= 64, "hosts are bounded");
    // A password of some length would hardly be in what is shown by chance.
    if (url->password.size() > 8 && url->shown().find(url->password) != std::string::npos) {
        bool elsewhere = url->path.find(url->password) != std::string::npos;
        for (const remotes::HostPort& host : url->hosts)
            elsewhere = elsewhere || host.host.find(url->password) != std::string::npos;
        fuzz::require(elsewhere || url->scheme.find(url->password) != std::string::npos,
                      "a password is not in what is shown");
    }
    static_cast<void>(remotes::resolve_options({.url = std::string(text)}));
}

const fuzz::Added k_added({"url", 400'000, try_input});

}  // namespace
