// The caches of hearth.h: opening, entries, leases, statistics.

#include "base/error.hpp"
#include "c/results.hpp"
#include "c/telling.hpp"
#include "config/setting_rows.hpp"
#include "hearth/ready.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

namespace {

using hearth::Artifact;
using hearth::ByteView;
using hearth::Cache;
using hearth::Code;
using hearth::Lookup;
using hearth::Result;
using hearth::Status;
using hearth::c::call_back;
using hearth::c::fail;
using hearth::c::fail_without_size;
using hearth::c::filled;
using hearth::c::guarded;
using hearth::c::has_size;
using hearth::c::known_part;
using hearth::c::Telling;
using hearth::c::text_of;

constexpr const char* k_no_handle = "A cache, a key and a place for the result are needed, and one of them is null.";

// Not in a function: a child that is forked while another thread makes it would wait for that thread. Never destroyed:
// threads may still use it while the program ends.
std::atomic<hearth_cache*> g_shared{nullptr};

Status set(hearth::CacheOptions& options, std::string_view setting)
{
    const std::size_t equals = setting.find('=');
    const std::string_view name = setting.substr(0, equals);
    for (const hearth::config::SettingRow& row : hearth::config::setting_rows()) {
        if (name != row.name)
            continue;
        if (equals == std::string_view::npos || !row.parse(options, setting.substr(equals + 1)))
            return hearth::error(Code::invalid_argument, "The setting \"{}\" takes {}.", setting, row.takes);
        return {};
    }
    return hearth::error(Code::invalid_argument, "There is no setting \"{}\". 'hearth config' lists them.", name);
}

Result<hearth::CacheOptions> options_of(const hearth_options& given)
{
    hearth::CacheOptions options;
    if (given.directory != nullptr)
        options.directory = given.directory;
    for (const char* const* setting = given.settings; setting != nullptr && *setting != nullptr; ++setting)
        HEARTH_TRY(set(options, *setting));
    // Who wants nothing on the program's streams may still want it in the summary of `hearth run`.
    if (options.log_to == "off" && hearth::run_log::is_noting())
        options.log = hearth::run_log::note_warning;
    if (given.log != nullptr)
        options.log = [log = given.log, user = given.log_user](hearth::LogLevel, std::string_view message) {
            call_back([&] { log(user, std::string(message).c_str()); });
        };
    return options;
}

hearth::Key key_of(const hearth_key& key)
{
    hearth::Key digest;
    std::memcpy(digest.digest.data(), key.digest, sizeof key.digest);
    return digest;
}

hearth_status store(hearth_cache& cache, const hearth_key& key, Artifact artifact)
{
    Telling(cache).put(key_of(key), artifact);
    using Source = hearth::InsertOptions::Source;
    const Source source = artifact.cost.count() > 0 ? Source::compiled : Source::found;
    const auto stored = cache.cache.insert(key_of(key), std::move(artifact), {.source = source});
    return stored ? hearth_status{HEARTH_OK} : fail(&cache, stored.error());
}

int32_t outcome_of(const Lookup& lookup)
{
    return lookup.waited() ? HEARTH_WAITED : lookup.compiled() ? HEARTH_COMPILED : HEARTH_HIT;
}

hearth_lease* leased(Lookup lookup)
{
    auto lease = std::make_unique<hearth_lease>();
    lease->outcome = outcome_of(lookup);
    if (lookup.compiled())
        lease->reason = to_string(lookup.why());
    lease->tier = lookup.tier();
    lease->lookup = std::move(lookup);
    lease->artifact = &*lease->lookup;
    return lease.release();
}

std::chrono::milliseconds milliseconds_of(uint64_t count)
{
    const std::chrono::milliseconds most = std::chrono::milliseconds::max();
    return count < static_cast<uint64_t>(most.count()) ? std::chrono::milliseconds(count) : most;
}

// Given back when the last compile function that knows it is gone.
std::shared_ptr<void> owned(void* user, void (*drop)(void*))
{
    return {user, [drop](void* given) {
                if (drop != nullptr)
                    call_back([&] { drop(given); });
            }};
}

}  // namespace

hearth_status hearth_open(const hearth_options* options, hearth_cache** cache)
{
    return guarded(nullptr, [&]() -> hearth_status {
        if (cache == nullptr)
            return fail(nullptr, Code::invalid_argument, "There is no place for the cache.");
        *cache = nullptr;
        const auto known = known_part(options);
        if (!known)
            return fail_without_size(nullptr);
        Result<hearth::CacheOptions> wanted = options_of(*known);
        if (!wanted)
            return fail(nullptr, wanted.error());
        Result<Cache> opened = Cache::open(*std::move(wanted));
        if (!opened)
            return fail(nullptr, opened.error());
        *cache = new hearth_cache(*std::move(opened));
        return HEARTH_OK;
    });
}

hearth_cache* hearth_shared(void)
try {
    hearth_cache* shared = g_shared.load();
    if (shared != nullptr)
        return shared;
    auto made = std::make_unique<hearth_cache>(Cache::shared());
    return g_shared.compare_exchange_strong(shared, made.get()) ? made.release() : shared;
} catch (...) {
    return nullptr;
}

void hearth_close(hearth_cache* cache)
{
    if (cache != nullptr && cache->owned)
        delete cache;
}

hearth_status hearth_flush(hearth_cache* cache)
{
    return guarded(cache, [&]() -> hearth_status {
        if (cache == nullptr)
            return fail(cache, Code::invalid_argument, k_no_handle);
        cache->cache.flush();
        return HEARTH_OK;
    });
}

hearth_status hearth_get(hearth_cache* cache, const hearth_key* key, hearth_lease** lease)
{
    return guarded(cache, [&]() -> hearth_status {
        if (cache == nullptr || key == nullptr || lease == nullptr)
            return fail(cache, Code::invalid_argument, k_no_handle);
        *lease = nullptr;
        const Telling telling(*cache);
        Lookup lookup = cache->cache.find(key_of(*key));
        if (!lookup)
            return fail(cache, Code::not_found, to_string(lookup.why()).data());
        telling.got(key_of(*key), lookup);
        *lease = leased(std::move(lookup));
        return HEARTH_OK;
    });
}

hearth_status hearth_get_or_compile(hearth_cache* cache, const hearth_key* key, hearth_compile compile, void* user,
                                    hearth_lease** lease)
{
    return hearth_get_or_compile_with(cache, key, compile, user, nullptr, lease);
}

hearth_status hearth_get_or_compile_with(hearth_cache* cache, const hearth_key* key, hearth_compile compile, void* user,
                                         const hearth_get_options* options, hearth_lease** lease)
{
    return guarded(cache, [&]() -> hearth_status {
        const auto wanted = known_part(options);
        if (!wanted)
            return fail_without_size(cache);
        const std::shared_ptr<void> kept = owned(user, wanted->drop);
        if (cache == nullptr || key == nullptr || compile == nullptr || lease == nullptr)
            return fail(cache, Code::invalid_argument, k_no_handle);
        *lease = nullptr;
        if (wanted->deadline_ms != 0 && wanted->drop == nullptr)
            return fail(cache, Code::invalid_argument,
                        "A deadline needs `drop`: the compile may go on when the call has returned.");
        hearth::GetOptions how;
        how.deadline = milliseconds_of(wanted->deadline_ms);
        how.captures = wanted->drop != nullptr ? hearth::Captures::owned : hearth::Captures::borrowed;
        const Telling telling(*cache);
        Result<Lookup> found = cache->cache.get_or_compile(
            key_of(*key), [compile, kept] { return filled(compile, kept.get()); }, how);
        if (!found) {
            telling.failed({}, found.error());
            return fail(cache, found.error());
        }
        telling.got(key_of(*key), *found);
        *lease = leased(*std::move(found));
        return HEARTH_OK;
    });
}

hearth_status hearth_put(hearth_cache* cache, const hearth_key* key, hearth_compile fill, void* user)
{
    return guarded(cache, [&]() -> hearth_status {
        if (cache == nullptr || key == nullptr || fill == nullptr)
            return fail(cache, Code::invalid_argument, k_no_handle);
        Result<Artifact> artifact = filled(fill, user);
        return artifact ? store(*cache, *key, *std::move(artifact)) : fail(cache, artifact.error());
    });
}

hearth_status hearth_put_bytes(hearth_cache* cache, const hearth_key* key, const char* section, hearth_bytes bytes)
{
    return guarded(cache, [&]() -> hearth_status {
        if (cache == nullptr || key == nullptr)
            return fail(cache, Code::invalid_argument, k_no_handle);
        hearth_result result;
        if (!hearth::c::add(result, &section, &bytes, 1))
            return fail(cache, Code::invalid_argument, hearth::c::k_no_section);
        return store(*cache, *key, std::move(result.artifact));
    });
}

hearth_status hearth_may_compile(hearth_cache* cache, const char* label, const char* compiler)
{
    return guarded(cache, [&]() -> hearth_status {
        if (cache == nullptr)
            return fail(cache, Code::invalid_argument, k_no_handle);
        const hearth::Metadata metadata{.label = text_of(label), .compiler = text_of(compiler)};
        const Status may = cache->cache.may_compile(metadata);
        if (may.ok())
            return HEARTH_OK;
        Telling(*cache).failed(metadata, may.error());
        return fail(cache, may.error());
    });
}

void hearth_ready(void)
{
    hearth::ready();
}

hearth_status hearth_remove(hearth_cache* cache, const hearth_key* key)
{
    return guarded(cache, [&]() -> hearth_status {
        if (cache == nullptr || key == nullptr)
            return fail(cache, Code::invalid_argument, k_no_handle);
        return cache->cache.remove(key_of(*key)) ? hearth_status{HEARTH_OK} : fail(cache, Code::not_found, "absent");
    });
}

hearth_bytes hearth_lease_bytes(const hearth_lease* lease, const char* section)
{
    if (lease == nullptr)
        return {nullptr, 0};
    const ByteView view = section == nullptr ? lease->artifact->bytes() : lease->artifact->bytes(section);
    return {view.data(), view.size()};
}

size_t hearth_lease_section_count(const hearth_lease* lease)
{
    return lease != nullptr ? lease->artifact->sections.size() : 0;
}

const char* hearth_lease_section_name(const hearth_lease* lease, size_t index)
{
    return index < hearth_lease_section_count(lease) ? lease->artifact->sections[index].name.c_str() : nullptr;
}

int32_t hearth_lease_status(const hearth_lease* lease)
{
    return lease != nullptr ? lease->artifact->status : 0;
}

int32_t hearth_lease_outcome(const hearth_lease* lease)
{
    return lease != nullptr ? lease->outcome : HEARTH_HIT;
}

const char* hearth_lease_reason(const hearth_lease* lease)
{
    return lease != nullptr ? lease->reason.c_str() : "";
}

const char* hearth_lease_tier(const hearth_lease* lease)
{
    return lease != nullptr ? lease->tier.c_str() : "";
}

uint64_t hearth_lease_cost_ns(const hearth_lease* lease)
{
    return lease != nullptr ? static_cast<uint64_t>(lease->artifact->cost.count()) : 0;
}

void hearth_release(hearth_lease* lease)
{
    delete lease;
}

hearth_status hearth_get_stats(hearth_cache* cache, int32_t scope, hearth_stats* stats)
{
    return guarded(cache, [&]() -> hearth_status {
        if (cache == nullptr || stats == nullptr)
            return fail(cache, Code::invalid_argument, "There is no cache, or no place for its statistics.");
        if (!has_size(*stats))
            return fail_without_size(cache);
        if (scope != HEARTH_OF_PROCESS && scope != HEARTH_OF_DIRECTORY)
            return fail(cache, Code::invalid_argument, "Statistics are those of the process (0) or directory (1).");
        const hearth::Stats all =
            cache->cache.stats(scope == HEARTH_OF_DIRECTORY ? hearth::Scope::directory : hearth::Scope::process);
        const hearth_stats known{.size = stats->size,
                                 .hits = all.hits,
                                 .misses = all.misses_in_all(),
                                 .outages = all.outages,
                                 .stores = all.stores,
                                 .compiles = all.compiles,
                                 .compile_failures = all.compile_failures,
                                 .waited = all.waited,
                                 .forbidden = all.forbidden,
                                 .evictions = all.evictions(),
                                 .corrupt = all.corrupt(),
                                 .compile_ns_spent = all.compile_ns_spent,
                                 .compile_ns_saved = all.compile_ns_saved,
                                 .compiles_after_ready = all.compiles_after_ready};
        std::memcpy(stats, &known, std::min(stats->size, sizeof known));
        return HEARTH_OK;
    });
}
