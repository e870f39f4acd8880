#include "cache/open_cache.hpp"
#include "cache/pattern.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

namespace hearth::cli {

namespace {

struct ExportArguments {
    std::string file;
    std::string pattern;
    bool json = false;
};

int run_export(const Globals& globals, const ExportArguments& arguments)
{
    Cache cache = open_cache(globals, Use::look);  // exporting does not count as using: recency stays as it is
    std::function<bool(const EntryRow&)> choose;
    if (!arguments.pattern.empty()) {
        const Pattern pattern(arguments.pattern);
        if (!anything_matches(cache, pattern)) {
            complain("Nothing matches " + in_quotes(arguments.pattern) + "; no file was written.");
            return k_nothing;
        }
        choose = [pattern](const EntryRow& row) { return pattern.matches(row); };
    }
    const TransferReport report = [&] {
        ProgressBar bar("Exporting", unless(arguments.json));
        return or_fail(admin::export_to(cache, arguments.file, choose, bar.report()));
    }();
    for (const std::string& problem : report.problems)
        warn(problem);
    if (arguments.json)
        print_json({{"file", arguments.file},
                    {"entries", report.entries},
                    {"bytes", report.bytes},
                    {"rejected", report.rejected},
                    {"problems", report.problems}});
    else
        print_out("Exported {} ({}) to {}.\n", count_of(report.entries, "entry", "entries"), format_size(report.bytes),
                  printable(arguments.file));
    return k_done;
}

}  // namespace

void add_export(Command& command)
{
    command.describe("Writes entries to one file, as a backup or for another machine.",
                     "  hearth export kernels.hearth\n"
                     "  hearth export sm90.hearth 'sm_90/*'\n"
                     "  hearth export kernels.hearth && scp kernels.hearth node7:");
    auto& arguments = command.runs(run_export);
    command.text("FILE", arguments.file, "The file to write; an existing one is replaced").required();
    command.text("PATTERN", arguments.pattern, Pattern::k_help);
    command.json(arguments.json);
}

}  // namespace hearth::cli
