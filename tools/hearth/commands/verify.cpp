#include "cache/open_cache.hpp"
#include "hearth/admin.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/table.hpp"
#include "json/json.hpp"

namespace hearth::cli {

namespace {

struct VerifyArguments {
    bool repair = false;
    bool json = false;
};

void print_for_people(const VerifyReport& report)
{
    FactList facts;
    facts.add("checked", std::to_string(report.checked));
    facts.add("intact", std::to_string(report.intact));
    facts.add("corrupt", std::to_string(report.corrupt));
    facts.add("untrusted", std::to_string(report.untrusted));
    facts.add("other version", std::to_string(report.other_version));
    facts.add("stray files", std::to_string(report.stray));
    facts.add("removed", std::to_string(report.removed));
    facts.add("accounting", report.accounting_exact ? "exact" : "differed from what was found");
    facts.print();
}

int run_verify(const Globals& globals, const VerifyArguments& arguments)
{
    Cache cache = open_cache(globals, arguments.repair ? Use::change : Use::read);
    const VerifyReport report = with_progress("Verifying", unless(arguments.json), [&](const Progress& progress) {
        return admin::verify(cache, arguments.repair ? Repair::yes : Repair::no, progress);
    });
    const std::uint64_t unusable = report.corrupt + report.untrusted;
    const bool repaired = arguments.repair && report.removed >= unusable;
    if (arguments.json)
        print_json({{"checked", report.checked},
                    {"intact", report.intact},
                    {"corrupt", report.corrupt},
                    {"untrusted", report.untrusted},
                    {"other_version", report.other_version},
                    {"stray", report.stray},
                    {"removed", report.removed},
                    {"accounting_exact", report.accounting_exact},
                    {"repaired", repaired},
                    {"problems", report.problems}});
    else
        print_for_people(report);
    for (const std::string& problem : report.problems)
        warn(problem);

    const bool unsound = unusable != 0 || !report.accounting_exact;
    if (unsound && !arguments.repair)
        complain("'hearth verify --repair' removes what is corrupt or untrusted and sets the accounting right.");
    return unusable != 0 && !repaired ? k_nothing : k_done;
}

}  // namespace

void add_verify(Command& command)
{
    command.describe(
        "Reads every entry and checks it against its key and its checksum, and against its signature where "
        "signatures are demanded.",
        "  hearth verify\n"
        "  hearth verify --repair\n"
        "  HEARTH_TRUSTED_KEYS=build.pub HEARTH_DEMAND_SIGNATURES=disk hearth verify --repair\n"
        "  hearth verify --json | jq .corrupt",
        "Exit code 1: something is corrupt or untrusted and was not removed.");
    auto& arguments = command.runs(run_verify);
    command.flag("--repair", arguments.repair, "Remove corrupt and untrusted entries, and abandoned temporaries");
    command.json(arguments.json);
}

}  // namespace hearth::cli
