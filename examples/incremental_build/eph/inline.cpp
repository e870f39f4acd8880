#include "passes.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace eph {

namespace {

// A call costs about as much as this many instructions, and code that is there twice has to be decoded twice.
constexpr std::size_t k_small = 40;
// A function that has grown this large takes nothing more in.
constexpr std::size_t k_large = 2000;

std::size_t size_of(const Function& function)
{
    std::size_t size = 0;
    for (const Block& block : function.blocks)
        size += block.body.size() + 1;
    return size;
}

// Small, and calls nothing of its own module: so nothing is ever put into itself, and callers of callers get their turn
// in the next round.
bool is_small_leaf(const Module& module, const Function& function)
{
    if (size_of(function) > k_small)
        return false;
    for (const Block& block : function.blocks)
        for (const Value value : block.body) {
            const Instruction& instruction = function.values[value];
            if (instruction.op == Op::call && module.callees[instruction.a].module.empty())
                return false;
        }
    return true;
}

// Puts `callee` in the place of the call at `place` in a block's body. What follows the call moves to a new block, the
// last; the call itself becomes that block's parameter, so no use of it has to change.
void splice(Function& caller, BlockNumber at, std::size_t place, const Function& callee)
{
    const Value call = caller.blocks[at].body[place];
    const Instruction called = caller.values[call];
    const auto value_base = static_cast<Value>(caller.values.size());
    const auto argument_base = static_cast<Value>(caller.arguments.size());
    const auto block_base = static_cast<BlockNumber>(caller.blocks.size());
    const auto after = static_cast<BlockNumber>(block_base + callee.blocks.size());
    const auto moved = [&](Value& value) { value += value_base; };

    for (Instruction instruction : callee.values) {
        const unsigned operands = operands_of(instruction.op);
        if (instruction.op == Op::call)
            instruction.b += argument_base;
        if (operands > 0)
            instruction.a += value_base;
        if (operands > 1)
            instruction.b += value_base;
        caller.values.push_back(instruction);
    }
    for (const Value argument : callee.arguments)
        caller.arguments.push_back(argument + value_base);
    for (Block block : callee.blocks) {
        for (std::vector<Value>* list : {&block.parameters, &block.body})
            std::for_each(list->begin(), list->end(), moved);
        for_each_end_operand(block, moved);
        block.for_each_jump([&](Jump& jump) { jump.target += block_base; });
        if (block.end == Block::End::give_back) {
            block.end = Block::End::jump;
            block.next = {after, {block.value}};
        }
        caller.blocks.push_back(std::move(block));
    }

    caller.blocks.emplace_back();
    Block& rest = caller.blocks[after];
    Block& head = caller.blocks[at];
    const auto behind = head.body.begin() + static_cast<std::ptrdiff_t>(place) + 1;
    rest.parameters = {call};
    rest.body.assign(behind, head.body.end());
    rest.end = head.end;
    rest.value = head.value;
    rest.next = std::move(head.next);
    rest.otherwise = std::move(head.otherwise);

    caller.values[call] = {.op = Op::parameter, .type = called.type};
    head.body.erase(behind - 1, head.body.end());
    head.end = Block::End::jump;
    const auto first = caller.arguments.begin() + called.b;
    head.next = {block_base, {first, first + called.count}};
    head.otherwise = {};
}

}  // namespace

bool inline_calls(Module& module)
{
    // Copies: a function that others take in may take in others itself.
    std::unordered_map<std::string_view, Function> small;
    for (const Function& function : module.functions)
        if (is_small_leaf(module, function))
            small.emplace(function.name, function);

    const auto small_callee = [&](const Function& caller, Value value) -> const Function* {
        const Instruction& instruction = caller.values[value];
        if (instruction.op != Op::call || !module.callees[instruction.a].module.empty())
            return nullptr;
        const auto found = small.find(module.callees[instruction.a].name);
        return found == small.end() ? nullptr : &found->second;
    };

    bool changed = false;
    for (Function& caller : module.functions) {
        std::size_t size = size_of(caller);
        for (BlockNumber number = 0; number < caller.blocks.size(); ++number)
            for (std::size_t place = 0; place < caller.blocks[number].body.size() && size < k_large; ++place) {
                const Function* callee = small_callee(caller, caller.blocks[number].body[place]);
                if (!callee)
                    continue;
                splice(caller, number, place, *callee);
                size += size_of(*callee);
                changed = true;
                break;  // the rest of this block is the last one now
            }
    }
    return changed;
}

}  // namespace eph
