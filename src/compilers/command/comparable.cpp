#include "compilers/command/comparable.hpp"

#include "base/hex.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>

namespace hearth::command {

namespace {

using Kind = watch::Condition::Kind;
using Conditions = std::vector<watch::Condition>;

std::string text_of_spot(const watch::Spot& spot)
{
    return fmt::format("{} {} {}", static_cast<int>(spot.from), spot.index, spot.rest);
}

// Everything that a condition says, but for which others are about the same file.
std::string identity_of(const watch::Condition& condition)
{
    return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", static_cast<int>(condition.kind), text_of_spot(condition.spot),
                       condition.name, condition.text, base::to_hex(std::as_bytes(std::span(condition.digest))),
                       condition.error);
}

std::string identity_of(const watch::Condition& condition, const Conditions& list)
{
    return fmt::format("{}\n{}", identity_of(condition), text_of_spot(list[condition.same_file].spot));
}

// Where the compiler had its temporary files.
std::set<std::filesystem::path> folders_of_temporaries(const Conditions& conditions)
{
    std::set<std::filesystem::path> folders{"/tmp"};
    for (const watch::Condition& condition : conditions)
        if (condition.kind == Kind::variable && (condition.name == "TMPDIR" || condition.name == "TMP" ||
                                                 condition.name == "TEMP" || condition.name == "TEMPDIR"))
            folders.insert(condition.text);
    return folders;
}

bool is_of_this_run(const watch::Condition& condition, const std::set<std::filesystem::path>& folders)
{
    using From = watch::Spot::From;
    // Compilers look for things beside their temporary files, whose names are new each time.
    if (condition.kind == Kind::absent && condition.spot.from == From::root)
        return folders.contains(std::filesystem::path(condition.spot.rest).parent_path());
    // They compare what PWD says with the working directory. Where that decides anything, PWD is a condition itself.
    return condition.kind == Kind::a_directory &&
           (condition.spot.from == From::root ||
            (condition.spot.from == From::working_directory && condition.spot.rest.empty()));
}

std::string thing_of(const watch::Condition& condition, const watch::Places& places)
{
    switch (condition.kind) {
    case Kind::variable:
    case Kind::variable_unset:
    case Kind::variable_digest:
        return fmt::format("the variable {}", condition.name);
    case Kind::environment:
        return "some variable (a program that is no known part of a compiler may use any)";
    case Kind::found:
        return fmt::format("where {} is found along PATH", condition.name);
    case Kind::place:
        return condition.text;
    default:
        return condition.spot.shown(places);
    }
}

}  // namespace

Conditions comparable(const Conditions& conditions)
{
    const std::set<std::filesystem::path> folders = folders_of_temporaries(conditions);
    std::map<std::string, const watch::Condition*> sorted;
    for (const watch::Condition& condition : conditions)
        if (!is_of_this_run(condition, folders))
            sorted.emplace(identity_of(condition), &condition);
    Conditions all;
    std::map<std::uint32_t, std::uint32_t> first_of_file;
    for (const auto& [identity, condition] : sorted) {
        const auto place = static_cast<std::uint32_t>(all.size());
        all.push_back(*condition);
        all.back().same_file = first_of_file.emplace(condition->same_file, place).first->second;
    }
    return all;
}

std::string what_differs(const Conditions& recorded, const Conditions& now, const watch::Places& places)
{
    if (recorded == now)
        return {};
    const watch::Condition* first = nullptr;
    const auto look = [&](const Conditions& list, const Conditions& others) {
        std::set<std::string> known;
        for (const watch::Condition& condition : others)
            known.insert(identity_of(condition, others));
        for (const watch::Condition& condition : list)
            if (!known.contains(identity_of(condition, list)) &&
                (first == nullptr || (first->kind != Kind::content && condition.kind == Kind::content)))
                first = &condition;
    };
    look(now, recorded);
    look(recorded, now);
    return first == nullptr ? std::string{} : thing_of(*first, places);
}

}  // namespace hearth::command
