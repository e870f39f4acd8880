#include "flow.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace eph {

std::vector<BlockNumber> reverse_postorder(const Function& function)
{
    struct Visit {
        BlockNumber block;
        unsigned next = 0;  // of its ways out
    };
    std::vector<bool> seen(function.blocks.size());
    std::vector<BlockNumber> order;
    std::vector<Visit> open{{0}};
    seen[0] = true;
    while (!open.empty()) {
        Visit& visit = open.back();
        const Block& block = function.blocks[visit.block];
        // The otherwise of a branch first: so the order, which is turned round, begins with the way that is taken.
        std::array<BlockNumber, 2> ways{};
        unsigned count = 0;
        block.for_each_jump([&](const Jump& jump) { ways.at(count++) = jump.target; });
        if (visit.next == count) {
            order.push_back(visit.block);
            open.pop_back();
            continue;
        }
        const BlockNumber way = ways.at(count - 1 - visit.next++);
        if (!seen[way]) {
            seen[way] = true;
            open.push_back({way});
        }
    }
    std::reverse(order.begin(), order.end());
    return order;
}

std::vector<std::vector<BlockNumber>> predecessors_of(const Function& function)
{
    std::vector<std::vector<BlockNumber>> found(function.blocks.size());
    for (BlockNumber block = 0; block < function.blocks.size(); ++block)
        function.blocks[block].for_each_jump([&](const Jump& jump) { found[jump.target].push_back(block); });
    return found;
}

// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
Dominators::Dominators(const Function& function)
{
    constexpr BlockNumber k_unknown = ~BlockNumber{0};
    const std::vector<std::vector<BlockNumber>> predecessors = predecessors_of(function);
    m_immediate.assign(function.blocks.size(), k_unknown);
    m_immediate[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (BlockNumber block = 1; block < function.blocks.size(); ++block) {
            BlockNumber common = k_unknown;
            for (BlockNumber other : predecessors[block]) {
                if (m_immediate[other] == k_unknown)
                    continue;
                if (common == k_unknown)
                    common = other;
                while (common != other) {
                    if (common > other)
                        common = m_immediate[common];
                    else
                        other = m_immediate[other];
                }
            }
            changed |= std::exchange(m_immediate[block], common) != common;
        }
    }
}

void Replacements::apply(Function& function) const
{
    if (!m_any)
        return;
    const auto put = [this](Value& value) { value = of(value); };
    for (Block& block : function.blocks) {
        for (const Value value : block.body)
            for_each_operand(function, function.values[value], put);
        for_each_end_operand(block, put);
    }
}

}  // namespace eph
