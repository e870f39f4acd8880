// Everything that can be done to a cache.

#include "worker_thread.hpp"

#include <csignal>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace hearth::soak {

namespace {

using namespace std::chrono_literals;

// Some compiles take a while, and some ask for the next kernel: not those that may outlive their caller and the cache.
auto compile_function(WorkerThread& thread, Captures captures = Captures::borrowed)
{
    const auto wait = std::chrono::milliseconds(thread.below(10) == 0 ? thread.below(20) : 0);
    const bool asks_next = thread.below(20) == 0 && thread.number + 1 < k_numbers && !fails(thread.number + 1);
    Cache* const asks = asks_next && captures == Captures::borrowed ? &thread.cache : nullptr;
    return [number = thread.number, wait, asks]() -> Result<Artifact> {
        std::this_thread::sleep_for(wait);
        if (asks) {
            const Result<Lookup> next =
                asks->get_or_compile(key_of(number + 1), [&] { return artifact_of(number + 1); });
            if (!next.ok())
                return next.error();
        }
        if (fails(number))
            return failure_of(number);
        return artifact_of(number);
    };
}

void get(WorkerThread& thread)
{
    GetOptions options;
    options.captures = thread.below(2) == 0 ? Captures::owned : Captures::borrowed;
    thread.check_got(
        thread.cache.get_or_compile(key_of(thread.number), compile_function(thread, options.captures), options), false);
}

void get_by_request(WorkerThread& thread)
{
    thread.check_got(thread.cache.get_or_compile(Request::of("soak", thread.number), compile_function(thread)), false);
}

void get_in_time(WorkerThread& thread)
{
    GetOptions options{.deadline = std::chrono::milliseconds(1 + thread.below(50)), .captures = Captures::owned};
    thread.check_got(
        thread.cache.get_or_compile(key_of(thread.number), compile_function(thread, options.captures), options), true);
}

void get_async(WorkerThread& thread)
{
    auto got = thread.cache.get_or_compile_async(key_of(thread.number), compile_function(thread));
    thread.check_got(got.get(), false);
}

void insert(WorkerThread& thread)
{
    if (!fails(thread.number))
        thread.count(thread.cache.insert(key_of(thread.number), artifact_of(thread.number)));
}

// Holds what it got while others evict and clear.
void hold(WorkerThread& thread)
{
    std::vector<std::pair<std::uint64_t, Lookup>> held;
    for (int i = 0; i < 8; ++i) {
        thread.number = thread.any_number();
        held.emplace_back(thread.number, thread.cache.find(key_of(thread.number)));
    }
    std::this_thread::sleep_for(1ms);
    for (const auto& [number, lookup] : held) {
        thread.number = number;
        thread.check(lookup);
    }
}

void lease_vram(WorkerThread& thread)
{
    if (fails(thread.number))
        return;
    const Result<device::Lease> lease = thread.cache.vram().load(key_of(thread.number));
    thread.count(lease);
    if (!lease.ok() || !*lease || lease->lost())
        return;
    std::this_thread::yield();
    const Artifact wanted = artifact_of(thread.number);
    thread.check_bytes("vram", "code", {static_cast<const std::byte*>(lease->pointer()), lease->size()},
                       wanted.bytes());
}

void read_vram(WorkerThread& thread)
{
    std::vector<std::uint64_t> numbers;
    std::vector<Key> keys;
    for (int i = 0; i < 16; ++i) {
        numbers.push_back(thread.any_number());
        keys.push_back(key_of(numbers.back()));
    }
    const Result<device::HostCopy> copy = thread.cache.vram().read_many(keys);
    thread.count(copy);
    for (std::size_t i = 0; copy.ok() && i < keys.size(); ++i) {
        thread.number = numbers[i];
        if (copy->has(i) && !fails(thread.number))
            thread.check_bytes("vram", "code", copy->bytes(i), artifact_of(thread.number).bytes());
    }
}

void look_around(WorkerThread& thread)
{
    admin::where(thread.cache, key_of(thread.number));
    admin::info(thread.cache, key_of(thread.number));
    admin::tiers(thread.cache);
}

void list(WorkerThread& thread)
{
    std::uint64_t left = 100;
    admin::list(thread.cache, [&](const EntryRow&) { return --left != 0; });
    admin::hottest(thread.cache, 10);
}

std::string own_file(const WorkerThread& thread)
{
    return fmt::format("{}/{}-{}", thread.places.scratch, thread.worker, thread.thread);
}

Choose some_entries(WorkerThread& thread)
{
    return [part = thread.below(16)](const EntryRow& row) { return row.key.digest[0] % 16 == part; };
}

void carry(WorkerThread& thread)
{
    const std::string file = own_file(thread) + ".entries";
    const Result<TransferReport> written = admin::export_to(thread.cache, file, some_entries(thread));
    thread.count(written);
    if (written.ok())
        thread.count(admin::import_from(thread.cache, file));
    ::unlink(file.c_str());
}

void ship(WorkerThread& thread)
{
    const std::string file = own_file(thread) + ".bundle";
    const Result<bundles::WriteReport> written = bundles::create(file, thread.cache, some_entries(thread));
    thread.count(written);
    if (written.ok())
        thread.count(bundles::verify(file));
    ::unlink(file.c_str());
}

void push(WorkerThread& thread)
{
    thread.count(admin::push(thread.cache, k_tiers[4 + thread.below(3)], some_entries(thread)));
}

void pull(WorkerThread& thread)
{
    thread.count(admin::pull(thread.cache, thread.below(2) == 0 ? "redis" : "s3", some_entries(thread)));
}

void fork_in_between(WorkerThread& thread);

struct Operation {
    std::string_view name;
    std::uint64_t weight;
    void (*run)(WorkerThread&);
};
constexpr std::array k_operations{
    Operation{"get_or_compile", 3000, get},
    Operation{"get_or_compile by request", 300, get_by_request},
    Operation{"get_or_compile with a deadline", 400, get_in_time},
    Operation{"get_or_compile_async", 600, get_async},
    Operation{"find", 2500, [](WorkerThread& thread) { thread.check(thread.cache.find(key_of(thread.number))); }},
    Operation{"peek", 300, [](WorkerThread& thread) { thread.check(thread.cache.peek(key_of(thread.number))); }},
    Operation{"insert", 600, insert},
    Operation{"remove on this machine", 600,
              [](WorkerThread& thread) { thread.cache.remove(key_of(thread.number), Reach::this_machine); }},
    Operation{"remove everywhere", 60,
              [](WorkerThread& thread) { thread.cache.remove(key_of(thread.number), Reach::everywhere); }},
    Operation{"find and hold", 100, hold},
    Operation{"lease device memory", 300, lease_vram},
    Operation{"read device memory", 100, read_vram},
    Operation{"promote", 100, [](WorkerThread& thread) { admin::promote(thread.cache, key_of(thread.number)); }},
    Operation{"demote", 100, [](WorkerThread& thread) { admin::demote(thread.cache, key_of(thread.number)); }},
    Operation{"where, info, tiers", 60, look_around},
    Operation{"list, hottest", 5, list},
    Operation{
        "verify", 5,
        [](WorkerThread& thread) { admin::verify(thread.cache, thread.below(2) == 0 ? Repair::yes : Repair::no); }},
    Operation{"gc", 5,
              [](WorkerThread& thread) { admin::gc(thread.cache, {.max_bytes = thread.below(k_disk_bytes)}); }},
    Operation{"clear memory", 10, [](WorkerThread& thread) { admin::clear_memory(thread.cache); }},
    Operation{"clear", 2, [](WorkerThread& thread) { admin::clear(thread.cache); }},
    Operation{"maintain", 20, [](WorkerThread& thread) { admin::maintain(thread.cache); }},
    Operation{"flush", 20, [](WorkerThread& thread) { thread.cache.flush(); }},
    Operation{
        "stats", 60,
        [](WorkerThread& thread) { thread.cache.stats(thread.below(4) == 0 ? Scope::directory : Scope::process); }},
    Operation{"reset stats", 2, [](WorkerThread& thread) { admin::reset_stats(thread.cache); }},
    Operation{"set policy", 10,
              [](WorkerThread& thread) {
                  thread.count(
                      admin::set_policy(thread.cache, k_tiers[thread.below(3)], thread.below(2) == 0 ? lru() : gdsf()));
              }},
    Operation{"export and import", 4, carry},
    Operation{"create and verify a bundle", 4, ship},
    Operation{"push", 4, push},
    Operation{"pull", 4, pull},
    Operation{"fork", 30, fork_in_between},
};
static_assert(k_operations.size() <= k_most_operations);

// A child goes on with the cache that its parent's threads are in the middle of using.
void fork_in_between(WorkerThread& thread)
{
    const pid_t child = ::fork();
    if (child < 0)
        return;
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        thread.random.seed(thread.random() + 1);
        for (int i = 0; i < 10; ++i)
            step(thread, thread.below(9));  // one of the first: not another fork
        ::_exit(0);
    }
    const std::size_t operation = thread.operation;
    int status = 0;
    while (::waitpid(child, &status, 0) != child) {
    }
    ++thread.shared.forked_children;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        thread.operation = operation;
        thread.fail("", fmt::format("the forked child ended with wait status {:#x}", status));
    }
}

}  // namespace

void step(WorkerThread& thread, std::size_t operation)
{
    Doing& doing = thread.shared.doing[thread.worker][thread.thread];
    thread.operation = operation;
    thread.number = thread.any_number();
    doing.operation = operation;
    doing.number = thread.number;
    k_operations[operation].run(thread);
    ++thread.shared.operations[operation];
    ++doing.steps;
}

std::size_t any_operation(WorkerThread& thread)
{
    return any_of(k_operations, thread.random);
}

std::string_view operation_name(std::size_t operation)
{
    return k_operations[operation].name;
}

std::size_t operation_count()
{
    return k_operations.size();
}

}  // namespace hearth::soak
