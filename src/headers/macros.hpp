#pragma once

#include "headers/scan.hpp"

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hearth::headers {

// Every definition of every macro that a request can see. Any of them may hold at any place.
class Macros {
public:
    using Words = std::set<std::string, std::less<>>;
    struct Definition {
        bool takes_arguments;
        std::vector<std::string> parameters;
        std::string body;
        friend bool operator==(const Definition&, const Definition&) = default;
    };

    void add(const Macro& macro);
    std::span<const Definition> definitions_of(const std::string& name) const;

    // Every header that `text` may expand to, as in a directive ("<a/b.h>"), whichever definitions hold. None if that
    // cannot be told: there are too many, or macros with arguments are involved.
    std::optional<std::set<std::string>> expand(std::string_view text) const;

    // Macros that ask for the header they are given: `#define HAS(x) __has_include(x)`.
    std::vector<std::string> questions() const;

    // Visits every definition with its macro's name. The name stays valid as long as no macro is added.
    template <class Visit>
    void for_each(Visit&& visit) const
    {
        for (const auto& [name, definitions] : m_definitions)
            for (const Definition& definition : definitions)
                visit(name, definition);
    }

private:
    bool expand_into(std::string_view text, int depth, std::set<std::string>& out) const;

    std::unordered_map<std::string, std::vector<Definition>> m_definitions;
};

}  // namespace hearth::headers
