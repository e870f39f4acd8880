#pragma once

#include "compilers/common/stepped_calls.hpp"
#include "hearth/cache.hpp"
#include "process_cache.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::proxy {

// What a program's handle points to, for a library that is used call by call: the calls, and what can be asked after
// the last one.
// Thread safety: as the library's own, one thread at a time.
class Steps {
public:
    using Call = compilers::SteppedCalls::Call;
    using Kind = compilers::SteppedCalls::Kind;

    // `seen`: what can be asked before any step.
    explicit Steps(std::unique_ptr<compilers::SteppedCalls> calls, std::shared_ptr<const Artifact> seen = nullptr);
    ~Steps();
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;

    // Those behind a handle; null if the handle is not ours.
    static Steps* of(void* handle);

    // Makes the call, and returns the real library's status. A call of Kind::complete is noted with all before it.
    int step(Call call);
    // A call that ends with this status whatever it is given.
    int assume(Call call, int status);
    // Whether there is a handle, after the call that creates it.
    bool is_there() const;
    // Empty: they do not.
    const std::string& why_past_the_cache() const { return m_calls->why_past_the_cache(); }

    // What a program can ask for: a section's status and bytes.
    int size_of(const char* section, std::size_t* size) const;
    int get(const char* section, void* out) const;

private:
    static constexpr std::uint64_t k_alive = 0x6865'6172'7468'6a6c;

    std::optional<Result<compilers::Answer>> ask_the_cache();
    int refuse(const std::string& why);
    void count(const Event& event);
    void note_all();
    int status_of(const char* section) const;

    std::uint64_t m_alive = k_alive;
    std::unique_ptr<compilers::SteppedCalls> m_calls;
    std::shared_ptr<const Artifact> m_seen;
    std::string m_why_refused;  // compiling is forbidden; it has been noted
    Event m_event;              // all steps since the last note, as one compile
};

// No exception may reach a program that uses a C interface.
template <class F>
int guarded(int failure, F&& body) noexcept
try {
    return body();
} catch (...) {
    return failure;
}

// Numbers that the real library tells of itself: `ask` has it write them to these places and returns its status, where
// 0 is success. They are remembered in the cache under `what` and the library's build. If a place is null it is asked.
int remembered(std::string_view what, std::initializer_list<int*> places, const std::function<int()>& ask);

}  // namespace hearth::proxy
