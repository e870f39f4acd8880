#pragma once

#include <cstdlib>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace hearth::test {

// The effective user and group for a while. Only root can become somebody.
class ActingAs {
public:
    explicit ActingAs(uid_t user)
        : m_user(::geteuid()), m_group(::getegid()),
          m_worked(user == m_user || (::setegid(user) == 0 && ::seteuid(user) == 0))
    {
    }
    ~ActingAs()
    {
        if (m_worked && (::seteuid(m_user) != 0 || ::setegid(m_group) != 0))
            std::abort();
    }
    ActingAs(const ActingAs&) = delete;
    ActingAs& operator=(const ActingAs&) = delete;
    bool worked() const { return m_worked; }

private:
    const uid_t m_user;
    const gid_t m_group;
    const bool m_worked;
};

class WithUmask {
public:
    explicit WithUmask(mode_t mask) : m_before(::umask(mask)) {}
    ~WithUmask() { ::umask(m_before); }
    WithUmask(const WithUmask&) = delete;
    WithUmask& operator=(const WithUmask&) = delete;

private:
    const mode_t m_before;
};

}  // namespace hearth::test
