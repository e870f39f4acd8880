#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace hearth::proxy {

// What this library stands in for, "libnvrtc.so.13", and the variable that names the file to use as the real one.
extern const char* const k_soname;
extern const char* const k_real_variable;

// The library that ours stands in for, found without loading it; empty if there is none. Never one of Hearth's.
const std::string& real_path();

// Whether it has that function, read from its file without loading it. True if that cannot be told.
bool real_has(const char* name);

// A function of the real library; null if it has none of that name. Loads the library, so it is never called for a hit.
// Thread safety: all of these. Fork: a child waits for none of our locks, but it may wait for the dynamic loader's.
void* real_function(const char* name);

// What that function of the real library returns; `absent` if it has none of that name.
template <class... Arguments>
int ask_real(const char* name, int absent, Arguments... arguments)
{
    auto* const ask = reinterpret_cast<int (*)(Arguments...)>(real_function(name));
    return ask != nullptr ? ask(arguments...) : absent;
}

// Whether the program has called that function, which is passed on unchanged (forward.hpp).
bool was_forwarded(const char* name);

// Threads that come at once may each make one; the first one to finish is kept, and the others are dropped. There is no
// lock and no static that is made on first use: a child forked while another thread makes it would wait for ever.
template <class T, class Make>
const T& made_once(std::atomic<const T*>& place, Make make)
{
    // acquire: pairs with the release below, so that what it points to is seen complete.
    if (const T* known = place.load(std::memory_order_acquire))
        return *known;
    const T* expected = nullptr;
    auto made = std::make_unique<const T>(make());
    if (place.compare_exchange_strong(expected, made.get(), std::memory_order_release, std::memory_order_acquire))
        return *made.release();
    return *expected;
}

}  // namespace hearth::proxy
