#include "compilers/nvrtc/plan.hpp"

#include "base/error.hpp"
#include "compilers/common/given_text.hpp"
#include "format/request.hpp"

#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace hearth::nvrtc {

namespace {

using compilers::check_text;

constexpr std::uint64_t k_request_version = 2;

Status check(const Program& program)
{
    HEARTH_TRY(check_text("The source", program.source));
    for (const Header& header : program.headers) {
        HEARTH_TRY(check_text(fmt::format("The header \"{}\"", header.name), header.content));
        if (header.name.empty())
            return error(Code::invalid_argument, "A header has no name. Give it the name it is included by.");
    }
    for (const std::string& option : program.options)
        HEARTH_TRY(check_text("An option", option));
    return {};
}

// If the program names a target apart from its options, that becomes the last option.
Status settle_options(const Program& program, Plan& plan)
{
    plan.options = program.options;
    plan.facts = read_options(plan.options);
    HEARTH_TRY_SET(std::string target, compilers::named_target(program.target, plan.facts.target));
    if (target.empty())
        return {};
    plan.options.push_back("-arch=" + target);
    plan.facts.keyed.push_back(plan.options.back());
    plan.facts.target = std::move(target);
    return {};
}

std::string working_directory()
{
    std::array<char, 1024> usual;  // not filled: every hit comes here
    if (::getcwd(usual.data(), usual.size()) != nullptr)
        return usual.data();
    std::error_code error;
    return std::filesystem::current_path(error).string();
}

}  // namespace

watch::Places places_of(const std::string& program_name, const OptionFacts& facts, std::string working_directory)
{
    const std::size_t slash = program_name.find_last_of('/');
    return {std::move(working_directory),
            slash == std::string::npos ? std::string{} : program_name.substr(0, std::max<std::size_t>(slash, 1)),
            facts.include_directories};
}

// Every member of Program and of Plan that decides the result enters here. Places do not: where the output may hold
// their paths, that is a condition of the result.
Request request_of(const Program& program, const Plan& plan)
{
    // A member that is left out here does not compile.
    const auto& [source, name, options, headers, name_expressions, target] = program;
    static_cast<void>(options);  // plan.facts has them, and the target
    static_cast<void>(target);
    static_cast<void>(name);  // plan.program_name
    KeyBuilder key("nvrtc");
    key.number("request version", k_request_version)
        .text("compiler build", plan.compiler.build_id)
        .text("compiler builtins", plan.compiler.builtins);
    format::add_variables(key, "environment", plan.environment);
    key.text("source", source)
        .text("program name", plan.program_name.substr(plan.program_name.find_last_of('/') + 1))
        .number("program has a directory", plan.program_name.find('/') == std::string::npos ? 0 : 1)
        .number("float mode", plan.float_mode);
    format::add_words(key, "options", plan.facts.keyed);
    key.number("include directories", plan.facts.include_directories.size()).list("name expressions", name_expressions);
    for (const Header& header : headers)
        key.text("given header " + header.name, header.content);
    return key.build();
}

compilers::Question Plan::question() const
{
    return {request, program_name.substr(program_name.find_last_of('/') + 1), places, why_past_the_cache};
}

Result<Plan> make_plan(Cache& cache, const Program& program, const CompileOptions& options)
{
    HEARTH_TRY(check(program));
    Plan plan;
    HEARTH_TRY(settle_options(program, plan));
    plan.program_name = program.name.empty() ? std::string(k_unnamed) : program.name;
    plan.float_mode = compilers::float_mode();
    plan.places = places_of(plan.program_name, plan.facts, working_directory());
    HEARTH_TRY_SET(plan.compiler, identify(cache, options.library));
    plan.why_past_the_cache = plan.facts.why_past_the_cache;
    if (cache.has_tiers())
        plan.environment = environment_of(cache, plan.compiler);
    plan.is_kept = cache.has_tiers() && plan.why_past_the_cache.empty();
    plan.request = request_of(program, plan);
    return plan;
}

}  // namespace hearth::nvrtc
