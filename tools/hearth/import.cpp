#include "commands.hpp"
#include "exit.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "output.hpp"
#include "progress_bar.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hearth::cli {

namespace {

struct Arguments {
    std::string file;
    bool json = false;
};

int run_import(const Globals& globals, const Arguments& arguments)
{
    Cache cache = open_cache(globals, Use::change);
    const Result<TransferReport> report = [&] {
        ProgressBar bar("Importing", arguments.json ? Wanted::no : Wanted::yes);
        return admin::import_from(cache, arguments.file, bar.report());
    }();
    if (!report)
        fail(report.error().message);
    for (const std::string& problem : report->problems)
        warn(problem);
    if (arguments.json)
        print_json({{"file", arguments.file},
                    {"entries", report->entries},
                    {"bytes", report->bytes},
                    {"already_there", report->already_there},
                    {"rejected", report->rejected},
                    {"problems", report->problems}});
    else
        print_out("Imported {} ({}); {} already there, {} rejected.\n", count_of(report->entries, "entry", "entries"),
                  format_size(report->bytes), report->already_there, report->rejected);
    return report->rejected != 0 ? k_nothing : k_done;
}

}  // namespace

void add_import(CommandLine& line)
{
    CLI::App& command = line.add("import", "Stores the entries of an exported file, each verified first.",
                                 "  hearth import kernels.hearth\n"
                                 "  hearth --dir /var/cache/hearth import kernels.hearth\n"
                                 "  hearth import kernels.hearth --json | jq .rejected",
                                 "Exit code 1: some entries were rejected, as corrupt or of another version.");
    auto arguments = std::make_shared<Arguments>();
    add_text(command, "FILE", arguments->file, "What 'hearth export' wrote")->required();
    add_json_flag(command, arguments->json);
    line.on_chosen(command, arguments, run_import);
}

}  // namespace hearth::cli
