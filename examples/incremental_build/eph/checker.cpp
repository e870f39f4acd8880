#include "checker.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace eph {

namespace {

std::string quoted(std::string_view name)
{
    return '"' + std::string(name) + '"';
}

// With its article: "an int".
std::string a_value_of(Type type)
{
    return (type == Type::integer ? "an " : "a ") + std::string(to_string(type));
}

std::string text_of(std::size_t count, std::string_view what)
{
    return std::to_string(count) + ' ' + std::string(what) + (count == 1 ? "" : "s");
}

class Checker {
public:
    explicit Checker(std::span<const ImportedInterface> imports) : m_given(imports) {}

    std::vector<Callee> check(ModuleDeclaration& module)
    {
        for (const ImportDeclaration& import : module.imports)
            add_import(import);
        for (const FunctionDeclaration& function : module.functions)
            if (!m_functions.emplace(function.name, function.signature()).second)
                throw CompileError{function.at, "There is already a function " + quoted(function.name) + "."};
        for (FunctionDeclaration& function : module.functions)
            check_function(function);
        return std::move(m_callees);
    }

private:
    struct Variable {
        std::string_view name;
        Type type;
    };

    void add_import(const ImportDeclaration& import)
    {
        const auto found = std::find_if(m_given.begin(), m_given.end(),
                                        [&](const ImportedInterface& given) { return given.name == import.name; });
        if (found == m_given.end() || !found->interface)
            throw CompileError{import.at, "There is no module " + quoted(import.name) + " to import."};
        if (!m_imports.emplace(import.name, found->interface).second)
            throw CompileError{import.at, "The module " + quoted(import.name) + " is imported twice."};
    }

    void check_function(FunctionDeclaration& function)
    {
        m_variables.clear();
        m_visible.clear();
        m_result = function.result;
        for (const Parameter& parameter : function.parameters)
            declare(parameter.name, parameter.type, parameter.at);
        if (!check_block(function.body))
            throw CompileError{function.end, "The function " + quoted(function.name) +
                                                 " can come to its end here without a \"return\"."};
        function.variables = static_cast<std::uint32_t>(m_variables.size());
    }

    std::uint32_t declare(std::string_view name, Type type, Offset at)
    {
        if (find_variable(name))
            throw CompileError{at, "There is already a variable " + quoted(name) + " here."};
        m_variables.push_back({name, type});
        m_visible.push_back(static_cast<std::uint32_t>(m_variables.size() - 1));
        return m_visible.back();
    }

    const std::uint32_t* find_variable(std::string_view name) const
    {
        const auto found = std::find_if(m_visible.rbegin(), m_visible.rend(),
                                        [&](std::uint32_t number) { return m_variables[number].name == name; });
        return found == m_visible.rend() ? nullptr : &*found;
    }

    std::uint32_t variable(std::string_view name, Offset at) const
    {
        if (const std::uint32_t* found = find_variable(name))
            return *found;
        throw CompileError{at, "There is no variable " + quoted(name) + " here."};
    }

    // Whether it returns on every path. What it declares ends with it.
    bool check_block(std::vector<Statement>& statements)
    {
        const std::size_t visible_before = m_visible.size();
        bool returned = false;
        for (Statement& statement : statements) {
            if (returned)
                throw CompileError{statement.at, "This is never reached: what stands before it has returned."};
            returned = check_statement(statement);
        }
        m_visible.resize(visible_before);
        return returned;
    }

    bool check_statement(Statement& statement)
    {
        Expression& value = statement.value;
        check_expression(value);
        switch (statement.kind) {
        case Statement::Kind::let:
            if (statement.declared)
                convert(value, *statement.declared);
            statement.variable = declare(statement.name, value.type, statement.at);
            return false;
        case Statement::Kind::assign:
            statement.variable = variable(statement.name, statement.at);
            convert(value, m_variables[statement.variable].type);
            return false;
        case Statement::Kind::choose: {
            convert(value, Type::boolean);
            const bool returned = check_block(statement.body);
            return check_block(statement.otherwise) && returned;
        }
        case Statement::Kind::loop:
            convert(value, Type::boolean);
            check_block(statement.body);
            return false;  // it may not run at all
        case Statement::Kind::give_back:
            convert(value, m_result);
            return true;
        case Statement::Kind::call:
            break;
        }
        return false;
    }

    // Makes a value of the wanted type of it. Only an int becomes something else by itself: a float.
    static void convert(Expression& value, Type wanted)
    {
        if (value.type == wanted)
            return;
        if (value.type != Type::integer || wanted != Type::real)
            throw CompileError{value.at,
                               "This is " + a_value_of(value.type) + ", where " + a_value_of(wanted) + " is wanted."};
        Expression whole{.kind = Expression::Kind::convert, .at = value.at, .type = Type::real};
        whole.operands.push_back(std::move(value));
        value = std::move(whole);
    }

    void check_expression(Expression& expression)
    {
        for (Expression& operand : expression.operands)
            check_expression(operand);
        switch (expression.kind) {
        case Expression::Kind::integer:
        case Expression::Kind::real:
        case Expression::Kind::boolean:
            return;
        case Expression::Kind::variable:
            expression.number = variable(expression.name, expression.at);
            expression.type = m_variables[expression.number].type;
            return;
        case Expression::Kind::negate:
            expression.type = expression.operands[0].type;
            if (expression.type == Type::boolean)
                throw CompileError{expression.at, "There is no negative of a bool. \"!\" inverts it."};
            return;
        case Expression::Kind::invert:
            convert(expression.operands[0], Type::boolean);
            expression.type = Type::boolean;
            return;
        case Expression::Kind::binary:
            return check_binary(expression);
        case Expression::Kind::call:
            return check_call(expression);
        case Expression::Kind::convert:
            if (expression.type == Type::boolean || expression.operands[0].type == Type::boolean)
                throw CompileError{expression.at, "A bool and a number do not convert into each other."};
            return;
        }
    }

    static void check_binary(Expression& expression)
    {
        Expression& left = expression.operands[0];
        Expression& right = expression.operands[1];
        const Operator op = expression.op;
        if (op == Operator::both || op == Operator::either) {
            convert(left, Type::boolean);
            convert(right, Type::boolean);
            expression.type = Type::boolean;
            return;
        }
        const bool equality = op == Operator::equal || op == Operator::not_equal;
        const bool booleans = left.type == Type::boolean || right.type == Type::boolean;
        if (booleans && !(equality && left.type == right.type))
            throw CompileError{expression.at, "This operator takes no " + std::string(to_string(left.type)) +
                                                  " on its left with " + a_value_of(right.type) + " on its right."};
        if (left.type != right.type)
            convert(left.type == Type::integer ? left : right, Type::real);
        if (op == Operator::remainder && left.type == Type::real)
            throw CompileError{expression.at, "A remainder is of two ints; one of these is a float."};
        expression.type = op >= Operator::equal ? Type::boolean : left.type;
    }

    void check_call(Expression& call)
    {
        const Signature& signature = signature_of(call);
        const std::size_t wanted = signature.parameters.size();
        if (call.operands.size() != wanted)
            throw CompileError{call.at, quoted(call.name) + " takes " + text_of(wanted, "argument") + ", and " +
                                            text_of(call.operands.size(), "argument") +
                                            (call.operands.size() == 1 ? " is given." : " are given.")};
        for (std::size_t i = 0; i < wanted; ++i)
            convert(call.operands[i], signature.parameters[i]);
        call.type = signature.result;
        call.number = callee({std::string(call.module), std::string(call.name), signature});
    }

    const Signature& signature_of(const Expression& call) const
    {
        if (call.module.empty()) {
            if (const auto found = m_functions.find(call.name); found != m_functions.end())
                return found->second;
            throw CompileError{call.at, "There is no function " + quoted(call.name) + " in this module."};
        }
        const auto import = m_imports.find(call.module);
        if (import == m_imports.end())
            throw CompileError{call.at, "The module " + quoted(call.module) + " is not imported. Add \"import " +
                                            std::string(call.module) + ";\" at the top."};
        if (const Signature* found = import->second->find(call.name))
            return *found;
        throw CompileError{call.at,
                           "The module " + quoted(call.module) + " exports no function " + quoted(call.name) + "."};
    }

    std::uint32_t callee(Callee wanted)
    {
        const auto found = std::find(m_callees.begin(), m_callees.end(), wanted);
        const auto number = static_cast<std::uint32_t>(found - m_callees.begin());
        if (found == m_callees.end())
            m_callees.push_back(std::move(wanted));
        return number;
    }

    std::span<const ImportedInterface> m_given;
    std::map<std::string_view, const Interface*> m_imports;
    std::map<std::string_view, Signature> m_functions;
    std::vector<Callee> m_callees;
    // Of the function at hand: all of its variables by number, and which of them can be seen now.
    std::vector<Variable> m_variables;
    std::vector<std::uint32_t> m_visible;
    Type m_result = Type::integer;
};

}  // namespace

std::vector<Callee> check(ModuleDeclaration& module, std::span<const ImportedInterface> imports)
{
    return Checker(imports).check(module);
}

}  // namespace eph
