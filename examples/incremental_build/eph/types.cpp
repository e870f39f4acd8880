#include "types.hpp"

namespace eph {

std::string_view to_string(Type type)
{
    switch (type) {
    case Type::integer:
        return "int";
    case Type::real:
        return "float";
    case Type::boolean:
        return "bool";
    }
    return "?";
}

std::string to_string(const Signature& signature)
{
    std::string text = "(";
    for (const Type type : signature.parameters) {
        if (text.size() > 1)
            text += ", ";
        text += to_string(type);
    }
    return text.append(") -> ").append(to_string(signature.result));
}

}  // namespace eph
