#pragma once

#include "ast.hpp"

#include <cstdint>
#include <string_view>

// module     = { "import" name ";" } { function }
// function   = [ "export" ] "fn" name "(" [ parameter { "," parameter } ] ")" "->" type block
// parameter  = name ":" type
// type       = "int" | "float" | "bool"
// block      = "{" { statement } "}"
// statement  = "let" name [ ":" type ] "=" expression ";" | name "=" expression ";" | call ";"
//            | "if" expression block [ "else" ( block | if ) ] | "while" expression block | "return" expression ";"
// expression = operands joined by || && == != < <= > >= + - * / %, the loosest first, all from left to right
// operand    = [ "-" | "!" ] ( number | "true" | "false" | name | call | "(" expression ")" )
// call       = [ name "." ] name "(" [ expression { "," expression } ] ")"; int(x) and float(x) convert

namespace eph {

enum class Bodies : std::uint8_t {
    read,
    skipped,  // only what stands around them is read: an interface needs no more
};

// Throws a CompileError.
ModuleDeclaration parse(std::string_view source, Bodies bodies = Bodies::read);

}  // namespace eph
