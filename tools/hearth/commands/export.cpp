#include "cache/open_cache.hpp"
#include "cache/selection.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "process/file_io.hpp"
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
    Selection selection;
    bool json = false;
};

int run_export(const Globals& globals, const ExportArguments& arguments)
{
    Cache cache = open_cache(globals, Use::look);  // exporting does not count as using: recency stays as it is
    const Choose choose = chosen_by(arguments.selection);
    if (!anything_matches(cache, choose)) {
        complain(nothing_matches(arguments.selection) +
                 "; no file was written. 'hearth config' shows the cache's directory.");
        return k_nothing;
    }
    keep_other_files(arguments.file, k_export_file);
    const TransferReport report =
        or_fail(with_progress("Exporting", unless(arguments.json), [&](const Progress& progress) {
            return admin::export_to(cache, arguments.file, choose, progress);
        }));
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
                     "  hearth export sm_90.hearth --target sm_90\n"
                     "  hearth export kernels.hearth && scp kernels.hearth node7:");
    auto& arguments = command.runs(run_export);
    command.text("FILE", arguments.file, "The file to write; an earlier export is replaced").required();
    add_selection(command, arguments.selection);
    command.json(arguments.json);
}

}  // namespace hearth::cli
