#pragma once

#include "c/handles.hpp"

#include <chrono>

// Tells `hearth run --summary` and `--record` what is asked of a cache by hearth.h. Costs nothing where nobody wants to
// know.

namespace hearth::c {

class Telling {
public:
    explicit Telling(const hearth_cache& cache)
        : m_cache(cache), m_start(cache.is_noting ? std::chrono::steady_clock::now() : Time{})
    {
    }

    // It was there, or has been compiled.
    void got(const Key& key, const Lookup& lookup) const;
    // It was compiled elsewhere, if it says how long that took.
    void put(const Key& key, const Artifact& artifact) const;
    // By one of our own compilers, which record by themselves.
    void compiled(std::string_view compiler, const std::string& name, const CompileResult& result) const;
    void failed(const Metadata& metadata, const Error& error) const;

private:
    using Time = std::chrono::steady_clock::time_point;

    void note(run_log::Event event, const Metadata& metadata) const;

    const hearth_cache& m_cache;
    const Time m_start;
};

}  // namespace hearth::c
