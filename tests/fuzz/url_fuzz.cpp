#include "fuzz/fuzz.hpp"
#include "remote/remote_options.hpp"

#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace hearth;
    const std::string_view text = fuzz::text_of(data, size);
    const Result<remotes::Url> url = remotes::parse_url(text);
    if (!url) {
        fuzz::require(!url.error().message.empty(), "what is no address is refused with a sentence");
        return 0;
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
    return 0;
}
