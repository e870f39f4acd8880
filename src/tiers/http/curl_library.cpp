#include "tiers/http/curl_library.hpp"

#include <ctime>
#include <curl/curl.h>
#include <mutex>

namespace hearth::tiers::http {

namespace {

constinit std::once_flag g_once;
constinit bool g_ready = false;

sigset_t only_sigpipe() noexcept
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return set;
}

bool is_pending() noexcept
{
    sigset_t pending;
    return ::sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

}  // namespace

bool curl_ready()
{
    // Never cleaned up: another user of libcurl in this process may outlive us.
    std::call_once(g_once, [] { g_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK; });
    return g_ready;
}

SigpipeGuard::SigpipeGuard(bool needed) noexcept
{
    // One that is already waiting is somebody else's, and stays.
    if (!needed || is_pending())
        return;
    const sigset_t set = only_sigpipe();
    m_blocked = ::pthread_sigmask(SIG_BLOCK, &set, &m_before) == 0;
}

SigpipeGuard::~SigpipeGuard()
{
    if (!m_blocked)
        return;
    const sigset_t set = only_sigpipe();
    const timespec now{};
    if (is_pending())
        ::sigtimedwait(&set, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
}

}  // namespace hearth::tiers::http
