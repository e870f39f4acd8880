// The process that 'hearth build' and 'hearth prewarm' compile in, one recipe for one target at a time:
// {"recipe": 3, "target": [115, 109, 95, 56, 48]}, its bytes.

#include "build.hpp"
#include "exit.hpp"
#include "hearth/recipes.hpp"
#include "output.hpp"
#include "priority.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

struct Arguments {
    std::string recipes;
    std::string scratch;
    std::string library;
    std::string over;
    std::string over_signed_by;
    bool for_bundle = false;
    bool nice = false;
};

// Where answers go: to what was standard output, which from here on is standard error to everybody else. What a
// compiler prints would otherwise stand among them.
class Answers {
public:
    Answers() : m_descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3))
    {
        if (m_descriptor < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
            fail(fmt::format("A descriptor for answers cannot be had: {}.", std::strerror(errno)));
    }
    ~Answers() { ::close(m_descriptor); }
    Answers(const Answers&) = delete;
    Answers& operator=(const Answers&) = delete;

    // One line.
    void give(const nlohmann::ordered_json& answer) const
    {
        const std::string line = answer.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
        for (std::string_view rest = line; !rest.empty();) {
            const ssize_t put = ::write(m_descriptor, rest.data(), rest.size());
            if (put < 0 && errno == EINTR)
                continue;
            if (put < 0)
                throw ReaderLeft{};  // and with it who wanted to know
            rest.remove_prefix(static_cast<std::size_t>(put));
        }
    }

private:
    int m_descriptor;
};

nlohmann::ordered_json as_json(const recipes::BuildResult& result)
{
    return {{"outcome", static_cast<int>(result.outcome)},
            {"key", result.key.hex()},
            {"reason", result.reason},
            {"log", result.log},
            {"ms", std::chrono::duration<double, std::milli>(result.took).count()}};
}

std::string target_of(const nlohmann::json& job)
{
    std::string target;
    for (const nlohmann::json& byte : job.value("target", nlohmann::json::array()))
        target += static_cast<char>(byte.get<unsigned char>());
    return target;
}

int serve(Cache& cache, const recipes::Recipes& all, const Arguments& arguments, const Answers& answers)
{
    recipes::Builder builder(cache, all, {.scratch = arguments.scratch, .library = arguments.library});
    answers.give({{"ready", true}});
    for (std::string line; std::getline(std::cin, line);) {
        const auto job = nlohmann::json::parse(line, nullptr, false);
        if (!job.is_object())
            fail("This is for 'hearth build' to start, not for people.");
        answers.give(as_json(builder.build(job.value("recipe", std::size_t{0}), target_of(job))));
    }
    cache.flush();
    return k_done;
}

int run_worker(const Globals& globals, const Arguments& arguments)
{
    if (arguments.nice)
        step_back();
    const Answers answers;
    Result<Cache> cache = open_to_build(globals, arguments.for_bundle ? Into::bundle : Into::cache, arguments.over,
                                        arguments.over_signed_by);
    const Result<recipes::Recipes> all = recipes::read(arguments.recipes);
    if (!cache || !all) {
        answers.give({{"error", cache ? all.error().message : cache.error().message}});
        return k_failure;
    }
    return serve(*cache, *all, arguments, answers);
}

}  // namespace

Result<Cache> open_to_build(const Globals& globals, Into into, const std::string& over, const std::string& signed_by)
{
    CacheOptions options;
    options.directory = globals.directory;
    options.maintenance = Maintenance::by_hand;
    options.caching = Switch::on;
    options.compiling = Compiling::allowed;
    options.access = Access::read_write;
    options.failure_ttl = std::chrono::milliseconds(0);  // what fails is told, and not kept
    options.record_to = "";
    // What is built is looked at once.
    options.memory_bytes = 0;
    options.vram_bytes = 0;
    options.remotes.emplace();
    options.bundles.emplace();
    if (into == Into::bundle) {
        options.disk_bytes = 0;
        options.disk_entries = 0;
        options.max_age = std::chrono::seconds(0);
        options.sign_with = "";
        options.demand_signatures.emplace();
        if (!over.empty())
            options.bundles->push_back(over);
        if (!signed_by.empty()) {
            options.demand_signatures->emplace_back("bundles");
            options.trusted_keys.emplace({signed_by});
        }
    }
    options.log = [](LogLevel level, std::string_view sentence) {
        if (level == LogLevel::warning)
            warn(sentence);
    };
    return Cache::open(std::move(options));
}

void add_build_worker(CommandLine& line)
{
    CLI::App& command = line.add("build-worker", "Compiles recipes for 'hearth build'.", "  hearth build --help");
    command.group("");  // it is no command for people
    auto arguments = std::make_shared<Arguments>();
    add_text(command, "RECIPES", arguments->recipes, "The recipes")->required();
    add_text(command, "--scratch", arguments->scratch, "Where trees of headers go", "DIR")->required();
    add_text(command, "--nvrtc", arguments->library, "The libnvrtc to use", "PATH");
    add_text(command, "--over", arguments->over, "A bundle whose entries need not be built", "BUNDLE");
    add_text(command, "--over-signed-by", arguments->over_signed_by, "The key that must have signed it", "KEY");
    command.add_flag("--for-bundle", arguments->for_bundle, "The directory is there for a bundle alone");
    command.add_flag("--nice", arguments->nice, "Give way to everything else");
    line.on_chosen(command, arguments, run_worker);
}

}  // namespace hearth::cli
