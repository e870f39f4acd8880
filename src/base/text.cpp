#include "base/text.hpp"

#include <algorithm>

namespace hearth::base {

namespace {

// Letters that are wrong, missing, too many, or swapped with their neighbour.
std::size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::vector<std::size_t>> to(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                to[i][j] = i + j;
                continue;
            }
            to[i][j] =
                std::min({to[i - 1][j] + 1, to[i][j - 1] + 1, to[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                to[i][j] = std::min(to[i][j], to[i - 2][j - 2] + 1);
        }
    return to[a.size()][b.size()];
}

}  // namespace

std::string_view trimmed(std::string_view text, std::string_view blanks)
{
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::string_view take_until(char separator, std::string_view& text)
{
    const std::string_view taken = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), taken.size() + 1));
    return taken;
}

std::vector<std::string_view> words_of(std::string_view text)
{
    std::vector<std::string_view> words;
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
        const auto end = static_cast<std::size_t>(std::find_if(text.begin(), text.end(), is_blank) - text.begin());
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

std::optional<bool> parse_bool(std::string_view text)
{
    std::string word(text);
    std::ranges::transform(word, word.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    if (word == "1" || word == "on" || word == "yes" || word == "true")
        return true;
    if (word == "0" || word == "off" || word == "no" || word == "false")
        return false;
    return std::nullopt;
}

std::string printable(std::string_view text)
{
    constexpr std::size_t k_longest = 200;
    std::string out(text.substr(0, k_longest));
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    if (text.size() > k_longest)
        out += "...";
    return out;
}

std::string listed(std::span<const std::string_view> words, std::string_view last)
{
    std::string all;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0)
            all += i + 1 < words.size() ? ", " : " " + std::string(last) + " ";
        all += words[i];
    }
    return all;
}

std::string_view closest(std::string_view word, std::span<const std::string_view> known)
{
    constexpr std::size_t k_longest = 64;
    std::string_view best;
    std::size_t nearest = 3;
    for (const std::string_view one : known)
        // A known word was not meant if all of its letters would be wrong.
        if (word.size() <= k_longest)
            if (const std::size_t away = distance(word, one); away < std::min(nearest, one.size()))
                best = one, nearest = away;
    return best;
}

}  // namespace hearth::base
