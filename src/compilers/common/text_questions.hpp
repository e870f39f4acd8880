#pragma once

#include "compilers/common/text_facts.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

// What watching a compiler cannot tell: whether its output may hold the time of the compile, or the path of a file. The
// answer is looked for in the texts that it read, and is no only where it clearly is: a text may be taken to mention
// what a comment or a string has, but nothing that a compiler would see is overlooked.

namespace hearth::compilers {

struct TextAnswers {
    bool may_hold_the_time = false;
    bool may_hold_any_path = false;           // of any file that was read
    std::vector<bool> may_hold_its_own_path;  // for each text
};

struct SourceText {
    const TextFacts* facts = nullptr;
    std::string_view text{};
    // Gives the text where only its facts were at hand. It is needed of few.
    std::function<std::string_view()> read{};

    std::string_view whole() const { return read ? read() : text; }
};

// For all texts of a compile. In C nothing tells a function who calls it.
enum class Language : std::uint8_t { c, any };
TextAnswers ask_texts(std::span<const SourceText> sources, Language language = Language::any);

// Whether every word of `path` is where a directive may take it from, so that a text could name that path itself.
bool may_name(std::span<const SourceText> texts, std::string_view path);

}  // namespace hearth::compilers
