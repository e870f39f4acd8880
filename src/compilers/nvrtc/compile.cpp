#include "base/error.hpp"
#include "compilers/common/depends_on.hpp"
#include "compilers/nvrtc/plan.hpp"
#include "compilers/nvrtc/precompiled_headers.hpp"
#include "compilers/nvrtc/record.hpp"
#include "compilers/nvrtc/replay.hpp"
#include "hearth/lasting.hpp"
#include "hearth/nvrtc.hpp"

#include <array>
#include <cstdlib>
#include <memory>

namespace hearth::nvrtc {

namespace {

constexpr const char* k_paths_section = "paths";
// The driver, for a cache of NVRTC's own, and the headers that are part of NVRTC: both are identified otherwise.
constexpr std::array<std::string_view, 2> k_known_libraries{"libnvrtc-builtins", "libcuda."};

void set_log(Artifact& made, std::string_view log)
{
    std::erase_if(made.sections, [](const Section& section) { return section.name == "log"; });
    if (!log.empty())
        made.sections.push_back({"log", Bytes::copy_of(log)});
}

// Makes the log, and the list of paths in it, as if it had been compiled at the places that the plan shows.
void settle_log(Artifact& made, const Plan& plan, const std::vector<watch::Condition>& conditions)
{
    const LogPlaces here{plan.program_name, plan.places};
    const LogPlaces shown{plan.program_name, plan.shown ? plan.shown->places : plan.places};
    std::string log(made.text("log"));
    if (plan.shown && !log.empty()) {
        log = replay_log(log, paths_in_log(log, here, conditions), shown);
        set_log(made, log);
    }
    if (const std::string paths = paths_in_log(log, shown, conditions); !paths.empty())
        made.sections.push_back({k_paths_section, Bytes::copy_of(paths)});
}

Result<Artifact> compile_now(const Library& library, const Program& program, const Plan& plan)
{
    HEARTH_TRY_SET(Artifact made, library.compile(program, plan.options));
    made.metadata.label = plan.program_name.substr(plan.program_name.find_last_of('/') + 1);
    made.metadata.target = plan.facts.target;
    made.metadata.options = plan.shown ? plan.shown->options : plan.options;
    return made;
}

// Where the log shows a path in a way that replay_log() does not know, that place is a condition.
void hold_paths_in_log(std::string_view log, const Plan& plan, watch::Conditions& conditions)
{
    if (log.empty())
        return;
    using From = watch::Spot::From;
    const std::vector<watch::Condition> found = conditions.list;
    watch::Places marked = plan.places;
    marked.program_directory = "\x01";
    for (std::string& directory : marked.directories)
        directory = "\x01";
    const LogPlaces here{plan.program_name, plan.places};
    const std::string moved = replay_log(log, paths_in_log(log, here, found), {"\x01", marked});
    const auto hold = [&](From from, std::uint16_t index) {
        compilers::add_condition({.kind = watch::Condition::Kind::place,
                                  .spot = {from, index, {}},
                                  .text = watch::path_of_place(from, index, plan.places)},
                                 conditions);
    };
    if (moved.find(plan.program_name) != std::string::npos)
        hold(From::program_directory, 0);
    for (const watch::Condition& condition : found) {
        if (condition.kind != watch::Condition::Kind::content ||
            (condition.spot.from != From::directory && condition.spot.from != From::program_directory))
            continue;
        const std::string path = condition.spot.shown(plan.places);
        const bool ambiguous =
            log.find(path) != std::string_view::npos && watch::spots_of(path, plan.places).size() > 1;
        if (ambiguous || moved.find(path) != std::string::npos)
            hold(condition.spot.from, condition.spot.index);
    }
}

compilers::Told told_by(const Program& program, const Plan& plan, std::string_view log)
{
    compilers::Told told;
    told.has_log = !log.empty();
    told.sources.push_back(program.source);
    for (const Header& header : program.headers)
        told.sources.push_back(header.content);
    told.options = plan.facts.keyed;
    told.options.insert(told.options.end(), program.name_expressions.begin(), program.name_expressions.end());
    told.options.insert(told.options.end(), plan.environment.begin(), plan.environment.end());
    told.all_paths_matter = plan.facts.paths_matter;
    if (plan.has_stable_name)
        told.stands_in = 0;
    // How NVRTC reads options from its environment is not documented.
    if (const char* const flags = std::getenv("NVRTC_APPEND_FLAGS")) {
        told.options.emplace_back(flags);
        told.all_paths_matter = true;
    }
    return told;
}

Result<compilers::Watched> compile_watched(const Program& program, const Plan& plan)
{
    HEARTH_TRY_SET(const Library library, Library::load(plan.compiler.path));
    const auto compile = [&] { return compile_now(library, program, plan); };
    return compilers::compile_watched(
        library.compiler(), {plan.compiler.build_id, plan.float_mode, plan.is_kept}, compile,
        [&](const watch::EventLog& seen, Artifact& made) -> Result<watch::Conditions> {
            // NVRTC catches SIGINT and SIGTERM, and calls what they end a compile error.
            if (made.failed() && made.text("log").empty())
                return error(Code::unavailable, "it failed without a word, as where a signal ends it");
            std::shared_ptr<const watch::EventLog> all(std::shared_ptr<void>(), &seen);
            if (plan.facts.precompiles) {
                std::string log(made.text("log"));
                Result<std::shared_ptr<const watch::EventLog>> whole =
                    with_precompiled(seen, log, plan.places.working_directory);
                set_log(made, log);
                HEARTH_TRY_SET(all, std::move(whole));
            }
            HEARTH_TRY_SET(
                watch::Conditions conditions,
                compilers::depends_on(*all, plan.places, told_by(program, plan, made.text("log")), k_known_libraries));
            hold_paths_in_log(made.text("log"), plan, conditions);
            settle_log(made, plan, conditions.list);
            return conditions;
        });
}

Compiled compiled(const compilers::Answer& answer, const Plan& plan, const std::string& name)
{
    std::string log = replay_log(answer.lookup->text("log"), answer.lookup->text(k_paths_section),
                                 {name.empty() ? std::string(k_unnamed) : name, plan.places});
    return {CompileResult(answer.lookup, plan.request, answer.why_past_the_cache, answer.key), std::move(log)};
}

// A program whose output holds its path, under a name without its directory, as CacheOptions::stable_paths allows. Its
// directory becomes the first to include from. None: its name stays.
std::optional<Program> under_stable_name(const Cache& cache, const Program& program)
{
    const std::size_t slash = program.name.find_last_of('/');
    if (!cache.stable_paths() || slash == std::string::npos || !read_options(program.options).paths_matter)
        return std::nullopt;
    Program stable = program;
    stable.name = program.name.substr(slash + 1);
    stable.options.insert(stable.options.begin(), "-I" + program.name.substr(0, std::max<std::size_t>(slash, 1)));
    return stable;
}

std::shared_ptr<const Program> borrowed(const Program& program)
{
    return {std::shared_ptr<void>(), &program};
}

Result<compilers::Answer> answer(Cache& cache, const std::shared_ptr<const Program>& program,
                                 const std::shared_ptr<const Plan>& plan, const GetOptions& options)
{
    return compilers::answer(
        cache, plan->question(), [program, plan] { return compile_watched(*program, *plan); }, options);
}

}  // namespace

std::optional<std::string> Compiled::lowered_name(std::string_view expression) const
{
    return nvrtc::lowered_name(artifact().text("names"), expression);
}

Result<Compiled> compile(Cache& cache, const Program& given, const CompileOptions& options)
{
    const std::optional<Program> stable = under_stable_name(cache, given);
    const Program& program = stable ? *stable : given;
    HEARTH_TRY_SET(Plan planned, make_plan(cache, program, options));
    planned.has_stable_name = stable.has_value();
    // Shared with the compile, which may still run after we return: at a deadline, or if a server was quicker.
    // Otherwise it is done before we return, and the program need not be copied.
    const bool may_outlive = options.deadline.count() > 0 || cache.compile_time_limit().count() > 0 || cache.races();
    const auto plan = std::make_shared<const Plan>(std::move(planned));
    const Result<compilers::Answer> found =
        answer(cache, may_outlive ? std::make_shared<const Program>(program) : borrowed(program), plan,
               {.deadline = options.deadline, .captures = may_outlive ? Captures::owned : Captures::borrowed});
    record(cache, program, *plan, found ? &*found : nullptr);
    HEARTH_TRY(found);
    return compiled(*found, *plan, given.name);
}

Result<Explanation> explain(Cache& cache, const Program& given, const CompileOptions& options)
{
    const std::optional<Program> stable = under_stable_name(cache, given);
    HEARTH_TRY_SET(const Plan plan, make_plan(cache, stable ? *stable : given, options));
    return compilers::explain(cache, plan.question());
}

Result<compilers::Answer> compile_plan(Cache& cache, const Program& program, Plan plan)
{
    return answer(cache, borrowed(program), std::make_shared<const Plan>(std::move(plan)),
                  {.captures = Captures::borrowed});
}

std::future<Result<Compiled>> compile_async(Cache& cache, Program program, CompileOptions options)
{
    const auto promise = std::make_shared<std::promise<Result<Compiled>>>();
    std::future<Result<Compiled>> future = promise->get_future();
    cache.run_later([&cache = lasting(cache), program = std::move(program), options = std::move(options),
                     promise](const Status& turn) {
        promise->set_value(turn.ok() ? compile(cache, program, options) : Result<Compiled>(turn.error()));
    });
    return future;
}

}  // namespace hearth::nvrtc
