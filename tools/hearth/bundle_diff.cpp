#include "bundle.hpp"
#include "bundle_report.hpp"
#include "exit.hpp"
#include "progress_bar.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hearth::cli {

namespace {

struct Arguments {
    std::string out;
    std::string older;
    std::string newer;
    std::string sign_with;
    bool json = false;
};

int run_diff(const Globals& globals, const Arguments& arguments)
{
    keep_other_files(arguments.out);
    const bundles::WriteOptions options = signing(globals, arguments.sign_with);
    const Result<bundles::WriteReport> report = [&] {
        ProgressBar bar("Comparing", arguments.json ? Wanted::no : Wanted::yes);
        return bundles::diff(arguments.out, arguments.older, arguments.newer, options, bar.report());
    }();
    if (!report)
        fail(report.error().message);
    const nlohmann::ordered_json more{{"same", report->same}, {"changed", report->differing}, {"gone", report->gone}};
    return print_written(
        arguments.out, *report,
        fmt::format("; {} changed, {} the same, {} only in the older", report->differing, report->same, report->gone),
        arguments.json ? &more : nullptr);
}

}  // namespace

void add_bundle_diff(CommandLine& line, CLI::App& bundle)
{
    CLI::App& command =
        add_part(bundle, "diff", "Writes what a newer bundle has beyond an older one",
                 "  hearth bundle diff update.bundle old.bundle new.bundle\n"
                 "  HEARTH_BUNDLES='update.bundle old.bundle' python serve.py\n"
                 "  hearth bundle merge new.bundle update.bundle old.bundle",
                 "An entry that was only made again, with the same result, is left out. What only the older one has "
                 "stays in use where both are.");
    auto arguments = std::make_shared<Arguments>();
    add_text(command, "OUT", arguments->out, "The bundle to write")->required();
    add_text(command, "OLD", arguments->older, "The bundle that is there already")->required();
    add_text(command, "NEW", arguments->newer, "The bundle that is wanted")->required();
    add_sign_with(command, arguments->sign_with);
    add_json_flag(command, arguments->json);
    line.on_chosen(command, arguments, run_diff);
}

}  // namespace hearth::cli
