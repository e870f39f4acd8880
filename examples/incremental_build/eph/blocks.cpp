#include "flow.hpp"
#include "passes.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace eph {

namespace {

void join_successors(Function& function, const std::vector<BlockNumber>& order, bool& changed)
{
    // Of reachable blocks only: a jump from nowhere must not keep two blocks apart.
    std::vector<unsigned> arrivals(function.blocks.size());
    for (const BlockNumber number : order)
        function.blocks[number].for_each_jump([&](const Jump& jump) { ++arrivals[jump.target]; });
    Replacements replacements(function);
    for (const BlockNumber number : order) {
        Block& block = function.blocks[number];
        while (block.end == Block::End::jump && block.next.target != 0 && block.next.target != number &&
               arrivals[block.next.target] == 1) {
            Block after = std::exchange(function.blocks[block.next.target], Block{});
            for (std::size_t i = 0; i < after.parameters.size(); ++i)
                replacements.replace(after.parameters[i], block.next.arguments[i]);
            block.body.insert(block.body.end(), after.body.begin(), after.body.end());
            block.end = after.end;
            block.value = after.value;
            block.next = std::move(after.next);
            block.otherwise = std::move(after.otherwise);
            changed = true;
        }
    }
    replacements.apply(function);
}

std::optional<BlockNumber> only_entry(const std::vector<BlockNumber>& predecessors, const std::vector<bool>& in_loop)
{
    std::optional<BlockNumber> entry;
    for (const BlockNumber block : predecessors) {
        if (in_loop[block])
            continue;
        if (entry)
            return std::nullopt;
        entry = block;
    }
    return entry;
}

// The blocks from which one of `ends` can be reached without passing `head`.
std::vector<bool> loop_of(BlockNumber head, std::vector<BlockNumber> ends,
                          const std::vector<std::vector<BlockNumber>>& predecessors)
{
    std::vector<bool> in_loop(predecessors.size());
    in_loop[head] = true;
    while (!ends.empty()) {
        const BlockNumber block = ends.back();
        ends.pop_back();
        if (in_loop[block])
            continue;
        in_loop[block] = true;
        ends.insert(ends.end(), predecessors[block].begin(), predecessors[block].end());
    }
    return in_loop;
}

}  // namespace

bool tidy_blocks(Function& function)
{
    bool changed = false;
    join_successors(function, reverse_postorder(function), changed);

    const std::vector<BlockNumber> order = reverse_postorder(function);
    changed |= order.size() != function.blocks.size();
    std::vector<BlockNumber> number_of(function.blocks.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        number_of[order[i]] = static_cast<BlockNumber>(i);
    std::vector<Block> kept;
    kept.reserve(order.size());
    for (const BlockNumber number : order) {
        kept.push_back(std::move(function.blocks[number]));
        kept.back().for_each_jump([&](Jump& jump) { jump.target = number_of[jump.target]; });
    }
    function.blocks = std::move(kept);
    return changed;
}

bool hoist_from_loops(Function& function)
{
    const Dominators dominators(function);
    const std::vector<std::vector<BlockNumber>> predecessors = predecessors_of(function);
    std::vector<BlockNumber> home(function.values.size());
    for (BlockNumber number = 0; number < function.blocks.size(); ++number) {
        for (const Value value : function.blocks[number].parameters)
            home[value] = number;
        for (const Value value : function.blocks[number].body)
            home[value] = number;
    }

    bool changed = false;
    // Inner loops have the higher numbers: what leaves one may leave the one around it, too.
    for (auto head = static_cast<BlockNumber>(function.blocks.size()); head-- > 1;) {
        std::vector<BlockNumber> ends;
        for (const BlockNumber block : predecessors[head])
            if (dominators.dominates(head, block))
                ends.push_back(block);
        if (ends.empty())
            continue;
        const std::vector<bool> in_loop = loop_of(head, ends, predecessors);
        const std::optional<BlockNumber> entry = only_entry(predecessors[head], in_loop);
        if (!entry || function.blocks[*entry].end != Block::End::jump)
            continue;
        for (BlockNumber number = head; number < function.blocks.size(); ++number) {
            if (!in_loop[number])
                continue;
            std::erase_if(function.blocks[number].body, [&](Value value) {
                Instruction& instruction = function.values[value];
                bool stays = instruction.op == Op::call;
                for_each_operand(function, instruction, [&](Value operand) { stays |= in_loop[home[operand]]; });
                if (stays)
                    return false;
                function.blocks[*entry].body.push_back(value);
                home[value] = *entry;
                changed = true;
                return true;
            });
        }
    }
    return changed;
}

}  // namespace eph
