#pragma once

#include "hearth/hearth.hpp"
#include "shared.hpp"

#include <string>
#include <string_view>

namespace hearth::soak {

constexpr std::uint64_t k_memory_bytes = 4_MiB;

// One thread of a worker with its cache, and the checks of all that the cache answers it. What is wrong ends the
// worker.
struct WorkerThread {
    Shared& shared;
    const Places& places;
    Cache& cache;
    std::size_t worker;
    std::size_t thread;
    std::uint64_t seed;
    Random random;
    std::size_t operation = 0;
    std::uint64_t number = 0;

    std::uint64_t below(std::uint64_t bound) { return random() % bound; }
    // A third of them is asked for most of the time.
    std::uint64_t any_number() { return below(10) < 7 ? below(k_numbers / 3) : below(k_numbers); }

    [[noreturn]] void fail(std::string_view tier, const std::string& what) const;
    void check_bytes(std::string_view tier, std::string_view section, ByteView got, ByteView wanted) const;
    void check(std::string_view tier, const Artifact& got) const;
    void check(const Lookup& lookup) const;
    // Whatever is broken, a compile that succeeds is an answer.
    void check_got(const Result<Lookup>& got, bool has_deadline) const;

    void count(const Error& error) const { ++shared.errors[operation][static_cast<std::size_t>(error.code)]; }
    template <class T>
    void count(const Result<T>& result) const
    {
        if (!result.ok())
            count(result.error());
    }
};

// Does one operation and counts it.
void step(WorkerThread& thread, std::size_t operation);
std::size_t any_operation(WorkerThread& thread);

}  // namespace hearth::soak
