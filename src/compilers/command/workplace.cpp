#include "compilers/command/workplace.hpp"

#include "base/error.hpp"
#include "compilers/command/installed.hpp"
#include "compilers/command/profile.hpp"
#include "compilers/command/record.hpp"
#include "recipes/header_tree.hpp"
#include "watch/source_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;
using Kind = watch::Condition::Kind;
using From = watch::Spot::From;

constexpr const char* k_advice = "Build it where that is as it was, as in the image that the program runs in.";

template <class... Values>
Error not_here(fmt::format_string<Values...> text, Values&&... values)
{
    return error(Code::unavailable, "{} {}", fmt::format(text, std::forward<Values>(values)...), k_advice);
}

// A file of the user's.
struct OwnFile {
    std::string path;  // as the compiler opened it
    base::Sha256 digest{};
};

class Layout {
public:
    Layout(const format::Recipe& recipe, const recipes::Recipes::Data& data, std::string scratch)
        : m_recipe(recipe), m_data(data), m_scratch(std::move(scratch)), m_places(places_of(recipe)),
          m_installed(recipe.options.front(), recipe.working_directory),
          m_call(read_call(*profile_of(recipe.options.front()), {recipe.options.begin() + 1, recipe.options.end()}))
    {
        own(recipe.name, recipe.source);
        for (const format::RecipeHeader& source : recipe.given)
            own(source.name, source.digest);
        for (const format::RecipeFile& file : recipe.files)
            own(file.path, file.digest);
    }

    // `why`: it has to be there.
    Result<Workplace> in_place(const char* why)
    {
        std::error_code error;
        if (!fs::is_directory(m_recipe.working_directory, error))
            return not_here("It was asked for in {}, which is not on this machine, and {}.", m_recipe.working_directory,
                            why);
        for (const auto& [path, file] : m_own)
            HEARTH_TRY(check_in_place(path, file.digest, why));
        Workplace workplace{m_recipe.working_directory, m_recipe.options};
        HEARTH_TRY(move_words(workplace.words, [](const std::string&) { return false; }));
        return workplace;
    }

    Result<Workplace> in_tree(const std::vector<watch::Condition>& conditions)
    {
        recipes::HeaderTree tree(base::system_files(), m_scratch + "/tree");
        recipes::TreePlan plan;
        const auto laid_out = [&](const Status& added) -> Status {
            if (added.ok())
                return {};
            return hearth::error(added.error().code, "Its files cannot be laid out here: {}.", added.error().message);
        };
        for (const auto& [path, file] : m_own)
            HEARTH_TRY(laid_out(plan.add_file(m_recipe.working_directory, file.path, file.digest)));
        HEARTH_TRY(laid_out(plan.add_directory(m_recipe.working_directory, ".")));
        for (const std::string& directory : directories_there(conditions))
            HEARTH_TRY(laid_out(plan.add_directory(m_recipe.working_directory, directory)));
        HEARTH_TRY(laid_out(tree.become(plan, [&](const base::Sha256& digest) { return m_data.content(digest); })));
        Workplace workplace{tree.root() + m_recipe.working_directory, m_recipe.options};
        HEARTH_TRY(move_words(
            workplace.words, [&](const std::string& path) { return moves(path); }, tree.root()));
        return workplace;
    }

    // Whether no tree can stand for the places of the command: paths matter, or are named where they cannot be changed.
    bool stays(const std::vector<watch::Condition>& conditions) const
    {
        return m_installed.has(m_recipe.working_directory) || moves_unnamed(Named::What::source, m_recipe.name) ||
               std::ranges::any_of(m_recipe.given,
                                   [&](const format::RecipeHeader& source) {
                                       return moves_unnamed(Named::What::source, source.name);
                                   }) ||
               std::ranges::any_of(
                   m_places.directories,
                   [&](const std::string& directory) { return moves_unnamed(Named::What::directory, directory); }) ||
               std::ranges::any_of(conditions, [&](const watch::Condition& condition) {
                   return condition.kind == Kind::place ||
                          (condition.spot.from == From::root && m_own.contains(plain(condition.spot.rest)));
               });
    }

    // What is not recorded has to be on this machine. Whether it is the same is seen after the compile.
    Status check_installed(const std::vector<watch::Condition>& conditions) const
    {
        for (const watch::Condition& condition : conditions) {
            if (condition.kind != Kind::content && condition.kind != Kind::present)
                continue;
            const std::string path = condition.spot.path(m_places);
            std::error_code error;
            if (!m_own.contains(plain(path)) && !fs::exists(path, error))
                return not_here("{} is not on this machine.", path);
        }
        return {};
    }

private:
    std::string plain(const std::string& path) const
    {
        return (fs::path(m_recipe.working_directory) / path).lexically_normal().string();
    }

    void own(const std::string& path, const base::Sha256& digest)
    {
        m_own.try_emplace(plain(path), OwnFile{path, digest});
    }

    static Status check_in_place(const std::string& path, const base::Sha256& digest, const char* why)
    {
        const std::optional<watch::SourceFile> here = watch::read_source(path);
        if (here && base::sha256(as_bytes(here->text)) == digest)
            return {};
        return not_here("{} is {} on this machine, and {}.", path, here ? "another file" : "not", why);
    }

    bool is_named(Named::What what, const std::string& path) const
    {
        return std::ranges::any_of(m_call.named, [&](const Named& named) {
            return named.what == what && m_recipe.options[named.argument + 1].substr(named.at) == path;
        });
    }

    // Neither a file of arguments nor a variable can be told that it has moved.
    bool moves_unnamed(Named::What what, const std::string& path) const { return moves(path) && !is_named(what, path); }

    // The user's own files are in the tree; toolkits stay where they are.
    bool moves(const std::string& path) const { return fs::path(path).is_absolute() && !m_installed.has(path); }

    // Those that the command named or asked for, and that were there.
    std::vector<std::string> directories_there(const std::vector<watch::Condition>& conditions) const
    {
        std::vector<std::string> all;
        // The last of them says what the streams are.
        for (std::size_t i = 0; i + 1 < m_places.directories.size(); ++i) {
            const watch::Spot spot{From::directory, static_cast<std::uint16_t>(i), {}};
            const bool is_absent = std::ranges::any_of(conditions, [&](const watch::Condition& condition) {
                return condition.kind == Kind::absent && condition.spot == spot;
            });
            const std::string& directory = m_places.directories[i];
            if (!is_absent && (!fs::path(directory).is_absolute() || moves(directory)))
                all.push_back(directory);
        }
        for (const watch::Condition& condition : conditions)
            if (condition.kind == Kind::a_directory && condition.spot.from != From::root)
                if (const std::string path = condition.spot.shown(m_places);
                    !fs::path(path).is_absolute() || moves(path))
                    all.push_back(path);
        return all;
    }

    // Outputs go to folders of their own; sources and directories that move, below `root`.
    template <class Moves>
    Status move_words(std::vector<std::string>& words, Moves&& is_moved, const std::string& root = {}) const
    {
        for (const Named& named : m_call.named) {
            std::string& word = words[named.argument + 1];
            const std::string path = word.substr(named.at);
            if (named.what == Named::What::output) {
                const fs::path folder = fs::path(m_scratch) / fmt::format("output-{}", named.index);
                std::error_code error;
                if (fs::create_directories(folder, error); error)
                    return hearth::error(Code::io, "Cannot make {}: {}.", folder.string(), error.message());
                word.replace(named.at, std::string::npos, (folder / fs::path(path).filename()).string());
            } else if (is_moved(path)) {
                word.replace(named.at, std::string::npos, root + path);
            }
        }
        return {};
    }

    const format::Recipe& m_recipe;
    const recipes::Recipes::Data& m_data;
    const std::string m_scratch;
    const watch::Places m_places;
    const Installed m_installed;
    const Call m_call;
    std::map<std::string, OwnFile> m_own;  // recorded files, by where they were
};

}  // namespace

Result<Workplace> lay_out(const format::Recipe& recipe, const recipes::Recipes::Data& data,
                          const std::optional<std::vector<watch::Condition>>& conditions, const std::string& scratch)
{
    Layout layout(recipe, data, scratch);
    if (conditions)
        HEARTH_TRY(layout.check_installed(*conditions));
    if (!conditions)
        return layout.in_place("nobody has seen yet what it reads");
    return layout.stays(*conditions) ? layout.in_place("paths matter to its result") : layout.in_tree(*conditions);
}

}  // namespace hearth::command
