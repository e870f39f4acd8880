#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// A JSON text that is being put together: {{"name", value}, ...} is an object. Values convert implicitly.
// Its text is one line of ASCII: valid JSON and harmless on a terminal, whatever bytes its strings hold.
// (A file that uses nlohmann's own values takes seconds longer to compile, so only json.cpp does.)
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
    // An array with what `to_json` returns for each element of a list.
    template <class List, class ToJson>
    static Json array_of(const List& list, ToJson to_json)
    {
        Json all = array();
        for (const auto& element : list)
            all.add(to_json(element));
        return all;
    }

    // Adds to an array.
    void add(const Json& element);
    // Adds to an object, behind what is there. Each name is given only once.
    void add(std::string_view name, const Json& value);

    const std::string& text() const { return m_text; }

private:
    std::string m_text;
};

struct Json::Member {
    std::string_view name;
    Json value;
};

// A JSON text that was read.
struct JsonValue {
    enum class Kind { invalid, null, boolean, number, string, array, object };
    enum class Comments { refused, passed_over };

    Kind kind = Kind::invalid;
    std::string text{};                 // a string's characters; a number or a boolean as JSON writes it
    std::vector<JsonValue> elements{};  // of an array or an object
    std::vector<std::string> names{};   // of an object's elements, one each

    // Invalid if `text` is no JSON. What is nested more deeply than anything of ours is left out.
    static JsonValue parse(std::string_view text, Comments comments = Comments::refused);

    // Where `text` stops being JSON, in bytes from its start; none: it is JSON.
    static std::optional<std::size_t> first_mistake(std::string_view text, Comments comments = Comments::refused);

    // Where the name of each member of an object ends, in bytes from the start of `text`.
    using Places = std::map<std::string, std::size_t, std::less<>>;
    static Places places_of_members(std::string_view text, Comments comments = Comments::refused);

    bool is_object() const { return kind == Kind::object; }
    // Null if it is no object or has no such member.
    const JsonValue* find(std::string_view name) const;
    // The value of a member; empty or 0 if there is none of that kind.
    std::string text_of(std::string_view name) const;
    double number_of(std::string_view name) const;
};

// "object", as a message says it.
std::string_view to_string(JsonValue::Kind kind);

}  // namespace hearth
