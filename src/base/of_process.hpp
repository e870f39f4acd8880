#pragma once

#include <atomic>
#include <memory>

// What there is one of in a process, and never destroyed: threads, leases and a drop-in library outlive main().
//
// Not a static of a function: its first caller makes it under a lock of the language's own, and a child that is forked
// meanwhile waits for that lock for ever.

namespace hearth::base {

// Made by whoever comes first, from T's default constructor. Of two at once, one throws its own away; a child that was
// forked while another thread made it makes its own. Not with a ForkSafeMutex held, if T has any (base/fork.hpp).
template <class T>
T& made_once()
{
    static constinit std::atomic<T*> s_made{nullptr};
    // acquire: pairs with the release below, so that it is seen made.
    if (T* const made = s_made.load(std::memory_order_acquire))
        return *made;
    auto mine = std::make_unique<T>();
    T* first = nullptr;
    if (s_made.compare_exchange_strong(first, mine.get(), std::memory_order_release, std::memory_order_acquire))
        return *mine.release();
    return *first;
}

namespace detail {

template <class T>
inline const T& g_made_at_load = made_once<T>();

}  // namespace detail

// Made when the library is loaded, or before, if it is needed before: so it may be asked for while locks are held.
template <class T>
T& of_process()
{
    static_cast<void>(&detail::g_made_at_load<T>);
    return made_once<T>();
}

}  // namespace hearth::base
