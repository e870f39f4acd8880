#include "compilers/nvrtc/replay.hpp"

#include "base/wire.hpp"

#include <map>

namespace hearth::nvrtc {

namespace {

constexpr std::uint32_t k_program = UINT32_MAX;  // in place of a header's number

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

std::string paths_in_log(std::string_view log, const std::string& program, const format::Manifest& manifest)
{
    base::WireWriter out;
    const auto note = [&](std::uint32_t place, const std::string& path) {
        if (log.find(path) == std::string_view::npos)
            return;
        out.number(place);
        out.prefixed<std::uint32_t>(path);
    };
    note(k_program, program);
    for (std::size_t i = 0; i < manifest.files.size(); ++i)
        note(static_cast<std::uint32_t>(i), manifest.files[i].path);
    return std::move(out.out());
}

std::string replay_log(std::string_view log, std::string_view paths, const std::string& program,
                       const format::Manifest& manifest)
{
    PathMap then_to_now;
    base::WireReader in(as_bytes(paths));
    while (!in.at_end()) {
        const auto place = in.number<std::uint32_t>();
        const std::string then(in.prefixed<std::uint32_t>());
        if (in.failed())
            break;
        // The same request finds the same headers in the same order.
        if (place != k_program && place >= manifest.files.size())
            continue;
        if (const std::string& now = place == k_program ? program : manifest.files[place].path; now != then)
            then_to_now.emplace(then, now);
    }
    if (then_to_now.empty())
        return std::string(log);
    std::string replayed;
    replayed.reserve(log.size());
    while (!log.empty()) {
        const std::size_t end = log.find('\n');
        replayed += replayed_line(log.substr(0, end), then_to_now);
        if (end == std::string_view::npos)
            break;
        replayed += '\n';
        log.remove_prefix(end + 1);
    }
    return replayed;
}

}  // namespace hearth::nvrtc
