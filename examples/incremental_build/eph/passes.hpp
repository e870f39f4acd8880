#pragma once

#include "ir.hpp"

// Each makes a function, or a module, better without changing what it computes, and answers whether it found anything
// to do. None looks at another module: that is why an edit of a body is no reason to compile the importers again.

namespace eph {

// Puts small functions of the same module in the place of calls to them.
bool inline_calls(Module& module);
// Computes what has constant operands, drops what changes nothing (x + 0), decides branches on constants, and drops
// parameters that are handed the same value from everywhere.
bool fold(Function& function);
// Computes nothing twice: what is already there on every way to a place is used again.
bool merge_equal_values(Function& function);
// Moves what is the same in every round of a loop in front of it.
bool hoist_from_loops(Function& function);
// Drops what nobody uses: instructions, and parameters with their arguments.
bool remove_dead_values(Function& function);
// Drops unreachable blocks, joins those that only follow each other, and puts the rest into an order in which a block
// stands behind every block that dominates it. What is encoded is in this order.
bool tidy_blocks(Function& function);

// Drops functions that are neither exported nor called, and callees nobody calls.
void remove_unused_functions(Module& module);

// All of them, until they find nothing more.
void optimise(Module& module);

}  // namespace eph
