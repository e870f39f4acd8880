#include "compiler.hpp"

#include "ir.hpp"

#include <algorithm>
#include <span>

namespace eph {

namespace {

// Raise it with every change that gives other IR.
constexpr std::uint64_t k_compiler_version = 1;

using Values = std::vector<Value>;

// One function's code as it grows. What is known is folded, and what is there already is not computed twice.
class FunctionCode {
public:
    explicit FunctionCode(std::string_view name) { emit({.op = Op::entry, .number = symbol(name)}); }

    Value emit(const Operation& operation)
    {
        const auto [known, is_new] = m_known.try_emplace(operation, static_cast<Value>(m_code.size()));
        if (is_new)
            m_code.push_back(operation);
        return known->second;
    }
    Value constant(std::uint64_t number) { return emit({.op = Op::constant, .number = number}); }
    Value arithmetic(Op op, Value left, Value right)
    {
        // What can be written in two ways is written in one, with the constant on the right.
        if (is_constant(left) || (left > right && !is_constant(right)))
            std::swap(left, right);
        if (is_constant(right)) {
            const Operation inner = m_code[left];
            const std::uint64_t number = m_code[right].number;
            if (inner.op == Op::constant)
                return constant(op == Op::add ? inner.number + number : inner.number * number);
            if (inner.op == op && is_constant(inner.right))  // (x + 1) + 2 is x + 3
                return arithmetic(op, inner.left, arithmetic(op, inner.right, right));
        }
        return emit({op, left, right});
    }
    const Code& code() const { return m_code; }

private:
    bool is_constant(Value value) const { return m_code[value].op == Op::constant; }

    Code m_code;
    std::map<Operation, Value> m_known;
};

class Compiler {
public:
    explicit Compiler(const Unit& unit) : m_unit(unit) {}

    Code compile()
    {
        Code code;
        for (const Function& function : m_unit.source.functions) {
            m_place = function.place;
            m_code = FunctionCode(function.name);
            Values parameters;
            for (std::size_t i = 0; i < function.parameters.size(); ++i)
                parameters.push_back(m_code.emit({.op = Op::parameter, .number = i}));
            m_code.emit({.op = Op::give_back, .left = result_of(function, parameters)});
            if (function.exported)
                code.insert(code.end(), m_code.code().begin(), m_code.code().end());
            if (!m_above.emplace(function.name, &function).second)
                fail("There is a function " + function.name + " above.");
        }
        return code;
    }

private:
    Value result_of(const Function& function, const Values& arguments)
    {
        Values stack;
        for (const std::string& word : function.body) {
            const auto& names = function.parameters;
            const auto which = static_cast<std::size_t>(std::find(names.begin(), names.end(), word) - names.begin());
            stack.push_back(which < names.size() ? arguments[which] : value_of(word, stack));
        }
        if (stack.size() != 1)
            fail(function.name + " gives " + std::to_string(stack.size()) + " values, where one is wanted.");
        return stack.front();
    }

    // Takes what the word works on from the stack.
    Value value_of(const std::string& word, Values& stack)
    {
        const auto take = [&](std::size_t count) {
            if (stack.size() < count)
                fail(word + " takes " + std::to_string(count) + " values, and too few stand before it.");
            Values taken(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
            stack.resize(stack.size() - count);
            return taken;
        };
        if (const std::optional<std::uint64_t> number = number_in(word))
            return m_code.constant(*number);
        if (word == "+" || word == "-" || word == "*") {
            Values operands = take(2);
            if (word == "-")
                operands[1] = m_code.arithmetic(Op::multiply, operands[1], m_code.constant(-1ULL));
            return m_code.arithmetic(word == "*" ? Op::multiply : Op::add, operands[0], operands[1]);
        }
        if (const auto above = m_above.find(word); above != m_above.end())
            return result_of(*above->second, take(above->second->parameters.size()));

        const auto imported = m_unit.imports.find(word);
        if (imported == m_unit.imports.end())
            fail("There is nothing named " + word + " here.");
        if (!imported->second.body.empty())
            return result_of(imported->second, {});
        Values operands = take(imported->second.parameters.size());
        operands.resize(2, k_none);
        return m_code.emit({Op::call, operands[0], operands[1], symbol(word)});
    }

    [[noreturn]] void fail(const std::string& sentence) const { throw Problem(m_place + ": " + sentence); }

    const Unit& m_unit;
    std::map<std::string, const Function*> m_above;
    FunctionCode m_code{""};
    std::string m_place;
};

}  // namespace

hearth::Request Unit::request() const
{
    std::vector<std::string> interfaces;
    for (const auto& [name, function] : imports)
        interfaces.push_back(name + " " + std::to_string(function.parameters.size()) +
                             (function.body.empty() ? "" : " = " + function.body.front()));
    return hearth::KeyBuilder("eph-ir")
        .number("compiler version", k_compiler_version)
        .text("source", source.text)
        .list("imported interfaces", interfaces)
        .build();
}

hearth::Result<hearth::Bytes> compile(const Unit& unit)
try {
    return hearth::Bytes::copy_of(std::as_bytes(std::span<const Operation>(Compiler(unit).compile())));
} catch (const Problem& problem) {
    return hearth::Error{hearth::Code::compile_failed, problem.what(), {}};
}

}  // namespace eph
