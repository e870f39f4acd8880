#pragma once

#include "hearth/log.hpp"
#include "hearth/policy.hpp"

#include <string>

namespace hearth::policy {

// A user's policies, out of which nothing is thrown: tiers call them in the middle of a change. Where one throws, it
// admits nothing, names no victim and promotes nothing; if the factory throws or makes nothing, gdsf() takes its place.
// The first throw is logged.
PolicyFactory guarded(PolicyFactory factory, LogSink log);

// The same policies, each told of the tier that it decides for.
PolicyFactory in_tier(PolicyFactory factory, std::string tier);

// Whether it makes a policy when it is called.
bool makes_one(const PolicyFactory& factory) noexcept;

}  // namespace hearth::policy
