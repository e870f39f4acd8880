#include "build/compile_job.hpp"
#include "cache/open_cache.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

namespace hearth::cli {

namespace {

struct WhyArguments {
    CompileArguments compile;
    bool json = false;
};

std::string side(const std::string& value, std::string_view otherwise)
{
    return value.empty() ? std::string(otherwise) : printable(value);
}

void show(const Explanation& why)
{
    const std::string key = why.key.hex();
    if (!why.why_past_the_cache.empty()) {
        print_out("past the cache: {}\n", printable(why.why_past_the_cache));
        return;
    }
    if (!why.tiers.empty()) {
        print_out("hit  {}  in {}\n", key.substr(0, 12), fmt::join(why.tiers, ", "));
        return;
    }
    if (!why.nearest) {
        print_out("miss  {}  there is no entry like it: nothing of this kind was compiled yet\n", key.substr(0, 12));
        return;
    }
    print_out("miss  {}  the nearest entry is {} ({}, {}); the differences:\n", key.substr(0, 12),
              why.nearest->key.hex().substr(0, 12), printable(why.nearest->metadata.label),
              show_age(why.nearest->created, now()));
    for (const Difference& difference : why.differences)
        print_out("  {}\n    here   {}\n    there  {}\n", printable(difference.field), side(difference.here, "(none)"),
                  side(difference.there, "(none)"));
}

void show_json(const CompileArguments& arguments, const std::string& target, const Explanation& why)
{
    Json differences = Json::array();
    for (const Difference& difference : why.differences)
        differences.add({{"field", difference.field}, {"here", difference.here}, {"there", difference.there}});
    print_json({{"file", arguments.files.front()},
                {"target", target},
                {"key", why.key.hex()},
                {"outcome", !why.why_past_the_cache.empty() ? "past_the_cache"
                            : why.tiers.empty()             ? "miss"
                                                            : "hit"},
                {"reason", why.why_past_the_cache},
                {"tiers", why.tiers},
                {"nearest", why.nearest ? Json(why.nearest->key.hex()) : nullptr},
                {"differences", differences}});
}

int run_why(const Globals& globals, const WhyArguments& arguments)
{
    check_kind(arguments.compile.files.front());
    Cache cache = open_cache(globals, Use::look);
    int code = k_done;
    for (const std::string& target : targets_of(arguments.compile)) {
        const Explanation why =
            or_fail(explain_job(cache, arguments.compile, {arguments.compile.files.front(), target}));
        if (arguments.json)
            show_json(arguments.compile, target, why);
        else
            show(why);
        if (why.tiers.empty())
            code = k_nothing;
    }
    return code;
}

}  // namespace

void add_why(Command& command)
{
    command.describe("Says whether a compile would hit, and if not, what is different from the nearest entry.",
                     "  hearth why saxpy.cu --target sm_90\n"
                     "  hearth why gemm.cu --target sm_90 -I include -D TILE=32 -- -std=c++20",
                     "Takes the same options as 'hearth compile'; what follows -- is passed to the compiler. Exit code "
                     "0: a hit, 1: a "
                     "miss.");
    auto& arguments = command.runs(run_why);
    add_compile_arguments(command, arguments.compile, Files::one);
    command.json(arguments.json);
}

}  // namespace hearth::cli
