#include "cache/compiler_table.hpp"
#include "cache/open_cache.hpp"
#include "hearth/admin.hpp"
#include "hearth/history.hpp"
#include "hearth/units.hpp"
#include "process/stop_signals.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/screen.hpp"
#include "terminal/table.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include <unistd.h>

namespace hearth::cli {

namespace {

struct TopArguments {};

using Lines = std::vector<ScreenLine>;

std::string spent_time(std::uint64_t nanoseconds)
{
    return show_duration(std::chrono::nanoseconds(nanoseconds));
}

// The last midnight of this machine's clock.
WallTime midnight(WallTime the_time_is)
{
    std::time_t count = std::chrono::floor<std::chrono::seconds>(the_time_is).time_since_epoch().count();
    std::tm parts{};
    ::localtime_r(&count, &parts);
    parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
    parts.tm_isdst = -1;
    return WallTime(std::chrono::seconds(std::mktime(&parts)));
}

// How busy each of the last hours was, darker where more was looked up: works on every terminal.
std::string last_hours(const std::vector<Period>& hours, WallTime the_time_is)
{
    static constexpr std::string_view k_shades = " .:-=+*#%@";
    static constexpr std::size_t k_hours = 24;
    std::array<std::uint64_t, k_hours> counts{};
    for (const Period& hour : hours)
        if (const auto ago = std::chrono::floor<std::chrono::hours>(the_time_is - hour.start).count();
            ago >= 0 && ago < static_cast<long>(k_hours))
            counts[k_hours - 1 - static_cast<std::size_t>(ago)] += hour.lookups;
    const std::uint64_t most = std::max<std::uint64_t>(1, *std::ranges::max_element(counts));
    std::string text;
    for (const std::uint64_t count : counts)
        text += k_shades[count == 0 ? 0 : 1 + count * (k_shades.size() - 2) / most];
    return text;
}

void add_table(Lines& lines, const Table& table, std::size_t width)
{
    lines.push_back({""});
    bool first = true;
    for (std::string& text : table.lines(width)) {
        lines.push_back({std::move(text), first});
        first = false;
    }
}

void add_summary(Lines& lines, Cache& cache, const Stats& stats, WallTime the_time_is)
{
    const std::vector<Period> hours = admin::history(cache);
    std::uint64_t today = 0;
    for (const Period& hour : hours)
        if (hour.start >= midnight(the_time_is))
            today += hour.compile_ns_saved;
    lines.push_back({fmt::format("hearth {}  {}  {}", HEARTH_VERSION, printable(cache.directory()),
                                 iso_time(the_time_is).value_or("").substr(0, 19)),
                     true});
    lines.push_back({fmt::format("saved {} (today {})   spent {}", spent_time(stats.compile_ns_saved),
                                 spent_time(today), spent_time(stats.compile_ns_spent))});
    lines.push_back(
        {fmt::format("hit rate {:.1f} % ({} of {})   compiles {} ({} failed, {} after ready)", stats.hit_rate() * 100,
                     stats.hits, stats.lookups(), stats.compiles, stats.compile_failures, stats.compiles_after_ready)});
    lines.push_back({fmt::format("last 24 hours [{}]", last_hours(hours, the_time_is))});
}

std::string tier_bar(const TierStats& tier)
{
    static constexpr std::size_t k_width = 16;
    if (tier.capacity_bytes == 0)
        return "no limit";
    const double share = static_cast<double>(tier.used_bytes) / static_cast<double>(tier.capacity_bytes);
    const auto full = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * k_width));
    return fmt::format("[{}{}]", std::string(full, '#'), std::string(k_width - full, '.'));
}

// When each tier's entry was used that has waited longest. It takes a look at every entry, so not at each picture.
class LongestUnused {
public:
    const std::string& of(Cache& cache, const std::string& tier, WallTime the_time_is)
    {
        Known& known = m_known[tier];
        if (!known.looked_at || the_time_is - *known.looked_at > k_stays_true || the_time_is < *known.looked_at) {
            const std::optional<WallTime> used = admin::longest_unused(cache, tier);
            known = {the_time_is, used ? show_age(*used, the_time_is) : "-"};
        }
        return known.age;
    }

private:
    static constexpr std::chrono::seconds k_stays_true{10};
    struct Known {
        std::optional<WallTime> looked_at;
        std::string age;
    };
    std::map<std::string, Known> m_known;
};

void add_tiers(Lines& lines, Cache& cache, const Stats& stats, LongestUnused& unused, WallTime the_time_is,
               std::size_t width)
{
    static constexpr std::size_t k_room_for_bars = 110;
    const bool has_bars = width >= k_room_for_bars;
    std::vector<Column> columns{{"TIER"},
                                {"USED", Align::right},
                                {"OF", Align::right},
                                {"ENTRIES", Align::right},
                                {"HITS", Align::right},
                                {"EVICTED", Align::right},
                                {"UNUSED FOR", Align::right},
                                {"P50", Align::right},
                                {"STATE"}};
    if (has_bars)
        columns.insert(columns.begin() + 3, {"FULL"});
    Table table(std::move(columns));
    for (const TierStats& tier : stats.tiers) {
        std::vector<std::string> cells{
            printable(tier.name),
            format_size(tier.used_bytes),
            tier.capacity_bytes == 0 ? "-" : format_size(tier.capacity_bytes),
            std::to_string(tier.entries),
            std::to_string(tier.hits),
            std::to_string(tier.evictions),
            unused.of(cache, tier.name, the_time_is),
            tier.latency.samples == 0 ? "-"
                                      : spent_time(static_cast<std::uint64_t>(tier.latency.percentile_us(0.5) * 1e3)),
            tier.remote ? fmt::format("{} {}", to_string(tier.remote->state), printable(tier.remote->problem)) : ""};
        if (has_bars)
            cells.insert(cells.begin() + 3, tier_bar(tier));
        table.add(std::move(cells));
    }
    add_table(lines, table, width);
}

void add_events(Lines& lines, const std::vector<Event>& events, WallTime the_time_is, std::size_t width)
{
    static constexpr std::size_t k_shown = 5;
    std::vector<const Event*> slowest;
    for (const Event& event : events)
        if (event.kind == Event::Kind::compile)
            slowest.push_back(&event);
    std::ranges::stable_sort(slowest, [](const Event* a, const Event* b) { return a->took > b->took; });
    if (slowest.size() > k_shown)
        slowest.resize(k_shown);
    if (!slowest.empty()) {
        Table table({{"SLOWEST", Align::right}, {"WHEN"}, {"WHY"}, {"COMPILER"}, {"LABEL"}});
        for (const Event* const event : slowest)
            table.add({show_duration(event->took), show_age(event->when, the_time_is),
                       event->failed ? "failed" : std::string(to_string(event->why)), printable(event->compiler),
                       printable(event->label)});
        add_table(lines, table, width);
    }
    Table faults({{"FAULT"}, {"WHAT"}});
    std::size_t shown = 0;
    for (auto event = events.rbegin(); event != events.rend() && shown < k_shown; ++event)
        if (event->kind == Event::Kind::fault) {
            faults.add({show_age(event->when, the_time_is), printable(event->text)});
            ++shown;
        }
    if (shown != 0)
        add_table(lines, faults, width);
}

Lines picture(Cache& cache, LongestUnused& unused)
{
    const std::size_t width = Screen::size().columns;
    const WallTime the_time_is = now();
    const Stats stats = cache.stats(Scope::directory);
    Lines lines;
    add_summary(lines, cache, stats, the_time_is);
    add_tiers(lines, cache, stats, unused, the_time_is, width);
    if (const std::optional<Table> compilers = compiler_table(stats))
        add_table(lines, *compilers, width);
    add_events(lines, admin::events(cache), the_time_is, width);
    lines.push_back({""});
    lines.push_back({"q ends this"});
    return lines;
}

int run_top(const Globals& globals, const TopArguments& /*arguments*/)
{
    if (!is_terminal(STDIN_FILENO) || !obeys_escapes(STDOUT_FILENO))
        fail_usage("'hearth top' fills a terminal, and this is none that it could use. 'hearth stats --watch' prints "
                   "the same figures line by line; 'hearth top --help' says more.");
    const StopSignals signals;
    const HeldStopSignals held;
    Cache cache = open_cache(globals, Use::read, Remotes::yes);
    LongestUnused unused;
    Screen screen;
    for (Screen::Event event = Screen::Event::tick; event != Screen::Event::quit;) {
        screen.draw(picture(cache, unused));
        event = screen.wait(std::chrono::seconds(1), held.mask_before());
    }
    return k_done;
}

}  // namespace

void add_top(Command& command)
{
    command.describe("Shows what the cache does, live in the terminal, once a second.",
                     "  hearth top\n"
                     "  hearth top --dir /srv/kernels",
                     "q, Ctrl-C or a signal ends it. 'hearth serve' shows the same, and more, in a browser.");
    command.runs(run_top);
}

}  // namespace hearth::cli
