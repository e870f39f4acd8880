#include "bundle.hpp"
#include "bundle_report.hpp"
#include "exit.hpp"
#include "hearth/admin.hpp"
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
    std::string sign_with;
    bool json = false;
};

int run_create(const Globals& globals, const Arguments& arguments)
{
    Cache cache = open_cache(globals, Use::look);  // carrying entries is no use of them
    const bundles::WriteOptions options = signing(globals, arguments.sign_with);
    std::function<bool(const EntryRow&)> choose;
    if (!arguments.pattern.empty()) {
        const Pattern pattern(arguments.pattern);
        if (!anything_matches(cache, pattern)) {
            complain("Nothing matches " + in_quotes(arguments.pattern) + "; no file was written.");
            return k_nothing;
        }
        choose = [pattern](const EntryRow& row) { return pattern.matches(row); };
    }
    keep_other_files(arguments.file);
    bool anything = false;
    admin::list(cache, [&](const EntryRow& row) { return !(anything = row.status == 0); });
    if (!anything) {
        complain(
            "There is nothing in the cache, and no file was written. 'hearth config' shows which directory it is.");
        return k_nothing;
    }
    const Result<bundles::WriteReport> report = [&] {
        ProgressBar bar("Bundling", arguments.json ? Wanted::no : Wanted::yes);
        return bundles::create(arguments.file, cache, choose, options, bar.report());
    }();
    if (!report)
        fail(report.error().message);
    const nlohmann::ordered_json nothing_more = nlohmann::ordered_json::object();
    const int code = print_written(arguments.file, *report, "", arguments.json ? &nothing_more : nullptr);
    if (report->entries != 0)
        return code;
    complain("The bundle is empty: there is nothing in the cache that lasts. 'hearth ls' shows what there is.");
    return k_nothing;
}

}  // namespace

void add_bundle_create(CommandLine& line, CLI::App& bundle)
{
    CLI::App& command =
        add_part(bundle, "create", "Writes entries of this machine's cache to a bundle",
                 "  hearth bundle create kernels.bundle\n"
                 "  hearth bundle create gemm.bundle 'gemm*' --sign-with build.key\n"
                 "  hearth --dir build/cache bundle create kernels.bundle --json | jq -r .id",
                 "Failed compiles, and what was only derived on this machine, are left out. Exit code 1: the bundle is "
                 "empty, or some entries could not be read.");
    auto arguments = std::make_shared<Arguments>();
    add_text(command, "FILE", arguments->file, "The bundle; one that is there is replaced when the new one is whole")
        ->required();
    add_text(command, "PATTERN", arguments->pattern, Pattern::k_help);
    add_sign_with(command, arguments->sign_with);
    add_json_flag(command, arguments->json);
    line.on_chosen(command, arguments, run_create);
}

}  // namespace hearth::cli
