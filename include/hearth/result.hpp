#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace hearth {

enum class Code : std::uint8_t {
    invalid_argument,   // the caller asked for something that cannot be
    not_found,          // no such entry, file or tier
    too_large,          // larger than any tier can hold
    io,                 // the operating system refused
    no_space,           // the disk or the budget is full
    corrupt,            // bytes that are not what they claim to be
    other_version,      // another version's or another machine's bytes
    compile_failed,     // the compiler said no; `log` holds its words
    compile_forbidden,  // a miss in a cache that may not compile
    timeout,            // the deadline passed first
    unavailable,        // the tier, the server or the library is not there
    denied,             // access was refused: password, signature, certificate, permission
    no_memory,
};

// A sentence for people, with the value, the limit and the fix; `log` is the compiler's own output.
struct Error {
    Code code = Code::io;
    std::string message;
    std::string log;
};

namespace detail {

[[noreturn]] inline void value_of_error(const Error& error) noexcept
{
    std::fprintf(stderr, "hearth: value() called on an error: %s\n", error.message.c_str());
    std::abort();
}

}  // namespace detail

// A value, or the reason there is none. No exception crosses the API: look before you take.
// value() on an error ends the program with the error's message, as an assertion would.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

    bool ok() const noexcept { return m_state.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    T& value() & { return checked(); }
    const T& value() const& { return const_cast<Result*>(this)->checked(); }
    T&& value() && { return std::move(checked()); }

    T* operator->() { return &checked(); }
    const T* operator->() const { return &const_cast<Result*>(this)->checked(); }
    T& operator*() & { return checked(); }
    const T& operator*() const& { return const_cast<Result*>(this)->checked(); }
    T&& operator*() && { return std::move(checked()); }

    const Error& error() const { return std::get<1>(m_state); }

private:
    T& checked()
    {
        if (!ok())
            detail::value_of_error(error());
        return *std::get_if<0>(&m_state);
    }

    std::variant<T, Error> m_state;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : m_error(std::move(error)) {}

    bool ok() const noexcept { return !m_error; }
    explicit operator bool() const noexcept { return ok(); }

    void value() const
    {
        if (m_error)
            detail::value_of_error(*m_error);
    }

    const Error& error() const { return m_error.value(); }

private:
    std::optional<Error> m_error;
};

using Status = Result<void>;

}  // namespace hearth
