#include "engine/stats/history.hpp"

#include "base/wire.hpp"

#include <algorithm>
#include <array>

namespace hearth::engine {

namespace {

constexpr std::string_view k_history_magic = "HRTHHST1";
constexpr std::uint32_t k_hours_a_day = 24;
constexpr std::uint32_t k_by_hours = 7 * k_hours_a_day;   // so far back every hour is kept
constexpr std::uint32_t k_by_days = 180 * k_hours_a_day;  // and so far back every day

constexpr std::array k_members{&Period::lookups, &Period::hits, &Period::compiles, &Period::compile_ns_spent,
                               &Period::compile_ns_saved};

Period counts_of(const Stats& stats)
{
    return {.lookups = stats.lookups(),
            .hits = stats.hits,
            .compiles = stats.compiles,
            .compile_ns_spent = stats.compile_ns_spent,
            .compile_ns_saved = stats.compile_ns_saved};
}

WallTime time_of(std::uint32_t hour)
{
    return WallTime(std::chrono::hours(hour));
}

void thin_out(std::vector<Milestone>& rows, std::uint32_t now)
{
    std::vector<Milestone> kept;
    for (const Milestone& row : rows) {
        const std::uint32_t age = now - row.hour;
        const bool same_day = !kept.empty() && kept.back().hour / k_hours_a_day == row.hour / k_hours_a_day;
        if (age <= k_by_hours || (age <= k_by_days && !same_day))
            kept.push_back(row);
    }
    rows = std::move(kept);
}

}  // namespace

std::uint64_t hour_of(WallTime time)
{
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(std::chrono::floor<std::chrono::hours>(time.time_since_epoch()).count(), 0));
}

std::vector<Milestone> decode_history(ByteView note)
{
    if (!as_text(note).starts_with(k_history_magic))
        return {};
    std::vector<Milestone> rows;
    base::WireReader in(note.subspan(k_history_magic.size()));
    while (!in.at_end()) {
        Milestone row;
        row.hour = in.number<std::uint32_t>();
        for (std::uint64_t Period::*const member : k_members)
            row.until.*member = in.number<std::uint64_t>();
        if (in.failed() || (!rows.empty() && row.hour <= rows.back().hour))
            return rows;
        rows.push_back(row);
    }
    return rows;
}

Bytes add_milestone(ByteView note, std::uint64_t hour, const Stats& until)
{
    const auto now = static_cast<std::uint32_t>(hour);
    std::vector<Milestone> rows = decode_history(note);
    // A clock that went back: what it had said before would never be in order again.
    std::erase_if(rows, [now](const Milestone& row) { return row.hour > now; });
    if (rows.empty() || rows.back().hour != now)
        rows.push_back({now, counts_of(until)});
    thin_out(rows, now);
    base::WireWriter out;
    out.raw(k_history_magic);
    for (const Milestone& row : rows) {
        out.number(row.hour);
        for (std::uint64_t Period::*const member : k_members)
            out.number(row.until.*member);
    }
    return Bytes::copy_of(out.out());
}

std::vector<Period> periods(const std::vector<Milestone>& milestones, const Stats& now_counted, WallTime now)
{
    std::vector<Period> told;
    for (std::size_t i = 0; i < milestones.size(); ++i) {
        const bool last = i + 1 == milestones.size();
        const Period later = last ? counts_of(now_counted) : milestones[i + 1].until;
        const Period& earlier = milestones[i].until;
        const bool was_reset = std::ranges::any_of(
            k_members, [&](std::uint64_t Period::*member) { return later.*member < earlier.*member; });
        Period& period = told.emplace_back();
        period.start = time_of(milestones[i].hour);
        period.end = last ? std::max(now, period.start) : time_of(milestones[i + 1].hour);
        for (std::uint64_t Period::*const member : k_members)
            period.*member = later.*member - (was_reset ? 0 : earlier.*member);
    }
    return told;
}

}  // namespace hearth::engine
