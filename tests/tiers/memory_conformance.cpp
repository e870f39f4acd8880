#include "tier_conformance.hpp"

namespace hearth::test {

namespace {

Result<std::unique_ptr<Tier>> open_memory(const TierRequest& request)
{
    Result<std::unique_ptr<Tier>> tier = memory(MemoryOptions{}).open(request.context);
    if (tier)
        tier.value()->set_limits(request.limits, Victims::discard);
    return tier;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(memory, TierConformance, testing::Values(TierCase{"memory", open_memory}));

}  // namespace hearth::test
