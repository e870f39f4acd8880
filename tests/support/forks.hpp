#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>

namespace hearth::test {

// A test that forks while other threads allocate: the sanitizers' own locks stay held in the child.
#if defined(HEARTH_HAS_ASAN) || defined(HEARTH_HAS_TSAN)
#define SKIP_FORKS_BESIDE_THREADS() GTEST_SKIP() << "Sanitizers hold locks of their own over a fork beside threads."
#else
#define SKIP_FORKS_BESIDE_THREADS() static_cast<void>(0)
#endif

// A test whose child goes on with threads of its own, or that has some which rest.
#if defined(HEARTH_HAS_TSAN)
#define SKIP_FORKS_WITH_THREADS() GTEST_SKIP() << "ThreadSanitizer does not follow a fork of a process with threads."
#else
#define SKIP_FORKS_WITH_THREADS() static_cast<void>(0)
#endif

// Waits for a child, which ends with 0 where all was right.
inline testing::AssertionResult child_was_right(pid_t child)
{
    int status = -1;
    if (::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << "a child ended with status " << status;
}

}  // namespace hearth::test
