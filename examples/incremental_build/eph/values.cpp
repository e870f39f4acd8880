#include "flow.hpp"
#include "passes.hpp"

#include <algorithm>
#include <unordered_map>

namespace eph {

namespace {

// An operation and its operands: equal ones give equal values.
struct Computation {
    Op op;
    Type type;
    Value a;
    Value b;
    std::uint64_t bits;

    friend bool operator==(const Computation&, const Computation&) = default;
};

struct ComputationHash {
    std::size_t operator()(const Computation& computation) const
    {
        std::uint64_t hash = computation.bits;
        for (const std::uint64_t part :
             {static_cast<std::uint64_t>(computation.op), static_cast<std::uint64_t>(computation.type),
              std::uint64_t{computation.a}, std::uint64_t{computation.b}})
            hash = (hash ^ part) * 0x9e3779b97f4a7c15;
        return hash ^ (hash >> 32U);
    }
};

struct Computed {
    Value value;
    BlockNumber block;
};

}  // namespace

bool merge_equal_values(Function& function)
{
    const Dominators dominators(function);
    Replacements replacements(function);
    std::unordered_map<Computation, Computed, ComputationHash> known;
    for (BlockNumber number = 0; number < function.blocks.size(); ++number) {
        std::erase_if(function.blocks[number].body, [&](Value value) {
            Instruction& instruction = function.values[value];
            for_each_operand(function, instruction, [&](Value& operand) { operand = replacements.of(operand); });
            if (instruction.op == Op::call)
                return false;
            if (is_commutative(instruction.op) && instruction.a > instruction.b)
                std::swap(instruction.a, instruction.b);
            const Computation computation{instruction.op, instruction.type, instruction.a, instruction.b,
                                          instruction.bits};
            const auto [found, is_new] = known.try_emplace(computation, Computed{value, number});
            if (is_new)
                return false;
            if (dominators.dominates(found->second.block, number)) {
                replacements.replace(value, found->second.value);
                return true;
            }
            // The earlier one is not on every way here. Blocks to come are nearer to this one.
            found->second = {value, number};
            return false;
        });
    }
    replacements.apply(function);
    return replacements.any();
}

bool remove_dead_values(Function& function)
{
    std::vector<bool> used(function.values.size());
    std::vector<Value> open;
    const auto use = [&](Value value) {
        if (!used[value])
            open.push_back(value);
        used[value] = true;
    };
    // What a jump hands to a parameter is used only if the parameter is.
    std::vector<std::vector<Value>> handed(function.values.size());
    for (Block& block : function.blocks) {
        for (const Value value : block.body)
            if (function.values[value].op == Op::call)
                use(value);
        if (block.end != Block::End::jump)
            use(block.value);
        block.for_each_jump([&](const Jump& jump) {
            const std::vector<Value>& parameters = function.blocks[jump.target].parameters;
            for (std::size_t i = 0; i < parameters.size(); ++i)
                handed[parameters[i]].push_back(jump.arguments[i]);
        });
    }
    for (const Value parameter : function.blocks[0].parameters)
        use(parameter);  // it belongs to the signature
    while (!open.empty()) {
        const Value value = open.back();
        open.pop_back();
        for_each_operand(function, function.values[value], use);
        for (const Value argument : handed[value])
            use(argument);
    }

    bool changed = false;
    for (Block& block : function.blocks) {
        changed |= std::erase_if(block.body, [&](Value value) { return !used[value]; }) > 0;
        block.for_each_jump([&](Jump& jump) {
            std::size_t place = 0;
            std::erase_if(jump.arguments,
                          [&](Value) { return !used[function.blocks[jump.target].parameters[place++]]; });
        });
    }
    for (Block& block : function.blocks)
        changed |= std::erase_if(block.parameters, [&](Value value) { return !used[value]; }) > 0;
    return changed;
}

}  // namespace eph
