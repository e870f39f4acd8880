#include "bundle.hpp"
#include "bundle_report.hpp"
#include "exit.hpp"
#include "output.hpp"
#include "progress_bar.hpp"

#include <nlohmann/json.hpp>

namespace hearth::cli {

namespace {

struct Arguments {
    std::string out;
    std::vector<std::string> bundles;
    std::string sign_with;
    bool json = false;
};

int run_merge(const Globals& globals, const Arguments& arguments)
{
    keep_other_files(arguments.out);
    const bundles::WriteOptions options = signing(globals, arguments.sign_with);
    const Result<bundles::WriteReport> report = [&] {
        ProgressBar bar("Merging", arguments.json ? Wanted::no : Wanted::yes);
        return bundles::merge(arguments.out, arguments.bundles, options, bar.report());
    }();
    if (!report)
        fail(report.error().message);
    nlohmann::ordered_json keys = nlohmann::ordered_json::array();
    for (const Key& key : report->differing_keys)
        keys.push_back(key.hex());
    const nlohmann::ordered_json more{
        {"same", report->same}, {"differing", report->differing}, {"differing_keys", std::move(keys)}};
    const int code = print_written(
        arguments.out, *report,
        fmt::format("; {} in several of them, {} differing", report->same + report->differing, report->differing),
        arguments.json ? &more : nullptr);
    for (const Key& key : report->differing_keys)
        warn(fmt::format("The bundles disagree about entry {}; the first one's counts.", key.hex()));
    return code;
}

}  // namespace

void add_bundle_merge(CommandLine& line, CLI::App& bundle)
{
    CLI::App& command =
        add_part(bundle, "merge", "Writes the entries of several bundles to one",
                 "  hearth bundle merge all.bundle sm_80.bundle sm_90.bundle\n"
                 "  hearth bundle merge new.bundle update.bundle old.bundle\n"
                 "  hearth bundle merge signed.bundle kernels.bundle --sign-with build.key",
                 "Under a key that several have, the one named first counts; where their results differ that is said. "
                 "Exit code 1: some entries could not be read.");
    auto arguments = std::make_shared<Arguments>();
    add_text(command, "OUT", arguments->out, "The bundle to write; it may be one of the others")->required();
    command.add_option("BUNDLE", arguments->bundles, "Bundles to take entries from")->type_name("")->required();
    add_sign_with(command, arguments->sign_with);
    add_json_flag(command, arguments->json);
    line.on_chosen(command, arguments, run_merge);
}

}  // namespace hearth::cli
