#include "engine/flights/waits.hpp"

#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/of_process.hpp"

#include <mutex>
#include <string>

namespace hearth::engine::waits {

struct Thread {
    const Work* waits_for = nullptr;
};

namespace {

thread_local Thread t_thread;

struct WaitsMutex : base::ForkSafeMutex {
    WaitsMutex() : ForkSafeMutex(base::LockLevel::engine) {}
};

base::ForkSafeMutex& mutex()
{
    return base::of_process<WaitsMutex>();
}

}  // namespace

Doing::Doing(Work& work) : m_work(work)
{
    const std::lock_guard lock(mutex());
    m_work.m_by = &t_thread;
}

Doing::~Doing()
{
    const std::lock_guard lock(mutex());
    m_work.m_by = nullptr;
}

Waiting::Waiting(const Work& work)
{
    const std::lock_guard lock(mutex());
    std::string by_way_of;
    for (const Work* next = &work; next && next->m_by; next = next->m_by->waits_for) {
        if (next != &work)
            by_way_of += (by_way_of.empty() ? " by way of " : ", ") + next->m_key.hex();
        if (next->m_by == &t_thread) {
            m_refused = error(Code::invalid_argument,
                              "This would never end: entry {} waits{} for the compile that now asks for it.",
                              work.m_key.hex(), by_way_of);
            return;
        }
    }
    t_thread.waits_for = &work;
}

Waiting::~Waiting()
{
    if (m_refused)
        return;
    const std::lock_guard lock(mutex());
    t_thread.waits_for = nullptr;
}

}  // namespace hearth::engine::waits
