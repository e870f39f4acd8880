#include "engine/flights/compile_limit.hpp"

#include <utility>

namespace hearth::engine {

namespace {

thread_local int t_compiles_on_this_thread = 0;
thread_local CompileLimit* t_place = nullptr;  // of the outermost compile here; null while it has stepped aside

}  // namespace

bool CompileLimit::compiles_here() noexcept
{
    return t_compiles_on_this_thread > 0;
}

void CompileLimit::enter()
{
    if (t_compiles_on_this_thread++ > 0 || m_most == 0)
        return;
    take_place();
    t_place = this;
}

void CompileLimit::leave()
{
    if (--t_compiles_on_this_thread > 0 || !t_place)
        return;
    std::exchange(t_place, nullptr)->give_place();
}

void CompileLimit::take_place()
{
    std::unique_lock lock(m_mutex);
    m_left.wait(lock, [&] { return m_inside < m_most; });
    ++m_inside;
}

void CompileLimit::give_place()
{
    {
        const std::lock_guard lock(m_mutex);
        --m_inside;
    }
    m_left.notify_one();
}

CompileLimit::StepAside::StepAside() : m_place(std::exchange(t_place, nullptr))
{
    if (m_place)
        m_place->give_place();
}

CompileLimit::StepAside::~StepAside()
{
    if (m_place)
        m_place->take_place();
    t_place = m_place;
}

}  // namespace hearth::engine
