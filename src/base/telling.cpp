#include "base/telling.hpp"

namespace hearth::base {

thread_local const Telling* Telling::t_innermost = nullptr;

bool Telling::of(const void* object) noexcept
{
    const Telling* telling = t_innermost;
    while (telling != nullptr && telling->m_object != object)
        telling = telling->m_outer;
    return telling != nullptr;
}

}  // namespace hearth::base
