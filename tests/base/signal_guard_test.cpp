#include "base/signal_guard.hpp"

#include "base/files.hpp"
#include "support/scratch_directory.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <utility>

namespace hearth::base {

namespace {

// No file of this process grows beyond that, for as long as this lives.
class FileLimit {
public:
    explicit FileLimit(std::uint64_t bytes)
    {
        ::getrlimit(RLIMIT_FSIZE, &m_before);
        rlimit less = m_before;
        less.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &less);
    }
    ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &m_before); }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

private:
    rlimit m_before{};
};

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
    int written = 0;
    int grown = 0;
    {
        const FileLimit limit(4096);
        written = write_all(files, file.fd(), as_bytes(bytes), 0);
        grown = files.truncate(file.fd(), 8192);
    }
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
