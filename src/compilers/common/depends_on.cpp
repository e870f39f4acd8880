#include "compilers/common/depends_on.hpp"

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/fork.hpp"
#include "base/of_process.hpp"
#include "base/text.hpp"
#include "compilers/common/file_facts.hpp"
#include "compilers/common/known_texts.hpp"
#include "compilers/common/text_questions.hpp"
#include "watch/source_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <set>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>

namespace hearth::compilers {

namespace {

using watch::Condition;
using watch::Spot;

// The text of a file whose digest was known. `changed`: set where it cannot be read any more.
std::string_view text_of(watch::ReadText& read, bool& changed)
{
    if (!read.text.empty() || read.stamp.file.size == 0)
        return read.text;
    std::optional<watch::SourceFile> now = watch::read_source(read.path);
    changed |= !now || now->identity != read.stamp.file;
    if (now)
        read.text = std::move(now->text);
    return read.text;
}

class Paths {
public:
    Paths(watch::Conditions& conditions, const watch::Places& places) : m_conditions(conditions), m_places(places) {}

    // The output may hold the path of this place.
    void hold(Spot::From from, std::uint16_t index)
    {
        if (!m_held.emplace(from, index).second)
            return;
        const std::string path = watch::path_of_place(from, index, m_places);
        add({.kind = Condition::Kind::place, .spot = {from, index, {}}, .text = path});
    }

    void hold_all(std::optional<std::size_t> stands_in)
    {
        hold(Spot::From::working_directory, 0);
        hold(Spot::From::program_directory, 0);
        for (std::size_t i = 0; i < m_places.directories.size(); ++i)
            if (i != stands_in || is_read_from(i))
                hold(Spot::From::directory, static_cast<std::uint16_t>(i));
        // Debug information takes the working directory from here.
        add(variable_now("PWD"));
    }

    void hold_path_of(const std::string& file)
    {
        for (const Spot& spot : watch::spots_of(file, m_places))
            if (spot.from == Spot::From::directory || spot.from == Spot::From::program_directory)
                hold(spot.from, spot.index);
    }

    // What was found below this place may have been named by its whole path, so that has to hold too.
    void hold_whole_paths(Spot::From from, std::uint16_t index)
    {
        const std::size_t count = m_conditions.list.size();
        for (std::size_t i = 0; i < count; ++i) {
            Condition condition = m_conditions.list[i];
            if (condition.spot.from != from || condition.spot.index != index)
                continue;
            const std::string path = condition.spot.shown(m_places);
            // Left out, it is the path below its place, which may be a link. Of the whole path it is said.
            if (condition.kind == Condition::Kind::really && condition.text.empty())
                condition.text = watch::real_path_of(condition.spot, m_places);
            condition.spot = {path.starts_with('/') ? Spot::From::root : Spot::From::working_directory, 0, path};
            m_conditions.list.push_back(std::move(condition));
            m_conditions.stamps.of.push_back(m_conditions.stamps.of[i]);
        }
    }

private:
    bool is_read_from(std::size_t directory) const
    {
        return std::ranges::any_of(m_conditions.list, [&](const Condition& condition) {
            return condition.kind == Condition::Kind::content && condition.spot.from == Spot::From::directory &&
                   condition.spot.index == directory;
        });
    }
    void add(Condition condition) { add_condition(std::move(condition), m_conditions); }

    watch::Conditions& m_conditions;
    const watch::Places& m_places;
    std::set<std::pair<Spot::From, std::uint16_t>> m_held;
};

// The texts in a file, a zero byte before and behind each, that look like the name of a variable with an underscore:
// one a line, sorted, with a line's end before the first.
std::string names_in_file(const std::string& path)
{
    const base::FileHandle file(base::system_files(), base::system_files().open(path.c_str(), O_RDONLY, 0));
    base::FileStat stat;
    if (!file.open() || base::system_files().stat(file.fd(), stat) != 0 || stat.size == 0)
        return {};
    void* const mapped = ::mmap(nullptr, stat.size, PROT_READ, MAP_PRIVATE, file.fd(), 0);
    if (mapped == MAP_FAILED)
        return {};
    const std::string_view bytes(static_cast<const char*>(mapped), stat.size);
    const auto is_part = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_' || base::is_digit(c); };
    std::set<std::string_view> found;
    for (std::size_t at = bytes.find('_'); at != std::string_view::npos; at = bytes.find('_', at)) {
        std::size_t begin = at;
        while (begin > 0 && is_part(bytes[begin - 1]))
            --begin;
        while (at < bytes.size() && is_part(bytes[at]))
            ++at;
        if (begin > 0 && bytes[begin - 1] == '\0' && at < bytes.size() && bytes[at] == '\0' &&
            !base::is_digit(bytes[begin]))
            found.insert(bytes.substr(begin, at - begin));
    }
    std::string list = "\n";
    for (const std::string_view name : found)
        list.append(name).push_back('\n');
    ::munmap(mapped, stat.size);
    return list;
}

// Whether one of the sorted lines of `list`, which begins and ends with a new line, is `line`.
bool has_line(std::string_view list, std::string_view line)
{
    std::size_t low = 0;  // of the new line before a line
    std::size_t high = list.size() - 1;
    while (low < high) {
        const std::size_t before = list.rfind('\n', (low + high) / 2);
        const std::size_t end = list.find('\n', before + 1);
        const std::string_view there = list.substr(before + 1, end - before - 1);
        if (there == line)
            return true;
        if (there < line)
            low = end;
        else
            high = before;
    }
    return false;
}

// Of machine code, or an archive of such: no compiler takes their first characters for a program.
bool is_object(std::string_view text)
{
    return text.starts_with("\x7f"
                            "ELF") ||
           text.starts_with("!<arch>\n") || text.starts_with("!<thin>\n");
}

// The environment as it was when somebody last asked: a program asks for many kernels in one environment. A program may
// write into a variable that it has, so all of them are compared, and none by its address.
class LastEnvironment {
public:
    Environment now()
    {
        const std::lock_guard lock(m_mutex);
        if (m_last == nullptr || !is_the_same()) {
            m_last.reset();
            m_all.clear();
            for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
                m_all.append(*variable).push_back('\0');
            m_last = std::make_shared<const std::vector<std::string>>(asked_by_few(m_all));
        }
        return m_last;
    }

private:
    bool is_the_same() const
    {
        std::string_view rest = m_all;
        for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
            const std::string_view text(*variable);
            if (!rest.starts_with(text) || rest.size() == text.size() || rest[text.size()] != '\0')
                return false;
            rest.remove_prefix(text.size() + 1);
        }
        return rest.empty();
    }

    static std::vector<std::string> asked_by_few(std::string_view all)
    {
        std::vector<std::string> few;
        while (!all.empty()) {
            const std::string_view text = base::take_until('\0', all);
            const std::string_view name = text.substr(0, text.find('='));
            // The part of OpenMP in these libraries is for code that they compile, and this is set for many programs.
            // "_" is a shell's, and another for every command. Our own are none of theirs.
            if (name.find('_', 1) != std::string_view::npos && name != "OMP_NUM_THREADS" &&
                !name.starts_with("HEARTH_"))
                few.emplace_back(text);
        }
        std::sort(few.begin(), few.end());
        return few;
    }

    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::string m_all;  // each with a zero behind it
    Environment m_last;
};

// What asked_at_load() found last.
class LastAsked {
public:
    std::optional<std::vector<std::string>> find(const Bytes& names, const Environment& environment) const
    {
        const std::lock_guard lock(m_mutex);
        if (m_names.buffer() != names.buffer() || m_environment != environment)
            return std::nullopt;
        return m_asked;
    }

    void remember(const Bytes& names, const Environment& environment, const std::vector<std::string>& asked)
    {
        const std::lock_guard lock(m_mutex);
        m_names = names;
        m_environment = environment;
        m_asked = asked;
    }

private:
    mutable base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    // Both are kept, so that no others are ever at their addresses.
    Bytes m_names;
    Environment m_environment;
    std::vector<std::string> m_asked;
};

}  // namespace

Condition variable_now(const std::string& name)
{
    const char* const value = std::getenv(name.c_str());
    return {.kind = value != nullptr ? Condition::Kind::variable : Condition::Kind::variable_unset,
            .name = name,
            .text = value != nullptr ? value : ""};
}

void add_condition(Condition condition, watch::Conditions& conditions)
{
    condition.same_file = static_cast<std::uint32_t>(conditions.list.size());
    conditions.list.push_back(std::move(condition));
    conditions.stamps.of.emplace_back();
}

void AskedVariables::complete(watch::Conditions& conditions)
{
    const std::lock_guard lock(m_mutex);
    std::set<std::string> asked;
    for (const Condition& condition : conditions.list)
        if (condition.kind == Condition::Kind::variable || condition.kind == Condition::Kind::variable_unset) {
            asked.insert(condition.name);
            m_first.try_emplace(condition.name, condition.kind == Condition::Kind::variable
                                                    ? std::optional(condition.text)
                                                    : std::nullopt);
        }
    for (const auto& [name, value] : m_first)
        if (!asked.contains(name)) {
            conditions.list.push_back({.kind = value ? Condition::Kind::variable : Condition::Kind::variable_unset,
                                       .name = name,
                                       .text = value.value_or(""),
                                       .same_file = static_cast<std::uint32_t>(conditions.list.size())});
            conditions.stamps.of.emplace_back();
        }
}

Result<watch::Conditions> depends_on(const watch::EventLog& log, const watch::Places& places, const Told& told,
                                     std::span<const std::string_view> known_libraries, Cache* cache)
{
    KnownTexts known(cache, places.working_directory);
    std::vector<watch::ReadText> read;
    HEARTH_TRY_SET(watch::Conditions conditions,
                   watch::conditions_of(log, places, known_libraries, &read,
                                        [&](const std::string& path, const watch::FileIdentity& file) {
                                            return known.digest_of(path, file);
                                        }));
    // What a linker reads is no text, and names paths only as they are. So does the stub that nvcc compiles for its own
    // links: what that includes are nvcc's temporary files.
    const auto objects = std::partition(read.begin(), read.end(), [](const watch::ReadText& text) {
        return !is_object(text.text) && !text.path.ends_with("/crt/link.stub");
    });
    const std::vector<watch::ReadText> linked(std::make_move_iterator(objects), std::make_move_iterator(read.end()));
    read.erase(objects, read.end());

    std::vector<std::shared_ptr<const TextFacts>> facts;
    for (const std::string_view source : told.sources)
        facts.push_back(std::make_shared<const TextFacts>(TextFacts::of_source(source)));
    for (const std::string& option : told.options)
        facts.push_back(std::make_shared<const TextFacts>(TextFacts::of_option(option)));
    const std::size_t files = facts.size();
    for (const watch::ReadText& text : read) {
        facts.push_back(known.facts_of(text));
        // The program itself is another one each time.
        if (!text.text.empty() && std::ranges::find(told.sources, text.text) == told.sources.end())
            known.learn(text, *facts.back());
    }
    known.keep();
    std::vector<SourceText> texts;
    texts.reserve(facts.size());
    bool changed = false;
    for (std::size_t i = 0; i < facts.size(); ++i) {
        texts.push_back({facts[i].get()});
        if (i < told.sources.size())
            texts.back().text = told.sources[i];
        else if (i < files)
            texts.back().text = told.options[i - told.sources.size()];
        else
            texts.back().read = [&changed, &text = read[i - files]] { return text_of(text, changed); };
    }

    const TextAnswers answers = ask_texts(texts, told.is_c ? Language::c : Language::any);
    if (answers.may_hold_the_time && !told.time_is_watched)
        return error(Code::unavailable, "the source, an option or a header mentions the time or date of the compile");
    Paths paths(conditions, places);
    // Before conditions about places are added: those are no files.
    // A variable may name a file as a text does.
    std::vector<std::string> values;
    for (const Condition& condition : conditions.list)
        if (condition.kind == Condition::Kind::variable && condition.text.find('/') != std::string::npos)
            values.push_back(condition.text);
    for (const std::string& value : values) {
        facts.push_back(std::make_shared<const TextFacts>(TextFacts::of_option(value)));
        texts.push_back({facts.back().get(), value, {}});
    }
    const auto hold_if_named = [&](Spot::From from, std::uint16_t index) {
        const std::string place = watch::path_of_place(from, index, places);
        const bool is_linked = std::ranges::any_of(
            linked, [&](const watch::ReadText& object) { return object.text.find(place) != std::string::npos; });
        if (!place.empty() && (is_linked || may_name(texts, place)))
            paths.hold_whole_paths(from, index);
    };
    for (std::size_t i = 0; i < places.directories.size(); ++i)
        hold_if_named(Spot::From::directory, static_cast<std::uint16_t>(i));
    hold_if_named(Spot::From::program_directory, 0);
    // A path that a text only says to be its own looks like one that the compiler tells.
    const bool is_renamed = told.has_log && std::ranges::any_of(texts, [](const SourceText& text) {
                                return may_have_line_directive(text.whole());
                            });
    if (changed)
        return error(Code::unavailable, "a file that it read changed while it was compiled");
    if (told.all_paths_matter || ((answers.may_hold_any_path || is_renamed) && !told.paths_are_fixed))
        paths.hold_all(told.stands_in);
    for (std::size_t i = 0; !told.paths_are_fixed && i < answers.may_hold_its_own_path.size(); ++i) {
        if (!answers.may_hold_its_own_path[i])
            continue;
        if (i < told.sources.size())
            paths.hold(Spot::From::program_directory, 0);
        else if (i < files)
            paths.hold_all({});  // what an option means to the texts cannot be told
        else
            paths.hold_path_of(read[i - files].path);
    }
    return conditions;
}

Environment environment_now()
{
    return base::of_process<LastEnvironment>().now();
}

std::vector<std::string> asked_at_load(Cache& cache, const std::string& library,
                                       const std::optional<watch::FileIdentity>& file, const Environment& environment)
{
    const auto find_names = [&] { return names_in_file(library); };
    const Bytes names = file ? fact_of_file(cache, "variables", library, *file, find_names)
                             : fact_of_file(cache, "variables", library, find_names);
    if (names.empty())
        return {};
    auto& last = base::of_process<LastAsked>();
    if (std::optional<std::vector<std::string>> known = last.find(names, environment))
        return *std::move(known);
    std::vector<std::string> asked;
    for (const std::string& variable : *environment)
        if (has_line(names.text(), std::string_view(variable).substr(0, variable.find('='))))
            asked.push_back(variable);
    last.remember(names, environment, asked);
    return asked;
}

}  // namespace hearth::compilers
