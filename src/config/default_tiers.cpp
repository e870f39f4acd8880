#include "config/default_tiers.hpp"

#include "remote/remote_options.hpp"

#include <fmt/format.h>
#include <set>

namespace hearth::config {

DefaultTiers default_tiers(const CacheOptions& options)
{
    DefaultTiers tiers;
    std::set<std::string> taken{"memory", "vram", "disk"};
    const auto free_name = [&taken](const std::string& wanted) {
        std::string name = wanted;
        for (int number = 2; !taken.insert(name).second; ++number)
            name = fmt::format("{}{}", wanted, number);
        return name;
    };
    for (std::size_t i = 0; i < options.bundles->size(); ++i)
        tiers.bundles.push_back(free_name("bundle"));
    for (const std::string& url : *options.remotes) {
        const Result<remotes::Resolved> known = remotes::resolve_options({.url = url});
        tiers.remotes.push_back(free_name(known ? known->options.name : "remote"));
    }
    return tiers;
}

}  // namespace hearth::config
