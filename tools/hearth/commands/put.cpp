#include "cache/key_argument.hpp"
#include "cache/open_cache.hpp"
#include "hearth/units.hpp"
#include "process/file_io.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

namespace hearth::cli {

namespace {

struct PutArguments {
    std::string key;
    std::string file;
    std::optional<std::string> label;
    std::string target;
    std::string compiler;
    std::optional<std::chrono::milliseconds> cost;
    bool json = false;
};

int run_put(const Globals& globals, const PutArguments& arguments)
{
    const Request request = exact_key(arguments.key);
    Cache cache = open_cache(globals, Use::change, Remotes::yes);

    Artifact artifact(read_whole(arguments.file, max_entry_bytes(globals)));
    const bool is_text = !request.encoding().empty();
    artifact.metadata.label = arguments.label.value_or(is_text ? arguments.key : "");
    artifact.metadata.target = arguments.target;
    artifact.metadata.compiler = arguments.compiler;
    artifact.cost = arguments.cost.value_or(std::chrono::milliseconds(0));
    const std::uint64_t bytes = artifact.size();

    const InsertReport stored = or_fail(cache.insert(request, std::move(artifact)));
    // What is only in this command's memory is lost when it ends.
    const std::vector<std::string> tiers = persistent_among(cache, stored.tiers);
    if (tiers.empty())
        fail(stored.refused.empty() ? "No tier that outlives this command took the entry. 'hearth doctor' says more."
                                    : fmt::format("{}", fmt::join(stored.refused, " ")));
    for (const std::string& sentence : stored.refused)
        warn(sentence);
    cache.flush();

    const std::string key = request.key().hex();
    if (arguments.json)
        print_json({{"key", key}, {"bytes", bytes}, {"tiers", tiers}});
    else
        print_out("{}  {}  in {}\n", key, format_size(bytes), fmt::join(tiers, ", "));
    return k_done;
}

}  // namespace

void add_put(Command& command)
{
    command.describe("Stores a file's bytes under a key, replacing what was there.",
                     "  hearth put saxpy saxpy.cubin --target sm_90 --cost 42ms\n"
                     "  clang -S -emit-llvm -o - a.c | hearth put a.c -\n"
                     "  hearth put -- --odd-key file       a key that looks like an option");
    auto& arguments = command.runs(run_put);
    command.text("KEY", arguments.key, "Any text, or a key's 64 hexadecimal digits").required();
    command.text("FILE", arguments.file, "What to store; - reads standard input").required();
    command.text("--label", arguments.label, "The name that ls shows (otherwise the key, if it is a text)");
    command.text("--target", arguments.target, "What it was compiled for: sm_90, a device, a triple");
    command.text("--compiler", arguments.compiler, "The compiler and its version");
    command.duration("--cost", arguments.cost, "How long it took to compile; costlier entries are kept longer");
    command.json(arguments.json);
}

}  // namespace hearth::cli
