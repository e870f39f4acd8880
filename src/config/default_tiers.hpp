#pragma once

#include "hearth/options.hpp"

#include <string>
#include <vector>

namespace hearth::config {

// The names of the tiers that the settings ask for, in their order.
struct DefaultTiers {
    std::vector<std::string> bundles;
    std::vector<std::string> remotes;
};

DefaultTiers default_tiers(const CacheOptions& options);

}  // namespace hearth::config
