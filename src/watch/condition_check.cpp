#include "watch/condition.hpp"
#include "watch/program_search.hpp"
#include "watch/source_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

// Whether conditions hold here now, and what to say if one does not.

namespace hearth::watch {

namespace {

using Kind = Condition::Kind;

class Checker {
public:
    Checker(const Places& places, Stamps& stamps, const Key& question, CheckBudget& budget)
        : m_places(places), m_stamps(stamps), m_question(question), m_budget(budget)
    {
    }

    bool holds(std::uint32_t index, const Condition& condition)
    {
        if (!m_budget.spend(1))
            return false;
        if (condition.kind == Kind::variable || condition.kind == Kind::variable_unset) {
            const char* const value = std::getenv(condition.name.c_str());
            return condition.kind == Kind::variable ? value != nullptr && condition.text == value : value == nullptr;
        }
        if (condition.kind == Kind::variable_digest) {
            const char* const value = std::getenv(condition.name.c_str());
            return value != nullptr && m_budget.spend(std::strlen(value) / k_hashed_in_step) &&
                   digest_of_value(m_question, condition.name, value) == condition.digest;
        }
        if (condition.kind == Kind::found) {
            char found[PATH_MAX];
            return m_budget.spend(k_steps_of_search) &&
                   find_program(std::getenv("PATH"), condition.name.c_str(), found) && condition.text == found;
        }
        if (condition.kind == Kind::environment)
            return m_budget.spend(k_steps_of_search) && digest_of_environment() == condition.digest;
        if (condition.kind == Kind::place)
            return path_of_place(condition.spot.from, condition.spot.index, m_places) == condition.text;
        if (condition.spot.from == Spot::From::directory && condition.spot.index >= m_places.directories.size())
            return false;
        std::swap(m_whole, m_before);
        const std::string& path = path_of(condition.spot);
        // A path in two of the places is told twice, one after the other. Here both lead to the same file.
        const Condition* const before = std::exchange(m_held, nullptr);
        if (before != nullptr && path == m_before && is_the_same(condition, *before)) {
            m_stamps.of[index] = m_stamps.of[index - 1];
            m_held = &condition;
            return true;
        }
        if (!m_budget.spend(steps_along(path, condition.kind)) || !holds_at(path, index, condition))
            return false;
        m_held = &condition;
        return true;
    }

private:
    static bool is_the_same(const Condition& one, const Condition& other)
    {
        return one.kind == other.kind && one.digest == other.digest && one.text == other.text &&
               one.error == other.error && (one.same_file == other.same_file || one.kind == Kind::absent);
    }

    static std::uint64_t steps_along(const std::string& path, Kind kind)
    {
        const auto components = static_cast<std::uint64_t>(std::count(path.begin(), path.end(), '/'));
        return kind == Kind::really ? components * k_steps_of_link : components;
    }

    bool holds_at(const std::string& path, std::uint32_t index, const Condition& condition)
    {
        switch (condition.kind) {
        case Kind::content:
            return has_content(path, condition.digest, m_stamps.of[index]) &&
                   is_same_file(index, condition, m_stamps.of[index].file);
        case Kind::names:
            return has_names(path, condition.digest);
        case Kind::leads_to:
        case Kind::really: {
            std::error_code error;
            const std::filesystem::path found = condition.kind == Kind::leads_to
                                                    ? std::filesystem::read_symlink(path, error)
                                                    : std::filesystem::canonical(path, error);
            if (condition.kind == Kind::leads_to && condition.text.empty())
                return error.value() == EINVAL;
            return !error &&
                   found.string() == (condition.text.empty() ? real_path_of(condition.spot, m_places) : condition.text);
        }
        case Kind::absent:
            return m_stat.is_absent(path);
        default: {
            struct stat status {};
            const int error = m_stat(path, status);
            if (condition.kind == Kind::present)
                return error == 0 && S_ISREG(status.st_mode) && is_same_file(index, condition, identity_of(status));
            if (condition.kind == Kind::a_directory)
                return error == 0 && S_ISDIR(status.st_mode) && is_same_file(index, condition, identity_of(status));
            return error == condition.error;
        }
        }
    }

    // Hundreds of conditions are about the same few places. The text is overwritten by the next call but one.
    const std::string& path_of(const Spot& spot)
    {
        if (spot.rest.empty() || spot.rest.starts_with('/')) {
            m_whole = spot.path(m_places);
            return m_whole;
        }
        const std::size_t place =
            spot.from == Spot::From::directory ? k_other_places + spot.index : static_cast<std::size_t>(spot.from);
        if (m_paths.size() <= place)
            m_paths.resize(place + 1);
        std::string& path = m_paths[place];
        if (path.empty()) {
            path = Spot{spot.from, spot.index, {}}.path(m_places);
            if (!path.ends_with('/'))
                path.push_back('/');
        }
        return m_whole.assign(path).append(spot.rest);
    }

    bool has_content(const std::string& path, const base::Sha256& digest, Stamps::One& stamp)
    {
        struct stat status {};
        if (m_stat(path, status) != 0 || !S_ISREG(status.st_mode))
            return false;
        if (stamp.settled && identity_of(status) == stamp.file)
            return true;
        // Once, however often a list names it.
        const auto [known, is_new] = m_read.try_emplace({status.st_dev, status.st_ino});
        if (is_new && m_budget.spend(static_cast<std::uint64_t>(status.st_size) / k_read_in_step))
            if (const std::optional<SourceFile> source = read_source(path))
                known->second = {base::sha256(as_bytes(source->text)), {source->identity, source->settled}};
        if (known->second.stamp.file.inode == 0 || known->second.digest != digest)
            return false;
        m_stamps.have_changed |= stamp.settled != known->second.stamp.settled || stamp.file != known->second.stamp.file;
        stamp = known->second.stamp;
        return true;
    }

    bool has_names(const std::string& path, const base::Sha256& digest)
    {
        struct stat status {};
        if (m_stat(path, status) != 0 || !S_ISDIR(status.st_mode))
            return false;
        const auto [known, is_new] = m_read.try_emplace({status.st_dev, status.st_ino});
        int error = 0;
        std::size_t count = 0;
        if (is_new)
            known->second.digest = digest_of_names(path, error, &count);
        return m_budget.spend(count * k_steps_of_name) && error == 0 && known->second.digest == digest;
    }

    bool is_same_file(std::uint32_t index, const Condition& condition, const FileIdentity& file)
    {
        return m_first.try_emplace({file.device, file.inode}, index).first->second == condition.same_file;
    }

    struct HashOfFile {
        std::size_t operator()(const FileKey& file) const { return file.inode * 31 + file.device; }
    };

    static constexpr std::uint64_t k_read_in_step = 512;
    static constexpr std::uint64_t k_hashed_in_step = 16;
    static constexpr std::uint64_t k_steps_of_link = 8;  // each component is asked for its target
    static constexpr std::uint64_t k_steps_of_name = 8;
    static constexpr std::uint64_t k_steps_of_search = 2048;  // along PATH, or in all variables

    const Places& m_places;
    Stamps& m_stamps;
    const Key& m_question;
    CheckBudget& m_budget;
    StatMany m_stat;
    // What was read: a file, or the names in a directory.
    struct Read {
        base::Sha256 digest{};
        Stamps::One stamp{};  // without an inode: it could not be read
    };

    std::unordered_map<FileKey, std::uint32_t, HashOfFile> m_first;
    std::unordered_map<FileKey, Read, HashOfFile> m_read;
    static constexpr std::size_t k_other_places = 3;
    std::vector<std::string> m_paths;  // of the places, with a slash behind each
    std::string m_whole;
    const Condition* m_held = nullptr;  // the condition before, if it was about a path
    std::string m_before;               // its path
};

}  // namespace

base::Sha256 digest_of_environment()
{
    static constexpr std::array<std::string_view, 4> k_passing{"_", "SHLVL", "OLDPWD", "PWD"};
    std::set<std::string_view> all;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
        const std::string_view text(*each);
        const std::string_view name = text.substr(0, text.find('='));
        if (!name.starts_with("HEARTH_") && std::find(k_passing.begin(), k_passing.end(), name) == k_passing.end())
            all.insert(text);
    }
    std::string texts;
    for (const std::string_view text : all)
        texts.append(text).push_back('\0');
    return base::sha256(as_bytes(texts));
}

std::size_t first_broken(const std::vector<Condition>& list, Stamps& stamps, const Places& places, const Key& question,
                         CheckBudget& budget)
{
    stamps.of.resize(list.size());
    Checker checker(places, stamps, question, budget);
    for (std::size_t i = 0; i < list.size(); ++i)
        if (!checker.holds(static_cast<std::uint32_t>(i), list[i]))
            return i;
    return list.size();
}

std::string why_broken(const Condition& condition, const Places& places)
{
    const auto where = [&]() -> std::string {
        switch (condition.spot.from) {
        case Spot::From::directory:
            return fmt::format("{} in {}", condition.spot.rest,
                               condition.spot.index < places.directories.size()
                                   ? places.directories[condition.spot.index]
                                   : "a directory that is not given any more");
        case Spot::From::program_directory:
            return fmt::format("{} beside the program", condition.spot.rest);
        default:
            return condition.spot.rest;
        }
    };
    switch (condition.kind) {
    case Kind::content:
        return where() + " has changed";
    case Kind::present:
    case Kind::a_directory:
        return where() + " is gone, or is something else now";
    case Kind::names:
        return "other files are in " + where();
    case Kind::absent:
        return where() + " was not there and is now";
    case Kind::refused:
        return fmt::format("{} could not be looked at before: {}", where(), std::strerror(condition.error));
    case Kind::leads_to:
    case Kind::really:
        return where() + " leads elsewhere now";
    case Kind::variable:
        return fmt::format("the variable {} was \"{}\"", condition.name, condition.text);
    case Kind::variable_digest:
        return fmt::format("the variable {} had another value", condition.name);
    case Kind::variable_unset:
        return fmt::format("the variable {} was not set", condition.name);
    case Kind::found:
        return fmt::format("{} on the path (PATH) was {}", condition.name, condition.text);
    case Kind::environment:
        return "a variable has changed, and any of them may count";
    case Kind::place:
        return fmt::format("it was compiled in {}, and its result may hold that path", condition.text);
    }
    return {};
}

}  // namespace hearth::watch
