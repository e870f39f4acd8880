// Reads recipe files, and merges several into one.

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/placed_file.hpp"
#include "base/secrets.hpp"
#include "recipes/recipe_data.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_set>

namespace hearth::recipes {

namespace {

constexpr std::uint64_t k_max_file = 4_GiB;
constexpr unsigned k_mode = 0600;  // they hold sources

// Visits every content that a recipe needs, with a name for it.
template <class Visit>
void for_each_content(const format::Recipe& recipe, Visit&& visit)
{
    visit(recipe.source, "its source");
    for (const format::RecipeHeader& header : recipe.given)
        visit(header.digest, header.name);
    for (const format::RecipeFile& file : recipe.files)
        visit(file.digest, file.path);
    if (recipe.conditions != base::Sha256{})
        visit(recipe.conditions, "its conditions");
}

std::uint64_t lacking(const Recipes::Data& data, const format::Recipe& recipe, std::string& first)
{
    std::uint64_t count = 0;
    for_each_content(recipe, [&](const base::Sha256& digest, const std::string& name) {
        if (data.contents.contains(digest))
            return;
        if (count++ == 0)
            first = name;
    });
    return count;
}

// The best of several different recipes with one key. Most differ only in where files were, which is not in the key.
// But a file may hold anything: a recipe whose request has that key is better than one whose request has not, whichever
// came first.
format::Recipe best_of(std::vector<format::Recipe> all, const Recipes::Data& data, std::uint64_t& patience,
                       ComesToItsKey check)
{
    // Whole recipes come first, and among those the ones that tell how the compile went.
    std::vector<std::pair<int, format::Recipe*>> rivals;
    for (format::Recipe& recipe : all) {
        std::string ignored;
        rivals.emplace_back((lacking(data, recipe, ignored) == 0 ? 0 : 2) + (recipe.compiler.empty() ? 1 : 0), &recipe);
    }
    std::stable_sort(rivals.begin(), rivals.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [demerit, rival] : rivals) {
        format::Recipe& recipe = *rival;
        std::uint64_t cost = data.raw_size(recipe.source);
        for (const format::RecipeHeader& header : recipe.given)
            cost += data.raw_size(header.digest);
        if (cost > patience)
            break;
        patience -= cost;
        if (check(recipe, data))
            return std::move(recipe);
    }
    return std::move(*rivals.front().second);
}

// Chooses one recipe for each key, in the order in which they were first recorded.
void choose_recipes(std::vector<format::Recipe> all, std::uint64_t patience, Recipes::Data& data, ComesToItsKey check)
{
    std::unordered_map<Key, std::size_t> places;
    std::map<std::size_t, std::vector<format::Recipe>> rivals;  // only of recipes that have any
    for (format::Recipe& recipe : all) {
        const auto [place, first] = places.try_emplace(recipe.key, data.recipes.size());
        if (first)
            data.recipes.push_back(std::move(recipe));
        else if (recipe != data.recipes[place->second])
            rivals[place->second].push_back(std::move(recipe));
    }
    for (auto& [place, others] : rivals) {
        others.insert(others.begin(), std::move(data.recipes[place]));
        data.recipes[place] = best_of(std::move(others), data, patience, check);
    }
}

Result<Recipes::Data> load(const std::vector<std::string>& paths, ComesToItsKey check)
{
    Recipes::Data data;
    std::vector<format::Recipe> all;
    std::uint64_t patience = format::patience_with(0);
    for (const std::string& path : paths) {
        int error = 0;
        Bytes bytes = base::read_file(base::system_files(), base::real_path(path).c_str(), k_max_file, error);
        if (error == -EFBIG)
            return hearth::error(Code::too_large,
                                 "{} has more than the {} bytes that a recipe file may have. Record into several "
                                 "files.",
                                 path, k_max_file);
        if (error != 0)
            return hearth::error(Code::io, "{}", base::describe("Cannot read", path, error) + ". Check the path.");
        Result<format::DecodedRecipes> decoded = format::decode_recipes(bytes, path);
        HEARTH_TRY(decoded);
        patience += format::patience_with(bytes.size()) - format::patience_with(0);
        data.files.push_back(std::move(bytes));
        for (const auto& [digest, content] : decoded->contents)
            format::add_content(data.contents, digest, content, patience);
        std::move(decoded->recipes.begin(), decoded->recipes.end(), std::back_inserter(all));
        data.uses.insert(data.uses.end(), decoded->uses.begin(), decoded->uses.end());
        data.damage.places += decoded->damaged_places;
        data.damage.bytes += decoded->damaged_bytes;
    }
    choose_recipes(std::move(all), patience, data, check);
    std::sort(data.uses.begin(), data.uses.end());
    data.uses.erase(std::unique(data.uses.begin(), data.uses.end()), data.uses.end());
    return data;
}

Recipe summary_of(const Recipes::Data& data, const format::Recipe& recipe)
{
    Recipe shown;
    shown.kind = static_cast<Kind>(recipe.kind);
    shown.key = recipe.key;
    shown.name = recipe.name;
    shown.target = recipe.target;
    shown.options = base::without_secrets(recipe.options);
    if (shown.kind == Kind::nvrtc)
        shown.name_expressions = recipe.names;
    shown.compiler = recipe.compiler;
    shown.compiler_build = recipe.build_id;
    shown.why_past_the_cache = recipe.why_past_the_cache;
    shown.status = recipe.status;
    shown.cost = recipe.cost;
    shown.headers = recipe.given.size() + recipe.files.size();
    std::string first;
    if (const std::uint64_t count = lacking(data, recipe, first); count > 0) {
        std::uint64_t all = 0;
        for_each_content(recipe, [&](const base::Sha256&, const std::string&) { ++all; });
        shown.missing = fmt::format("{} of its {} contents {} not in the file, such as {}.", count, all,
                                    count == 1 ? "is" : "are", first);
    }
    bool source = true;
    for_each_content(recipe, [&](const base::Sha256& digest, const std::string&) {
        (source ? shown.source_bytes : shown.header_bytes) += data.raw_size(digest);
        source = false;
    });
    shown.header_bytes -= data.raw_size(recipe.conditions);
    return shown;
}

void summarise(Recipes::Data& data)
{
    std::unordered_map<Key, std::size_t> places;
    std::unordered_set<base::Sha256, format::DigestHash> counted;
    for (const format::Recipe& recipe : data.recipes) {
        places.emplace(recipe.key, data.list.size());
        data.list.push_back(summary_of(data, recipe));
        for_each_content(recipe, [&](const base::Sha256& digest, const std::string&) {
            const auto found = data.contents.find(digest);
            if (found == data.contents.end() || !counted.insert(digest).second)
                return;
            data.content_bytes += found->second.raw_size;
            data.stored_bytes += found->second.bytes.size();
        });
    }
    std::vector<std::set<std::pair<std::uint32_t, std::chrono::nanoseconds>>> processes(data.list.size());
    for (const format::RecipeUse& use : data.uses) {
        const auto place = places.find(use.key);
        if (place == places.end())
            continue;
        Recipe& recipe = data.list[place->second];
        recipe.first_use = recipe.uses == 0 ? use.at : std::min(recipe.first_use, use.at);
        recipe.uses += std::min(use.count, UINT64_MAX - recipe.uses);
        processes[place->second].emplace(use.pid, use.began);
        recipe.processes = processes[place->second].size();
    }
}

// A file that is too large for the memory must not end the program.
template <class Do>
auto or_no_memory(const std::string& what, Do&& run) -> decltype(run())
{
    const auto too_large = [&] {
        return error(Code::too_large, "There is not enough memory to read {}. Free some, or record into several files.",
                     what);
    };
    try {
        return run();
    } catch (const std::bad_alloc&) {
        return too_large();
    } catch (const std::length_error&) {
        return too_large();
    }
}

Error other_things(const std::string& path)
{
    return error(Code::invalid_argument,
                 "{} holds something else than recipes, and is left as it is. Choose another file.", path);
}

}  // namespace

bool holds_other_things(base::Files& files, int fd)
{
    std::array<char, format::k_recipe_magic.size()> first{};
    const ssize_t size = files.pread(fd, first.data(), first.size(), 0);
    return size > 0 && std::string_view(first.data(), static_cast<std::size_t>(size)) != format::k_recipe_magic;
}

std::optional<Bytes> Recipes::Data::content(const base::Sha256& digest) const
{
    const auto found = contents.find(digest);
    return found == contents.end() ? std::nullopt : format::unpack(found->second, digest);
}

std::uint64_t Recipes::Data::raw_size(const base::Sha256& digest) const
{
    const auto found = contents.find(digest);
    return found == contents.end() ? 0 : found->second.raw_size;
}

const std::vector<Recipe>& Recipes::list() const noexcept
{
    return m_data->list;
}

const Damage& Recipes::damage() const noexcept
{
    return m_data->damage;
}

std::uint64_t Recipes::content_bytes() const noexcept
{
    return m_data->content_bytes;
}

std::uint64_t Recipes::stored_bytes() const noexcept
{
    return m_data->stored_bytes;
}

Result<Recipes> read(const std::string& path, ComesToItsKey check)
{
    return or_no_memory(path, [&]() -> Result<Recipes> {
        Result<Recipes::Data> data = load({path}, check);
        HEARTH_TRY(data);
        summarise(*data);
        return Recipes(std::make_shared<const Recipes::Data>(*std::move(data)));
    });
}

Status check_recordable(const std::string& path)
{
    const std::optional<std::string> place = base::place_of(path);
    if (!place)
        return error(Code::invalid_argument,
                     "{} is a link of another user, which is not followed. Choose another file.", path);
    base::Files& files = base::system_files();
    const base::FileHandle file(files, files.open(place->c_str(), O_RDWR | O_CREAT | O_NONBLOCK, k_mode));
    if (!file.open())
        return error(Code::io, "{}", base::describe("Cannot record to", path, file.fd()) + ". Choose another file.");
    base::FileStat stat;
    if (files.stat(file.fd(), stat) != 0 || stat.type != base::FileType::file)
        return error(Code::invalid_argument, "{} is no file that can be recorded to. Choose another.", path);
    return holds_other_things(files, file.fd()) ? other_things(path) : Status{};
}

Result<MergeReport> merge(base::Files& files, const std::string& path, const std::vector<std::string>& inputs,
                          ComesToItsKey check)
{
    const Result<Recipes::Data> data =
        or_no_memory(fmt::format("{}", fmt::join(inputs, ", ")), [&] { return load(inputs, check); });
    HEARTH_TRY(data);
    MergeReport report;
    report.damage = data->damage;
    report.recipes = data->recipes.size();
    const base::FileHandle there(files, files.open(base::real_path(path).c_str(), O_RDONLY | O_NONBLOCK, 0));
    if (!there.open() && there.fd() != -ENOENT)
        return error(Code::io, "{}",
                     base::describe("Cannot read", path, there.fd()) +
                         ", so that what it holds is not known; it is left as it is. Choose another file.");
    if (there.open() && holds_other_things(files, there.fd()))
        return other_things(path);
    base::PlacedFile out(files, path, k_mode);
    const auto add = [&](const std::string& record) {
        out.write(as_bytes(record), report.bytes);
        report.bytes += record.size();
    };
    std::unordered_set<base::Sha256, format::DigestHash> written;
    for (const format::Recipe& recipe : data->recipes) {
        for_each_content(recipe, [&](const base::Sha256& digest, const std::string&) {
            const auto found = data->contents.find(digest);
            if (found != data->contents.end() && written.insert(digest).second)
                add(format::encode_content(digest, found->second));
        });
        add(format::encode_recipe(recipe));
    }
    for (const format::RecipeUse& use : data->uses) {
        add(format::encode_use(use));
        report.uses += std::min(use.count, UINT64_MAX - report.uses);
    }
    HEARTH_TRY(out.place());
    return report;
}

}  // namespace hearth::recipes
