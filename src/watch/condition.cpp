#include "watch/condition.hpp"

#include "base/error.hpp"
#include "watch/source_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

namespace hearth::watch {

namespace {

using Kind = Condition::Kind;

// Whether a write after `at_ns` would change the stamps that the file had then. Network file systems stamp by a clock
// of their own, some of them in whole seconds.
bool would_show(const std::string& path, const FileIdentity& file, std::int64_t at_ns)
{
    static constexpr std::int64_t k_network_grain_ns = 2'000'000'000;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool network = fd < 0 || is_on_network(fd);
    if (fd >= 0)
        ::close(fd);
    return std::max(file.modified_ns, file.changed_ns) < at_ns - (network ? k_network_grain_ns : 0);
}

// May well be answered otherwise the next time, without anything having changed.
bool is_passing(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR || error == EIO || error == EAGAIN ||
           error == ESTALE || error == ETIMEDOUT || error == ENOBUFS;
}

bool is_absence(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

// Whether why a file could not be opened can be told later by looking at it. That a file which is there may not be read
// cannot.
bool shows_without_opening(const std::string& path, int error)
{
    struct stat status {};
    return error == 0 || is_absence(error) || (::stat(path.c_str(), &status) != 0 && errno == error);
}

// What is behind `directory` in a path that leads to it or through it.
std::optional<std::string_view> below(std::string_view path, std::string_view directory)
{
    while (directory.size() > 1 && directory.ends_with('/'))
        directory.remove_suffix(1);
    if (directory.empty() || !path.starts_with(directory))
        return std::nullopt;
    std::string_view rest = path.substr(directory.size());
    if (!rest.empty() && !directory.ends_with('/') && !rest.starts_with('/'))
        return std::nullopt;
    while (rest.starts_with('/'))
        rest.remove_prefix(1);
    return rest;
}

// NVRTC looks for the program's directory by its whole path, also where the program was named from the working
// directory. Only for the directory itself: a file's whole path may have been written in a text.
bool is_program_directory(std::string_view path, const Places& places)
{
    const std::string& place = places.program_directory;
    // Behind a link, "name/.." is not where it looks to be.
    if (place.empty() || place.starts_with('/') || (place.find("/..") != std::string::npos && !place.starts_with("..")))
        return false;
    std::string whole = (std::filesystem::path(places.working_directory) / place).lexically_normal().string();
    if (whole.size() > 1 && whole.ends_with('/'))
        whole.pop_back();
    return path == whole;
}

base::Sha256 digest_of_names(const std::string& directory, int& error)
{
    std::error_code problem;
    std::set<std::string> names;
    for (auto entry = std::filesystem::directory_iterator(directory, problem);
         !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem))
        names.insert(entry->path().filename().string());
    error = problem.value();
    std::string all;
    for (const std::string& name : names)
        all.append(name).push_back('\0');
    return base::sha256(as_bytes(all));
}

struct FileKey {
    std::uint64_t device;
    std::uint64_t inode;
    friend auto operator<=>(const FileKey&, const FileKey&) = default;
};

class Collector {
public:
    Collector(const Places& places, std::vector<ReadText>* texts) : m_places(places), m_texts(texts) {}

    Status take(const Event& event, std::span<const std::string_view> known_libraries)
    {
        switch (event.asked) {
        case Asked::unanswered:
            return error(Code::unavailable, "It used {}, whose answer cannot be checked later.", event.name);
        case Asked::library:
            if (std::any_of(known_libraries.begin(), known_libraries.end(),
                            [&](std::string_view known) { return event.name.starts_with(known); }))
                return {};
            return error(Code::unavailable, "It loaded the library \"{}\".", event.name);
        case Asked::where:
            if (event.error == 0 && event.answer == m_places.working_directory)
                return {};
            return error(Code::unavailable, "The working directory changed while it was compiled.");
        case Asked::variable:
            // Names the working directory, which is the caller's to put into the key where it matters.
            if (event.name != "PWD")
                m_variables[std::string(event.name)] =
                    event.error == 0 ? std::optional(std::string(event.answer)) : std::nullopt;
            return {};
        default:
            return take_path(event);
        }
    }

    Result<Conditions> finish()
    {
        for (const auto& [name, value] : m_variables)
            add({.kind = value ? Kind::variable : Kind::variable_unset, .name = name, .text = value.value_or("")}, {});
        // What was read was also looked for.
        for (const auto& [path, event] : m_looked_for)
            if (!m_read.contains(path))
                HEARTH_TRY(add_looked_for(path, event));
        return std::move(m_conditions);
    }

private:
    Status take_path(const Event& event)
    {
        const std::string path(event.name);
        if (path.empty())
            return {};  // is nowhere there
        if (is_passing(event.error) || (event.asked == Asked::file && !shows_without_opening(path, event.error)))
            return error(Code::unavailable, "{} could not be looked at: {}.", path, std::strerror(event.error));
        if (event.asked == Asked::status || event.error != 0) {
            if (path != "." && path != m_places.working_directory)
                m_looked_for.emplace(path, event);
            return {};
        }
        if (!m_read.insert(path).second && event.asked == Asked::file)
            return {};
        switch (event.asked) {
        case Asked::file:
            return add_read(path, event);
        case Asked::directory: {
            int problem = 0;
            const base::Sha256 digest = digest_of_names(path, problem);
            if (problem != 0)
                return error(Code::unavailable, "{} changed while it was compiled.", path);
            add_each(path, {.kind = Kind::names, .digest = digest}, {});
            return {};
        }
        case Asked::link:
            add_each(path, {.kind = Kind::leads_to, .text = std::string(event.answer)}, {});
            return {};
        default:
            add_each(path, {.kind = Kind::really, .text = std::string(event.answer)}, {});
            return {};
        }
    }

    Status add_read(const std::string& path, const Event& event)
    {
        if (!S_ISREG(event.mode))
            return error(Code::unavailable, "It read {}, which is no file.", path);
        std::optional<SourceFile> now = read_source(path);
        // Written since, or so shortly before that a write since would not show: what the compiler read is not known.
        if (!now || now->identity != event.file || !would_show(path, event.file, event.at_ns))
            return error(Code::unavailable, "{} changed while it was compiled, or shortly before.", path);
        const base::Sha256 digest = base::sha256(as_bytes(now->text));
        add_each(path, {.kind = Kind::content, .digest = digest}, {now->identity, now->settled});
        if (m_texts != nullptr)
            m_texts->push_back({path, std::move(now->text), digest});
        return {};
    }

    Status add_looked_for(const std::string& path, const Event& event)
    {
        if (is_absence(event.error))
            add_each(path, {.kind = Kind::absent}, {});
        else if (event.error != 0)
            add_each(path, {.kind = Kind::refused, .error = event.error}, {});
        else if (S_ISREG(event.mode))
            add_each(path, {.kind = Kind::present}, {event.file, false});
        else if (S_ISDIR(event.mode))
            add_each(path, {.kind = Kind::a_directory}, {});
        else
            return error(Code::unavailable, "It looked at {}, which is neither a file nor a directory.", path);
        return {};
    }

    void add_each(const std::string& path, Condition condition, const Stamps::One& stamp)
    {
        for (Spot& spot : spots_of(path, m_places)) {
            condition.spot = std::move(spot);
            add(condition, stamp);
        }
    }

    void add(Condition condition, const Stamps::One& stamp)
    {
        const auto index = static_cast<std::uint32_t>(m_conditions.list.size());
        condition.same_file = index;
        if (stamp.file.inode != 0)
            condition.same_file = m_first.try_emplace({stamp.file.device, stamp.file.inode}, index).first->second;
        m_conditions.list.push_back(std::move(condition));
        m_conditions.stamps.of.push_back(stamp);
    }

    const Places& m_places;
    std::vector<ReadText>* const m_texts;
    std::map<std::string, std::optional<std::string>> m_variables;
    std::map<std::string, Event> m_looked_for;
    std::set<std::string> m_read;
    std::map<FileKey, std::uint32_t> m_first;
    Conditions m_conditions;
};

class Checker {
public:
    explicit Checker(const Places& places, Stamps& stamps) : m_places(places), m_stamps(stamps) {}

    bool holds(std::uint32_t index, const Condition& condition)
    {
        if (condition.kind == Kind::variable || condition.kind == Kind::variable_unset) {
            const char* const value = std::getenv(condition.name.c_str());
            return condition.kind == Kind::variable ? value != nullptr && condition.text == value : value == nullptr;
        }
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
        if (!holds_at(path, index, condition))
            return false;
        m_held = &condition;
        return true;
    }

private:
    static bool is_the_same(const Condition& one, const Condition& other)
    {
        return one.kind == other.kind && one.digest == other.digest && one.text == other.text &&
               one.error == other.error &&
               (one.same_file == other.same_file || one.kind == Kind::absent || one.kind == Kind::a_directory);
    }

    bool holds_at(const std::string& path, std::uint32_t index, const Condition& condition)
    {
        switch (condition.kind) {
        case Kind::content:
            return has_content(path, condition.digest, m_stamps.of[index]) &&
                   is_same_file(index, condition, m_stamps.of[index].file);
        case Kind::names: {
            int error = 0;
            return digest_of_names(path, error) == condition.digest && error == 0;
        }
        case Kind::leads_to:
        case Kind::really: {
            std::error_code error;
            const std::filesystem::path found = condition.kind == Kind::leads_to
                                                    ? std::filesystem::read_symlink(path, error)
                                                    : std::filesystem::canonical(path, error);
            return !error && found.string() == condition.text;
        }
        default: {
            struct stat status {};
            const int error = m_stat(path, status);
            if (condition.kind == Kind::present)
                return error == 0 && S_ISREG(status.st_mode) && is_same_file(index, condition, identity_of(status));
            if (condition.kind == Kind::a_directory)
                return error == 0 && S_ISDIR(status.st_mode);
            return condition.kind == Kind::absent ? is_absence(error) : error == condition.error;
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
        const std::optional<SourceFile> source = read_source(path);
        if (!source || base::sha256(as_bytes(source->text)) != digest)
            return false;
        m_stamps.have_changed |= stamp.settled != source->settled || stamp.file != source->identity;
        stamp = {source->identity, source->settled};
        return true;
    }

    bool is_same_file(std::uint32_t index, const Condition& condition, const FileIdentity& file)
    {
        return m_first.try_emplace({file.device, file.inode}, index).first->second == condition.same_file;
    }

    struct HashOfFile {
        std::size_t operator()(const FileKey& file) const { return file.inode * 31 + file.device; }
    };

    const Places& m_places;
    Stamps& m_stamps;
    StatMany m_stat;
    std::unordered_map<FileKey, std::uint32_t, HashOfFile> m_first;
    static constexpr std::size_t k_other_places = 3;
    std::vector<std::string> m_paths;  // of the places, with a slash behind each
    std::string m_whole;
    const Condition* m_held = nullptr;  // the condition before, if it was about a path
    std::string m_before;               // its path
};

}  // namespace

std::string path_of_place(Spot::From from, std::uint16_t index, const Places& places)
{
    switch (from) {
    case Spot::From::root:
        return "/";
    case Spot::From::working_directory:
        return places.working_directory;
    case Spot::From::program_directory:
        return places.program_directory;
    case Spot::From::directory:
        return index < places.directories.size() ? places.directories[index] : "";
    }
    return {};
}

std::vector<Spot> spots_of(std::string_view path, const Places& places)
{
    std::vector<Spot> spots;
    for (std::size_t i = 0; i < places.directories.size(); ++i)
        if (const std::optional<std::string_view> rest = below(path, places.directories[i]))
            spots.push_back({Spot::From::directory, static_cast<std::uint16_t>(i), std::string(*rest)});
    if (const std::optional<std::string_view> rest = below(path, places.program_directory))
        spots.push_back({Spot::From::program_directory, 0, std::string(*rest)});
    else if (is_program_directory(path, places))
        spots.push_back({Spot::From::program_directory, 0, {}});
    if (spots.empty())
        spots.push_back(
            {path.starts_with('/') ? Spot::From::root : Spot::From::working_directory, 0, std::string(path)});
    return spots;
}

std::string Spot::shown(const Places& places) const
{
    if (from == From::root || from == From::working_directory)
        return rest;
    const std::string place = path_of_place(from, index, places);
    return place.empty() || rest.empty() ? place + rest : place + (place.ends_with('/') ? "" : "/") + rest;
}

std::string Spot::path(const Places& places) const
{
    std::string path = shown(places);
    return path.starts_with('/') ? path : places.working_directory + "/" + path;
}

Result<Conditions> conditions_of(const EventLog& log, const Places& places,
                                 std::span<const std::string_view> known_libraries, std::vector<ReadText>* texts)
{
    if (!log.is_complete())
        return error(Code::unavailable, "There was no memory to note what it asked.");
    Collector collector(places, texts);
    Status status;
    log.for_each([&](const Event& event) {
        if (status.ok())
            status = collector.take(event, known_libraries);
    });
    HEARTH_TRY(status);
    return collector.finish();
}

std::size_t first_broken(const std::vector<Condition>& list, Stamps& stamps, const Places& places)
{
    stamps.of.resize(list.size());
    Checker checker(places, stamps);
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
    case Kind::variable_unset:
        return fmt::format("the variable {} was not set", condition.name);
    case Kind::place:
        return fmt::format("it was compiled in {}, and its result may hold that path", condition.text);
    }
    return {};
}

}  // namespace hearth::watch
