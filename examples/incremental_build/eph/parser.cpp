#include "parser.hpp"

#include "lexer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

namespace eph {

namespace {

// How deep blocks, parentheses and expressions may nest: every stage recurses as deep.
constexpr std::uint32_t k_max_depth = 200;
// An Offset has to reach its end.
constexpr std::size_t k_max_bytes = std::size_t{64} << 20U;

struct BinaryOperator {
    std::string_view text;
    Operator op;
    int precedence;  // the higher, the tighter
};
constexpr std::array<BinaryOperator, 13> k_binary{{
    {"||", Operator::either, 1},
    {"&&", Operator::both, 2},
    {"==", Operator::equal, 3},
    {"!=", Operator::not_equal, 3},
    {"<", Operator::less, 4},
    {"<=", Operator::less_equal, 4},
    {">", Operator::greater, 4},
    {">=", Operator::greater_equal, 4},
    {"+", Operator::add, 5},
    {"-", Operator::subtract, 5},
    {"*", Operator::multiply, 6},
    {"/", Operator::divide, 6},
    {"%", Operator::remainder, 6},
}};

std::optional<Type> type_named(std::string_view name)
{
    for (const Type type : {Type::integer, Type::real, Type::boolean})
        if (to_string(type) == name)
            return type;
    return std::nullopt;
}

std::string quoted(const Token& token)
{
    return token.kind == Token::Kind::end ? "the end of the file" : '"' + std::string(token.text) + '"';
}

// Recursive descent, one token ahead.
class Parser {
public:
    Parser(std::string_view source, Bodies bodies) : m_lexer(source), m_bodies(bodies) { advance(); }

    ModuleDeclaration module()
    {
        ModuleDeclaration made;
        while (sees("import")) {
            const Offset at = advance().at;
            made.imports.push_back({name("the name of a module"), at});
            expect(";");
        }
        while (m_token.kind != Token::Kind::end)
            made.functions.push_back(function());
        return made;
    }

private:
    // Counts how deep the parser itself is, as long as it lives.
    class Nesting {
    public:
        explicit Nesting(Parser& parser) : m_parser(parser)
        {
            if (++m_parser.m_depth > k_max_depth)
                throw CompileError{m_parser.m_token.at,
                                   "This nests deeper than " + std::to_string(k_max_depth) + " levels."};
        }
        ~Nesting() { --m_parser.m_depth; }
        Nesting(const Nesting&) = delete;
        Nesting& operator=(const Nesting&) = delete;

    private:
        Parser& m_parser;
    };

    Token advance() { return std::exchange(m_token, m_lexer.next()); }

    bool sees(std::string_view text) const
    {
        return (m_token.kind == Token::Kind::symbol || m_token.kind == Token::Kind::keyword) && m_token.text == text;
    }
    bool accept(std::string_view text)
    {
        const bool seen = sees(text);
        if (seen)
            advance();
        return seen;
    }
    [[noreturn]] void refuse(std::string_view wanted) const
    {
        throw CompileError{m_token.at, "Expected " + std::string(wanted) + ", found " + quoted(m_token) + "."};
    }
    Offset expect(std::string_view text)
    {
        if (!sees(text))
            refuse('"' + std::string(text) + '"');
        return advance().at;
    }
    std::string_view name(std::string_view wanted)
    {
        if (m_token.kind != Token::Kind::name)
            refuse(wanted);
        return advance().text;
    }
    Type type()
    {
        const std::optional<Type> found = type_named(m_token.text);
        if (!found)
            refuse("a type (int, float or bool)");
        advance();
        return *found;
    }

    FunctionDeclaration function()
    {
        FunctionDeclaration made;
        made.exported = accept("export");
        if (!sees("fn"))
            refuse(made.exported ? "\"fn\"" : "a function");
        advance();
        made.at = m_token.at;
        made.name = name("the name of a function");
        expect("(");
        if (!sees(")"))
            do
                made.parameters.push_back(parameter());
            while (accept(","));
        expect(")");
        expect("->");
        made.result = type();
        if (m_bodies == Bodies::skipped && sees("{")) {
            m_lexer.skip_block(m_token);
            advance();
        } else {
            made.body = block(&made.end);
        }
        return made;
    }

    Parameter parameter()
    {
        const Offset at = m_token.at;
        const std::string_view named = name("the name of a parameter");
        expect(":");
        return {named, type(), at};
    }

    std::vector<Statement> block(Offset* end = nullptr)
    {
        const Nesting nesting(*this);
        const Offset open = expect("{");
        std::vector<Statement> statements;
        while (!sees("}")) {
            if (m_token.kind == Token::Kind::end)
                throw CompileError{open, "This \"{\" is never closed."};
            statements.push_back(statement());
        }
        const Offset closed = advance().at;
        if (end)
            *end = closed;
        return statements;
    }

    Statement statement()
    {
        Statement made{.at = m_token.at};
        if (sees("if"))
            return choice();
        if (accept("while")) {
            made.kind = Statement::Kind::loop;
            made.value = expression();
            made.body = block();
            return made;
        }
        if (accept("let")) {
            made.kind = Statement::Kind::let;
            made.name = name("the name of a variable");
            if (accept(":"))
                made.declared = type();
            expect("=");
            made.value = expression();
        } else if (accept("return")) {
            made.kind = Statement::Kind::give_back;
            made.value = expression();
        } else {
            const Token first = m_token;
            made.name = name("a statement");
            if (accept("=")) {
                made.kind = Statement::Kind::assign;
                made.value = expression();
            } else {
                made.kind = Statement::Kind::call;
                made.value = call(first);
            }
        }
        expect(";");
        return made;
    }

    Statement choice()
    {
        Statement made{.kind = Statement::Kind::choose, .at = expect("if")};
        made.value = expression();
        made.body = block();
        if (accept("else")) {
            const Nesting nesting(*this);  // "else if" makes blocks within blocks without any braces
            if (sees("if"))
                made.otherwise.push_back(choice());
            else
                made.otherwise = block();
        }
        return made;
    }

    const BinaryOperator* binary_operator() const
    {
        const auto found = std::find_if(k_binary.begin(), k_binary.end(),
                                        [this](const BinaryOperator& candidate) { return sees(candidate.text); });
        return found == k_binary.end() ? nullptr : &*found;
    }

    // Of operators at least as tight as `precedence`.
    Expression expression(int precedence = 1)
    {
        Expression left = operand();
        for (const BinaryOperator* op = binary_operator(); op && op->precedence >= precedence; op = binary_operator()) {
            Expression whole{.kind = Expression::Kind::binary, .op = op->op, .at = advance().at};
            whole.operands.push_back(std::move(left));
            whole.operands.push_back(expression(op->precedence + 1));
            left = measured(std::move(whole));
        }
        return left;
    }

    // Operators in a row make a high tree without any nesting in the source.
    Expression measured(Expression made) const
    {
        for (const Expression& operand : made.operands)
            made.height = std::max(made.height, operand.height + 1);
        if (made.height > k_max_depth)
            throw CompileError{made.at, "This expression has more than " + std::to_string(k_max_depth) +
                                            " levels. Put a part of it into a variable."};
        return made;
    }

    Expression operand()
    {
        const Nesting nesting(*this);
        const Token token = m_token;
        if (accept("(")) {
            Expression inner = expression();
            expect(")");
            return inner;
        }
        if (sees("-") || sees("!")) {
            Expression made{.kind = sees("-") ? Expression::Kind::negate : Expression::Kind::invert,
                            .at = advance().at};
            made.operands.push_back(operand());
            return measured(std::move(made));
        }
        if (sees("true") || sees("false"))
            return {.kind = Expression::Kind::boolean,
                    .at = token.at,
                    .bits = advance().text == "true" ? 1U : 0U,
                    .type = Type::boolean};
        if (token.kind == Token::Kind::integer || token.kind == Token::Kind::real)
            return number(advance());
        const std::string_view variable = name("an expression");
        if (sees("(") || sees("."))
            return call(token);
        return {.kind = Expression::Kind::variable, .at = token.at, .name = variable};
    }

    static Expression number(const Token& token)
    {
        const char* const end = token.text.data() + token.text.size();
        if (token.kind == Token::Kind::real) {
            double value = 0;
            if (std::from_chars(token.text.data(), end, value).ec != std::errc{})
                throw CompileError{token.at, "The number " + std::string(token.text) + " does not fit into a float."};
            return {.kind = Expression::Kind::real,
                    .at = token.at,
                    .bits = std::bit_cast<std::uint64_t>(value),
                    .type = Type::real};
        }
        std::int64_t value = 0;
        if (std::from_chars(token.text.data(), end, value).ec != std::errc{})
            throw CompileError{token.at, "The number " + std::string(token.text) +
                                             " does not fit into an int, which ends at " +
                                             std::to_string(std::numeric_limits<std::int64_t>::max()) + "."};
        return {.kind = Expression::Kind::integer, .at = token.at, .bits = static_cast<std::uint64_t>(value)};
    }

    // `first` is its first name, and has been read.
    Expression call(const Token& first)
    {
        Expression made{.kind = Expression::Kind::call, .at = first.at, .name = first.text};
        if (accept(".")) {
            made.module = first.text;
            made.name = name("the name of a function");
        }
        expect("(");
        if (!sees(")"))
            do
                made.operands.push_back(expression());
            while (accept(","));
        const Offset close = expect(")");
        if (const std::optional<Type> target = made.module.empty() ? type_named(made.name) : std::nullopt) {
            if (made.operands.size() != 1)
                throw CompileError{close, "A conversion to " + std::string(made.name) + " takes one value."};
            made.kind = Expression::Kind::convert;
            made.type = *target;
        }
        return measured(std::move(made));
    }

    Lexer m_lexer;
    Bodies m_bodies;
    Token m_token;
    std::uint32_t m_depth = 0;
};

}  // namespace

ModuleDeclaration parse(std::string_view source, Bodies bodies)
{
    if (source.size() > k_max_bytes)
        throw CompileError{0, "This file has " + std::to_string(source.size()) + " bytes, and " +
                                  std::to_string(k_max_bytes) + " is the most. Make two of it."};
    return Parser(source, bodies).module();
}

}  // namespace eph
