#pragma once

#include "remote/remote_store.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

// What every RemoteStore promises, shown on real servers. A kind joins with a fixture of a few lines:
//
//   INSTANTIATE_TEST_SUITE_P(redis, StoreConformance, testing::Values(StoreCase{"redis", start_redis}),
//                            testing::PrintToStringParamName());

namespace hearth::test {

// Where a store finds its server.
struct StoreServer {
    remotes::OpenStore* open;
    std::string url;
    std::shared_ptr<void> ends_with_it = nullptr;  // a server that is this one's alone
};

struct StoreCase {
    std::string name;
    std::function<std::optional<StoreServer>()> start;  // none: the machine has no such server
    bool lists = true;                                  // the server can list what it holds
    bool leases = true;                                 // put_if_absent() works
    bool forgets = true;                                // ...and what it put goes by itself once its lifetime is over
};

inline void PrintTo(const StoreCase& store, std::ostream* out)
{
    *out << store.name;
}

class StoreConformance : public testing::TestWithParam<StoreCase> {
protected:
    void SetUp() override;
    std::optional<StoreServer> m_server;
    std::unique_ptr<remotes::RemoteStore> m_store;
};

}  // namespace hearth::test
