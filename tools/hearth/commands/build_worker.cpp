// The process that 'hearth build' and 'hearth prewarm' compile in, one recipe for one target at a time.

#include "base/priority.hpp"
#include "build/worker_protocol.hpp"
#include "cache/open_cache.hpp"
#include "commands/bundle_parts.hpp"
#include "hearth/recipes.hpp"
#include "process/dropin.hpp"
#include "process/stop_signals.hpp"
#include "terminal/exit.hpp"
#include "terminal/system_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

struct BuildWorkerArguments {
    std::string recipes;
    std::string scratch;
    std::string library;
    std::string over;
    std::string sign_with;
    bool for_bundle = false;
    bool nice = false;
};

// Answers go to the original standard output. For everything else, standard output becomes standard error:
// what a compiler prints must not get among the answers.
class Answers {
public:
    Answers() : m_descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3))
    {
        if (m_descriptor < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
            fail(fmt::format("There is no file descriptor for answers: {}.", system_error(errno)));
    }
    ~Answers() { ::close(m_descriptor); }
    Answers(const Answers&) = delete;
    Answers& operator=(const Answers&) = delete;

    void give(std::string line) const
    {
        line += '\n';
        for (std::string_view rest = line; !rest.empty();) {
            const ssize_t put = ::write(m_descriptor, rest.data(), rest.size());
            if (put < 0 && errno == EINTR)
                continue;
            if (put < 0)
                throw ReaderLeft{};  // nobody reads the answers any more
            rest.remove_prefix(static_cast<std::size_t>(put));
        }
    }

private:
    int m_descriptor;
};

int serve(Cache& cache, const recipes::Recipes& all, const BuildWorkerArguments& arguments, Trust trust,
          const Answers& answers)
{
    const std::string folder = dropin_folder();
    recipes::Builder builder(cache, all,
                             {.scratch = arguments.scratch,
                              .library = arguments.library,
                              .recorder = folder.empty() ? "" : folder + "/libhearth_recorder.so",
                              .trust = std::move(trust)});
    answers.give(ready_line());
    for (std::string line; std::getline(std::cin, line);) {
        const std::optional<WorkerJob> job = job_in(line);
        if (!job)
            fail("Only 'hearth build' starts this command. Start 'hearth build' instead.");
        answers.give(line_of(builder.build(job->recipe, job->target)));
    }
    cache.flush();
    return k_done;
}

int run_worker(const Globals& globals, const BuildWorkerArguments& arguments)
{
    if (arguments.nice)
        base::step_back();
    for (std::string& problem : settings_of(globals, Tell::nothing).problems)
        take_as_told(std::move(problem));  // by 'hearth build'
    const Answers answers;
    const EndedBySignals signals;  // made first: the cache starts threads
    Result<Cache> cache =
        open_to_build(globals, arguments.for_bundle ? Into::bundle : Into::cache, arguments.over, arguments.sign_with);
    const Result<recipes::Recipes> all = recipes::read(arguments.recipes);
    if (!cache || !all) {
        answers.give(refusal_line(cache ? all.error().message : cache.error().message));
        return k_failure;
    }
    const bundles::WriteOptions signs = signing(globals, arguments.sign_with);
    Trust trust = signs.inputs;
    if (signs.sign_with)
        trust.sign_with = {*signs.sign_with};
    return serve(*cache, *all, arguments, std::move(trust), answers);
}

}  // namespace

void add_build_worker(Command& command)
{
    command.describe("Compiles recipes for 'hearth build'.", "  hearth build --help");
    command.hide();
    auto& arguments = command.runs(run_worker);
    command.text("RECIPES", arguments.recipes, "The recipes").required();
    command.text("--scratch", arguments.scratch, "Where to write recorded headers", "DIR").required();
    command.text("--nvrtc", arguments.library, "The libnvrtc to use", "PATH");
    command.text("--over", arguments.over, "A bundle whose entries need not be built", "BUNDLE");
    command.text("--sign-with", arguments.sign_with, "The key of that bundle and of what is built", "FILE");
    command.flag("--for-bundle", arguments.for_bundle, "The directory is a scratch cache for a bundle");
    command.flag("--nice", arguments.nice, "Use processor and disk only while nothing else needs them");
}

}  // namespace hearth::cli
