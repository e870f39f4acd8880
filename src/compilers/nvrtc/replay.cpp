#include "compilers/nvrtc/replay.hpp"

#include "base/wire.hpp"

#include <map>

namespace hearth::nvrtc {

namespace {

using PathMap = std::map<std::string, std::string, std::less<>>;

std::string_view replaced(const PathMap& paths, std::string_view path)
{
    const auto found = paths.find(path);
    return found == paths.end() ? path : std::string_view(found->second);
}

// One line of a log. NVRTC writes paths in three places: "PATH(12): error: ...", "... at line 12 of PATH" and
// "... in the compilation of "PATH"."; lines of the source itself begin with blanks.
std::string replayed_line(std::string_view line, const PathMap& paths)
{
    static constexpr std::string_view k_of = " of ";
    static constexpr std::string_view k_compilation = "in the compilation of \"";
    if (const std::size_t at = line.find(k_compilation); at != std::string_view::npos) {
        const std::size_t start = at + k_compilation.size();
        const std::size_t end = line.rfind('"');
        if (end != std::string_view::npos && end > start)
            return std::string(line.substr(0, start)) + std::string(replaced(paths, line.substr(start, end - start))) +
                   std::string(line.substr(end));
    }
    if (!line.empty() && line.front() != ' ') {
        // A path may hold a parenthesis itself: the last one that is followed by a number and "):" ends it.
        for (std::size_t open = line.find('('); open != std::string_view::npos; open = line.find('(', open + 1)) {
            const std::size_t close = line.find_first_not_of("0123456789", open + 1);
            if (close == open + 1 || close == std::string_view::npos || line.substr(close, 2) != "):")
                continue;
            return std::string(replaced(paths, line.substr(0, open))) + std::string(line.substr(open));
        }
    }
    if (line.find(" at line ") != std::string_view::npos)
        if (const std::size_t of = line.rfind(k_of); of != std::string_view::npos)
            return std::string(line.substr(0, of + k_of.size())) +
                   std::string(replaced(paths, line.substr(of + k_of.size())));
    return std::string(line);
}

}  // namespace

// The program itself, in place of what is below one of the places.
constexpr std::string_view k_program{};

// Whoever wrote an entry decides how many paths are in its log. In real ones the new paths take some kilobytes more.
constexpr std::size_t k_most_growth = std::size_t{16} << 20;

std::string paths_in_log(std::string_view log, const LogPlaces& there, const std::vector<watch::Condition>& conditions)
{
    base::WireWriter out;
    const auto note = [&](const watch::Spot& spot, std::string_view path) {
        if (log.find(path) == std::string_view::npos)
            return;
        out.number(static_cast<std::uint8_t>(spot.from));
        out.number(spot.index);
        out.prefixed<std::uint32_t>(spot.rest);
        out.prefixed<std::uint32_t>(path);
    };
    note({watch::Spot::From::program_directory, 0, std::string(k_program)}, there.program_name);
    for (const watch::Condition& condition : conditions)
        if (condition.kind == watch::Condition::Kind::content)
            note(condition.spot, condition.spot.shown(there.places));
    return std::move(out.out());
}

std::string replay_log(std::string_view log, std::string_view paths, const LogPlaces& here)
{
    PathMap then_to_now;
    base::WireReader in(as_bytes(paths));
    while (!in.at_end()) {
        watch::Spot spot;
        spot.from = static_cast<watch::Spot::From>(in.number<std::uint8_t>());
        spot.index = in.number<std::uint16_t>();
        spot.rest = in.prefixed<std::uint32_t>();
        const std::string then(in.prefixed<std::uint32_t>());
        if (in.failed())
            break;
        std::string now = spot.rest == k_program ? std::string(here.program_name) : spot.shown(here.places);
        if (now != then)
            then_to_now.emplace(then, std::move(now));
    }
    if (then_to_now.empty())
        return std::string(log);
    std::string replayed;
    replayed.reserve(log.size());
    for (std::string_view rest = log; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        replayed += replayed_line(rest.substr(0, end), then_to_now);
        if (replayed.size() > log.size() + k_most_growth)
            return std::string(log);
        if (end == std::string_view::npos)
            break;
        replayed += '\n';
        rest.remove_prefix(end + 1);
    }
    return replayed;
}

}  // namespace hearth::nvrtc
