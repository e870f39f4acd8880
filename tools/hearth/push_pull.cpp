#include "commands.hpp"
#include "exit.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "output.hpp"
#include "pattern.hpp"
#include "progress_bar.hpp"
#include "text.hpp"

#include <nlohmann/json.hpp>

namespace hearth::cli {

namespace {

struct Arguments {
    std::string pattern;
    std::string remote;
    bool json = false;
};

enum class Way : unsigned char { push, pull };

int run(const Globals& globals, const Arguments& arguments, Way way)
{
    Cache cache = open_cache(globals, way == Way::push ? Use::read : Use::change, Remotes::yes);
    std::function<bool(const EntryRow&)> choose;
    if (!arguments.pattern.empty())
        choose = [pattern = Pattern(arguments.pattern)](const EntryRow& row) { return pattern.matches(row); };
    const Result<TransferReport> report = [&] {
        ProgressBar bar(way == Way::push ? "Pushing" : "Pulling", arguments.json ? Wanted::no : Wanted::yes);
        return way == Way::push ? admin::push(cache, arguments.remote, choose, bar.report())
                                : admin::pull(cache, arguments.remote, choose, bar.report());
    }();
    if (!report)
        fail(report.error().message);
    for (const std::string& problem : report->problems)
        warn(problem);
    if (arguments.json)
        print_json({{"entries", report->entries},
                    {"bytes", report->bytes},
                    {"already_there", report->already_there},
                    {"rejected", report->rejected},
                    {"problems", report->problems}});
    else
        print_out("{} {} ({}); {} there already, {} rejected.\n", way == Way::push ? "Pushed" : "Pulled",
                  count_of(report->entries, "entry", "entries"), format_size(report->bytes),
                  count_of(report->already_there, "was", "were"), report->rejected);
    const bool nothing = report->entries + report->already_there == 0;
    return nothing && !arguments.pattern.empty() ? k_nothing : k_done;
}

void add(CommandLine& line, CLI::App& command, Way way)
{
    auto arguments = std::make_shared<Arguments>();
    add_text(command, "PATTERN", arguments->pattern, Pattern::k_help);
    add_text(command, "--remote", arguments->remote, "Which one, by its tier's name (the first)", "NAME");
    add_json_flag(command, arguments->json);
    line.on_chosen(command, arguments,
                   [way](const Globals& globals, const Arguments& given) { return run(globals, given, way); });
}

}  // namespace

void add_push(CommandLine& line)
{
    CLI::App& command = line.add("push", "Sends entries of this machine to a server that a fleet shares.",
                                 "  HEARTH_REMOTE=redis://cache:6379 hearth push\n"
                                 "  hearth push 'gemm*'\n"
                                 "  HEARTH_SIGN_WITH=build.key hearth push --remote s3");
    add(line, command, Way::push);
}

void add_pull(CommandLine& line)
{
    CLI::App& command = line.add("pull", "Fetches entries from a server that a fleet shares, to this machine's disk.",
                                 "  HEARTH_REMOTE=s3://bucket/kernels hearth pull\n"
                                 "  hearth pull 'gemm*' --remote redis",
                                 "A plain HTTP server cannot list what it holds; its entries come as they are used.");
    add(line, command, Way::pull);
}

}  // namespace hearth::cli
