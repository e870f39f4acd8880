#include "cache/open_cache.hpp"
#include "commands/bundle_parts.hpp"
#include "commands/carry_parts.hpp"
#include "hearth/units.hpp"
#include "process/file_io.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hearth::cli::carry {

namespace {

constexpr std::size_t k_shown_problems = 10;

void warn_of(const std::vector<Tree::LeftOut>& left_out)
{
    for (std::size_t i = 0; i < std::min(left_out.size(), k_shown_problems); ++i)
        warn(fmt::format("{} is left out: it {}.", in_quotes(left_out[i].path), left_out[i].why));
    if (left_out.size() > k_shown_problems)
        warn(fmt::format("{} more are left out.", left_out.size() - k_shown_problems));
}

// Writes the captures to one bundle.
void write_bundle(const Globals& globals, const CarryArguments& arguments, const std::vector<Key>& keys)
{
    Cache cache = open_cache(globals, Use::look);
    const bundles::WriteOptions options = signing(globals, arguments.sign_with);
    const bundles::WriteReport report =
        or_fail(with_progress("Bundling", unless(arguments.json), [&](const Progress& progress) {
            return bundles::create(
                arguments.bundle, cache,
                [&](const EntryRow& row) { return std::binary_search(keys.begin(), keys.end(), row.key); }, options,
                progress);
        }));
    if (report.entries != keys.size())
        fail(fmt::format("Only {} of {} entries went into {}.{}{}", report.entries, keys.size(),
                         in_quotes(arguments.bundle), report.problems.empty() ? "" : " ",
                         report.problems.empty() ? "" : report.problems.front()));
    if (!arguments.json)
        print_out("Wrote {} to {} ({}).\n", count_of(report.entries, "entry", "entries"), printable(arguments.bundle),
                  format_size(report.bytes));
}

int run_capture(const Globals& globals, const CarryArguments& arguments)
{
    const std::vector<Wanted> all = wanted_by(arguments);
    if (!arguments.bundle.empty())
        keep_other_files(arguments.bundle, k_bundle_file);
    std::vector<Key> keys;
    {
        Cache cache =
            open_cache(globals, Use::change, arguments.push ? Remotes::yes : Remotes::no, arguments.sign_with);
        for (const Wanted& wanted : all) {
            Tree tree;
            const Stored stored = or_fail(
                with_progress("Capturing " + wanted.place.name, unless(arguments.json), [&](const Progress& progress) {
                    return store_capture(cache, wanted, bounds_of(arguments), tree, progress);
                }));
            const std::uint64_t files = static_cast<std::uint64_t>(std::count_if(
                tree.items.begin(), tree.items.end(), [](const Item& item) { return item.kind != Kind::folder; }));
            if (arguments.json) {
                print_json(json_of(wanted, stored.key,
                                   {{"files", files},
                                    {"bytes", tree.bytes},
                                    {"new_packs", stored.new_packs},
                                    {"new_bytes", stored.new_bytes},
                                    {"changed", stored.changed},
                                    {"left_out", json_of(tree.left_out)}}));
            } else {
                print_out("Captured {} ({}): {}, {}; {}.\n", printable(wanted.place.name),
                          printable(wanted.place.directory), count_of(files, "file", "files"), format_size(tree.bytes),
                          stored.changed ? fmt::format("{} new", format_size(stored.new_bytes))
                                         : "nothing has changed");
                warn_of(tree.left_out);
            }
            if (arguments.bundle.empty() && !arguments.push)
                continue;
            const auto located = or_fail(locate(cache, wanted, Keeper::this_machine, bounds_of(arguments)));
            if (!located)
                fail(no_capture_of(wanted.place));
            for (const Key& key : keys_of(wanted, *located))
                keys.push_back(key);
            if (arguments.push)
                or_fail(with_progress("Pushing", unless(arguments.json), [&](const Progress& progress) {
                    return push_capture(cache, "", wanted, *located, progress);
                }));
        }
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    if (!arguments.bundle.empty())
        write_bundle(globals, arguments, keys);
    return k_done;
}

}  // namespace

void add_capture(Command& carry)
{
    Command command = carry.part(
        "capture", "Reads cache directories into this machine's cache",
        "  hearth carry capture triton inductor\n"
        "  hearth carry capture ./build --identity image-2026.11\n"
        "  hearth carry capture vllm --bundle caches.bundle --sign-with build.key",
        "Programs may write the directory meanwhile: a file that is not whole is left out, and said. Only what has "
        "changed since the last capture is stored.");
    CarryArguments& arguments = add_common(command, run_capture);
    const Option bundle =
        command.text("--bundle", arguments.bundle, "Write it to this bundle too; an existing one is replaced", "FILE");
    command
        .text("--sign-with", arguments.sign_with,
              "Sign the bundle with this key, made by 'hearth keygen' (otherwise HEARTH_SIGN_WITH)", "FILE")
        .needs(bundle);
    command.flag("--push", arguments.push, "Then send it to the first server");
}

}  // namespace hearth::cli::carry
