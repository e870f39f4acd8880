#include "cache/open_cache.hpp"
#include "cache/selection.hpp"
#include "commands/bundle_parts.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "process/file_io.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

namespace hearth::cli {

namespace {

constexpr std::size_t k_shown_id_digits = 16;

struct BundleArguments {
    std::string out;
    Selection selection;               // create
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
    const Choose choose = chosen_by(arguments.selection);
    if (!anything_matches(cache, [&](const EntryRow& row) { return row.status == 0 && (!choose || choose(row)); })) {
        complain(nothing_matches(arguments.selection) +
                 " that can be bundled; no file was written. 'hearth config' shows the cache's directory.");
        return k_nothing;
    }
    keep_other_files(arguments.out, k_bundle_file);
    const bundles::WriteReport report =
        or_fail(with_progress("Bundling", unless(arguments.json), [&](const Progress& progress) {
            return bundles::create(arguments.out, cache, choose, options, progress);
        }));
    const int code = print_written(arguments, report);
    if (report.entries != 0)
        return code;
    complain("The bundle is empty: no entry of the cache can go into one. 'hearth ls' shows the entries.");
    return k_nothing;
}

int run_merge(const Globals& globals, const BundleArguments& arguments)
{
    keep_other_files(arguments.out, k_bundle_file);
    const bundles::WriteOptions options = signing(globals, arguments.sign_with);
    const bundles::WriteReport report =
        or_fail(with_progress("Merging", unless(arguments.json), [&](const Progress& progress) {
            return bundles::merge(arguments.out, arguments.bundles, options, progress);
        }));
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
    keep_other_files(arguments.out, k_bundle_file);
    const bundles::WriteOptions options = signing(globals, arguments.sign_with);
    const bundles::WriteReport report =
        or_fail(with_progress("Comparing", unless(arguments.json), [&](const Progress& progress) {
            return bundles::diff(arguments.out, arguments.older, arguments.newer, options, progress);
        }));
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
        "Failed compiles are left out, and so is what was derived for this machine only. With --sign-with, so is every "
        "entry without a signature of that key or one in HEARTH_TRUSTED_KEYS: compile with HEARTH_SIGN_WITH set. Exit "
        "code 1: the bundle is empty, or some entries could not be read.");
    auto& arguments = command.runs(run_create);
    command.text("FILE", arguments.out, "The bundle; an existing one is replaced once the new one is complete")
        .required();
    add_selection(command, arguments.selection);
    add_sign_with(command, arguments.sign_with);
    command.json(arguments.json);
}

void add_bundle_merge(Command& bundle)
{
    Command command = bundle.part(
        "merge", "Writes the entries of several bundles to one",
        "  hearth bundle merge all.bundle sm_80.bundle sm_90.bundle\n"
        "  hearth bundle merge new.bundle update.bundle old.bundle",
        "If several bundles have the same key, the entry of the first one named is taken, with a warning if the "
        "entries differ. With --sign-with, each of them must be signed by that key or one in HEARTH_TRUSTED_KEYS. Exit "
        "code 1: some entries could not be read.");
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
                    "  HEARTH_BUNDLES='update.bundle old.bundle' hearth run -- python serve.py\n"
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

void add_sign_with(Command& command, std::string& path)
{
    command.text("--sign-with", path, "Sign with this key, made by 'hearth keygen' (otherwise HEARTH_SIGN_WITH)",
                 "FILE");
}

std::string key_file(const Globals& globals, const std::string& path)
{
    return path.empty() ? settings_of(globals).options.sign_with.value_or("") : path;
}

bundles::WriteOptions signing(const Globals& globals, const std::string& path)
{
    const std::string file = key_file(globals, path);
    if (file.empty())
        return {};
    const CacheOptions options = settings_of(globals).options;
    return {.sign_with = or_fail(SigningKey::load(file)),
            .inputs = {.trusted = trust_of(options.trusted_keys.value_or(std::vector<std::string>{})).trusted}};
}

void add_bundle(Command& command)
{
    command.describe(
        "Makes and inspects bundles: one file with many entries that ships with an application.",
        "  hearth bundle create kernels.bundle\n"
        "  HEARTH_BUNDLES=kernels.bundle hearth run -- python serve.py\n"
        "  hearth bundle diff update.bundle old.bundle new.bundle",
        "'hearth bundle COMMAND --help' explains each. docs/bundles.md tells how a fleet starts warm with them.");
    for (const auto add : {add_bundle_create, add_bundle_ls, add_bundle_verify, add_bundle_merge, add_bundle_diff,
                           add_bundle_oci, add_bundle_from_oci})
        add(command);
}

}  // namespace hearth::cli
