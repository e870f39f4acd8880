#pragma once

#include "hearth/cache.hpp"
#include "hearth/hearth.h"
#include "hearth/nvrtc.hpp"
#include "run_log/run_log.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <cxxabi.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

// What the handles of hearth.h point to, and how their functions fail.

struct hearth_cache {
    explicit hearth_cache(hearth::Cache&& opened) : owned(std::move(opened)), cache(*owned) {}
    explicit hearth_cache(hearth::Cache& shared) : cache(shared) {}

    std::optional<hearth::Cache> owned;  // none: it is the process's
    hearth::Cache& cache;
    const bool is_noting = hearth::run_log::is_noting();  // asked once: a variable takes longer than a hit
};

struct hearth_key_builder {
    explicit hearth_key_builder(std::string_view domain) : builder(domain) {}

    hearth::KeyBuilder builder;
};

struct hearth_result {
    hearth::Artifact artifact;
    std::string why;  // it failed
};

struct hearth_lease {
    std::shared_ptr<const hearth::Artifact> shared{};  // keeps it alive where there is no lease
    hearth::Lookup lookup{};
    const hearth::Artifact* artifact = nullptr;
    int32_t outcome = HEARTH_HIT;
    std::string reason{};
    std::string tier{};
    std::string log{};                                                // of NVRTC
    std::map<std::string, std::string, std::less<>> lowered_names{};  // of NVRTC
};

namespace hearth::c {

// Makes it what hearth_error(cache) tells this thread. Returns its status.
hearth_status fail(const hearth_cache* cache, const Error& error) noexcept;
hearth_status fail(const hearth_cache* cache, Code code, const char* sentence) noexcept;

hearth_status fail_without_memory(const hearth_cache* cache) noexcept;

// Of a status that says what is wrong; unavailable, which nobody remembers, for one that is none of ours.
Code code_of(hearth_status status) noexcept;

// Empty for null.
inline std::string text_of(const char* text)
{
    return text != nullptr ? text : "";
}

// The structs as they were when they first came. A caller may know more members than those; none knows fewer.
template <class Sized>
constexpr std::size_t k_first_size = 0;
template <>
inline constexpr std::size_t k_first_size<hearth_options> = offsetof(hearth_options, log_user) + sizeof(void*);
template <>
inline constexpr std::size_t k_first_size<hearth_get_options> = offsetof(hearth_get_options, drop) + sizeof(void*);
template <>
inline constexpr std::size_t k_first_size<hearth_stats> = offsetof(hearth_stats, compile_ns_saved) + sizeof(uint64_t);
template <>
inline constexpr std::size_t k_first_size<hearth_nvrtc_program> = offsetof(hearth_nvrtc_program, library) +
                                                                  sizeof(void*);

template <class Sized>
bool has_size(const Sized& given)
{
    static_assert(k_first_size<Sized> != 0);
    return given.size >= k_first_size<Sized>;
}

inline hearth_status fail_without_size(const hearth_cache* cache) noexcept
{
    return fail(cache, Code::invalid_argument,
                "The size of a struct is not set, so its members cannot be read. Begin it with HEARTH_INIT.");
}

// Of a caller who may know fewer members than we do, or more; nothing if its size cannot be. Null: no member is set.
template <class Sized>
std::optional<Sized> known_part(const Sized* given)
{
    Sized known{};
    if (given == nullptr)
        return known;
    if (!has_size(*given))
        return std::nullopt;
    std::memcpy(&known, given, std::min(given->size, sizeof known));
    return known;
}

// Calls a function of the program's. A thread that ends itself in there cannot be let go: it would be unwound through
// functions that do not throw, which ends the program. Python does that to its threads when it ends, and then whoever
// is here may as well stay.
template <class F>
auto call_back(F&& function)
try {
    return std::forward<F>(function)();
} catch (const abi::__forced_unwind&) {
    for (;;)
        pause();
}

// Runs `body`, which returns a hearth_status. What it throws becomes one.
template <class F>
hearth_status guarded(const hearth_cache* cache, F&& body) noexcept
try {
    return std::forward<F>(body)();
} catch (const std::bad_alloc&) {
    return fail_without_memory(cache);
} catch (...) {
    return fail(cache, Code::io, "Something failed that never should. Please report it.");
}

}  // namespace hearth::c
