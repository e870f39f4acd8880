#pragma once

#include "hearth/result.hpp"

#include <exception>
#include <fmt/format.h>
#include <new>
#include <string>
#include <utility>

// How an Error is created, and how one is handed on.
//
//   return error(Code::too_large, "Entry of {} bytes is larger than tier \"{}\" can hold ({}).", bytes, name, most);
//   HEARTH_TRY(file.write(bytes));                        // returns from here with the Error, if there is one
//   HEARTH_TRY_SET(const Bytes bytes, read(path));        // the same, and the value is `bytes`

namespace hearth {

template <class... Arguments>
Error error(Code code, fmt::format_string<Arguments...> sentence, Arguments&&... arguments)
{
    return {code, fmt::format(sentence, std::forward<Arguments>(arguments)...), {}};
}

// For a catch block: no_memory if that is what was thrown, else `otherwise`.
inline Code code_of_thrown(Code otherwise)
try {
    throw;
} catch (const std::bad_alloc&) {
    return Code::no_memory;
} catch (...) {
    return otherwise;
}

// For a catch block: the words of what was thrown, to end a sentence with.
inline std::string what_was_thrown()
try {
    throw;
} catch (const std::exception& thrown) {
    return thrown.what();
} catch (...) {
    return "something that is no std::exception.";
}

}  // namespace hearth

#define HEARTH_JOIN_EXPANDED(a, b) a##b
#define HEARTH_JOIN(a, b) HEARTH_JOIN_EXPANDED(a, b)
#define HEARTH_TRY_AS(name, declaration, ...)                                                                          \
    auto name = (__VA_ARGS__);                                                                                         \
    if (!name.ok())                                                                                                    \
        return name.error();                                                                                           \
    declaration = *std::move(name)

#define HEARTH_TRY(...)                                                                                                \
    do {                                                                                                               \
        if (const auto& hearth_tried = (__VA_ARGS__); !hearth_tried.ok())                                              \
            return hearth_tried.error();                                                                               \
    } while (false)
#define HEARTH_TRY_SET(declaration, ...) HEARTH_TRY_AS(HEARTH_JOIN(hearth_tried_, __LINE__), declaration, __VA_ARGS__)
