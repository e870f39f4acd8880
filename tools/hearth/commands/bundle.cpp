#include "cache/open_cache.hpp"
#include "cache/pattern.hpp"
#include "commands/bundle_parts.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace hearth::cli {

namespace {

constexpr std::size_t k_shown_id_digits = 16;

struct BundleArguments {
    std::string out;
    std::string pattern;               // create
    std::vector<std::string> bundles;  // merge
    std::string older;                 // diff
    std::string newer;                 // diff
    std::string sign_with;
    bool json = false;
};

// Prints what was written, then its problems as warnings, and returns the exit code. `more` is added to the text, or
// to the JSON.
int print_written(const BundleArguments& arguments, const bundles::WriteReport& report, const std::string& more = "",
                  std::initializer_list<Json::Member> members = {})
{
    if (arguments.json) {
        Json object{{"file", arguments.out},       {"id", report.id},
                    {"entries", report.entries},   {"bytes", report.bytes},
                    {"rejected", report.rejected}, {"problems", report.problems}};
        for (const Json::Member& member : members)
            object.add(member.name, member.value);
        print_json(object);
    } else {
        print_out("Wrote {} to {} ({}), id {}{}.\n", count_of(report.entries, "entry", "entries"),
                  printable(arguments.out), format_size(report.bytes), report.id.substr(0, k_shown_id_digits), more);
    }
    for (const std::string& problem : report.problems)
        warn(problem);
    return report.rejected != 0 ? k_nothing : k_done;
}

int run_create(const Globals& globals, const BundleArguments& arguments)
{
    Cache cache = open_cache(globals, Use::look);  // copying entries does not count as using them
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
    keep_other_files(arguments.out);
    bool anything = false;
    admin::list(cache, [&](const EntryRow& row) { return !(anything = row.status == 0); });
    if (!anything) {
        complain("There is nothing in the cache to bundle; no file was written. 'hearth config' shows its directory.");
        return k_nothing;
    }
    const bundles::WriteReport report = [&] {
        ProgressBar bar("Bundling", unless(arguments.json));
        return or_fail(bundles::create(arguments.out, cache, choose, options, bar.report()));
    }();
    const int code = print_written(arguments, report);
    if (report.entries != 0)
        return code;
    complain("The bundle is empty: no entry of the cache can go into one. 'hearth ls' shows the entries.");
    return k_nothing;
}

int run_merge(const Globals& globals, const BundleArguments& arguments)
{
    keep_other_files(arguments.out);
    const bundles::WriteOptions options = signing(globals, arguments.sign_with);
    const bundles::WriteReport report = [&] {
        ProgressBar bar("Merging", unless(arguments.json));
        return or_fail(bundles::merge(arguments.out, arguments.bundles, options, bar.report()));
    }();
    Json keys = Json::array();
    for (const Key& key : report.differing_keys)
        keys.add(key.hex());
    const int code = print_written(
        arguments, report,
        fmt::format("; {} in several of them, {} differing", report.same + report.differing, report.differing),
        {{"same", report.same}, {"differing", report.differing}, {"differing_keys", keys}});
    for (const Key& key : report.differing_keys)
        warn(fmt::format("The bundles disagree about entry {}; it was taken from the first of them.", key.hex()));
    return code;
}

int run_diff(const Globals& globals, const BundleArguments& arguments)
{
    keep_other_files(arguments.out);
    const bundles::WriteOptions options = signing(globals, arguments.sign_with);
    const bundles::WriteReport report = [&] {
        ProgressBar bar("Comparing", unless(arguments.json));
        return or_fail(bundles::diff(arguments.out, arguments.older, arguments.newer, options, bar.report()));
    }();
    return print_written(
        arguments, report,
        fmt::format("; {} changed, {} the same, {} only in the older", report.differing, report.same, report.gone),
        {{"same", report.same}, {"changed", report.differing}, {"gone", report.gone}});
}

void add_bundle_create(Command& bundle)
{
    Command command = bundle.part(
        "create", "Writes entries of this machine's cache to a bundle",
        "  hearth bundle create kernels.bundle\n"
        "  hearth bundle create gemm.bundle 'gemm*' --sign-with build.key\n"
        "  hearth --dir build/cache bundle create kernels.bundle --json | jq -r .id",
        "Failed compiles are left out, and so is what was derived for this machine only. Exit code 1: the bundle is "
        "empty, or some entries could not be read.");
    auto& arguments = command.runs(run_create);
    command.text("FILE", arguments.out, "The bundle; an existing one is replaced once the new one is complete")
        .required();
    command.text("PATTERN", arguments.pattern, Pattern::k_help);
    add_sign_with(command, arguments.sign_with);
    command.json(arguments.json);
}

void add_bundle_merge(Command& bundle)
{
    Command command = bundle.part(
        "merge", "Writes the entries of several bundles to one",
        "  hearth bundle merge all.bundle sm_80.bundle sm_90.bundle\n"
        "  hearth bundle merge new.bundle update.bundle old.bundle\n"
        "  hearth bundle merge signed.bundle kernels.bundle --sign-with build.key",
        "If several bundles have the same key, the entry of the first one named is taken, with a warning if the "
        "entries differ. Exit code 1: some entries could not be read.");
    auto& arguments = command.runs(run_merge);
    command.text("OUT", arguments.out, "The bundle to write; it may be one of the others").required();
    command.list("BUNDLE", arguments.bundles, "Bundles to take entries from").required();
    add_sign_with(command, arguments.sign_with);
    command.json(arguments.json);
}

void add_bundle_diff(Command& bundle)
{
    Command command =
        bundle.part("diff", "Writes what a newer bundle has beyond an older one",
                    "  hearth bundle diff update.bundle old.bundle new.bundle\n"
                    "  HEARTH_BUNDLES='update.bundle old.bundle' python serve.py\n"
                    "  hearth bundle merge new.bundle update.bundle old.bundle",
                    "An entry that was compiled again with the same result is left out. Entries that only OLD has "
                    "stay in use where OUT and OLD are used together.");
    auto& arguments = command.runs(run_diff);
    command.text("OUT", arguments.out, "The bundle to write").required();
    command.text("OLD", arguments.older, "The bundle that is already in use").required();
    command.text("NEW", arguments.newer, "The bundle that is to replace it").required();
    add_sign_with(command, arguments.sign_with);
    command.json(arguments.json);
}

}  // namespace

void keep_other_files(const std::string& path)
{
    static constexpr std::string_view k_magic = "\x89HRTHBN\n";
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
        return;  // the one that writes it reports this
    std::array<char, k_magic.size()> first{};
    std::ifstream file(path, std::ios::binary);
    if (!file.read(first.data(), 1))
        return;
    file.read(first.data() + 1, static_cast<std::streamsize>(first.size()) - 1);
    if (std::string_view(first.data(), first.size()) != k_magic)
        fail(fmt::format("{} exists and is not a bundle; it is left as it is. Choose another file.", in_quotes(path)));
}

void add_sign_with(Command& command, std::string& path)
{
    command.text("--sign-with", path, "Sign with this key, made by 'hearth keygen' (otherwise HEARTH_SIGN_WITH)",
                 "FILE");
}

bundles::WriteOptions signing(const Globals& globals, const std::string& path)
{
    const std::string file = path.empty() ? settings_of(globals).options.sign_with.value_or("") : path;
    if (file.empty())
        return {};
    return {.sign_with = or_fail(SigningKey::load(file))};
}

void add_bundle(Command& command)
{
    command.describe(
        "Makes and inspects bundles: one file with many entries that ships with an application.",
        "  hearth bundle create kernels.bundle\n"
        "  HEARTH_BUNDLES=kernels.bundle python serve.py\n"
        "  hearth bundle diff update.bundle old.bundle new.bundle",
        "'hearth bundle COMMAND --help' explains each. docs/bundles.md tells how a fleet starts warm with them.");
    for (const auto add : {add_bundle_create, add_bundle_ls, add_bundle_verify, add_bundle_merge, add_bundle_diff})
        add(command);
}

}  // namespace hearth::cli
