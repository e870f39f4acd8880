#pragma once

#include "hearth/cache.hpp"
#include "hearth/hearth.h"
#include "hearth/nvrtc.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

// What the handles of hearth.h point to, and how their functions fail.

struct hearth_cache {
    explicit hearth_cache(hearth::Cache&& opened) : owned(std::move(opened)), cache(*owned) {}
    explicit hearth_cache(hearth::Cache& shared) : cache(shared) {}

    std::optional<hearth::Cache> owned;  // none: it is the process's
    hearth::Cache& cache;
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

// Of a status that says what is wrong; compile_failed for one that is none of ours.
Code code_of(hearth_status status) noexcept;

// A caller may know fewer members than we do, or more. Null: none.
template <class Sized>
Sized known_part(const Sized* given)
{
    Sized known{};
    if (given != nullptr)
        std::memcpy(&known, given, std::min(given->size, sizeof known));
    return known;
}

// Runs `body`, which returns a hearth_status. What it throws becomes one.
template <class F>
hearth_status guarded(const hearth_cache* cache, F&& body) noexcept
try {
    return std::forward<F>(body)();
} catch (const std::bad_alloc&) {
    return HEARTH_NO_MEMORY;
} catch (...) {
    return fail(cache, Code::io, "Something failed that never should. Please report it.");
}

}  // namespace hearth::c
