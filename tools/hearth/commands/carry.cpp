#include "cache/open_cache.hpp"
#include "carry/captures.hpp"
#include "carry/compare.hpp"
#include "carry/identity.hpp"
#include "carry/restore.hpp"
#include "commands/bundle_parts.hpp"
#include "hearth/units.hpp"
#include "process/file_io.hpp"
#include "process/scratch_folder.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

namespace hearth::cli::carry {

namespace {

constexpr std::size_t k_shown_problems = 10;

struct CarryArguments {
    std::vector<std::string> names;
    IdentityOptions identity;
    std::optional<std::uint64_t> max_bytes;
    std::optional<std::uint64_t> max_files;
    std::string bundle;
    std::string sign_with;
    std::string remote;
    bool push = false;
    bool force = false;
    bool newer = false;
    bool json = false;
};

Bounds bounds_of(const CarryArguments& arguments)
{
    Bounds bounds;
    bounds.bytes = arguments.max_bytes.value_or(bounds.bytes);
    bounds.items = arguments.max_files.value_or(bounds.items);
    return bounds;
}

std::vector<Wanted> wanted_by(const CarryArguments& arguments)
{
    std::vector<Wanted> all;
    for (const std::string& word : arguments.names) {
        Place place = place_of(word);
        std::vector<Fact> identity = identity_of(place, arguments.identity);
        all.push_back({std::move(place), std::move(identity)});
    }
    return all;
}

std::string no_capture_of(const Place& place)
{
    return fmt::format("There is no capture of {}. 'hearth carry capture {}' makes one, and 'hearth carry pull {}' "
                       "fetches one.",
                       in_quotes(place.name), printable(place.name), printable(place.name));
}

std::string is_foreign(const Place& place, const Located& located)
{
    return fmt::format("The capture of {} is of another kind: {}. Nothing was written; --force takes it all the same.",
                       in_quotes(place.name), fmt::join(located.foreign, "; "));
}

void warn_of(const std::vector<Tree::LeftOut>& left_out)
{
    for (std::size_t i = 0; i < std::min(left_out.size(), k_shown_problems); ++i)
        warn(fmt::format("{} is left out: it {}.", in_quotes(left_out[i].path), left_out[i].why));
    if (left_out.size() > k_shown_problems)
        warn(fmt::format("{} more are left out.", left_out.size() - k_shown_problems));
}

Json as_json(const std::vector<Tree::LeftOut>& left_out)
{
    return Json::array_of(left_out, [](const Tree::LeftOut& one) -> Json {
        return {{"path", one.path}, {"why", one.why}};
    });
}

// The members that all of them have.
Json json_of(const Wanted& wanted, const Key& capture)
{
    Json identity = Json::object();
    for (const Fact& fact : wanted.identity)
        identity.add(fact.what, fact.value);
    return {{"name", wanted.place.name},
            {"directory", wanted.place.directory},
            {"identity", identity},
            {"capture", capture.hex()}};
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
        Cache cache = open_cache(globals, Use::change, arguments.push ? Remotes::yes : Remotes::no);
        for (const Wanted& wanted : all) {
            Tree tree;
            const Stored stored = or_fail(
                with_progress("Capturing " + wanted.place.name, unless(arguments.json), [&](const Progress& progress) {
                    return store_capture(cache, wanted, bounds_of(arguments), tree, progress);
                }));
            const std::uint64_t files = static_cast<std::uint64_t>(std::count_if(
                tree.items.begin(), tree.items.end(), [](const Item& item) { return item.kind != Kind::folder; }));
            if (arguments.json) {
                Json json = json_of(wanted, stored.key);
                for (const Json::Member& member :
                     std::initializer_list<Json::Member>{{"files", files},
                                                         {"bytes", tree.bytes},
                                                         {"new_packs", stored.new_packs},
                                                         {"new_bytes", stored.new_bytes},
                                                         {"changed", stored.changed},
                                                         {"left_out", as_json(tree.left_out)}})
                    json.add(member.name, member.value);
                print_json(json);
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
            Json json = json_of(wanted, located->key);
            for (const Json::Member& member : std::initializer_list<Json::Member>{{"files", written.files},
                                                                                  {"bytes", written.bytes},
                                                                                  {"same", written.same},
                                                                                  {"foreign", located->foreign}})
                json.add(member.name, member.value);
            print_json(json);
        } else {
            print_out("Restored {} to {}: {}, {}; {} there already.\n", printable(wanted.place.name),
                      printable(wanted.place.directory), count_of(written.files, "file", "files"),
                      format_size(written.bytes), count_of(written.same, "was", "were"));
        }
    }
    return code;
}

void print_transfer(const CarryArguments& arguments, const Wanted& wanted, const Key& capture,
                    const TransferReport& report, std::string_view verb)
{
    if (arguments.json) {
        Json json = json_of(wanted, capture);
        for (const Json::Member& member : std::initializer_list<Json::Member>{
                 {"entries", report.entries}, {"bytes", report.bytes}, {"already_there", report.already_there}})
            json.add(member.name, member.value);
        print_json(json);
        return;
    }
    print_out("{} {}: {} ({}); {} there already.\n", verb, printable(wanted.place.name),
              count_of(report.entries, "entry", "entries"), format_size(report.bytes),
              count_of(report.already_there, "was", "were"));
}

int run_push(const Globals& globals, const CarryArguments& arguments)
{
    const std::vector<Wanted> all = wanted_by(arguments);
    Cache cache = open_cache(globals, Use::change, Remotes::yes);
    int code = k_done;
    for (const Wanted& wanted : all) {
        const auto located = or_fail(locate(cache, wanted, Keeper::this_machine, bounds_of(arguments)));
        if (!located || !located->foreign.empty()) {
            complain(located ? is_foreign(wanted.place, *located) : no_capture_of(wanted.place));
            code = k_nothing;
            continue;
        }
        if (const std::vector<Pack> missing = missing_packs(cache, located->capture); !missing.empty())
            fail(describe_missing(*located, missing));
        const TransferReport report = or_fail(
            with_progress("Pushing " + wanted.place.name, unless(arguments.json), [&](const Progress& progress) {
                return push_capture(cache, arguments.remote, wanted, *located, progress);
            }));
        print_transfer(arguments, wanted, located->key, report, "Pushed");
    }
    return code;
}

Adopt adopted_by(const CarryArguments& arguments)
{
    return arguments.newer ? Adopt::newer : arguments.force ? Adopt::also_foreign : Adopt::any;
}

int run_pull(const Globals& globals, const CarryArguments& arguments)
{
    const std::vector<Wanted> all = wanted_by(arguments);
    Cache cache = open_cache(globals, Use::change, Remotes::yes);
    int code = k_done;
    for (const Wanted& wanted : all) {
        const Pulled pulled = or_fail(
            with_progress("Pulling " + wanted.place.name, unless(arguments.json), [&](const Progress& progress) {
                return pull_capture(cache, arguments.remote, wanted, adopted_by(arguments), bounds_of(arguments),
                                    progress);
            }));
        if (pulled.kept_ours)
            continue;
        if (!pulled.located && arguments.newer)
            continue;
        if (!pulled.located) {
            complain(fmt::format("The server has no capture of {}. 'hearth carry push {}' sends one.",
                                 in_quotes(wanted.place.name), printable(wanted.place.name)));
            code = k_nothing;
            continue;
        }
        if (!pulled.located->foreign.empty() && arguments.newer)
            continue;
        if (!pulled.located->foreign.empty() && !arguments.force)
            fail(is_foreign(wanted.place, *pulled.located));
        print_transfer(arguments, wanted, pulled.located->key, pulled.report, "Pulled");
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
        Packer packer;
        Tree tree = or_fail(
            with_progress("Reading " + wanted.place.name, unless(arguments.json), [&](const Progress& progress) {
                return read_tree(wanted.place.directory, packer, bounds_of(arguments), progress);
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
        Json json = json_of(wanted, located->key);
        for (const Json::Member& member : std::initializer_list<Json::Member>{
                 {"added", differences.added},
                 {"changed", Json::array_of(differences.changed,
                                            [](const Changed& one) -> Json {
                                                return {{"path", one.path}, {"what", one.what}};
                                            })},
                 {"gone", differences.gone},
                 {"left_out", as_json(tree.left_out)},
                 {"foreign", located->foreign}})
            json.add(member.name, member.value);
        print_json(json);
    }
    return differs ? k_nothing : k_done;
}

std::string names_help()
{
    std::vector<std::string_view> names;
    for (const Tool& tool : tools())
        names.push_back(tool.name);
    return fmt::format("Tools ({}), or directories with a slash in them", fmt::join(names, ", "));
}

CarryArguments& add_common(Command& command, int (*run)(const Globals&, const CarryArguments&))
{
    auto& arguments = command.runs(run);
    command.list("NAME", arguments.names, names_help()).required();
    command.text("--identity", arguments.identity.identity,
                 "One more thing that must be the same where it is restored, such as an image's version");
    command.text("--target", arguments.identity.target, "What it is compiled for, instead of this machine's GPUs");
    command.text("--program", arguments.identity.program,
                 "The program whose Python's packages tell the versions (otherwise the python on PATH)", "FILE");
    command.size("--max-bytes", arguments.max_bytes, "Refuse what takes more than this (otherwise 16 GiB)");
    command.count("--max-files", arguments.max_files, "Refuse what has more files and folders (otherwise 1000000)");
    command.json(arguments.json, "Print JSON, for programs: one object a line");
    return arguments;
}

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

void add_push(Command& carry)
{
    Command command = carry.part("push", "Sends captures to a server that a fleet shares",
                                 "  HEARTH_REMOTE=redis://cache:6379 hearth carry push triton\n"
                                 "  hearth carry push vllm inductor --remote s3",
                                 "Only contents that the server lacks are sent. Exit code 1: there is no capture.");
    CarryArguments& arguments = add_common(command, run_push);
    command.text("--remote", arguments.remote, "The server, by its tier's name (otherwise the first)", "NAME");
}

void add_pull(Command& carry)
{
    Command command = carry.part("pull", "Fetches captures from a server into this machine's cache",
                                 "  HEARTH_REMOTE=redis://cache:6379 hearth carry pull triton\n"
                                 "  hearth carry pull triton && hearth carry restore triton",
                                 "Only contents that this machine lacks are fetched; nothing is restored yet. Exit "
                                 "code 1: the server has no capture of that name.");
    CarryArguments& arguments = add_common(command, run_pull);
    command.text("--remote", arguments.remote, "The server, by its tier's name (otherwise the first)", "NAME");
    const Option force = command.flag("--force", arguments.force,
                                      "Fetch a capture of other versions, another target or another path all the same");
    command.flag("--newer", arguments.newer, "Leave this machine's capture in place if it was made later")
        .excludes(force);
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

}  // namespace

}  // namespace hearth::cli::carry

namespace hearth::cli {

void add_carry(Command& command)
{
    command.describe(
        "Carries the cache directories of other tools from machine to machine.",
        "  hearth carry capture triton inductor\n"
        "  hearth carry restore triton inductor\n"
        "  HEARTH_REMOTE=redis://cache:6379 hearth carry push triton\n"
        "  hearth run --carry triton,inductor -- python serve.py",
        "'hearth carry COMMAND --help' explains each. docs/carry.md lists the tools and their directories.");
    for (const auto add : {carry::add_capture, carry::add_restore, carry::add_push, carry::add_pull, carry::add_diff})
        add(command);
}

}  // namespace hearth::cli
