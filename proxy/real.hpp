#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace hearth::proxy {

// "libnvrtc.so.13": what this library stands in for; and the variable that names the file to use as the real one.
extern const char* const k_soname;
extern const char* const k_real_variable;

// The library that ours stands in for, found without loading it; empty where there is none. Never one of Hearth's.
const std::string& real_path();

// Whether it has that function, read from its file without loading it. True where that cannot be told.
bool real_has(const char* name);

// A function of it; null where it has none. Loads the library, which happens when something has to be asked of it, and
// never for a hit.
// Thread safety: all of these. Fork: a child waits for nothing of ours; of the dynamic loader's locks it does.
void* real_function(const char* name);

// Whether the program has called that function, which is handed on as it is (forward.hpp).
bool was_forwarded(const char* name);

// Threads that come at once may each make one; the first that is done is kept, and the others are dropped. No lock, and
// no static that is made on first use: a child that is forked while another thread makes it would wait for ever.
template <class T, class Make>
const T& made_once(std::atomic<const T*>& place, Make make)
{
    // acquire: pairs with the release below, so that what it points to is seen made.
    if (const T* known = place.load(std::memory_order_acquire))
        return *known;
    const T* expected = nullptr;
    auto made = std::make_unique<const T>(make());
    if (place.compare_exchange_strong(expected, made.get(), std::memory_order_release, std::memory_order_acquire))
        return *made.release();
    return *expected;
}

}  // namespace hearth::proxy
