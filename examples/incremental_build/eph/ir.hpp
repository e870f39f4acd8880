#pragma once

#include "types.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// The typed intermediate representation: static single assignment with parameters on blocks in place of phi functions.
// Nothing but a call can do anything beside giving its value, and every operation has a result for all operands (x / 0
// is 0), so that code may be removed, merged and moved as long as its operands are there.

namespace eph {

// The values are part of the encoding: append, and raise k_ir_version.
enum class Op : std::uint8_t {
    parameter = 0,  // of its block
    constant = 1,
    add = 2,
    subtract = 3,
    multiply = 4,
    divide = 5,
    remainder = 6,
    equal = 7,
    not_equal = 8,
    less = 9,
    less_equal = 10,
    invert = 11,
    to_real = 12,
    to_integer = 13,
    call = 14,
};
inline constexpr std::uint8_t k_ops = 15;

// How many of Instruction's operands it uses.
unsigned operands_of(Op op);
bool is_comparison(Op op);
bool is_commutative(Op op);

// Numbers of a function's instructions and blocks.
using Value = std::uint32_t;
using BlockNumber = std::uint32_t;

struct Instruction {
    Op op = Op::constant;
    Type type = Type::integer;  // of its result
    Value a = 0;                // the first operand; of a call, the number of the callee
    Value b = 0;                // the second; of a call, where its arguments start in Function::arguments
    std::uint32_t count = 0;    // of a call: how many arguments
    std::uint64_t bits = 0;     // of a constant: two's complement, IEEE 754, or 0 and 1
};

struct Jump {
    BlockNumber target = 0;
    std::vector<Value> arguments{};  // for the target's parameters
};

struct Block {
    enum class End : std::uint8_t { give_back = 0, jump = 1, branch = 2 };

    std::vector<Value> parameters{};
    std::vector<Value> body{};
    End end = End::give_back;
    Value value = 0;   // what is given back, or asked
    Jump next{};       // of a jump, and of a branch when `value` is true
    Jump otherwise{};  // of a branch

    template <class Visit>
    void for_each_jump(Visit&& visit)
    {
        if (end != End::give_back)
            visit(next);
        if (end == End::branch)
            visit(otherwise);
    }
    template <class Visit>
    void for_each_jump(Visit&& visit) const
    {
        const_cast<Block*>(this)->for_each_jump([&](const Jump& jump) { visit(jump); });
    }
};

struct Function {
    std::string name;
    bool exported = false;
    Signature signature;
    std::vector<Instruction> values;
    std::vector<Value> arguments;  // of calls
    std::vector<Block> blocks;     // the first is where it starts; its parameters are the function's

    Value add(const Instruction& instruction)
    {
        values.push_back(instruction);
        return static_cast<Value>(values.size() - 1);
    }
};

// A function that is called, by name: the linker finds it.
struct Callee {
    std::string module;  // empty: the same one
    std::string name;
    Signature signature;

    friend bool operator==(const Callee&, const Callee&) = default;
};

struct Module {
    std::vector<Callee> callees;
    std::vector<Function> functions;
};

// What an operation gives for these operands, both of type `type`. The optimiser and the interpreter both ask here, so
// they cannot disagree.
std::uint64_t evaluate(Op op, Type type, std::uint64_t a, std::uint64_t b);

// Hands each operand of an instruction, by reference, to `visit`.
template <class Visit>
void for_each_operand(Function& function, Instruction& instruction, Visit&& visit)
{
    if (instruction.op == Op::call) {
        for (std::uint32_t i = 0; i < instruction.count; ++i)
            visit(function.arguments[instruction.b + i]);
        return;
    }
    const unsigned count = operands_of(instruction.op);
    if (count > 0)
        visit(instruction.a);
    if (count > 1)
        visit(instruction.b);
}

// And each that a block's end uses: what it gives back or asks, and what its jumps pass on.
template <class Visit>
void for_each_end_operand(Block& block, Visit&& visit)
{
    if (block.end != Block::End::jump)
        visit(block.value);
    block.for_each_jump([&](Jump& jump) {
        for (Value& argument : jump.arguments)
            visit(argument);
    });
}

}  // namespace eph
