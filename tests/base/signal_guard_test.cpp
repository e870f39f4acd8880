#include "base/signal_guard.hpp"

#include "base/files.hpp"
#include "support/scratch_directory.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <utility>

namespace hearth::base {

namespace {

bool is_blocked(int signal)
{
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return sigismember(&mask, signal) == 1;
}

bool is_pending(int signal)
{
    sigset_t pending;
    ::sigpending(&pending);
    return sigismember(&pending, signal) == 1;
}

}  // namespace

TEST(FileLimitGuard, what_is_written_beyond_the_limit_on_files_is_an_error_and_no_signal)
{
    const test::ScratchDirectory scratch;
    const auto handler = std::signal(SIGXFSZ, SIG_DFL);
    const std::string path = scratch / "file";
    const std::string bytes(8192, 'x');
    Files& files = system_files();
    const FileHandle file(files, files.open(path.c_str(), O_RDWR | O_CREAT, 0600));
    ASSERT_TRUE(file.open());
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit less{4096, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &less);
    const int written = write_all(files, file.fd(), as_bytes(bytes), 0);
    const int grown = files.truncate(file.fd(), 8192);
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(written, -EFBIG);
    EXPECT_EQ(grown, -EFBIG);
    FileStat stat;
    ASSERT_EQ(files.stat(file.fd(), stat), 0);
    EXPECT_EQ(stat.size, 4096U) << "what fits is written";
    EXPECT_FALSE(is_pending(SIGXFSZ));
    EXPECT_FALSE(is_blocked(SIGXFSZ));
    std::signal(SIGXFSZ, handler);
}

TEST(SignalGuard, a_signal_of_somebody_elses_that_waits_stays)
{
    sigset_t usr;
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, &usr, &before);
    ::raise(SIGUSR1);
    {
        const SignalGuard guard(SIGUSR1);
        EXPECT_TRUE(is_pending(SIGUSR1));
    }
    EXPECT_TRUE(is_pending(SIGUSR1));
    EXPECT_TRUE(is_blocked(SIGUSR1));
    const timespec now{};
    ::sigtimedwait(&usr, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(SignalGuard, one_that_comes_meanwhile_is_taken_away)
{
    {
        const SignalGuard guard(SIGUSR1);
        EXPECT_TRUE(is_blocked(SIGUSR1));
        ::raise(SIGUSR1);
    }
    EXPECT_FALSE(is_pending(SIGUSR1));
    EXPECT_FALSE(is_blocked(SIGUSR1));
}

}  // namespace hearth::base
