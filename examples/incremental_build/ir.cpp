#include "ir.hpp"

#include "source.hpp"

#include <algorithm>

namespace eph {

std::uint64_t symbol(std::string_view name)
{
    const std::size_t dot = name.find('.');
    return dot == std::string_view::npos ? hearth::Key::of("eph-symbol", name).word(0)
                                         : symbol(name.substr(0, dot)) + symbol(name.substr(dot + 1));
}

Code link(const std::map<std::string, hearth::Bytes>& modules)
{
    // A function that calls main comes first.
    Code program{{.op = Op::entry}, {.op = Op::call, .number = symbol("main.main")}, {.op = Op::give_back, .left = 1}};
    std::map<std::uint64_t, std::uint64_t> entries;
    for (const auto& [module, ir] : modules) {
        std::size_t at = program.size();
        program.resize(at + ir.size() / sizeof(Operation));
        const hearth::ByteView whole = ir.view().first((program.size() - at) * sizeof(Operation));
        std::copy(whole.begin(), whole.end(), reinterpret_cast<std::byte*>(program.data() + at));
        for (; at < program.size(); ++at)
            if (program[at].op == Op::entry)
                entries[symbol(module) + program[at].number] = at;
    }
    for (Operation& operation : program)
        if (operation.op == Op::call) {
            const auto entry = entries.find(operation.number);
            if (entry == entries.end())
                throw Problem("A function is called that no module exports. There has to be a main that exports main.");
            operation.number = entry->second;
        }
    return program;
}

std::uint64_t run(const Code& program, std::uint64_t entry, const Arguments& arguments, int depth)
{
    if (depth == 1000)
        throw Problem("The program does not end: its modules call each other in a circle.");
    std::vector<std::uint64_t> values;
    const auto at = [&](Value value) { return value == k_none ? 0 : values[value]; };
    const auto result_of = [&](const Operation& operation) {
        const auto& [op, left, right, number] = operation;
        switch (op) {
        case Op::parameter:
            return arguments[number];
        case Op::add:
            return at(left) + at(right);
        case Op::multiply:
            return at(left) * at(right);
        case Op::call:
            return run(program, number, {at(left), at(right)}, depth + 1);
        default:
            return number;
        }
    };
    while (program[entry].op != Op::give_back)
        values.push_back(result_of(program[entry++]));
    return at(program[entry].left);
}

}  // namespace eph
