#include "compilers/nvrtc/option_facts.hpp"

#include "base/text.hpp"

#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <optional>

namespace hearth::nvrtc {

namespace {

// Trims what NVRTC trims: any other character is part of the option.
std::string_view trimmed(std::string_view text)
{
    return base::trimmed(text, " \t");
}

// Goes through options whose value is in the same word ("-Idir", "-I=dir", "--include-path=dir") or in the next one.
class Walk {
public:
    explicit Walk(std::span<const std::string> options) : m_options(options) {}

    std::size_t at() const { return m_at; }
    bool done() const { return m_at >= m_options.size(); }
    std::string_view option() const { return trimmed(m_options[m_at]); }
    void next() { ++m_at; }

    // The value, if this option is `name`; moves on to it if it is a word of its own. The value may directly follow a
    // short name.
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

// An option of a kind that matters here, with its value.
struct Read {
    enum class Kind : std::uint8_t { include_directory, target, other };
    Kind kind = Kind::other;
    std::string value;
};

// Moves the walk on to the value if that is a word of its own.
Read read_option(Walk& walk)
{
    using Glue = Walk::Glue;
    struct Name {
        Read::Kind kind;
        std::string_view name;
        Glue glue;
    };
    static constexpr std::array k_names{Name{Read::Kind::include_directory, "--include-path", Glue::no},
                                        Name{Read::Kind::include_directory, "-I", Glue::yes},
                                        Name{Read::Kind::other, "--pre-include", Glue::no},
                                        Name{Read::Kind::other, "--preinclude", Glue::no},
                                        Name{Read::Kind::other, "-include", Glue::no},
                                        Name{Read::Kind::other, "--define-macro", Glue::no},
                                        Name{Read::Kind::other, "-D", Glue::yes},
                                        Name{Read::Kind::target, "--gpu-architecture", Glue::no},
                                        Name{Read::Kind::target, "-arch", Glue::no},
                                        Name{Read::Kind::other, "--ptxas-options", Glue::no},
                                        Name{Read::Kind::other, "-Xptxas", Glue::yes}};
    for (const Name& name : k_names)
        if (auto value = walk.value_of(name.name, name.glue))
            return {name.kind, *std::move(value)};
    return {};
}

bool is(std::string_view option, std::string_view name)
{
    return option == name || (option.starts_with(name) && option[name.size()] == '=');
}

// Options that write files, or whose result other calls ask for.
std::string side_effect(std::string_view option)
{
    static constexpr std::array k_names{
        "create-pch",   "use-pch",     "pch-dir",           "time", "instantiate-templates-in-pch",
        "pch-messages", "pch-verbose", "fdevice-time-trace"};
    for (const std::string_view dashes : {"--", "-"})
        for (const char* name : k_names)
            if (is(option, fmt::format("{}{}", dashes, name)))
                return fmt::format("{}{} has effects beyond the compile's result", dashes, name);
    return {};
}

// Whether an include directory is given in a way that NVRTC surely reads as we do: "-Idir", "-I=dir", "-I" "dir" and
// the same with --include-path. To NVRTC some others mean the working directory, or nothing at all.
bool is_plain_directory(std::string_view option, std::string_view next)
{
    std::string_view value;
    if (option == "-I" || option == "--include-path")
        value = next;
    else if (option.starts_with("-I"))
        value = option.substr(option.starts_with("-I=") ? 3 : 2);
    else if (option.starts_with("--include-path="))
        value = option.substr(std::string_view("--include-path=").size());
    const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    return !value.empty() && !is_blank(value.front()) && !is_blank(value.back()) && value.front() != '-' &&
           value.front() != '=';
}

bool has_plain_directories(std::span<const std::string> options)
{
    for (Walk walk(options); !walk.done(); walk.next()) {
        const std::size_t at = walk.at();
        if (read_option(walk).kind == Read::Kind::include_directory &&
            !is_plain_directory(options[at], walk.at() != at ? options[walk.at()] : ""))
            return false;
    }
    return true;
}

}  // namespace

OptionFacts read_options(std::span<const std::string> options)
{
    OptionFacts facts;
    const bool plain = has_plain_directories(options);
    for (Walk walk(options); !walk.done(); walk.next()) {
        const std::string option(plain ? walk.option() : std::string_view(options[walk.at()]));
        const std::size_t before = walk.at();
        Read read = read_option(walk);
        // All of them as they stand: what they mean together is NVRTC's to know.
        if (read.kind == Read::Kind::include_directory && !plain)
            read.kind = Read::Kind::other;
        if (option == "--pch" || option == "-pch") {
            facts.precompiles = true;
            continue;
        }
        // What is found in an include directory is in the key; where it was found is not.
        if (read.kind != Read::Kind::include_directory)
            facts.keyed.push_back(option);
        switch (read.kind) {
        case Read::Kind::include_directory:
            facts.include_directories.push_back(std::move(read.value));
            continue;
        case Read::Kind::target:
            facts.target = std::move(read.value);
            break;
        case Read::Kind::other:
            if (is(option, "-lineinfo") || is(option, "--generate-line-info") || is(option, "-G") ||
                is(option, "--device-debug") || is(option, "-dlto") || is(option, "--dlink-time-opt") ||
                is(option, "-optix-ir") || is(option, "--optix-ir") ||
                // What else a file of options says is not read here.
                is(option, "--options-file") || is(option, "-optf"))
                facts.paths_matter = true;
            else if (facts.why_past_the_cache.empty())
                facts.why_past_the_cache = side_effect(option);
        }
        if (walk.at() != before)
            facts.keyed.emplace_back(plain ? walk.option() : options[walk.at()]);  // its value is a word of its own
    }
    return facts;
}

std::vector<std::string> with_directories(std::span<const std::string> options,
                                          const std::function<std::string(const std::string&)>& place)
{
    std::vector<std::string> moved;
    if (!has_plain_directories(options))
        return {options.begin(), options.end()};
    for (Walk walk(options); !walk.done(); walk.next()) {
        const std::size_t before = walk.at();
        if (const Read read = read_option(walk); read.kind == Read::Kind::include_directory)
            moved.push_back("-I" + place(read.value));
        else
            moved.insert(moved.end(), options.begin() + static_cast<std::ptrdiff_t>(before),
                         options.begin() + static_cast<std::ptrdiff_t>(walk.at() + 1));
    }
    return moved;
}

std::vector<std::string> with_target(std::span<const std::string> options, const std::string& target)
{
    std::vector<std::string> retargeted(options.begin(), options.end());
    std::string* holder = nullptr;
    std::size_t length = 0;  // of the value there
    for (Walk walk(options); !walk.done(); walk.next())
        if (const Read read = read_option(walk); read.kind == Read::Kind::target && !read.value.empty()) {
            holder = &retargeted[walk.at()];
            length = read.value.size();
        }
    if (holder == nullptr) {
        retargeted.push_back("-arch=" + target);
        return retargeted;
    }
    // The value is at the end, apart from blanks.
    const std::size_t end = holder->find_last_not_of(" \t") + 1;
    holder->replace(end - length, length, target);
    return retargeted;
}

}  // namespace hearth::nvrtc
