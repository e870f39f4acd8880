#include "source.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace eph {

namespace {

Function function_in(const std::vector<std::string>& words, const std::string& place)
{
    const bool exported = words.front() == "export";
    const auto name = words.begin() + (exported ? 1 : 0);
    const auto equals = std::find(name, words.end(), "=");
    if (equals == name || equals == words.end())
        throw Problem(place + ": This is neither \"import NAME\" nor \"[export] NAME PARAMETERS = WORDS\".");
    if (equals - name > 3)
        throw Problem(place + ": " + *name + " has more than two parameters.");
    return {*name, {name + 1, equals}, {equals + 1, words.end()}, exported, place};
}

}  // namespace

Function Function::interface() const
{
    const bool constant = parameters.empty() && body.size() == 1 && number_in(body.front());
    return {name, parameters, constant ? body : std::vector<std::string>{}};
}

Source parse(const std::string& file, std::string text)
{
    Source source{std::move(text)};
    std::istringstream lines(source.text);
    int number = 1;
    for (std::string line; std::getline(lines, line); ++number) {
        std::istringstream stream(line.substr(0, line.find('#')));
        std::vector<std::string> words;
        for (std::string word; stream >> word;)
            words.push_back(word);
        if (words.size() == 2 && words[0] == "import")
            source.imports.push_back(words[1]);
        else if (!words.empty())
            source.functions.push_back(function_in(words, file + ":" + std::to_string(number)));
    }
    return source;
}

std::optional<std::uint64_t> number_in(std::string_view word)
{
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc{} && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
}

}  // namespace eph
