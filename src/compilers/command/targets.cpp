#include "compilers/command/targets.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace hearth::command {

namespace {

constexpr std::array<std::string_view, 9> k_naming_targets{"-arch",      "--gpu-architecture", "-code",
                                                           "--gpu-code", "-gencode",           "--generate-code",
                                                           "--gpu-name", "--offload-arch",     "-offload-arch"};

constexpr std::array<std::string_view, 4> k_kinds{"sm_", "compute_", "lto_", "gfx"};

// "code=sm_90" of "arch=compute_90,code=sm_90" decides, where there is one.
void add_targets(std::string_view value, std::vector<std::string>& targets)
{
    if (const std::size_t code = value.find("code="); code != std::string_view::npos)
        value.remove_prefix(code + std::string_view("code=").size());
    while (!value.empty()) {
        std::string target(base::take_until(',', value));
        std::erase_if(target, [](char c) { return c == '[' || c == ']' || c == '"'; });
        const bool is_one =
            std::ranges::any_of(k_kinds, [&](std::string_view kind) { return target.starts_with(kind); });
        if (is_one && std::ranges::find(targets, target) == targets.end())
            targets.push_back(std::move(target));
    }
}

}  // namespace

std::string target_of(const std::vector<std::string>& words)
{
    std::vector<std::string> targets;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word(words[i]);
        const std::size_t equals = word.find('=');
        if (std::ranges::find(k_naming_targets, word.substr(0, equals)) == k_naming_targets.end())
            continue;
        if (equals != std::string_view::npos)
            add_targets(word.substr(equals + 1), targets);
        else if (i + 1 < words.size())
            add_targets(words[i + 1], targets);
    }
    std::string joined;
    for (const std::string& target : targets)
        joined.append(joined.empty() ? "" : ",").append(target);
    return joined;
}

}  // namespace hearth::command
