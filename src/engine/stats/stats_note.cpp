#include "engine/stats/stats_note.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <utility>

namespace hearth::engine {

namespace {

constexpr std::string_view k_head = "hearth stats 1\n";

// The names of misses in notes. They never change, so that notes of every version can be read.
constexpr std::array<std::string_view, k_miss_reasons> k_miss_notes{"absent",  "corrupt", "incompatible", "expired",
                                                                    "timeout", "outage",  "bypassed",     "untrusted"};

// Every count of a Stats with the name it has in a note.
template <class StatsT, class Visit>
void for_each_count(StatsT& stats, Visit&& visit)
{
    for (const CountName<Stats>& count : k_counts)
        visit(count.note, stats.*count.member);
    for (std::size_t i = 0; i < stats.misses.size(); ++i)
        visit(fmt::format("miss.{}", k_miss_notes[i]), stats.misses[i]);
    visit("compile_total_ns", stats.compile_latency.total_ns);
    visit("compile_samples", stats.compile_latency.samples);
}

template <class TierT, class Visit>
void for_each_tier_count(TierT& tier, Visit&& visit)
{
    for (const CountName<TierStats>& count : k_tier_counts)
        visit(count.note, tier.*count.member);
    visit("latency.total_ns", tier.latency.total_ns);
    visit("latency.samples", tier.latency.samples);
    visit("miss_total_ns", tier.miss_latency.total_ns);
    visit("miss_samples", tier.miss_latency.samples);
}

template <class TierT, class Visit>
void for_each_bucket(TierT& tier, Visit&& visit)
{
    for (auto* const latency : {&tier.latency, &tier.miss_latency})
        for (auto& bucket : latency->buckets)
            visit(bucket);
}

bool set_bucket(Latency& latency, std::string_view name, std::uint64_t value)
{
    constexpr std::string_view k_prefix = "latency.";
    std::size_t bucket = Latency::k_buckets;
    if (name.starts_with(k_prefix))
        std::from_chars(name.data() + k_prefix.size(), name.data() + name.size(), bucket);
    if (bucket >= Latency::k_buckets)
        return false;
    latency.buckets[bucket] = value;
    return true;
}

constexpr std::string_view k_miss_buckets = ".miss_buckets ";
constexpr std::string_view k_compile_buckets = "compile_buckets ";
constexpr std::string_view k_compiler = "compiler.";

// "12:3,14:1": a line for each would not fit into a note of many tiers.
std::string pack_buckets(const Latency& latency)
{
    std::string packed;
    for (std::size_t i = 0; i < latency.buckets.size(); ++i)
        if (latency.buckets[i] != 0)
            packed += fmt::format("{}{}:{}", packed.empty() ? "" : ",", i, latency.buckets[i]);
    return packed;
}

void unpack_buckets(std::string_view packed, Latency& latency)
{
    while (!packed.empty()) {
        const std::string_view one = packed.substr(0, packed.find(','));
        packed.remove_prefix(std::min(packed.size(), one.size() + 1));
        std::size_t bucket = Latency::k_buckets;
        const char* const end = one.data() + one.size();
        const char* const colon = std::from_chars(one.data(), end, bucket).ptr;
        if (colon != end && *colon == ':' && bucket < Latency::k_buckets)
            std::from_chars(colon + 1, end, latency.buckets[bucket]);
    }
}

// "nvcc hits:12 compiles:3"
std::string pack_compiler(std::string_view name, const CompilerStats& compiler)
{
    std::string packed;
    for (const CountName<CompilerStats>& count : k_compiler_counts)
        if (const std::uint64_t value = compiler.*count.member; value != 0)
            packed += fmt::format(" {}:{}", count.note, value);
    return packed.empty() ? packed : fmt::format("{}{}{}\n", k_compiler, name, packed);
}

void unpack_compiler(std::string_view packed, Stats& stats)
{
    const std::string_view name = packed.substr(0, packed.find(' '));
    const auto* const known =
        std::ranges::find(k_compiler_names, name, [](const CompilerName& compiler) { return compiler.name; });
    if (known == k_compiler_names.end())
        return;
    CompilerStats& compiler = stats.compilers[static_cast<std::size_t>(known - k_compiler_names.begin())];
    while (packed.find(' ') != std::string_view::npos) {
        packed.remove_prefix(packed.find(' ') + 1);
        const std::string_view one = packed.substr(0, packed.find(' '));
        const std::string_view note = one.substr(0, one.find(':'));
        for (const CountName<CompilerStats>& count : k_compiler_counts)
            if (count.note == note && note.size() < one.size())
                std::from_chars(one.data() + note.size() + 1, one.data() + one.size(), compiler.*count.member);
    }
}

TierStats& tier_named(Stats& stats, std::string_view name)
{
    for (TierStats& tier : stats.tiers)
        if (tier.name == name)
            return tier;
    stats.tiers.emplace_back().name = name;
    return stats.tiers.back();
}

std::uint64_t sum_of(std::string_view text)
{
    std::uint64_t hash = 1469598103934665603U;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return hash;
}

std::string one_line(std::string text)
{
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

// Applies `combine(mine, other's)` to every count.
void combine(Stats& mine, const Stats& others, const std::function<void(std::uint64_t&, std::uint64_t)>& combine_one)
{
    std::vector<std::uint64_t> values;
    for_each_count(others, [&](std::string_view, std::uint64_t value) { values.push_back(value); });
    std::size_t at = 0;
    for_each_count(mine, [&](std::string_view, std::uint64_t& value) { combine_one(value, values[at++]); });
    for (std::size_t i = 0; i < k_compiler_kinds; ++i)
        for (const CountName<CompilerStats>& count : k_compiler_counts)
            combine_one(mine.compilers[i].*count.member, others.compilers[i].*count.member);
    for (std::size_t i = 0; i < Latency::k_buckets; ++i)
        combine_one(mine.compile_latency.buckets[i], others.compile_latency.buckets[i]);
    for (const TierStats& tier : others.tiers) {
        if (std::string& note = tier_named(mine, tier.name).note; note.empty())
            note = tier.note;
        values.clear();
        for_each_tier_count(tier, [&](std::string_view, std::uint64_t value) { values.push_back(value); });
        for_each_bucket(tier, [&](std::uint64_t value) { values.push_back(value); });
        at = 0;
        TierStats& same = tier_named(mine, tier.name);
        for_each_tier_count(same, [&](std::string_view, std::uint64_t& value) { combine_one(value, values[at++]); });
        for_each_bucket(same, [&](std::uint64_t& value) { combine_one(value, values[at++]); });
    }
}

}  // namespace

Bytes encode_stats(const Stats& stats, std::uint64_t hour)
{
    std::string text(k_head);
    const auto line = [&](std::string_view prefix, std::string_view name, std::uint64_t value) {
        if (value != 0)
            text += fmt::format("{}{} {}\n", prefix, name, value);
    };
    for_each_count(stats, [&](std::string_view name, std::uint64_t value) { line("", name, value); });
    line("", "hour", hour);
    if (const std::string packed = pack_buckets(stats.compile_latency); !packed.empty())
        text += fmt::format("{}{}\n", k_compile_buckets, packed);
    for (std::size_t i = 0; i < k_compiler_kinds; ++i)
        text += pack_compiler(k_compiler_names[i].name, stats.compilers[i]);
    for (const TierStats& tier : stats.tiers) {
        const std::string prefix = fmt::format("tier.{}.", tier.name);
        for_each_tier_count(tier, [&](std::string_view name, std::uint64_t value) { line(prefix, name, value); });
        for (std::size_t i = 0; i < tier.latency.buckets.size(); ++i)
            if (tier.latency.buckets[i] != 0)
                line(prefix, fmt::format("latency.{}", i), tier.latency.buckets[i]);
        if (const std::string packed = pack_buckets(tier.miss_latency); !packed.empty())
            text += fmt::format("tier.{}{}{}\n", tier.name, k_miss_buckets, packed);
        if (!tier.note.empty())
            text += fmt::format("{}note {}\n", prefix, one_line(tier.note));
    }
    text += fmt::format("sum {}\n", sum_of(text));
    return Bytes::copy_of(text);
}

Stats decode_stats(ByteView note, std::uint64_t* hour)
{
    Stats stats;
    std::string_view text = as_text(note);
    const std::size_t last = text.rfind("sum ");
    if (!text.starts_with(k_head) || last == std::string_view::npos ||
        text.substr(last) != fmt::format("sum {}\n", sum_of(text.substr(0, last))))
        return stats;
    text = text.substr(k_head.size(), last - k_head.size());
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        constexpr std::string_view k_note = ".note ";
        if (const std::size_t at = line.find(k_note); line.starts_with("tier.") && at != std::string_view::npos) {
            tier_named(stats, line.substr(5, at - 5)).note = line.substr(at + k_note.size());
            continue;
        }
        if (const std::size_t at = line.rfind(k_miss_buckets);
            line.starts_with("tier.") && at != std::string_view::npos) {
            unpack_buckets(line.substr(at + k_miss_buckets.size()),
                           tier_named(stats, line.substr(5, at - 5)).miss_latency);
            continue;
        }
        if (line.starts_with(k_compile_buckets)) {
            unpack_buckets(line.substr(k_compile_buckets.size()), stats.compile_latency);
            continue;
        }
        if (line.starts_with(k_compiler)) {
            unpack_compiler(line.substr(k_compiler.size()), stats);
            continue;
        }
        const std::size_t space = line.rfind(' ');
        if (space == std::string_view::npos)
            continue;
        std::string_view name = line.substr(0, space);
        std::uint64_t number = 0;
        std::from_chars(line.data() + space + 1, line.data() + line.size(), number);
        const auto set = [&](std::string_view known, std::uint64_t& value) {
            if (known == name)
                value = number;
        };
        if (!name.starts_with("tier.")) {
            for_each_count(stats, set);
            if (hour != nullptr)
                set("hour", *hour);
            continue;
        }
        name.remove_prefix(5);
        // A tier's name may itself hold points: the count's name follows the last one.
        std::size_t point = name.rfind('.');
        if (const std::size_t latency = name.rfind(".latency."); latency != std::string_view::npos)
            point = latency;
        if (point == std::string_view::npos)
            continue;
        TierStats& tier = tier_named(stats, name.substr(0, point));
        name.remove_prefix(point + 1);
        if (!set_bucket(tier.latency, name, number))
            for_each_tier_count(tier, set);
    }
    return stats;
}

void settle_compilers(Stats& stats)
{
    CompilerStats& other = stats.compilers.back();
    const auto settle = [&](std::uint64_t CompilerStats::*member, std::uint64_t whole) {
        std::uint64_t told = 0;
        for (const CompilerStats& compiler : stats.compilers)
            told += compiler.*member;
        other.*member += whole > told ? whole - told : 0;
    };
    settle(&CompilerStats::hits, stats.hits);
    settle(&CompilerStats::compiles, stats.compiles);
    settle(&CompilerStats::compile_ns_spent, stats.compile_ns_spent);
    settle(&CompilerStats::compile_ns_saved, stats.compile_ns_saved);
}

void add_counts(Stats& a, const Stats& b)
{
    combine(a, b, [](std::uint64_t& mine, std::uint64_t other) { mine += other; });
}

Stats counts_since(const Stats& later, const Stats& earlier)
{
    Stats difference = later;
    combine(difference, earlier, [](std::uint64_t& mine, std::uint64_t other) { mine -= other; });
    return difference;
}

}  // namespace hearth::engine
