#include "flow.hpp"
#include "passes.hpp"

#include <bit>
#include <optional>

namespace eph {

namespace {

class Folder {
public:
    explicit Folder(Function& function) : m_function(function), m_replacements(function) {}

    bool run()
    {
        bool changed = false;
        for (Block& block : m_function.blocks) {
            std::erase_if(block.body, [&](Value value) { return drops(value); });
            changed |= decide(block);
        }
        changed |= drop_agreed_parameters();
        m_replacements.apply(m_function);
        return changed || m_replacements.any() || m_folded;
    }

private:
    Instruction& at(Value value) { return m_function.values[value]; }
    bool is_constant(Value value, std::uint64_t bits) { return at(value).op == Op::constant && at(value).bits == bits; }

    // Whether the instruction turned out to be another one's value. It may have become a constant, too, and stays.
    bool drops(Value value)
    {
        Instruction& instruction = at(value);
        for_each_operand(m_function, instruction, [&](Value& operand) { operand = m_replacements.of(operand); });
        const unsigned operands = operands_of(instruction.op);
        if (operands == 0)
            return false;
        const Instruction& a = at(instruction.a);
        const Instruction& b = operands == 2 ? at(instruction.b) : a;
        if (a.op == Op::constant && b.op == Op::constant) {
            const std::uint64_t bits = evaluate(instruction.op, a.type, a.bits, b.bits);
            instruction = {.op = Op::constant, .type = instruction.type, .bits = bits};
            m_folded = true;
            return false;
        }
        const std::optional<Value> same = same_as(instruction);
        if (same)
            m_replacements.replace(value, *same);
        return same.has_value();
    }

    std::optional<Value> same_as(Instruction& instruction)
    {
        const Value a = instruction.a;
        const Value b = instruction.b;
        if (instruction.op == Op::invert && at(a).op == Op::invert)
            return at(a).a;
        // Of floats only x * 1 and x / 1: x + 0 changes the sign of -0.0, and x - x is no number for infinities.
        const bool real = instruction.type == Type::real;
        const std::uint64_t one = real ? std::bit_cast<std::uint64_t>(1.0) : 1;
        switch (instruction.op) {
        case Op::add:
            if (!real && is_constant(b, 0))
                return a;
            if (!real && is_constant(a, 0))
                return b;
            break;
        case Op::subtract:
            if (!real && is_constant(b, 0))
                return a;
            if (!real && a == b)
                become_constant(instruction, 0);
            break;
        case Op::multiply:
            if (is_constant(b, one))
                return a;
            if (is_constant(a, one))
                return b;
            if (!real && (is_constant(a, 0) || is_constant(b, 0)))
                become_constant(instruction, 0);
            break;
        case Op::divide:
            if (is_constant(b, one))
                return a;
            break;
        case Op::remainder:
            if (is_constant(b, 1))
                become_constant(instruction, 0);
            break;
        default:
            if (is_comparison(instruction.op) && a == b && at(a).type != Type::real)
                become_constant(instruction, evaluate(instruction.op, at(a).type, 0, 0));
            break;
        }
        return std::nullopt;
    }

    void become_constant(Instruction& instruction, std::uint64_t bits)
    {
        instruction = {.op = Op::constant, .type = instruction.type, .bits = bits};
        m_folded = true;
    }

    bool decide(Block& block)
    {
        if (block.end != Block::End::branch)
            return false;
        Instruction& asked = at(block.value = m_replacements.of(block.value));
        if (asked.op == Op::invert) {
            block.value = m_replacements.of(asked.a);
            std::swap(block.next, block.otherwise);
            return true;
        }
        const bool one_way =
            block.next.target == block.otherwise.target && block.next.arguments == block.otherwise.arguments;
        if (asked.op != Op::constant && !one_way)
            return false;
        if (!one_way && asked.bits == 0)
            block.next = std::move(block.otherwise);
        block.end = Block::End::jump;
        return true;
    }

    // A parameter that every jump hands one and the same value, or itself (in a loop), is that value.
    bool drop_agreed_parameters()
    {
        std::vector<std::vector<Jump*>> jumps(m_function.blocks.size());
        for (Block& block : m_function.blocks)
            block.for_each_jump([&](Jump& jump) { jumps[jump.target].push_back(&jump); });
        bool changed = false;
        for (BlockNumber number = 1; number < m_function.blocks.size(); ++number) {
            std::vector<Value>& parameters = m_function.blocks[number].parameters;
            for (std::size_t place = parameters.size(); place-- > 0;) {
                const std::optional<Value> agreed = agreed_argument(jumps[number], place, parameters[place]);
                if (!agreed)
                    continue;
                m_replacements.replace(parameters[place], *agreed);
                parameters.erase(parameters.begin() + static_cast<std::ptrdiff_t>(place));
                for (Jump* jump : jumps[number])
                    jump->arguments.erase(jump->arguments.begin() + static_cast<std::ptrdiff_t>(place));
                changed = true;
            }
        }
        return changed;
    }

    std::optional<Value> agreed_argument(const std::vector<Jump*>& jumps, std::size_t place, Value parameter) const
    {
        std::optional<Value> agreed;
        for (const Jump* jump : jumps) {
            const Value argument = m_replacements.of(jump->arguments[place]);
            if (argument == parameter || argument == agreed)
                continue;
            if (agreed)
                return std::nullopt;
            agreed = argument;
        }
        return agreed;
    }

    Function& m_function;
    Replacements m_replacements;
    bool m_folded = false;
};

}  // namespace

bool fold(Function& function)
{
    return Folder(function).run();
}

}  // namespace eph
