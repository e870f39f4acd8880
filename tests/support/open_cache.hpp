#pragma once

#include "hearth/cache.hpp"

#include <string>

namespace hearth::test {

// A cache in this directory, or with the tiers in the options, that does nothing by itself. A failure ends the test.
inline Cache open_cache(const std::string& directory, CacheOptions options = {})
{
    if (!directory.empty())
        options.directory = directory;
    options.maintenance = Maintenance::by_hand;
    return Cache::open(std::move(options)).value();
}

}  // namespace hearth::test
