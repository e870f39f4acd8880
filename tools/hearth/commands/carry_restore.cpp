#include "cache/open_cache.hpp"
#include "carry/compare.hpp"
#include "carry/restore.hpp"
#include "commands/carry_parts.hpp"
#include "hearth/units.hpp"
#include "process/scratch_folder.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace hearth::cli::carry {

namespace {

// This machine's cache with its bundles, or one bundle alone.
struct Source {
    std::unique_ptr<ScratchFolder> scratch;
    std::optional<Cache> cache;
};

Source open_source(const Globals& globals, const CarryArguments& arguments)
{
    Source source;
    if (arguments.bundle.empty()) {
        source.cache.emplace(open_cache(globals, Use::read));
        return source;
    }
    source.scratch = std::make_unique<ScratchFolder>();
    source.cache.emplace(open_to_fill({.directory = *source.scratch / "cache"}, arguments.bundle));
    return source;
}

int run_restore(const Globals& globals, const CarryArguments& arguments)
{
    const std::vector<Wanted> all = wanted_by(arguments);
    Source source = open_source(globals, arguments);
    Cache& cache = *source.cache;
    int code = k_done;
    for (const Wanted& wanted : all) {
        const auto located = or_fail(locate(cache, wanted, Keeper::this_machine, bounds_of(arguments)));
        if (!located) {
            complain(no_capture_of(wanted.place));
            code = k_nothing;
            continue;
        }
        if (!located->foreign.empty() && !arguments.force)
            fail(is_foreign(wanted.place, *located));
        const Written written = or_fail(
            with_progress("Restoring " + wanted.place.name, unless(arguments.json), [&](const Progress& progress) {
                return restore(cache, *located, wanted.place.directory, Existing::replace, progress);
            }));
        if (arguments.json) {
            print_json(json_of(wanted, located->key,
                               {{"files", written.files},
                                {"bytes", written.bytes},
                                {"same", written.same},
                                {"foreign", located->foreign}}));
        } else {
            print_out("Restored {} to {}: {}, {}; {} there already.\n", printable(wanted.place.name),
                      printable(wanted.place.directory), count_of(written.files, "file", "files"),
                      format_size(written.bytes), count_of(written.same, "was", "were"));
        }
    }
    return code;
}

void print_diff(const Wanted& wanted, const Differences& differences)
{
    for (const std::string& path : differences.added)
        print_out("added    {}\n", printable(path));
    for (const Changed& changed : differences.changed)
        print_out("changed  {}  ({})\n", printable(changed.path), fmt::join(changed.what, ", "));
    for (const std::string& path : differences.gone)
        print_out("gone     {}\n", printable(path));
    print_out("{} ({}): {} added, {} changed, {} gone.\n", printable(wanted.place.name),
              printable(wanted.place.directory), differences.added.size(), differences.changed.size(),
              differences.gone.size());
}

int run_diff(const Globals& globals, const CarryArguments& arguments)
{
    const std::vector<Wanted> all = wanted_by(arguments);
    Source source = open_source(globals, arguments);
    Cache& cache = *source.cache;
    bool differs = false;
    for (const Wanted& wanted : all) {
        const auto located = or_fail(locate(cache, wanted, Keeper::this_machine, bounds_of(arguments)));
        if (!located)
            fail(no_capture_of(wanted.place));
        const OpenPlace place = or_fail(OpenPlace::open(wanted.place.directory, IfMissing::fail));
        Packer packer;
        Tree tree = or_fail(
            with_progress("Reading " + wanted.place.name, unless(arguments.json), [&](const Progress& progress) {
                return read_tree(place, Marked::take, packer, bounds_of(arguments), progress);
            }));
        Capture now;
        now.pieces = packer.pieces;
        now.items = std::move(tree.items);
        const Differences differences = compare(located->capture, now);
        differs |= !differences.none();
        if (!arguments.json) {
            print_diff(wanted, differences);
            for (const std::string& phrase : located->foreign)
                warn(fmt::format("The capture of {} is of another kind: {}.", in_quotes(wanted.place.name), phrase));
            continue;
        }
        print_json(json_of(wanted, located->key,
                           {{"added", differences.added},
                            {"changed", Json::array_of(differences.changed,
                                                       [](const Changed& one) -> Json {
                                                           return {{"path", one.path}, {"what", one.what}};
                                                       })},
                            {"gone", differences.gone},
                            {"left_out", json_of(tree.left_out)},
                            {"foreign", located->foreign}}));
    }
    return differs ? k_nothing : k_done;
}

}  // namespace

void add_restore(Command& carry)
{
    Command command = carry.part(
        "restore", "Writes captured directories back, to the same paths and with the same times",
        "  hearth carry restore triton inductor\n"
        "  HEARTH_TRUSTED_KEYS=build.pub HEARTH_DEMAND_SIGNATURES=bundles hearth carry restore vllm --bundle c.bundle\n"
        "  hearth carry restore ./build --force",
        "What else is in the directory stays. Everything is prepared first and then moved into place: a full disk or "
        "an error leaves the directory as it was. Exit code 1: there is no capture.");
    CarryArguments& arguments = add_common(command, run_restore);
    command.text("--bundle", arguments.bundle, "Take it from this bundle, and not from the cache", "FILE");
    command.flag("--force", arguments.force,
                 "Restore a capture of other versions, another target or another path all the same");
}

void add_diff(Command& carry)
{
    Command command = carry.part("diff", "Shows what differs between directories and their captures",
                                 "  hearth carry diff triton\n"
                                 "  hearth carry diff ./build --json | jq '.changed[].path'",
                                 "Exit code 0: nothing differs, 1: something does.");
    CarryArguments& arguments = add_common(command, run_diff);
    command.text("--bundle", arguments.bundle, "Compare with this bundle, and not with the cache", "FILE");
}

}  // namespace hearth::cli::carry
