#include "cache/open_cache.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "json/json.hpp"

namespace hearth::cli {

namespace {

struct ImportArguments {
    std::string file;
    bool json = false;
};

int run_import(const Globals& globals, const ImportArguments& arguments)
{
    Cache cache = open_cache(globals, Use::change);
    const TransferReport report =
        or_fail(with_progress("Importing", unless(arguments.json), [&](const Progress& progress) {
            return admin::import_from(cache, arguments.file, progress);
        }));
    for (const std::string& problem : report.problems)
        warn(problem);
    if (arguments.json)
        print_json({{"file", arguments.file},
                    {"entries", report.entries},
                    {"bytes", report.bytes},
                    {"already_there", report.already_there},
                    {"rejected", report.rejected},
                    {"problems", report.problems}});
    else
        print_out("Imported {} ({}); {} already there, {} rejected.\n", count_of(report.entries, "entry", "entries"),
                  format_size(report.bytes), report.already_there, report.rejected);
    return report.rejected != 0 ? k_nothing : k_done;
}

}  // namespace

void add_import(Command& command)
{
    command.describe("Verifies and stores the entries of an exported file.",
                     "  hearth import kernels.hearth\n"
                     "  hearth --dir /var/cache/hearth import kernels.hearth\n"
                     "  hearth import kernels.hearth --json | jq .rejected",
                     "Exit code 1: some entries were rejected because they are corrupt or of another version.");
    auto& arguments = command.runs(run_import);
    command.text("FILE", arguments.file, "What 'hearth export' wrote").required();
    command.json(arguments.json);
}

}  // namespace hearth::cli
