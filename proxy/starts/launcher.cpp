// `hearth run` preloads this into the programs that it serves: a compiler that one of them starts is started through
// `hearth exec`, wherever it lies and whoever names it. Linked with libc alone.

#include "base/launch_variable.hpp"
#include "compilers/command/program_names.hpp"
#include "starts/through_hearth.hpp"
#include "watch/tree_record.hpp"

namespace hearth::starts {

bool takes(const Program& program)
{
    // What a compiler starts belongs to it.
    return program.path != nullptr && command::names_compiler(program.path) &&
           value_in(program.environment, base::k_launch_variable) != nullptr &&
           value_in(program.environment, watch::k_tree_log_variable) == nullptr && can_be_replaced(program);
}

Program instead(const Program& program, const Stage& stage)
{
    return through_hearth(value_in(program.environment, base::k_launch_variable), nullptr, program, stage);
}

void searches(const char* /*file*/) {}
void becomes(const char* /*file*/) {}
void stays(const char* /*file*/) {}
void starts(const char* /*file*/, int /*error*/) {}

}  // namespace hearth::starts
