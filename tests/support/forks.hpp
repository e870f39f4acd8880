#pragma once

#include <gtest/gtest.h>

namespace hearth::test {

// A test that forks while other threads allocate: the sanitizers' own locks stay held in the child.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIP_FORKS_BESIDE_THREADS() GTEST_SKIP() << "Sanitizers hold locks of their own over a fork beside threads."
#else
#define SKIP_FORKS_BESIDE_THREADS() static_cast<void>(0)
#endif

// A test whose child goes on with threads of its own, or that has some which rest.
#if defined(__SANITIZE_THREAD__)
#define SKIP_FORKS_WITH_THREADS() GTEST_SKIP() << "ThreadSanitizer does not follow a fork of a process with threads."
#else
#define SKIP_FORKS_WITH_THREADS() static_cast<void>(0)
#endif

}  // namespace hearth::test
