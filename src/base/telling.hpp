#pragma once

namespace hearth::base {

// While one exists, a callback of that object's owner runs on this thread. It may use another such object, whose
// callback may use a third, so there is a chain of them.
class Telling {
public:
    explicit Telling(const void* object) noexcept : m_object(object), m_outer(t_innermost) { t_innermost = this; }
    ~Telling() { t_innermost = m_outer; }
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;

    static bool of(const void* object) noexcept;

private:
    static thread_local const Telling* t_innermost;

    const void* const m_object;
    const Telling* const m_outer;
};

}  // namespace hearth::base
