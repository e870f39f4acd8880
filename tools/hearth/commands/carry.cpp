#include "commands/carry_parts.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth::cli::carry {

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

Json json_of(const Wanted& wanted, const Key& capture, std::initializer_list<Json::Member> members)
{
    Json identity = Json::object();
    for (const Fact& fact : wanted.identity)
        identity.add(fact.what, fact.value);
    Json json{{"name", wanted.place.name},
              {"directory", wanted.place.directory},
              {"identity", identity},
              {"capture", capture.hex()}};
    for (const Json::Member& member : members)
        json.add(member.name, member.value);
    return json;
}

Json json_of(const std::vector<Tree::LeftOut>& left_out)
{
    return Json::array_of(left_out, [](const Tree::LeftOut& one) -> Json {
        return {{"path", one.path}, {"why", one.why}};
    });
}

namespace {

std::string names_help()
{
    std::vector<std::string_view> names;
    for (const Tool& tool : tools())
        names.push_back(tool.name);
    return fmt::format("Tools ({}), or directories with a slash in them", fmt::join(names, ", "));
}

}  // namespace

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
