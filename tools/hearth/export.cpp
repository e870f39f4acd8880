#include "commands.hpp"
#include "exit.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "output.hpp"
#include "pattern.hpp"
#include "progress_bar.hpp"
#include "text.hpp"

#include <nlohmann/json.hpp>

namespace hearth::cli {

namespace {

struct Arguments {
    std::string file;
    std::string pattern;
    bool json = false;
};

int run_export(const Globals& globals, const Arguments& arguments)
{
    Cache cache = open_cache(globals, Use::look);  // a backup is no use: recency stays as it is
    std::function<bool(const EntryRow&)> choose;
    if (!arguments.pattern.empty()) {
        const Pattern pattern(arguments.pattern);
        if (!anything_matches(cache, pattern)) {
            complain("Nothing matches " + in_quotes(arguments.pattern) + "; no file was written.");
            return k_nothing;
        }
        choose = [pattern](const EntryRow& row) { return pattern.matches(row); };
    }
    const Result<TransferReport> report = [&] {
        ProgressBar bar("Exporting", arguments.json ? Wanted::no : Wanted::yes);
        return admin::export_to(cache, arguments.file, choose, bar.report());
    }();
    if (!report)
        fail(report.error().message);
    for (const std::string& problem : report->problems)
        warn(problem);
    if (arguments.json)
        print_json({{"file", arguments.file},
                    {"entries", report->entries},
                    {"bytes", report->bytes},
                    {"rejected", report->rejected},
                    {"problems", report->problems}});
    else
        print_out("Exported {} ({}) to {}.\n", count_of(report->entries, "entry", "entries"),
                  format_size(report->bytes), printable(arguments.file));
    return k_done;
}

}  // namespace

void add_export(CommandLine& line)
{
    CLI::App& command = line.add("export", "Writes entries into one file, to keep or to take to another machine.",
                                 "  hearth export kernels.hearth\n"
                                 "  hearth export sm90.hearth 'sm_90/*'\n"
                                 "  hearth export kernels.hearth && scp kernels.hearth node7:");
    auto arguments = std::make_shared<Arguments>();
    add_text(command, "FILE", arguments->file, "Where to; an existing file is replaced")->required();
    add_text(command, "PATTERN", arguments->pattern, Pattern::k_help);
    add_json_flag(command, arguments->json);
    line.on_chosen(command, arguments, run_export);
}

}  // namespace hearth::cli
