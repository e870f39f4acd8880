#include "build/compile_job.hpp"
#include "cache/open_cache.hpp"
#include "hearth/admin.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>

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

// What `hearth compile` would answer.
enum class Answer : unsigned char { hit, miss, past_the_cache, error };

Answer answer_of(Cache& cache, const Explanation& why)
{
    if (!why.why_past_the_cache.empty())
        return Answer::past_the_cache;
    if (why.tiers.empty())
        return Answer::miss;
    const std::optional<EntryRow> entry = admin::info(cache, why.key);
    return entry && entry->status != 0 ? Answer::error : Answer::hit;
}

int exit_code_of(Answer answer)
{
    return answer == Answer::hit ? k_done : answer == Answer::error ? k_compile_error : k_nothing;
}

void show(const Explanation& why, Answer answer)
{
    const std::string key = why.key.hex();
    if (answer == Answer::past_the_cache) {
        print_out("past the cache: {}\n", printable(why.why_past_the_cache));
        return;
    }
    if (answer == Answer::error) {
        print_out("error  {}  in {}: the compile failed before, and is remembered; 'hearth get {}' prints its log\n",
                  key.substr(0, 12), fmt::join(why.tiers, ", "), key.substr(0, 12));
        return;
    }
    if (answer == Answer::hit) {
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
        if (difference.here.empty() && difference.there.empty())  // the sentence says it all
            print_out("  {}\n", printable(difference.field));
        else
            print_out("  {}\n    here   {}\n    there  {}\n", printable(difference.field),
                      side(difference.here, "(none)"), side(difference.there, "(none)"));
}

void show_json(const CompileJob& job, const Explanation& why, Answer answer)
{
    Json differences = Json::array();
    for (const Difference& difference : why.differences)
        differences.add({{"field", difference.field}, {"here", difference.here}, {"there", difference.there}});
    print_json({{"file", job.file},
                {"target", job.target},
                {"key", why.key.hex()},
                {"outcome", answer == Answer::hit     ? "hit"
                            : answer == Answer::miss  ? "miss"
                            : answer == Answer::error ? "error"
                                                      : "past_the_cache"},
                {"reason", why.why_past_the_cache},
                {"tiers", why.tiers},
                {"nearest", why.nearest ? Json(why.nearest->key.hex()) : nullptr},
                {"differences", differences}});
}

int run_why(const Globals& globals, const WhyArguments& given)
{
    WhyArguments arguments = given;
    arguments.compile.max_source_bytes = std::max(max_entry_bytes(globals), k_max_source_bytes);
    check_kind(arguments.compile.files.front());
    Cache cache = open_cache(globals, Use::look);
    int code = k_done;
    for (const CompileJob& job : jobs_of(cache, arguments.compile)) {
        const Explanation why = or_fail(explain_job(cache, arguments.compile, job));
        const Answer answer = answer_of(cache, why);
        if (arguments.json)
            show_json(job, why, answer);
        else
            show(why, answer);
        code = std::max(code, exit_code_of(answer));
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
                     "0: a hit, 1: a miss, 4: a compile error that is remembered.");
    auto& arguments = command.runs(run_why);
    add_compile_arguments(command, arguments.compile, Files::one);
    command.json(arguments.json);
}

}  // namespace hearth::cli
