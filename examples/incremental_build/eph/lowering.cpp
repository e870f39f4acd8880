#include "lowering.hpp"

#include <optional>
#include <utility>

namespace eph {

namespace {

// Variables, by number, that the statements assign to.
void find_assigned(const std::vector<Statement>& statements, std::vector<bool>& assigned)
{
    for (const Statement& statement : statements) {
        if (statement.kind == Statement::Kind::assign)
            assigned[statement.variable] = true;
        find_assigned(statement.body, assigned);
        find_assigned(statement.otherwise, assigned);
    }
}

Op op_of(Operator op)
{
    switch (op) {
    case Operator::add:
        return Op::add;
    case Operator::subtract:
        return Op::subtract;
    case Operator::multiply:
        return Op::multiply;
    case Operator::divide:
        return Op::divide;
    case Operator::remainder:
        return Op::remainder;
    case Operator::equal:
        return Op::equal;
    case Operator::not_equal:
        return Op::not_equal;
    case Operator::less_equal:
    case Operator::greater_equal:
        return Op::less_equal;
    default:
        return Op::less;
    }
}

// One function. The language has no goto, so the blocks that need parameters are known as they are made: where two
// branches meet, one for each variable they left different; at the head of a loop, one for each it assigns to.
class Lowering {
public:
    explicit Lowering(const FunctionDeclaration& source) : m_source(source), m_now(source.variables) {}

    Function run()
    {
        m_function.name = m_source.name;
        m_function.exported = m_source.exported;
        m_function.signature = m_source.signature();
        enter(new_block());
        for (std::size_t i = 0; i < m_source.parameters.size(); ++i)
            m_now[i] = new_parameter(m_block, m_source.parameters[i].type);
        lower_block(m_source.body);
        return std::move(m_function);
    }

private:
    // What each variable is worth at some place; empty where it is not declared.
    using Variables = std::vector<std::optional<Value>>;

    BlockNumber new_block()
    {
        m_function.blocks.emplace_back();
        return static_cast<BlockNumber>(m_function.blocks.size() - 1);
    }
    Value new_parameter(BlockNumber block, Type type)
    {
        const Value value = m_function.add({.op = Op::parameter, .type = type});
        m_function.blocks[block].parameters.push_back(value);
        return value;
    }
    Value append(const Instruction& instruction)
    {
        const Value value = m_function.add(instruction);
        block().body.push_back(value);
        return value;
    }
    Value constant(Type type, std::uint64_t bits) { return append({.op = Op::constant, .type = type, .bits = bits}); }

    Block& block() { return m_function.blocks[m_block]; }
    void enter(BlockNumber number)
    {
        m_block = number;
        m_returned = false;
    }
    void jump(Jump to)
    {
        block().end = Block::End::jump;
        block().next = std::move(to);
    }
    void branch(Value asked, Jump next, Jump otherwise)
    {
        block().end = Block::End::branch;
        block().value = asked;
        block().next = std::move(next);
        block().otherwise = std::move(otherwise);
    }

    void lower_block(const std::vector<Statement>& statements)
    {
        for (const Statement& statement : statements)
            lower_statement(statement);
    }

    void lower_statement(const Statement& statement)
    {
        switch (statement.kind) {
        case Statement::Kind::let:
        case Statement::Kind::assign:
            m_now[statement.variable] = lower_expression(statement.value);
            break;
        case Statement::Kind::choose:
            lower_choice(statement);
            break;
        case Statement::Kind::loop:
            lower_loop(statement);
            break;
        case Statement::Kind::give_back: {
            const Value value = lower_expression(statement.value);
            block().end = Block::End::give_back;
            block().value = value;
            m_returned = true;
            break;
        }
        case Statement::Kind::call:
            lower_expression(statement.value);
            break;
        }
    }

    void lower_choice(const Statement& statement)
    {
        const Value asked = lower_expression(statement.value);
        const BlockNumber next = new_block();
        const BlockNumber otherwise = new_block();
        branch(asked, {next}, {otherwise});
        const Variables before = m_now;

        enter(next);
        lower_block(statement.body);
        const bool next_returned = m_returned;
        const BlockNumber next_end = m_block;
        const Variables after_next = std::exchange(m_now, before);

        enter(otherwise);
        lower_block(statement.otherwise);
        if (next_returned)
            return;  // what follows belongs to the other branch alone, or to nobody
        if (m_returned) {
            m_now = after_next;
            enter(next_end);
            return;
        }
        meet(before, next_end, after_next);
    }

    // Goes on where the block at hand and `other` come together, which saw the variables as `others`.
    void meet(const Variables& before, BlockNumber other, const Variables& others)
    {
        Jump here{new_block()};
        Jump there{here.target};
        Variables after = before;
        for (std::size_t i = 0; i < before.size(); ++i) {
            if (!before[i])
                continue;  // declared in one of the branches: not to be seen from here
            after[i] = m_now[i];
            if (m_now[i] == others[i])
                continue;
            here.arguments.push_back(*m_now[i]);
            there.arguments.push_back(*others[i]);
            after[i] = new_parameter(here.target, m_function.values[*m_now[i]].type);
        }
        const BlockNumber target = here.target;
        jump(std::move(here));
        enter(other);
        jump(std::move(there));
        enter(target);
        m_now = std::move(after);
    }

    void lower_loop(const Statement& statement)
    {
        std::vector<bool> assigned(m_now.size());
        find_assigned(statement.body, assigned);
        const BlockNumber head = new_block();
        Jump first{head};
        for (std::size_t i = 0; i < m_now.size(); ++i) {
            if (!assigned[i] || !m_now[i])
                continue;
            first.arguments.push_back(*m_now[i]);
            m_now[i] = new_parameter(head, m_function.values[*m_now[i]].type);
        }
        const Variables at_head = m_now;
        jump(std::move(first));
        enter(head);
        const Value asked = lower_expression(statement.value);
        const BlockNumber body = new_block();
        const BlockNumber after = new_block();
        branch(asked, {body}, {after});

        enter(body);
        lower_block(statement.body);
        if (!m_returned) {
            Jump again{head};
            for (std::size_t i = 0; i < at_head.size(); ++i)
                if (assigned[i] && at_head[i])
                    again.arguments.push_back(*m_now[i]);
            jump(std::move(again));
        }
        m_now = at_head;
        enter(after);
    }

    Value lower_expression(const Expression& expression)
    {
        switch (expression.kind) {
        case Expression::Kind::integer:
        case Expression::Kind::real:
        case Expression::Kind::boolean:
            return constant(expression.type, expression.bits);
        case Expression::Kind::variable:
            return *m_now[expression.number];
        case Expression::Kind::negate: {
            // From -0.0, since 0.0 - 0.0 would lose the sign.
            const Value zero = constant(expression.type, expression.type == Type::real ? std::uint64_t{1} << 63U : 0);
            return append({Op::subtract, expression.type, zero, lower_expression(expression.operands[0])});
        }
        case Expression::Kind::invert:
            return append({Op::invert, Type::boolean, lower_expression(expression.operands[0])});
        case Expression::Kind::binary:
            return lower_binary(expression);
        case Expression::Kind::call:
            return lower_call(expression);
        case Expression::Kind::convert: {
            const Value value = lower_expression(expression.operands[0]);
            if (m_function.values[value].type == expression.type)
                return value;
            return append({expression.type == Type::real ? Op::to_real : Op::to_integer, expression.type, value});
        }
        }
        return 0;
    }

    Value lower_binary(const Expression& expression)
    {
        if (expression.op == Operator::both || expression.op == Operator::either)
            return lower_shortcut(expression);
        Value left = lower_expression(expression.operands[0]);
        Value right = lower_expression(expression.operands[1]);
        if (expression.op == Operator::greater || expression.op == Operator::greater_equal)
            std::swap(left, right);
        return append({op_of(expression.op), expression.type, left, right});
    }

    // The right side of && and || runs only where the left one has not decided.
    Value lower_shortcut(const Expression& expression)
    {
        const bool both = expression.op == Operator::both;
        const Value left = lower_expression(expression.operands[0]);
        const BlockNumber more = new_block();
        const BlockNumber decided = new_block();
        const Value result = new_parameter(decided, Type::boolean);
        if (both)
            branch(left, {more}, {decided, {left}});
        else
            branch(left, {decided, {left}}, {more});
        enter(more);
        const Value right = lower_expression(expression.operands[1]);
        jump({decided, {right}});
        enter(decided);
        return result;
    }

    Value lower_call(const Expression& expression)
    {
        std::vector<Value> given;
        for (const Expression& argument : expression.operands)
            given.push_back(lower_expression(argument));
        std::vector<Value>& arguments = m_function.arguments;
        const auto first = static_cast<Value>(arguments.size());
        arguments.insert(arguments.end(), given.begin(), given.end());
        return append({Op::call, expression.type, expression.number, first, static_cast<std::uint32_t>(given.size())});
    }

    const FunctionDeclaration& m_source;
    Function m_function;
    Variables m_now;
    BlockNumber m_block = 0;
    bool m_returned = false;
};

}  // namespace

Module lower(const ModuleDeclaration& module, std::vector<Callee> callees)
{
    Module made{.callees = std::move(callees), .functions = {}};
    for (const FunctionDeclaration& function : module.functions)
        made.functions.push_back(Lowering(function).run());
    return made;
}

}  // namespace eph
