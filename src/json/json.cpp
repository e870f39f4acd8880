#include "json/json.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>

namespace hearth {

namespace {

std::string text_of(const nlohmann::json& value)
{
    return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// Inserts before the closing bracket.
void insert(std::string& list, const std::string& text)
{
    const bool empty = list.size() == 2;
    list.insert(list.size() - 1, empty ? text : "," + text);
}

JsonValue::Kind kind_of(const nlohmann::json& read)
{
    switch (read.type()) {
    case nlohmann::json::value_t::null:
        return JsonValue::Kind::null;
    case nlohmann::json::value_t::boolean:
        return JsonValue::Kind::boolean;
    case nlohmann::json::value_t::string:
        return JsonValue::Kind::string;
    case nlohmann::json::value_t::array:
        return JsonValue::Kind::array;
    case nlohmann::json::value_t::object:
        return JsonValue::Kind::object;
    case nlohmann::json::value_t::binary:
    case nlohmann::json::value_t::discarded:
        return JsonValue::Kind::invalid;
    default:
        return JsonValue::Kind::number;
    }
}

void take(const nlohmann::json& read, JsonValue& value, int levels_left)
{
    value.kind = kind_of(read);
    if (read.is_string())
        value.text = read.get_ref<const std::string&>();
    else if (read.is_primitive())
        value.text = text_of(read);
    if (!read.is_structured() || levels_left == 0)
        return;
    for (const auto& item : read.items()) {
        take(item.value(), value.elements.emplace_back(), levels_left - 1);
        if (read.is_object())
            value.names.push_back(item.key());
    }
}

}  // namespace

Json::Json(double value) : m_text(text_of(value)) {}

Json::Json(std::string_view text) : m_text(text_of(text)) {}

Json::Json(const std::vector<std::string>& texts) : m_text("[]")
{
    for (const std::string& text : texts)
        add(text);
}

Json::Json(std::initializer_list<Member> members) : m_text("{}")
{
    for (const Member& member : members)
        add(member.name, member.value);
}

Json Json::array()
{
    return std::vector<std::string>{};
}

Json Json::object()
{
    return std::initializer_list<Member>{};
}

void Json::add(const Json& element)
{
    insert(m_text, element.m_text);
}

void Json::add(std::string_view name, const Json& value)
{
    insert(m_text, text_of(name) + ":" + value.m_text);
}

JsonValue JsonValue::parse(std::string_view text, Comments comments)
{
    static constexpr int k_max_levels = 32;  // a file of brackets must not cost the stack
    JsonValue value;
    take(nlohmann::json::parse(text, nullptr, false, comments == Comments::passed_over), value, k_max_levels);
    return value;
}

std::optional<std::size_t> JsonValue::first_mistake(std::string_view text, Comments comments)
{
    try {
        [[maybe_unused]] const nlohmann::json read =
            nlohmann::json::parse(text, nullptr, true, comments == Comments::passed_over);
        return std::nullopt;
    } catch (const nlohmann::json::parse_error& error) {
        return error.byte == 0 ? 0 : error.byte - 1;  // it counts from 1
    }
}

JsonValue::Places JsonValue::places_of_members(std::string_view text, Comments comments)
{
    Places places;
    std::istringstream stream{std::string(text)};
    const auto see = [&](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& read) {
        if (depth == 1 && event == nlohmann::json::parse_event_t::key)
            places[read.get_ref<const std::string&>()] =
                static_cast<std::size_t>(stream.tellg());  // the last one counts
        return true;
    };
    [[maybe_unused]] const nlohmann::json read =
        nlohmann::json::parse(stream, see, false, comments == Comments::passed_over);
    return places;
}

const JsonValue* JsonValue::find(std::string_view name) const
{
    const auto found = std::find(names.begin(), names.end(), name);
    return found != names.end() ? &elements[static_cast<std::size_t>(found - names.begin())] : nullptr;
}

std::string JsonValue::text_of(std::string_view name) const
{
    const JsonValue* const member = find(name);
    return member != nullptr && member->kind == Kind::string ? member->text : std::string();
}

double JsonValue::number_of(std::string_view name) const
{
    const JsonValue* const member = find(name);
    double value = 0;
    // strtod() would take the host program's decimal point.
    if (member != nullptr && member->kind == Kind::number)
        std::from_chars(member->text.data(), member->text.data() + member->text.size(), value);
    return value;
}

std::string_view to_string(JsonValue::Kind kind)
{
    switch (kind) {
    case JsonValue::Kind::invalid:
        return "mistake";
    case JsonValue::Kind::null:
        return "null";
    case JsonValue::Kind::boolean:
        return "boolean";
    case JsonValue::Kind::number:
        return "number";
    case JsonValue::Kind::string:
        return "string";
    case JsonValue::Kind::array:
        return "array";
    case JsonValue::Kind::object:
        return "object";
    }
    return "";
}

}  // namespace hearth
