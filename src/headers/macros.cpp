#include "headers/macros.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace hearth::headers {

namespace {

constexpr int k_deepest = 16;
constexpr std::size_t k_most_readings = 256;

bool is_header_name(std::string_view text)
{
    return text.size() > 2 &&
           ((text.front() == '"' && text.back() == '"') || (text.front() == '<' && text.back() == '>'));
}

}  // namespace

void Macros::add(const Macro& macro)
{
    std::vector<Definition>& all = m_definitions[macro.name];
    Definition definition{macro.takes_arguments, macro.parameters, macro.body};
    if (std::find(all.begin(), all.end(), definition) == all.end())
        all.push_back(std::move(definition));
}

std::span<const Macros::Definition> Macros::definitions_of(const std::string& name) const
{
    const auto found = m_definitions.find(name);
    return found == m_definitions.end() ? std::span<const Definition>{} : std::span<const Definition>(found->second);
}

bool Macros::expand_into(std::string_view text, int depth, std::set<std::string>& out) const
{
    if (depth == 0 || text.find("##") != std::string_view::npos)
        return false;
    text = base::trimmed(text, " \t");
    // A string is not expanded; the parts of <...> are.
    if (!text.empty() && text.front() == '"') {
        out.emplace(text);
        return true;
    }
    std::set<std::string> readings{""};
    std::size_t copied = 0;
    bool possible = true;
    for_each_identifier(text, [&](std::string_view name) {
        if (!possible)
            return;
        const auto at = static_cast<std::size_t>(name.data() - text.data());
        std::set<std::string> meanings{std::string(name)};
        if (const auto found = m_definitions.find(std::string(name)); found != m_definitions.end())
            for (const Definition& definition : found->second)
                possible &= !definition.takes_arguments &&
                            (definition.body == name || expand_into(definition.body, depth - 1, meanings));
        std::set<std::string> longer;
        for (const std::string& reading : readings)
            for (const std::string& meaning : meanings)
                longer.insert(reading + std::string(text.substr(copied, at - copied)) + meaning);
        copied = at + name.size();
        readings = std::move(longer);
        possible &= readings.size() <= k_most_readings;
    });
    if (!possible)
        return false;
    for (const std::string& reading : readings)
        out.insert(reading + std::string(text.substr(copied)));
    return out.size() <= k_most_readings;
}

std::optional<std::set<std::string>> Macros::expand(std::string_view text) const
{
    std::set<std::string> readings;
    if (!expand_into(text, k_deepest, readings))
        return std::nullopt;
    std::set<std::string> names;
    for (const std::string& reading : readings)
        if (const std::string_view name = base::trimmed(reading, " \t"); is_header_name(name))
            names.emplace(name);
    return names;
}

std::vector<std::string> Macros::questions() const
{
    std::vector<std::string> names;
    for (const auto& [name, definitions] : m_definitions)
        for (const Definition& definition : definitions)
            if (definition.takes_arguments && definition.body.find("__has_include") != std::string::npos) {
                names.push_back(name);
                break;
            }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace hearth::headers
