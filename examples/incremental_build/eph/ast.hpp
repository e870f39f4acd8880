#pragma once

#include "error.hpp"
#include "types.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// A module as it was written. Names are parts of the source, which has to outlive it. What the checker finds out is
// written beside what the parser read, so that lowering looks nothing up.

namespace eph {

enum class Operator : std::uint8_t {
    add,
    subtract,
    multiply,
    divide,
    remainder,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    both,    // &&
    either,  // ||
};

struct Expression {
    enum class Kind : std::uint8_t { integer, real, boolean, variable, negate, invert, binary, call, convert };

    Kind kind = Kind::integer;
    Operator op = Operator::add;
    Offset at = 0;
    std::uint32_t height = 1;            // of the tree below it: bounds how deep later stages recurse
    std::uint64_t bits = 0;              // of a literal: two's complement, IEEE 754, or 0 and 1
    std::string_view module{};           // of a call; empty: a function of the same module
    std::string_view name{};             // of a variable or a call
    std::vector<Expression> operands{};  // one, two, or the arguments

    Type type = Type::integer;  // checked; of a literal and a conversion as parsed
    std::uint32_t number = 0;   // checked: which variable of the function, or which callee of the module
};

struct Statement {
    enum class Kind : std::uint8_t { let, assign, choose, loop, give_back, call };

    Kind kind = Kind::call;
    Offset at = 0;
    std::string_view name{};             // let, assign
    std::optional<Type> declared{};      // let
    Expression value{};                  // what is assigned, asked, returned or called
    std::vector<Statement> body{};       // choose, loop
    std::vector<Statement> otherwise{};  // choose

    std::uint32_t variable = 0;  // checked: let, assign
};

struct Parameter {
    std::string_view name;
    Type type = Type::integer;
    Offset at = 0;
};

struct FunctionDeclaration {
    bool exported = false;
    std::string_view name;
    Offset at = 0;
    std::vector<Parameter> parameters;
    Type result = Type::integer;
    std::vector<Statement> body;
    Offset end = 0;  // of the brace that closes it

    std::uint32_t variables = 0;  // checked; the parameters are the first of them

    Signature signature() const
    {
        Signature made{{}, result};
        for (const Parameter& parameter : parameters)
            made.parameters.push_back(parameter.type);
        return made;
    }
};

struct ImportDeclaration {
    std::string_view name;
    Offset at = 0;
};

struct ModuleDeclaration {
    std::vector<ImportDeclaration> imports;
    std::vector<FunctionDeclaration> functions;
};

}  // namespace eph
