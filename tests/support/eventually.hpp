#pragma once

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace hearth::test {

// Longer than anything a test waits for takes on a machine that does much else, under a sanitizer too.
inline constexpr std::chrono::seconds k_patience{60};

// Waits until `is_so` says yes. What never comes fails the test after a minute; it does not hang the run.
//
//   ASSERT_TRUE(eventually("the entry is on the server", [&] { return server.contains(key); }));
template <class Predicate>
testing::AssertionResult eventually(const char* what, Predicate is_so, std::chrono::milliseconds patience = k_patience)
{
    const auto end = std::chrono::steady_clock::now() + patience;
    for (unsigned tries = 0; !is_so(); ++tries) {
        if (std::chrono::steady_clock::now() >= end)
            return testing::AssertionFailure() << "waited in vain until " << what;
        // Most of what is waited for is a matter of microseconds.
        if (tries < 1000)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return testing::AssertionSuccess();
}

}  // namespace hearth::test
