#include "cache/open_cache.hpp"
#include "hearth/admin.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <chrono>

namespace hearth::cli {

namespace {

struct RemoteArguments {
    std::optional<std::uint64_t> samples;
    bool json = false;
};

struct Checked {
    std::string name;
    bool demanded = false;  // whether signatures are
    remotes::Check check;
};

std::string time_text(double us)
{
    return us == 0 ? "-" : show_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(us * 1e3)));
}

void print_for_people(const std::vector<Checked>& all)
{
    Table table({{"REMOTE"},
                 {"REACHABLE"},
                 {"P50", Align::right},
                 {"P99", Align::right},
                 {"WRITABLE"},
                 {"LEASES"},
                 {"SIGNATURES"},
                 {"SERVER"}});
    for (const Checked& one : all)
        table.add({printable(one.name), one.check.reachable.ok() ? "yes" : "no", time_text(one.check.p50_us),
                   time_text(one.check.p99_us), one.check.writable.ok() ? "yes" : "no", one.check.leases ? "yes" : "no",
                   one.demanded ? "demanded" : "not asked", printable(one.check.server)});
    table.print();
}

Json check_as_json(const Checked& one)
{
    return {{"name", one.name},
            {"server", one.check.server},
            {"reachable", one.check.reachable.ok()},
            {"writable", one.check.writable.ok()},
            {"leases", one.check.leases},
            {"signatures_demanded", one.demanded},
            {"samples", one.check.samples},
            {"latency_seconds", {{"p50", one.check.p50_us / 1e6}, {"p99", one.check.p99_us / 1e6}}},
            {"problem", !one.check.reachable.ok()  ? one.check.reachable.error().message
                        : !one.check.writable.ok() ? one.check.writable.error().message
                                                   : std::string()}};
}

int run_check(const Globals& globals, const RemoteArguments& arguments)
{
    Cache cache = open_cache(globals, Use::read, Remotes::yes);
    std::vector<Checked> all;
    for (const TierStatus& tier : admin::tiers(cache))
        if (tier.traits.remote)
            all.push_back({tier.name, tier.traits.demands_signatures,
                           admin::check_remote(cache, tier.name, arguments.samples.value_or(100)).value()});
    if (all.empty()) {
        complain("No remote is configured. Set HEARTH_REMOTE, as in HEARTH_REMOTE=redis://cache:6379, or \"remote\" in "
                 "the configuration file.");
        return k_nothing;
    }
    if (arguments.json) {
        print_json({{"remotes", Json::array_of(all, check_as_json)}});
    } else {
        print_for_people(all);
    }
    bool well = true;
    for (const Checked& one : all) {
        if (!one.check.reachable.ok())
            warn(one.check.reachable.error().message);
        else if (!one.check.writable.ok())
            warn(fmt::format("{} cannot be written: {}", one.name, one.check.writable.error().message));
        well = well && one.check.reachable.ok();
    }
    return well ? k_done : k_failure;
}

}  // namespace

void add_remote(Command& command)
{
    command.describe("Checks the servers that a fleet shares.",
                     "  HEARTH_REMOTE=redis://cache:6379 hearth remote check\n"
                     "  hearth remote check --json | jq '.remotes[] | select(.reachable | not)'",
                     "A probe of 1 KiB is written, read and removed. Exit code 3: a server cannot be reached.");
    Command check = command.part(
        "check", "Shows whether each server is reachable and writable, how fast it is, and what it supports");
    auto& arguments = check.runs(run_check);
    check.count("--samples", arguments.samples, "How often to fetch a small object (otherwise 100 times)");
    check.json(arguments.json);
}

}  // namespace hearth::cli
