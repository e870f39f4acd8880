#include "worker_thread.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::soak {

void WorkerThread::fail(std::string_view tier, const std::string& what) const
{
    shared.fail(fmt::format("Operation {} of kernel {} (key {}) in worker {}, "
                            "thread {} (seed {}), tier {}: {}.",
                            operation_name(operation), number, key_of(number).hex(), worker, thread, seed,
                            tier.empty() ? "none" : tier, what));
    ::_exit(k_exit_wrong);
}

void WorkerThread::check_bytes(std::string_view tier, std::string_view section, ByteView got, ByteView wanted) const
{
    if (got.size() != wanted.size())
        fail(tier, fmt::format("section \"{}\" has {} bytes and must have {}", section, got.size(), wanted.size()));
    const auto differ = std::mismatch(got.begin(), got.end(), wanted.begin());
    if (differ.first != got.end())
        fail(tier,
             fmt::format("section \"{}\" differs at byte {} of {}", section, differ.first - got.begin(), got.size()));
    shared.checked_bytes += got.size();
}

void WorkerThread::check(std::string_view tier, const Artifact& got) const
{
    if (fails(number)) {
        if (!got.failed() || got.text("log") != failure_of(number).log)
            fail(tier, "a compile that fails was answered with something else");
        return;
    }
    const Artifact wanted = artifact_of(number);
    if (got.failed() || got.sections.size() != wanted.sections.size())
        fail(tier, fmt::format("status {} with {} sections", got.status, got.sections.size()));
    for (std::size_t i = 0; i < wanted.sections.size(); ++i) {
        if (got.sections[i].name != wanted.sections[i].name)
            fail(tier, fmt::format("a section is called \"{}\"", got.sections[i].name));
        check_bytes(tier, wanted.sections[i].name, got.sections[i].data, wanted.sections[i].data);
    }
    if (got.metadata != wanted.metadata)
        fail(tier, fmt::format("its label is \"{}\"", got.metadata.label));
}

void WorkerThread::check(const Lookup& lookup) const
{
    if (!lookup) {
        ++shared.misses[static_cast<std::size_t>(lookup.why())];
        return;
    }
    check(lookup.tier(), *lookup);
    const auto tier = std::find(k_tiers.begin(), k_tiers.end(), lookup.tier());
    if (lookup.compiled())
        ++(lookup.waited() ? shared.waited : shared.compiled);
    else if (tier != k_tiers.end())
        ++shared.hits[static_cast<std::size_t>(tier - k_tiers.begin())];
    else
        fail(lookup.tier(), "there is no such tier");
}

void WorkerThread::check_got(const Result<Lookup>& got, bool has_deadline) const
{
    if (got.ok() && *got) {
        check(*got);
        return;
    }
    if (got.ok())
        fail("", "neither an answer nor an error");
    const Error& error = got.error();
    count(error);
    const Error wanted = failure_of(number);
    if (fails(number) && error.code == wanted.code && error.message == wanted.message && error.log == wanted.log)
        return;
    if (!has_deadline || error.code != Code::timeout)
        fail("", "no answer but an error: " + error.message);
}

}  // namespace hearth::soak
