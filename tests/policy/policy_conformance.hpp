#pragma once

#include "hearth/policy.hpp"

#include <gtest/gtest.h>
#include <ostream>
#include <string>

namespace hearth::test {

struct PolicyCase {
    std::string name;
    PolicyFactory make;
};

inline void PrintTo(const PolicyCase& policy, std::ostream* out)
{
    *out << policy.name;
}

// What every policy promises a tier. A policy joins with
//     INSTANTIATE_TEST_SUITE_P(mine, PolicyConformance, testing::Values(PolicyCase{"mine", make_mine}));
class PolicyConformance : public testing::TestWithParam<PolicyCase> {
protected:
    const PolicyFactory& make() const { return GetParam().make; }
};

}  // namespace hearth::test
