#include "compilers/nvrtc/option_facts.hpp"

#include <array>
#include <fmt/format.h>
#include <optional>

namespace hearth::nvrtc {

namespace {

std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

// Goes through options that may carry their value ("-Idir", "-I=dir", "--include-path=dir") or leave it to the next.
class Walk {
public:
    explicit Walk(std::span<const std::string> options) : m_options(options) {}

    std::size_t at() const { return m_at; }
    bool done() const { return m_at >= m_options.size(); }
    std::string_view option() const { return trimmed(m_options[m_at]); }
    void next() { ++m_at; }

    // The value, when this option is `name`; moves on to it where it stands alone. A short name may have its value
    // glued to it.
    enum class Glue : std::uint8_t { no, yes };
    std::optional<std::string> value_of(std::string_view name, Glue glue)
    {
        std::string_view option = this->option();
        if (!option.starts_with(name))
            return std::nullopt;
        option.remove_prefix(name.size());
        if (option.empty()) {
            if (m_at + 1 >= m_options.size())
                return std::string{};
            ++m_at;
            return std::string(trimmed(m_options[m_at]));
        }
        if (option.front() == '=')
            return std::string(trimmed(option.substr(1)));
        if (glue == Glue::yes || option.front() == ' ')
            return std::string(trimmed(option));
        return std::nullopt;
    }

private:
    std::span<const std::string> m_options;
    std::size_t m_at = 0;
};

bool is(std::string_view option, std::string_view name)
{
    return option == name || (option.starts_with(name) && option[name.size()] == '=');
}

// Options that write files, read files we do not look at, or report what no cache can know.
std::string side_effect(std::string_view option)
{
    static constexpr std::array k_names{"--create-pch",
                                        "-create-pch",
                                        "--use-pch",
                                        "-use-pch",
                                        "--pch",
                                        "-pch",
                                        "--pch-dir",
                                        "-pch-dir",
                                        "--pch-messages",
                                        "-pch-messages",
                                        "--pch-verbose",
                                        "-pch-verbose",
                                        "--fdevice-time-trace",
                                        "-fdevice-time-trace",
                                        "--time",
                                        "-time",
                                        "--options-file",
                                        "-optf",
                                        "--instantiate-templates-in-pch",
                                        "-instantiate-templates-in-pch"};
    for (const std::string_view name : k_names)
        if (is(option, name))
            return fmt::format("{} has effects beyond the compile's result", name);
    return {};
}

headers::Macro macro_of(std::string_view definition)
{
    const std::size_t equals = definition.find('=');
    headers::Macro macro;
    macro.name = definition.substr(0, equals);
    macro.body = equals == std::string_view::npos ? "1" : definition.substr(equals + 1);
    if (const std::size_t parenthesis = macro.name.find('('); parenthesis != std::string::npos) {
        macro.takes_arguments = true;
        macro.name.resize(parenthesis);
    }
    return macro;
}

}  // namespace

OptionFacts read_options(std::span<const std::string> options)
{
    using Glue = Walk::Glue;
    OptionFacts facts;
    for (Walk walk(options); !walk.done(); walk.next()) {
        const std::string option(walk.option());
        const auto first_value = [&](std::initializer_list<std::pair<std::string_view, Glue>> names) {
            for (const auto& [name, glue] : names)
                if (auto value = walk.value_of(name, glue))
                    return value;
            return std::optional<std::string>{};
        };
        if (const auto directory = first_value({{"--include-path", Glue::no}, {"-I", Glue::yes}})) {
            facts.include_directories.push_back(*directory);
            continue;  // what is found there is in the key; where it was found is not
        }
        facts.keyed.push_back(option);
        const std::size_t before = walk.at();
        if (const auto header =
                first_value({{"--pre-include", Glue::no}, {"--preinclude", Glue::no}, {"-include", Glue::no}})) {
            facts.pre_includes.push_back(*header);
        } else if (const auto definition = first_value({{"--define-macro", Glue::no}, {"-D", Glue::yes}})) {
            facts.defines.push_back(macro_of(*definition));
        } else if (const auto target = first_value({{"--gpu-architecture", Glue::no}, {"-arch", Glue::no}})) {
            facts.target = *target;
        } else if (is(option, "--no-source-include") || is(option, "-no-source-include")) {
            facts.search_beside_program = false;
        } else if (is(option, "-lineinfo") || is(option, "--generate-line-info") || is(option, "-G") ||
                   is(option, "--device-debug")) {
            facts.paths_matter = true;
        } else if (facts.bypass.empty()) {
            facts.bypass = side_effect(option);
        }
        if (walk.at() != before)
            facts.keyed.emplace_back(walk.option());  // its value stood alone
    }
    return facts;
}

}  // namespace hearth::nvrtc
