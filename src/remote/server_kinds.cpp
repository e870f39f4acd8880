#include "remote/server_kinds.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace hearth::remotes {

namespace {

constexpr std::array k_kinds = {
    ServerKind{.name = "redis",
               .schemes = "redis rediss redis+unix redis+cluster rediss+cluster",
               .library = "redis",
               .package = "libssl-dev",
               .samples = "redis://HOST:PORT redis+cluster://HOST:PORT,HOST:PORT"},
    ServerKind{.name = "http",
               .schemes = "http https",
               .library = "http",
               .package = "libcurl4-openssl-dev and libexpat1-dev",
               .samples = "http://HOST/PATH http://HOST,HOST/PATH"},
    ServerKind{.name = "s3",
               .schemes = "s3",
               .library = "http",
               .package = "libcurl4-openssl-dev and libexpat1-dev",
               .samples = "s3://BUCKET/PREFIX"},
};

std::vector<std::string_view> words_of_all(std::string_view ServerKind::*member)
{
    std::vector<std::string_view> all;
    for (const ServerKind& kind : k_kinds)
        for (const std::string_view word : base::words_of(kind.*member))
            all.push_back(word);
    return all;
}

}  // namespace

const ServerKind* kind_of_server(std::string_view scheme)
{
    for (const ServerKind& kind : k_kinds) {
        const std::vector<std::string_view> schemes = base::words_of(kind.schemes);
        if (std::find(schemes.begin(), schemes.end(), scheme) != schemes.end())
            return &kind;
    }
    return nullptr;
}

std::string all_schemes()
{
    return base::listed(words_of_all(&ServerKind::schemes), "and");
}

std::string sample_addresses()
{
    return base::listed(words_of_all(&ServerKind::samples), "or");
}

}  // namespace hearth::remotes
