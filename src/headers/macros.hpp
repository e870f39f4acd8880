#pragma once

#include "headers/scan.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hearth::headers {

// Every definition of every macro that a request can see. Which of them holds where is not asked: all of them may.
class Macros {
public:
    void add(const Macro& macro);

    // Every header that `text` may come to name ("<a/b.h>" as it would stand in a directive), whichever definitions
    // hold. None when that cannot be told: too many, or macros with arguments take part.
    std::optional<std::set<std::string>> expand(std::string_view text) const;

    // Macros that ask for the header they are given: `#define HAS(x) __has_include(x)`.
    std::vector<std::string> questions() const;

    // The macros whose expansion may contain one of `seeds`, and, with `pasting`, those that put names together and so
    // may make any.
    enum class Pasting : std::uint8_t { ignored, makes_anything };
    std::set<std::string, std::less<>> that_may_become(const std::set<std::string, std::less<>>& seeds,
                                                       Pasting pasting) const;

private:
    struct Definition {
        bool takes_arguments;
        std::vector<std::string> parameters;
        std::string body;
        friend bool operator==(const Definition&, const Definition&) = default;
    };
    bool expand_into(std::string_view text, int depth, std::set<std::string>& out) const;

    std::unordered_map<std::string, std::vector<Definition>> m_definitions;
};

}  // namespace hearth::headers
