#include "compilers/command/dependency_file.hpp"

#include "base/text.hpp"
#include "base/wire.hpp"
#include "compilers/command/expansion.hpp"

#include <algorithm>
#include <array>

namespace hearth::command {

namespace {

// kept := (kind:u8 ...)*    text: prefixed:u32; output: index:u16; spot: from:u8 index:u16 rest:u16-prefixed
enum class Piece : std::uint8_t { text, output, spot };

constexpr std::string_view k_between = " \t\r\n:";

void write_text(base::WireWriter& out, std::string_view text)
{
    if (text.empty())
        return;
    out.number(static_cast<std::uint8_t>(Piece::text));
    out.prefixed<std::uint32_t>(text);
}

void write_path(base::WireWriter& out, std::string_view path, const watch::Places& places,
                const std::vector<std::string>& outputs)
{
    if (const auto output = std::ranges::find(outputs, path); output != outputs.end()) {
        out.number(static_cast<std::uint8_t>(Piece::output));
        out.number(static_cast<std::uint16_t>(output - outputs.begin()));
        return;
    }
    const watch::Spot spot = watch::spots_of(path, places).front();
    out.number(static_cast<std::uint8_t>(Piece::spot));
    out.number(static_cast<std::uint8_t>(spot.from));
    out.number(spot.index);
    out.prefixed<std::uint16_t>(spot.rest);
}

// make runs what it reads, and who wrote an entry may have made it up. So only rules without commands are taken: names
// that mean nothing but files, blanks and one kind of line. Outputs are the caller's own, and stand as `o` here.
bool tells_only_dependencies(std::string text)
{
    static constexpr std::array<std::string_view, 19> k_directives{
        "include", "-include", "sinclude", "define",   "endef",    "undefine", "ifdef", "ifndef", "ifeq", "ifneq",
        "else",    "endif",    "export",   "unexport", "override", "private",  "vpath", "load",   "-load"};
    const auto is_odd = [](char c) {
        return !base::is_letter_or_digit(c) && static_cast<unsigned char>(c) < 0x80 &&
               std::string_view("_./+-,@~ :").find(c) == std::string_view::npos;
    };
    // ".PHONY" and its kind: what begins with a dot and leads to no directory.
    const auto is_special = [](std::string_view word) {
        return std::ranges::find(k_directives, word) != k_directives.end() ||
               (word.starts_with('.') && word.find('/') == std::string_view::npos);
    };
    for (std::size_t at = 0; (at = text.find("\\\n", at)) != std::string::npos;)
        text.replace(at, 2, "  ");  // as long as it was, so that nothing is moved
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view line = base::take_until('\n', rest);
        const std::vector<std::string_view> targets = base::words_of(line.substr(0, line.find(':')));
        const bool is_rule = !targets.empty() && line.find(':') != std::string_view::npos;
        if (std::ranges::any_of(line, is_odd) || std::ranges::any_of(targets, is_special) ||
            !(is_rule || line.find_first_not_of(' ') == std::string_view::npos))
            return false;
    }
    return true;
}

}  // namespace

std::optional<Bytes> without_places(std::string_view text, const watch::Places& places,
                                    const std::vector<std::string>& outputs)
{
    base::WireWriter out;
    for (std::size_t at = 0; at < text.size();) {
        // A backslash joins lines. Any other is part of a name, and so is a dollar.
        std::size_t begin = at;
        while (begin < text.size() &&
               (k_between.find(text[begin]) != std::string_view::npos || text.substr(begin).starts_with("\\\n")))
            ++begin;
        write_text(out, text.substr(at, begin - at));
        const std::size_t end = std::min(text.find_first_of(k_between, begin), text.size());
        const std::string_view path = text.substr(begin, end - begin);
        if (path.find_first_of("\\$") != std::string_view::npos)
            return std::nullopt;
        if (!path.empty())
            write_path(out, path, places, outputs);
        at = end;
    }
    Bytes kept = Bytes::copy_of(out.out());
    if (with_places(kept.text(), places, outputs) != text)
        return std::nullopt;
    return kept;
}

std::optional<std::string> with_places(std::string_view kept, const watch::Places& places,
                                       const std::vector<std::string>& outputs)
{
    // A piece takes a few bytes, and some time even if it becomes no text.
    if (kept.size() > Expansion::k_most_growth)
        return std::nullopt;
    Expansion text(kept);
    std::string outline;
    bool fits = true;
    const auto add = [&](std::string_view piece) {
        fits = text.append(piece);
        outline += piece;
    };
    base::WireReader in(as_bytes(kept));
    while (fits && in.rest() > 0 && !in.failed()) {
        switch (static_cast<Piece>(in.number<std::uint8_t>())) {
        case Piece::text:
            add(in.prefixed<std::uint32_t>());
            break;
        case Piece::output: {
            const auto index = in.number<std::uint16_t>();
            if (index >= outputs.size())
                return std::nullopt;
            fits = text.append(outputs[index]);
            outline += 'o';
            break;
        }
        case Piece::spot: {
            const auto from = in.number<std::uint8_t>();
            if (from > static_cast<std::uint8_t>(watch::Spot::From::directory))
                return std::nullopt;
            const auto index = in.number<std::uint16_t>();
            add(watch::Spot{static_cast<watch::Spot::From>(from), index, std::string(in.prefixed<std::uint16_t>())}
                    .shown(places));
            break;
        }
        default:
            return std::nullopt;
        }
    }
    return fits && !in.failed() && tells_only_dependencies(std::move(outline)) ? std::optional(text.take())
                                                                               : std::nullopt;
}

}  // namespace hearth::command
