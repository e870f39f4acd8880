#include "tier_conformance.hpp"

namespace hearth::test {

namespace {

Result<std::unique_ptr<Tier>> open_disk(const TierRequest& request)
{
    const auto& [max_bytes, max_entries, max_age] = request.limits;
    return disk({.directory = request.scratch, .max_bytes = max_bytes, .max_entries = max_entries, .max_age = max_age})
        .open(request.context);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(disk, TierConformance, testing::Values(TierCase{"disk", open_disk, 10}));

}  // namespace hearth::test
