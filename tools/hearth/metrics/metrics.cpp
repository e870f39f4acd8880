#include "metrics/metrics.hpp"

#include "hearth/history.hpp"
#include "metrics/metric_writer.hpp"
#include "terminal/commit.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>

namespace hearth::cli {

namespace {

double seconds_of(std::uint64_t nanoseconds)
{
    return static_cast<double>(nanoseconds) / 1e9;
}

template <std::uint64_t Stats::*k_count>
void write_count(MetricWriter& out, const MetricFacts& facts)
{
    out.sample(facts.stats.*k_count);
}

template <std::uint64_t TierStats::*k_count>
void write_tier_count(MetricWriter& out, const MetricFacts& facts)
{
    for (const TierStats& tier : facts.stats.tiers)
        out.sample(tier.*k_count, tier.name);
}

// Compilers that were never asked for are left out.
bool was_asked(const CompilerStats& compiler)
{
    return compiler.hits + compiler.compiles != 0;
}

template <std::uint64_t CompilerStats::*k_count>
void write_compiler_count(MetricWriter& out, const MetricFacts& facts)
{
    for (std::size_t i = 0; i < k_compiler_kinds; ++i)
        if (const CompilerStats& compiler = facts.stats.compilers[i]; was_asked(compiler))
            out.sample(compiler.*k_count, k_compiler_names[i].name);
}

template <std::uint64_t CompilerStats::*k_count>
void write_compiler_seconds(MetricWriter& out, const MetricFacts& facts)
{
    for (std::size_t i = 0; i < k_compiler_kinds; ++i)
        if (const CompilerStats& compiler = facts.stats.compilers[i]; was_asked(compiler))
            out.sample(seconds_of(compiler.*k_count), k_compiler_names[i].name);
}

template <Latency TierStats::*k_latency>
void write_tier_times(MetricWriter& out, const MetricFacts& facts)
{
    for (const TierStats& tier : facts.stats.tiers)
        if ((tier.*k_latency).samples != 0)
            out.histogram(tier.*k_latency, tier.name);
}

// What a memory tier holds is known to its own process alone, and what a server holds to the server.
template <class Value>
void write_kept_here(MetricWriter& out, const MetricFacts& facts, Value value)
{
    for (const TierStatus& tier : facts.tiers)
        if (tier.traits.persistent && !tier.traits.remote)
            out.sample(value(tier), tier.name);
}

void write_build(MetricWriter& out, const MetricFacts& /*facts*/)
{
    out.info(metric_label("version", HEARTH_VERSION) + "," + metric_label("commit", k_commit));
}

void write_misses(MetricWriter& out, const MetricFacts& facts)
{
    for (std::size_t i = 0; i < k_miss_reasons; ++i)
        out.sample(facts.stats.misses[i], to_string(static_cast<Miss>(i)));
}

void write_server_states(MetricWriter& out, const MetricFacts& facts)
{
    for (const TierStats& tier : facts.stats.tiers)
        if (tier.remote)
            out.sample(std::uint64_t{tier.remote->state == remotes::State::down ? 0U : 1U}, tier.name);
}

constexpr std::array k_metrics{
    Metric{"hearth_build", MetricKind::info, "", "", "The version of Hearth that tells this, and its commit.",
           "count by (version) (hearth_build_info)", write_build},
    Metric{"hearth_lookups", MetricKind::counter, "", "",
           "Lookups: hits, misses, and those in which a tier could not be asked.", "rate(hearth_lookups_total[5m])",
           [](MetricWriter& out, const MetricFacts& facts) { out.sample(facts.stats.lookups()); }},
    Metric{"hearth_hits", MetricKind::counter, "", "tier", "Lookups that a tier answered.",
           "sum(rate(hearth_hits_total[1h])) / sum(rate(hearth_lookups_total[1h]))",
           write_tier_count<&TierStats::hits>},
    Metric{"hearth_misses", MetricKind::counter, "", "reason", "Lookups that found nothing, by reason.",
           "sum by (reason) (increase(hearth_misses_total[1d]))", write_misses},
    Metric{"hearth_outages", MetricKind::counter, "", "",
           "Lookups that found nothing while a tier could not be asked: not misses.",
           "increase(hearth_outages_total[10m]) > 0", write_count<&Stats::outages>},
    Metric{"hearth_compiler_hits", MetricKind::counter, "", "compiler", "Compiles that a hit has saved, by compiler.",
           "sum by (compiler) (rate(hearth_compiler_hits_total[1h])) / on (compiler) "
           "(sum by (compiler) (rate(hearth_compiler_hits_total[1h])) + sum by (compiler) "
           "(rate(hearth_compiles_total[1h])))",
           write_compiler_count<&CompilerStats::hits>},
    Metric{"hearth_compiles", MetricKind::counter, "", "compiler", "Compiles that were run, by compiler.",
           "sum by (compiler) (increase(hearth_compiles_total[1d]))", write_compiler_count<&CompilerStats::compiles>},
    Metric{"hearth_compile_failures", MetricKind::counter, "", "", "Compiles that failed.",
           "increase(hearth_compile_failures_total[1h])", write_count<&Stats::compile_failures>},
    Metric{"hearth_failures_replayed", MetricKind::counter, "", "",
           "Lookups that got the error of a compile that had failed before.",
           "increase(hearth_failures_replayed_total[1h])", write_count<&Stats::failures_replayed>},
    Metric{"hearth_compiles_waited_for", MetricKind::counter, "", "",
           "Lookups that waited for another's compile instead of compiling.",
           "increase(hearth_compiles_waited_for_total[1h])", write_count<&Stats::waited>},
    Metric{"hearth_compiles_forbidden", MetricKind::counter, "", "", "Misses where compiling was forbidden.",
           "increase(hearth_compiles_forbidden_total[10m]) > 0", write_count<&Stats::forbidden>},
    Metric{"hearth_compiles_after_ready", MetricKind::counter, "", "",
           "Compiles after the program had said that it was ready.",
           "increase(hearth_compiles_after_ready_total[10m]) > 0", write_count<&Stats::compiles_after_ready>},
    Metric{"hearth_compile_spent_seconds", MetricKind::counter, "seconds", "compiler",
           "Time that compiles took, by compiler.", "sum(increase(hearth_compile_spent_seconds_total[1d]))",
           write_compiler_seconds<&CompilerStats::compile_ns_spent>},
    Metric{"hearth_compile_saved_seconds", MetricKind::counter, "seconds", "compiler",
           "Time that hits would have taken to compile, by compiler.",
           "sum(increase(hearth_compile_saved_seconds_total[1d]))",
           write_compiler_seconds<&CompilerStats::compile_ns_saved>},
    Metric{"hearth_compile_duration_seconds", MetricKind::histogram, "seconds", "", "How long compiles took.",
           "histogram_quantile(0.99, sum by (le) (rate(hearth_compile_duration_seconds_bucket[1h])))",
           [](MetricWriter& out, const MetricFacts& facts) { out.histogram(facts.stats.compile_latency); }},
    Metric{"hearth_hit_duration_seconds", MetricKind::histogram, "seconds", "tier",
           "How long hits took. In memory every 128th is timed.",
           "histogram_quantile(0.99, sum by (le, tier) (rate(hearth_hit_duration_seconds_bucket[5m])))",
           write_tier_times<&TierStats::latency>},
    Metric{"hearth_miss_duration_seconds", MetricKind::histogram, "seconds", "tier",
           "How long tiers took that had nothing. In memory only some are timed.",
           "histogram_quantile(0.99, sum by (le, tier) (rate(hearth_miss_duration_seconds_bucket[5m])))",
           write_tier_times<&TierStats::miss_latency>},
    Metric{"hearth_tier_misses", MetricKind::counter, "", "tier", "Lookups that a tier was asked and had nothing for.",
           "sum by (tier) (rate(hearth_tier_misses_total[5m]))", write_tier_count<&TierStats::misses>},
    Metric{"hearth_tier_stores", MetricKind::counter, "", "tier", "Entries that a tier took in.",
           "sum by (tier) (rate(hearth_tier_stores_total[5m]))", write_tier_count<&TierStats::stores>},
    Metric{"hearth_dropped_stores", MetricKind::counter, "", "",
           "Results that no tier took, not even memory. Their callers got them all the same.",
           "increase(hearth_dropped_stores_total[1h]) > 0", write_count<&Stats::dropped_stores>},
    Metric{"hearth_tier_evictions", MetricKind::counter, "", "tier", "Entries that a tier evicted.",
           "rate(hearth_tier_evictions_total{tier=\"disk\"}[1h])", write_tier_count<&TierStats::evictions>},
    Metric{"hearth_tier_demotions", MetricKind::counter, "", "tier", "Evicted entries that a slower tier took in.",
           "rate(hearth_tier_demotions_total[1h])", write_tier_count<&TierStats::demotions>},
    Metric{"hearth_tier_promotions", MetricKind::counter, "", "tier", "Entries that moved up into a tier.",
           "rate(hearth_tier_promotions_total[1h])", write_tier_count<&TierStats::promotions>},
    Metric{"hearth_tier_corrupt", MetricKind::counter, "", "tier",
           "Entries that were not what had been stored. They were misses.",
           "increase(hearth_tier_corrupt_total[1d]) > 0", write_tier_count<&TierStats::corrupt>},
    Metric{"hearth_tier_outages", MetricKind::counter, "", "tier", "Lookups in which a tier could not be asked.",
           "sum by (tier) (rate(hearth_tier_outages_total[5m]))", write_tier_count<&TierStats::outages>},
    Metric{"hearth_tier_used_bytes", MetricKind::gauge, "bytes", "tier", "What a tier on this machine holds.",
           "hearth_tier_used_bytes / (hearth_tier_limit_bytes > 0)",
           [](MetricWriter& out, const MetricFacts& facts) {
               write_kept_here(out, facts, [](const TierStatus& tier) { return tier.usage.bytes; });
           }},
    Metric{"hearth_tier_limit_bytes", MetricKind::gauge, "bytes", "tier", "What it may hold; 0 for no limit.",
           "hearth_tier_limit_bytes",
           [](MetricWriter& out, const MetricFacts& facts) {
               write_kept_here(out, facts, [](const TierStatus& tier) { return tier.limits.max_bytes; });
           }},
    Metric{"hearth_tier_entries", MetricKind::gauge, "", "tier", "Entries that a tier on this machine holds.",
           "hearth_tier_entries",
           [](MetricWriter& out, const MetricFacts& facts) {
               write_kept_here(out, facts, [](const TierStatus& tier) { return tier.usage.entries; });
           }},
    Metric{"hearth_tier_longest_idle_seconds", MetricKind::gauge, "seconds", "tier",
           "How long the entry was not used that was not used for longest. With evictions and less than a day of this, "
           "the tier is too small.",
           "hearth_tier_longest_idle_seconds < 86400 and rate(hearth_tier_evictions_total[1h]) > 0",
           [](MetricWriter& out, const MetricFacts& facts) {
               for (const auto& [tier, idle] : facts.idle_seconds)
                   out.sample(idle, tier);
           }},
    Metric{"hearth_server_up", MetricKind::gauge, "", "tier",
           "0: a server failed, and lookups leave it alone. 1: they ask it.", "hearth_server_up == 0",
           write_server_states},
};

}  // namespace

MetricFacts::MetricFacts(Cache& cache) : stats(cache.stats(Scope::directory)), tiers(admin::tiers(cache))
{
    const WallTime now = std::chrono::system_clock::now();
    for (const TierStatus& tier : tiers)
        if (tier.traits.persistent && !tier.traits.remote)
            if (const std::optional<WallTime> last = admin::longest_unused(cache, tier.name))
                idle_seconds.emplace_back(tier.name, std::max(std::chrono::duration<double>(now - *last).count(), 0.0));
}

std::span<const Metric> metric_table()
{
    return k_metrics;
}

std::string metrics_text(Cache& cache, MetricFormat format)
{
    const MetricFacts facts(cache);
    MetricWriter out(format);
    for (const Metric& metric : k_metrics) {
        out.begin(metric);
        metric.write(out, facts);
    }
    return out.finish();
}

}  // namespace hearth::cli
