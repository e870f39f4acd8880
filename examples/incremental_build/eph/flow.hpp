#pragma once

#include "ir.hpp"

#include <vector>

namespace eph {

// Reachable blocks, each before what it leads to except where a loop goes back.
std::vector<BlockNumber> reverse_postorder(const Function& function);

// One entry for each jump: a branch with both ways to one block is there twice.
std::vector<std::vector<BlockNumber>> predecessors_of(const Function& function);

// Which blocks lie on every way to a block. For functions whose blocks stand in reverse postorder (tidy_blocks()).
class Dominators {
public:
    explicit Dominators(const Function& function);

    bool dominates(BlockNumber above, BlockNumber below) const
    {
        while (below > above)
            below = m_immediate[below];
        return below == above;
    }

private:
    std::vector<BlockNumber> m_immediate;
};

// Stands for values that have been found equal to others, and puts those in their place.
class Replacements {
public:
    explicit Replacements(const Function& function) : m_by(function.values.size())
    {
        for (Value value = 0; value < m_by.size(); ++value)
            m_by[value] = value;
    }

    // What is to be used in place of `value`: itself, mostly.
    Value of(Value value) const
    {
        while (m_by[value] != value)
            value = m_by[value];
        return value;
    }
    void replace(Value value, Value by)
    {
        m_by[value] = by;
        m_any = true;
    }
    bool any() const { return m_any; }
    void apply(Function& function) const;

private:
    std::vector<Value> m_by;
    bool m_any = false;
};

}  // namespace eph
