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

class Collector {
public:
    Collector(const Places& places, std::vector<ReadText>* texts, const DigestOf& digest_of)
        : m_places(places), m_texts(texts), m_digest_of(digest_of)
    {
    }

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
        if (event.asked == Asked::link && event.error == EINVAL) {  // it is there, and no link
            add_each(path, {.kind = Kind::leads_to}, {});
            return {};
        }
        if (event.asked == Asked::status || event.error != 0) {
            if (path != "." && path != m_places.working_directory)
                m_looked_for.emplace(path, event);
            return {};
        }
        const bool is_read = event.asked == Asked::file || event.asked == Asked::directory;
        if (is_read && !m_read.insert(path).second)
            return {};
        switch (event.asked) {
        case Asked::file:
            return add_read(path, event);
        case Asked::directory:
            return add_listed(path, event);
        case Asked::link:
            add_each(path, {.kind = Kind::leads_to, .text = std::string(event.answer)}, {});
            return {};
        default:
            for (Spot& spot : spots_of(path, m_places)) {
                const bool is_plain = real_path_of(spot, m_places) == event.answer;
                add({.kind = Kind::really,
                     .spot = std::move(spot),
                     .text = is_plain ? std::string{} : std::string(event.answer)},
                    {});
            }
            return {};
        }
    }

    Status add_read(const std::string& path, const Event& event)
    {
        if (!S_ISREG(event.mode))
            return error(Code::unavailable, "It read {}, which is no file.", path);
        std::optional<base::Sha256> digest = m_digest_of ? m_digest_of(path, event.file) : std::nullopt;
        std::optional<SourceFile> now;
        if (!digest)
            now = read_source(path);
        else if (const std::optional<FileIdentity> identity = identify(path))
            now = SourceFile{{}, *identity, true};
        // Written since, or so shortly before that a write since would not show: what the compiler read is not known.
        if (!now || now->identity != event.file || !would_show(path, event.file, event.at_ns))
            return error(Code::unavailable, "{} changed while it was compiled, or shortly before.", path);
        if (!digest)
            digest = base::sha256(as_bytes(now->text));
        const Stamps::One stamp{now->identity, now->settled};
        add_each(path, {.kind = Kind::content, .digest = *digest}, stamp);
        if (m_texts != nullptr)
            m_texts->push_back({path, std::move(now->text), *digest, stamp});
        return {};
    }

    Status add_listed(const std::string& path, const Event& event)
    {
        int problem = 0;
        const base::Sha256 digest = digest_of_names(path, problem);
        struct stat status {};
        // A name that comes or goes stamps the directory.
        if (problem != 0 || ::stat(path.c_str(), &status) != 0 || !would_show(path, identity_of(status), event.at_ns))
            return error(Code::unavailable, "{} changed while it was compiled, or shortly before.", path);
        add_each(path, {.kind = Kind::names, .digest = digest}, {});
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
            add_each(path, {.kind = Kind::a_directory}, {event.file, false});
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
    const DigestOf& m_digest_of;
    std::map<std::string, std::optional<std::string>> m_variables;
    std::map<std::string, Event> m_looked_for;
    std::set<std::string> m_read;
    std::map<FileKey, std::uint32_t> m_first;
    Conditions m_conditions;
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

std::string real_path_of(const Spot& spot, const Places& places)
{
    if (spot.from == Spot::From::root)
        return spot.rest;
    std::error_code ignored;
    const std::filesystem::path place =
        std::filesystem::canonical(Spot{spot.from, spot.index, {}}.path(places), ignored);
    return (place / spot.rest).lexically_normal().string();  // clang says "./value.h"
}

Result<Conditions> conditions_of(const EventLog& log, const Places& places,
                                 std::span<const std::string_view> known_libraries, std::vector<ReadText>* texts,
                                 const DigestOf& digest_of)
{
    if (!log.is_complete())
        return error(Code::unavailable, "There was no memory to note what it asked.");
    Collector collector(places, texts, digest_of);
    Status status;
    log.for_each([&](const Event& event) {
        if (status.ok())
            status = collector.take(event, known_libraries);
    });
    HEARTH_TRY(status);
    return collector.finish();
}

}  // namespace hearth::watch
