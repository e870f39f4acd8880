#include "program.hpp"

#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace eph {

hearth::Result<Program> Program::link(std::vector<LinkedModule> modules)
{
    const auto failed = [](std::string message) { return hearth::Error{hearth::Code::invalid_argument, message, {}}; };
    Program program;
    program.m_modules = std::move(modules);
    program.m_callees.resize(program.m_modules.size());

    using ByName = std::unordered_map<std::string_view, std::uint32_t>;
    std::unordered_map<std::string_view, ByName> numbers;
    for (std::size_t i = 0; i < program.m_modules.size(); ++i) {
        const LinkedModule& linked = program.m_modules[i];
        const auto [found, is_new] = numbers.try_emplace(linked.name);
        if (!is_new)
            return failed("There are two modules \"" + linked.name + "\".");
        for (const Function& function : linked.module.functions) {
            found->second.emplace(function.name, static_cast<std::uint32_t>(program.m_functions.size()));
            program.m_functions.push_back({&function, &program.m_callees[i]});
        }
    }

    const auto resolve = [&](std::string_view module, const Callee& callee,
                             bool same_module) -> std::optional<std::uint32_t> {
        const auto names = numbers.find(module);
        if (names == numbers.end())
            return std::nullopt;
        const auto found = names->second.find(callee.name);
        if (found == names->second.end())
            return std::nullopt;
        const Function& function = *program.m_functions[found->second].function;
        const bool fits = function.signature == callee.signature && (same_module || function.exported);
        return fits ? std::optional(found->second) : std::nullopt;
    };
    for (std::size_t i = 0; i < program.m_modules.size(); ++i) {
        const LinkedModule& linked = program.m_modules[i];
        for (const Callee& callee : linked.module.callees) {
            const bool same_module = callee.module.empty();
            const std::string_view owner = same_module ? linked.name : callee.module;
            const std::optional<std::uint32_t> found = resolve(owner, callee, same_module);
            if (!found)
                return failed("The module \"" + linked.name + "\" calls " + std::string(owner) + "." + callee.name +
                              to_string(callee.signature) + ", and there is no such function.");
            program.m_callees[i].push_back(*found);
        }
    }
    const std::optional<std::uint32_t> start = resolve("main", {"main", "main", {{}, Type::integer}}, false);
    if (!start)
        return failed("There is nothing to start: the module \"main\" exports no main() -> int.");
    program.m_main = *start;
    return program;
}

// Runs functions one instruction at a time.
class Interpreter {
public:
    Interpreter(const Program& program, const Program::Limits& limits) : m_program(program), m_limits(limits) {}

    // False once a limit is reached; problem() says which.
    bool call(std::uint32_t number, std::size_t arguments, std::uint64_t& result)
    {
        if (++m_depth > m_limits.depth)
            return stop("It calls deeper than " + std::to_string(m_limits.depth) + " functions.");
        const Program::LinkedFunction& linked = m_program.m_functions[number];
        const Function& function = *linked.function;
        // Frames lie one behind the other and start as zeros: even IR that uses a value it has not come by reads
        // nothing but its own frame.
        const std::size_t frame = m_stack.size();
        m_stack.resize(frame + function.values.size());
        const Block* block = function.blocks.data();
        for (std::size_t i = 0; i < block->parameters.size(); ++i)
            m_stack[frame + block->parameters[i]] = m_arguments[arguments + i];
        m_arguments.resize(arguments);
        for (;;) {
            m_steps += block->body.size() + 1;
            if (m_steps > m_limits.steps)
                return stop("It runs for more than " + std::to_string(m_limits.steps) + " steps.");
            for (const Value value : block->body)
                if (!execute(linked, frame, value))
                    return false;
            if (block->end == Block::End::give_back) {
                result = m_stack[frame + block->value];
                break;
            }
            const bool otherwise = block->end == Block::End::branch && m_stack[frame + block->value] == 0;
            block = follow(function, frame, otherwise ? block->otherwise : block->next);
        }
        m_stack.resize(frame);
        --m_depth;
        return true;
    }

    const std::string& problem() const { return m_problem; }

private:
    bool stop(std::string why)
    {
        m_problem = std::move(why);
        return false;
    }

    bool execute(const Program::LinkedFunction& linked, std::size_t frame, Value value)
    {
        const Function& function = *linked.function;
        const Instruction& instruction = function.values[value];
        if (instruction.op == Op::constant) {
            m_stack[frame + value] = instruction.bits;
        } else if (instruction.op == Op::call) {
            const std::size_t first = m_arguments.size();
            for (std::uint32_t i = 0; i < instruction.count; ++i)
                m_arguments.push_back(m_stack[frame + function.arguments[instruction.b + i]]);
            std::uint64_t result = 0;
            if (!call((*linked.callees)[instruction.a], first, result))
                return false;
            m_stack[frame + value] = result;
        } else {
            m_stack[frame + value] = evaluate(instruction.op, function.values[instruction.a].type,
                                              m_stack[frame + instruction.a], m_stack[frame + instruction.b]);
        }
        return true;
    }

    // All arguments are read before the first parameter is written: a loop may swap two of its variables.
    const Block* follow(const Function& function, std::size_t frame, const Jump& jump)
    {
        const Block* target = &function.blocks[jump.target];
        const std::size_t first = m_arguments.size();
        for (const Value argument : jump.arguments)
            m_arguments.push_back(m_stack[frame + argument]);
        for (std::size_t i = 0; i < jump.arguments.size(); ++i)
            m_stack[frame + target->parameters[i]] = m_arguments[first + i];
        m_arguments.resize(first);
        return target;
    }

    const Program& m_program;
    Program::Limits m_limits;
    std::vector<std::uint64_t> m_stack;
    std::vector<std::uint64_t> m_arguments;
    std::uint64_t m_steps = 0;
    std::uint32_t m_depth = 0;
    std::string m_problem;
};

hearth::Result<std::int64_t> Program::run(const Limits& limits) const
{
    Interpreter interpreter(*this, limits);
    std::uint64_t result = 0;
    if (!interpreter.call(m_main, 0, result))
        return hearth::Error{hearth::Code::compile_failed, "The program was stopped. " + interpreter.problem(), {}};
    return static_cast<std::int64_t>(result);
}

}  // namespace eph
