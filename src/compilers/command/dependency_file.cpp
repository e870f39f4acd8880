#include "compilers/command/dependency_file.hpp"

#include "base/text.hpp"
#include "base/wire.hpp"
#include "compilers/command/expansion.hpp"

#include <algorithm>

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
    bool fits = true;
    base::WireReader in(as_bytes(kept));
    while (fits && in.rest() > 0 && !in.failed()) {
        switch (static_cast<Piece>(in.number<std::uint8_t>())) {
        case Piece::text:
            fits = text.append(in.prefixed<std::uint32_t>());
            break;
        case Piece::output: {
            const auto index = in.number<std::uint16_t>();
            if (index >= outputs.size())
                return std::nullopt;
            fits = text.append(outputs[index]);
            break;
        }
        case Piece::spot: {
            const auto from = in.number<std::uint8_t>();
            if (from > static_cast<std::uint8_t>(watch::Spot::From::directory))
                return std::nullopt;
            const auto index = in.number<std::uint16_t>();
            fits = text.append(
                watch::Spot{static_cast<watch::Spot::From>(from), index, std::string(in.prefixed<std::uint16_t>())}
                    .shown(places));
            break;
        }
        default:
            return std::nullopt;
        }
    }
    return fits && !in.failed() ? std::optional(text.take()) : std::nullopt;
}

bool is_only_dependencies(std::string text, std::span<const std::string> targets,
                          const std::function<bool(const std::string&)>& is_input)
{
    const auto is_odd = [](char c) {
        return !base::is_letter_or_digit(c) && static_cast<unsigned char>(c) < 0x80 &&
               std::string_view("_./+-,@~ :").find(c) == std::string_view::npos;
    };
    const auto are_inputs = [&](const std::vector<std::string_view>& words) {
        return std::ranges::all_of(words, [&](std::string_view word) { return is_input(std::string(word)); });
    };
    for (std::size_t at = 0; (at = text.find("\\\n", at)) != std::string::npos;)
        text.replace(at, 2, "  ");
    for (std::string_view rest = text; !rest.empty();) {
        std::string_view line = base::take_until('\n', rest);
        if (std::ranges::any_of(line, is_odd))
            return false;
        const bool is_rule = line.find(':') != std::string_view::npos;
        const std::vector<std::string_view> names = base::words_of(base::take_until(':', line));
        const std::vector<std::string_view> inputs = base::words_of(line);
        const bool is_of_targets = std::ranges::all_of(
            names, [&](std::string_view name) { return std::ranges::find(targets, name) != targets.end(); });
        // -MP has a rule without inputs for each of them, so that one that is removed is no error.
        if (is_rule == names.empty() || !are_inputs(inputs) ||
            !(is_of_targets || (inputs.empty() && are_inputs(names))))
            return false;
    }
    return true;
}

}  // namespace hearth::command
