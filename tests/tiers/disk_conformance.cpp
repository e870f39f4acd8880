#include "tier_conformance.hpp"

namespace hearth::test {

namespace {

Result<std::unique_ptr<Tier>> open_disk(const TierRequest& request)
{
    DiskOptions options;
    options.directory = request.scratch;
    options.max_bytes = request.limits.max_bytes;
    options.max_entries = request.limits.max_entries;
    options.max_age = request.limits.max_age;
    return disk(options).open(request.context);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(disk, TierConformance, testing::Values(TierCase{"disk", open_disk, 10}));

}  // namespace hearth::test
