#pragma once

#include "support/sample_entries.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

// What the soak's supervisor and its workers share: what every answer must be, and memory that outlives a kill.

namespace hearth::soak {

using Random = std::mt19937_64;

// The number of one of them, chosen by their weights.
template <class Weighted>
std::size_t any_of(const Weighted& all, Random& random)
{
    std::uint64_t sum = 0;
    for (const auto& one : all)
        sum += one.weight;
    std::uint64_t at = random() % sum;
    std::size_t chosen = 0;
    while (at >= all[chosen].weight)
        at -= all[chosen++].weight;
    return chosen;
}

// What is compiled: all of it follows from a number, so that every process can check every byte.

constexpr std::uint64_t k_disk_bytes = 16_MiB;  // a third of what there is
constexpr std::uint64_t k_numbers = 3000;
constexpr std::uint64_t k_in_bundle = 300;  // the first ones

inline Key key_of(std::uint64_t number)
{
    return Key::of("soak", number);
}

inline bool fails(std::uint64_t number)
{
    return number >= k_in_bundle && number % 29 == 3;
}

inline std::string log_of(std::uint64_t number)
{
    std::string log;
    for (std::uint64_t line = 0; line <= number % 40; ++line)
        log += "line " + std::to_string(line) + " of what was said about kernel " + std::to_string(number) + "\n";
    return log;
}

// Most are small, some are 256 KiB.
inline std::size_t size_of(std::uint64_t number)
{
    const std::uint64_t at = number * 7919;
    const std::uint64_t kind = number % 10;
    return kind < 6 ? at % 4000 : kind < 9 ? at % 32'000 : at % 262'144;
}

inline Artifact artifact_of(std::uint64_t number)
{
    Artifact artifact;
    artifact.sections.push_back({"code", test::sample_bytes(key_of(number), size_of(number))});
    if (number % 7 != 0)
        artifact.sections.push_back({"log", Bytes::copy_of(log_of(number))});
    artifact.metadata.label = "kernel " + std::to_string(number);
    return artifact;
}

inline Error failure_of(std::uint64_t number)
{
    return Error{Code::compile_failed, "kernel " + std::to_string(number) + " cannot be compiled", log_of(number)};
}

// What is counted.

constexpr std::array<std::string_view, 7> k_tiers{"memory", "vram", "disk", "bundle", "redis", "http", "s3"};
constexpr std::array<std::string_view, 13> k_codes{
    "invalid_argument", "not_found",         "too_large", "io",          "no_space", "corrupt",  "other_version",
    "compile_failed",   "compile_forbidden", "timeout",   "unavailable", "denied",   "no_memory"};
constexpr std::size_t k_most_operations = 40;
constexpr std::size_t k_most_faults = 32;
constexpr std::size_t k_workers = 8;
constexpr std::size_t k_threads = 3;  // of each worker

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free);  // so it works across processes

constexpr int k_exit_wrong = 3;  // of a worker that has said what is wrong

// What one thread of a worker is doing. A forked child goes on in the place of the thread that forked it.
struct Doing {
    Count steps{0};
    std::atomic<std::size_t> operation{0};
    Count number{0};
};

struct Shared {
    // What the supervisor tells the workers.
    std::atomic<bool> stop{false};
    std::atomic<std::int64_t> clock_offset{0};  // seconds
    std::atomic<std::uint32_t> squeeze{1};      // limits are divided by it

    std::array<std::array<Doing, k_threads>, k_workers> doing;
    std::array<Count, k_most_operations> operations;
    std::array<std::array<Count, k_codes.size()>, k_most_operations> errors;
    std::array<Count, k_tiers.size()> hits;
    std::array<Count, k_miss_reasons> misses;
    std::array<Count, k_most_faults> faults;
    Count compiled{0};
    Count waited{0};
    Count checked_bytes{0};
    Count forked_children{0};
    // Of caches that were closed, not killed.
    Count corrupt{0};
    Count evictions{0};
    Count demotions{0};
    Count opened{0};
    Count starts{0};
    Count hangs{0};
    Count wrong{0};  // answers, crashes and hangs: what must not be

    std::array<char, 2000> sentence{};  // about the first failure

    // Only the first is kept: what comes after it may follow from it.
    void fail(std::string_view what)
    {
        if (wrong.fetch_add(1) != 0)
            return;
        std::memcpy(sentence.data(), what.data(), std::min(what.size(), sentence.size() - 1));
    }
};

// A Shared in a file that every process maps.
class SharedFile {
public:
    enum class Role : std::uint8_t { supervisor, worker };

    SharedFile(const std::string& path, Role role)
    {
        const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || ::ftruncate(fd, sizeof(Shared)) != 0)
            throw std::runtime_error("cannot create " + path);
        void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        if (memory == MAP_FAILED)
            throw std::runtime_error("cannot map " + path);
        m_shared = role == Role::supervisor ? new (memory) Shared : static_cast<Shared*>(memory);
    }
    ~SharedFile() { ::munmap(m_shared, sizeof(Shared)); }
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;
    Shared& operator*() const { return *m_shared; }

private:
    Shared* m_shared = nullptr;
};

// The tiers of a worker: what the supervisor hands it on the command line, a word each.

struct Places {
    std::string shared;  // the file above
    std::string directory;
    std::string bundle;
    std::string scratch;  // for files that a worker writes by itself
    std::string redis;    // addresses; "-": there is no such server here
    std::string http;
    std::string s3;
};

int run_worker(const Places& places, std::size_t worker, std::uint64_t seed);

// The names of a worker's operations, in the order of Shared::operations.
std::string_view operation_name(std::size_t operation);
std::size_t operation_count();

}  // namespace hearth::soak
