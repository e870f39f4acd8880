#include "compilers/command/temporary_names.hpp"

#include "compilers/command/expansion.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace hearth::command {

namespace {

constexpr std::string_view k_begins = "tmpxft_";

// A name is kept as this, its number, and the end. No compiler writes either.
constexpr std::string_view k_mark = "\x01hearth name ";
constexpr char k_end = '\x02';

}  // namespace

bool is_temporary(std::string_view path)
{
    path.remove_prefix(path.find_last_of('/') + 1);
    return path.starts_with(k_begins);
}

std::string_view lasting_part(std::string_view temporary)
{
    temporary.remove_prefix(std::min(temporary.size(), temporary.find(k_begins) + k_begins.size()));
    const std::size_t dash = temporary.find('-');
    const std::size_t end = temporary.find('_', dash == std::string_view::npos ? 0 : dash);
    return end == std::string_view::npos ? temporary : temporary.substr(end + 1);
}

std::optional<Bytes> without_names(std::string_view text, const std::vector<std::string>& names)
{
    if (text.find(k_mark) != std::string_view::npos)
        return std::nullopt;
    std::string kept;
    for (std::size_t begins = 0; (begins = text.find(k_begins)) != std::string_view::npos;) {
        // The longest one that is here, with the directory that is before it. One may begin as another does.
        std::size_t best = names.size();
        for (std::size_t i = 0; i < names.size(); ++i) {
            const std::size_t before = names[i].find_last_of('/') + 1;
            if (before <= begins && text.substr(begins - before).starts_with(names[i]) &&
                (best == names.size() || names[i].size() > names[best].size()))
                best = i;
        }
        if (best == names.size())
            return std::nullopt;
        const std::size_t from = begins - (names[best].find_last_of('/') + 1);
        kept.append(text.substr(0, from));
        kept.append(fmt::format("{}{}{}", k_mark, best, k_end));
        text.remove_prefix(from + names[best].size());
    }
    return Bytes::copy_of(kept.append(text));
}

std::optional<std::string> with_names(std::string_view kept, const std::vector<std::string>& names)
{
    Expansion text(kept);
    for (std::size_t at = 0; (at = kept.find(k_mark)) != std::string_view::npos;) {
        const std::string_view before = kept.substr(0, at);
        kept.remove_prefix(at + k_mark.size());
        std::size_t index = 0;
        const auto [end, error] = std::from_chars(kept.data(), kept.data() + kept.size(), index);
        if (error != std::errc{} || index >= names.size() || end == kept.data() + kept.size() || *end != k_end)
            return std::nullopt;
        if (!text.append(before) || !text.append(names[index]))
            return std::nullopt;
        kept.remove_prefix(static_cast<std::size_t>(end - kept.data()) + 1);
    }
    return text.append(kept) ? std::optional(text.take()) : std::nullopt;
}

}  // namespace hearth::command
