#include "disk_fixture.hpp"
#include "support/forks.hpp"
#include "support/forwarding_files.hpp"

#include <atomic>
#include <future>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

// A program forks while another thread works on the directory's files.

namespace hearth::test {

namespace {

// The first listing stops until it is let go.
class HeldListing final : public ForwardingFiles {
public:
    HeldListing() : ForwardingFiles(base::system_files()) {}
    int list(base::At at, std::vector<std::string>& names) override
    {
        if (m_held && !m_reached.exchange(true)) {
            m_there.set_value();
            m_let_go.get_future().wait();
        }
        return ForwardingFiles::list(at, names);
    }

    std::atomic<bool> m_held{false};
    std::promise<void> m_there;
    std::promise<void> m_let_go;

private:
    std::atomic<bool> m_reached{false};
};

using DiskFork = DiskTest;

}  // namespace

TEST_F(DiskFork, does_not_wait_for_a_rebuild_and_the_child_finds_and_stores)
{
    SKIP_FORKS_WITH_THREADS();
    HeldListing files;
    m_environment.files = &files;
    const auto tier = open();
    put(*tier, 1, 100);
    std::filesystem::remove(m_layout.index());
    files.m_held = true;
    std::thread rebuilding([&] { put(*tier, 2, 100); });
    files.m_there.get_future().wait();

    int go[2];
    ASSERT_EQ(::pipe(go), 0);
    ::alarm(60);  // a fork that waits would wait for ever
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        bool right = holds(*tier, 1);
        char byte = 0;
        right &= ::read(go[0], &byte, 1) == 1;
        put(*tier, 3, 100);
        right &= holds(*tier, 3);
        ::_exit(right ? 0 : 1);
    }
    ::alarm(0);
    files.m_let_go.set_value();
    rebuilding.join();
    // The child has no copy of the lock that was held when it was forked.
    put(*tier, 4, 100);
    EXPECT_TRUE(holds(*tier, 4));
    ASSERT_EQ(::write(go[1], "x", 1), 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(holds(*tier, 3));
    expect_exact_accounting(*tier);
    ::close(go[0]);
    ::close(go[1]);
}

}  // namespace hearth::test
