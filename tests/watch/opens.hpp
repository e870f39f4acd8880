#pragma once

#include <gtest/gtest.h>
#include <string>
#include <sys/inotify.h>
#include <unistd.h>

namespace hearth::test {

// Counts how often a file is opened, by whomever.
class Opens {
public:
    explicit Opens(const std::string& path)
    {
        EXPECT_GE(::inotify_add_watch(m_inotify, path.c_str(), IN_OPEN), 0) << path;
    }
    ~Opens() { ::close(m_inotify); }

    // Since it was asked before.
    int count() const
    {
        alignas(inotify_event) char events[4096];
        const ssize_t size = ::read(m_inotify, events, sizeof events);
        return size > 0 ? static_cast<int>(static_cast<std::size_t>(size) / sizeof(inotify_event)) : 0;
    }

private:
    const int m_inotify = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
};

}  // namespace hearth::test
