// From settings to a cache: the only place that names every backend.

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "config/default_tiers.hpp"
#include "config/log_sink.hpp"
#include "engine/parts.hpp"
#include "hearth/bundle.hpp"
#include "hearth/cache.hpp"
#include "hearth/device_tier.hpp"
#include "hearth/remote.hpp"
#include "policy/guarded_policy.hpp"
#include "remote/server_kinds.hpp"
#include "remote/url.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace hearth {

namespace {

constexpr std::size_t k_longest_name = 64;

// Names appear in statistics, in tables and on command lines.
bool is_name(std::string_view name)
{
    const auto plain = [](char c) { return base::is_letter_or_digit(c) || c == '-' || c == '_'; };
    return !name.empty() && name.size() <= k_longest_name && std::all_of(name.begin(), name.end(), plain);
}

// Whose signatures a tier trusts. The settings name the tier itself, all of its kind, or servers as addresses do. A key
// that cannot be read is logged, and leaves the tier with less trust, never with more.
Trust trust_of(const std::string& tier, std::string_view kind, const CacheOptions& options, const LogSink& log,
               const remotes::ServerKind* server = nullptr)
{
    Trust trust;
    const auto complain = [&](const Error& error) {
        if (log)
            log(LogLevel::warning, error.message);
    };
    for (const std::string& name : *options.demand_signatures)
        if (name == tier || name == kind || name == "all" ||
            (server != nullptr && remotes::kind_of_server(name) == server))
            trust.signatures = Signatures::demanded;
    for (const std::string& text : *options.trusted_keys) {
        if (const Result<PublicKey> key = PublicKey::parse(text))
            trust.trusted.push_back(*key);
        else if (const Result<std::vector<PublicKey>> keys = load_public_keys(text))
            trust.trusted.insert(trust.trusted.end(), keys->begin(), keys->end());
        else
            complain(text.starts_with("ed25519") ? key.error() : keys.error());
    }
    if (!options.sign_with->empty()) {
        if (const Result<SigningKey> key = SigningKey::load(*options.sign_with))
            trust.sign_with.push_back(*key);
        else
            complain(key.error());
    }
    return trust;
}

// None, also if it cannot be read, which trust_of() logs.
std::optional<SigningKey> signing_key(const CacheOptions& options)
{
    const Result<SigningKey> key = SigningKey::load(*options.sign_with);
    return key ? std::optional(*key) : std::nullopt;
}

std::vector<TierSpec> tiers_of(const CacheOptions& options, const LogSink& log)
{
    std::vector<TierSpec> tiers;
    if (*options.memory_bytes != 0)
        tiers.push_back(memory(*options.memory_bytes));
    if (*options.vram_bytes != 0)
        tiers.push_back(
            vram({.backend = device::backend_named(*options.vram_backend).value_or(device::Backend::automatic),
                  .max_bytes = *options.vram_bytes}));
    DiskOptions on_disk;
    on_disk.directory = *options.directory;
    on_disk.max_bytes = *options.disk_bytes;
    on_disk.max_entries = *options.disk_entries;
    on_disk.max_entry_bytes = *options.max_entry_bytes;
    on_disk.max_age = *options.max_age;
    on_disk.compression = *options.compression;
    on_disk.access = *options.access;
    on_disk.users = *options.users;
    on_disk.durable = *options.durable;
    on_disk.trust = trust_of("disk", "disk", options, log);
    if (log && on_disk.access == Access::read_write && on_disk.trust.signatures == Signatures::demanded &&
        !on_disk.trust.trusted.empty() && on_disk.trust.sign_with.empty())
        log(LogLevel::warning,
            fmt::format(
                "Signatures are demanded of what lies in {}, and nothing is signed here, so what is compiled is "
                "not kept there. Name a signing key in HEARTH_SIGN_WITH, or leave disk out of "
                "HEARTH_DEMAND_SIGNATURES.",
                on_disk.directory));
    tiers.push_back(disk(std::move(on_disk)));
    const config::DefaultTiers names = config::default_tiers(options);
    for (std::size_t i = 0; i < names.bundles.size(); ++i) {
        BundleOptions one{.path = options.bundles->at(i)};
        one.name = names.bundles[i];
        one.max_entry_bytes = *options.max_entry_bytes;
        one.trust = trust_of(one.name, "bundles", options, log);
        tiers.push_back(bundle(std::move(one)));
    }
    for (std::size_t i = 0; i < names.remotes.size(); ++i) {
        RemoteOptions one{.url = options.remotes->at(i)};
        one.name = names.remotes[i];
        one.max_entry_bytes = *options.max_entry_bytes;
        const Result<remotes::Url> url = remotes::parse_url(one.url);
        one.trust = trust_of(one.name, "remotes", options, log, url ? remotes::kind_of_server(url->scheme) : nullptr);
        one.state_directory = *options.directory + "/remotes";
        one.state_users = *options.users;
        TierSpec spec = remote(std::move(one));
        const bool taken =
            std::any_of(tiers.begin(), tiers.end(), [&spec](const TierSpec& tier) { return tier.name == spec.name; });
        // The name stands in the address. A cache without this server is better than none.
        if (is_name(spec.name) && !taken)
            tiers.push_back(std::move(spec));
        else if (log)
            log(LogLevel::warning,
                fmt::format("A server cannot be called \"{}\"{}; {} is left out. Give another name=, or none.",
                            base::printable(spec.name),
                            taken ? ": another tier is" : ", but only letters, digits, '-' and '_', 64 at most",
                            url ? url->shown() : "it"));
    }
    return tiers;
}

// Absolute, because the program may change its working directory.
std::string absolute_path(const std::string& path)
{
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    return error ? path : absolute.string();
}

}  // namespace

Result<Cache> Cache::open(CacheOptions options)
{
    Settings settings = resolve(std::move(options));
    CacheOptions& resolved = settings.options;
    engine::EngineOptions chosen;
    chosen.log = config::contained(resolved.log ? resolved.log : config::log_sink(*resolved.log_to));
    if (chosen.log)
        for (const std::string& problem : settings.problems)
            chosen.log(LogLevel::warning, problem);
    if (*resolved.caching == Switch::on)
        chosen.tiers = resolved.tiers.empty() ? tiers_of(resolved, chosen.log) : std::move(resolved.tiers);
    std::set<std::string_view> names;
    for (const TierSpec& tier : chosen.tiers) {
        if (!is_name(tier.name))
            return error(Code::invalid_argument,
                         "A tier cannot be called \"{}\": a name is 1 to {} letters, digits, '-' and '_'.", tier.name,
                         k_longest_name);
        if (!names.insert(tier.name).second)
            return error(Code::invalid_argument,
                         "Two tiers are called \"{}\". Give one of them another name, as in "
                         "memory({{.name = \"pinned\"}}).",
                         tier.name);
    }
    const PolicyOptions policy{.promote_after = *resolved.promote_after};
    chosen.policy = resolved.policy                  ? policy::guarded(resolved.policy, chosen.log)
                    : *resolved.policy_name == "lru" ? lru(policy)
                                                     : gdsf(policy);
    chosen.compiling = *resolved.compiling;
    chosen.max_parallel_compiles = *resolved.max_parallel_compiles;
    chosen.compile_time_limit = *resolved.compile_time_limit;
    chosen.flight_wait = *resolved.flight_wait;
    chosen.variants_after = *resolved.variants_after;
    chosen.stable_paths = *resolved.stable_paths;
    chosen.race_under = *resolved.race_under;
    chosen.failure_ttl = *resolved.failure_ttl;
    chosen.maintenance = *resolved.maintenance;
    chosen.maintenance_interval = *resolved.maintenance_interval;
    if (*resolved.caching == Switch::on && !resolved.record_to->empty())
        chosen.recording = Recording{absolute_path(*resolved.record_to), chosen.log, signing_key(resolved)};
    chosen.on_evict = std::move(resolved.on_evict);
    chosen.clock = resolved.clock ? resolved.clock : &base::system_clock();
    return Cache(std::make_unique<Parts>(std::move(chosen)));
}

}  // namespace hearth
