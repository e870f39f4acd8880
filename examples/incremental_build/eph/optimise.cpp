#include "passes.hpp"

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace eph {

namespace {

// Each pass opens ways for the others; in practice they are done after three or four rounds.
constexpr int k_max_rounds = 8;

template <class Visit>
void for_each_call(const Function& function, Visit&& visit)
{
    for (const Block& block : function.blocks)
        for (const Value value : block.body)
            if (function.values[value].op == Op::call)
                visit(function.values[value]);
}

void optimise(Function& function)
{
    tidy_blocks(function);
    bool changed = true;
    for (int round = 0; changed && round < k_max_rounds; ++round) {
        changed = fold(function);
        changed |= tidy_blocks(function);
        changed |= merge_equal_values(function);
        changed |= hoist_from_loops(function);
        changed |= remove_dead_values(function);
        changed |= tidy_blocks(function);
    }
}

}  // namespace

void remove_unused_functions(Module& module)
{
    std::unordered_map<std::string_view, std::size_t> by_name;
    std::vector<bool> used(module.functions.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < module.functions.size(); ++i) {
        by_name.emplace(module.functions[i].name, i);
        used[i] = module.functions[i].exported;
        if (used[i])
            open.push_back(i);
    }
    std::vector<bool> called(module.callees.size());
    while (!open.empty()) {
        const Function& function = module.functions[open.back()];
        open.pop_back();
        for_each_call(function, [&](const Instruction& call) {
            called[call.a] = true;
            const Callee& callee = module.callees[call.a];
            if (!callee.module.empty())
                return;
            const std::size_t here = by_name.at(callee.name);
            if (!used[here])
                open.push_back(here);
            used[here] = true;
        });
    }

    std::vector<std::uint32_t> number_of(module.callees.size());
    std::vector<Callee> callees;
    for (std::size_t i = 0; i < called.size(); ++i) {
        if (!called[i])
            continue;
        number_of[i] = static_cast<std::uint32_t>(callees.size());
        callees.push_back(std::move(module.callees[i]));
    }
    module.callees = std::move(callees);
    std::vector<Function> functions;
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (!used[i])
            continue;
        functions.push_back(std::move(module.functions[i]));
        for (Instruction& instruction : functions.back().values)
            if (instruction.op == Op::call)
                instruction.a = number_of[instruction.a];
    }
    module.functions = std::move(functions);
}

void optimise(Module& module)
{
    bool changed = true;
    for (int round = 0; changed && round < k_max_rounds; ++round) {
        for (Function& function : module.functions)
            optimise(function);
        changed = inline_calls(module);
    }
    for (Function& function : module.functions)
        optimise(function);
    remove_unused_functions(module);
}

}  // namespace eph
