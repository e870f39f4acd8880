#include "terminal/json.hpp"

#include <nlohmann/json.hpp>

namespace hearth::cli {

namespace {

std::string text_of(const nlohmann::json& value)
{
    return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// Before the bracket that closes it.
void insert(std::string& list, const std::string& text)
{
    const bool empty = list.size() == 2;
    list.insert(list.size() - 1, empty ? text : "," + text);
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

}  // namespace hearth::cli
