#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

// A JSON text while it is put together: {{"name", value}, ...} is an object. Values convert by themselves.
// Its text is one line of ASCII: valid JSON and harmless on a terminal, whatever bytes its strings hold.
// (nlohmann's own values cost each file that makes one seconds to compile; json.cpp asks it for what is hard.)
class Json {
public:
    struct Member;

    Json(std::nullptr_t = nullptr) : m_text("null") {}
    Json(std::same_as<bool> auto value) : m_text(value ? "true" : "false") {}
    template <std::integral Number>
    requires(!std::same_as<Number, bool>) Json(Number value) : m_text(std::to_string(value)) {}
    Json(double value);
    Json(std::string_view text);
    Json(const std::string& text) : Json(std::string_view(text)) {}
    Json(const char* text) : Json(std::string_view(text)) {}
    Json(const std::vector<std::string>& texts);
    Json(std::initializer_list<Member> members);

    static Json array();
    static Json object();
    // One element for each of a list, as `to_json` gives it.
    template <class List, class ToJson>
    static Json array_of(const List& list, ToJson to_json)
    {
        Json all = array();
        for (const auto& element : list)
            all.add(to_json(element));
        return all;
    }

    // To an array.
    void add(const Json& element);
    // To an object, behind what is there. A name is given once.
    void add(std::string_view name, const Json& value);

    const std::string& text() const { return m_text; }

private:
    std::string m_text;
};

struct Json::Member {
    std::string_view name;
    Json value;
};

}  // namespace hearth::cli
