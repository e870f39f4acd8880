#include "commands/commands.hpp"

#include "doctor/machine.hpp"
#include "hearth/api.hpp"
#include "hearth/command.hpp"
#include "terminal/command_line.hpp"
#include "terminal/commit.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <utility>

// Every command has a row here, in the order in which 'hearth --help' lists them: its name, and the function in
// commands/ that describes it.
#define HEARTH_COMMANDS(ROW)                                                                                           \
    ROW("run", add_run)                                                                                                \
    ROW("exec", add_exec)                                                                                              \
    ROW("compile", add_compile)                                                                                        \
    ROW("why", add_why)                                                                                                \
    ROW("put", add_put)                                                                                                \
    ROW("get", add_get)                                                                                                \
    ROW("ls", add_ls)                                                                                                  \
    ROW("show", add_show)                                                                                              \
    ROW("tune", add_tune)                                                                                              \
    ROW("stats", add_stats)                                                                                            \
    ROW("top", add_top)                                                                                                \
    ROW("serve", add_serve)                                                                                            \
    ROW("report", add_report)                                                                                          \
    ROW("metrics", add_metrics)                                                                                        \
    ROW("ready", add_ready)                                                                                            \
    ROW("gc", add_gc)                                                                                                  \
    ROW("verify", add_verify)                                                                                          \
    ROW("rm", add_rm)                                                                                                  \
    ROW("clear", add_clear)                                                                                            \
    ROW("export", add_export)                                                                                          \
    ROW("import", add_import)                                                                                          \
    ROW("bundle", add_bundle)                                                                                          \
    ROW("carry", add_carry)                                                                                            \
    ROW("recipes", add_recipes)                                                                                        \
    ROW("build", add_build)                                                                                            \
    ROW("build-worker", add_build_worker)                                                                              \
    ROW("prewarm", add_prewarm)                                                                                        \
    ROW("push", add_push)                                                                                              \
    ROW("pull", add_pull)                                                                                              \
    ROW("remote", add_remote)                                                                                          \
    ROW("keygen", add_keygen)                                                                                          \
    ROW("doctor", add_doctor)                                                                                          \
    ROW("config", add_config)

namespace hearth::cli {

#define HEARTH_DECLARE(name, function) void function(Command& command);
HEARTH_COMMANDS(HEARTH_DECLARE)
#undef HEARTH_DECLARE

namespace {

namespace fs = std::filesystem;

std::string version_text()
{
    std::vector<std::string> compilers;
    for (const FoundCompiler& found : find_compilers())
        compilers.push_back(fmt::format("{} ({})", found.kind, printable(found.path)));
    const std::string_view servers = HEARTH_SERVER_KINDS;
    return fmt::format("hearth {} (commit {})\ncompilers: {}\nservers: {}", HEARTH_VERSION, k_commit,
                       compilers.empty() ? "none" : fmt::format("{}", fmt::join(compilers, ", ")),
                       servers.empty() ? "none" : servers);
}

}  // namespace

int run_command(const char* called, std::vector<std::string> words)
{
    // A link to this command that is called nvcc, or `hearth nvcc ...`, or a launcher that is given a compiler's path.
    if (command::is_compiler(called))
        words.insert(words.begin(), fs::path(called).filename().string());
    auto first = words.begin();
    if (words.size() > 2 && *first == "--dir")
        first += 2;
    if (first != words.end() && command::is_compiler(*first))
        words.insert(first, {"exec", "--"});
    else if (words.end() - first > 1 && *first == "why" && command::is_compiler(first[1])) {
        *first = "--";
        words.insert(first, {"exec", "--why"});
    }
#define HEARTH_ROW(name, function) {name, function},
    static constexpr CommandRow k_commands[] = {HEARTH_COMMANDS(HEARTH_ROW)};
#undef HEARTH_ROW
    const ProgramText program{
        .name = "hearth",
        .sentence = "Hearth: never compile the same GPU kernel twice.",
        .version = version_text,
        .footer = "'hearth COMMAND --help' shows a command's options and examples.\n"
                  "Exit code: 0 done or hit, 1 miss or nothing found, 2 wrong usage, 3 failure, 4 compile error.\n\n"
                  "Examples:\n"
                  "  hearth compile saxpy.cu --target sm_90 -o saxpy.cubin   compile, at most once\n"
                  "  hearth why saxpy.cu --target sm_90  whether that would hit, and why not\n"
                  "  hearth put saxpy saxpy.cubin      store a file under a key\n"
                  "  hearth get saxpy -o saxpy.cubin   get it back, in any process\n"
                  "  hearth ls 'sax*'                  what is cached\n"
                  "  hearth stats                      what the cache has saved\n"
                  "  hearth doctor                     what Hearth finds on this machine"};
    return run_command_line(program, k_commands, std::move(words));
}

}  // namespace hearth::cli
