// Compiles C++ files through a Hearth cache and says how long each took and which tier answered.
//
//   compile_demo CACHE OUTPUT FILE...                    compile FILEs, leave the results and the times in OUTPUT
//   compile_demo CACHE OUTPUT --against EARLIER FILE...  the same, compared with the OUTPUT of an earlier run
//
// Exact or a miss: the key of a result holds the compiler, the options, and the content of every file the compile
// reads. To know those files without starting the compiler, the demo keeps their list in the cache as well, as ccache
// does, with the places where a header was looked for and not found: one that appears there would be read instead.

#include "files.hpp"
#include "inputs.hpp"
#include "toolchain.hpp"

#include "hearth/hearth.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

namespace {

namespace fs = std::filesystem;
using demo::FileDigests;
using demo::Inputs;
using demo::Toolchain;

// Everything but the headers. The whole path counts: headers in quotes are looked for beside the file.
hearth::KeyBuilder key_of(std::string_view what, const Toolchain& toolchain, const std::string& source,
                          FileDigests& digests)
{
    hearth::KeyBuilder key(what);
    key.text("compiler", toolchain.identity);
    key.list("options", toolchain.options);
    key.text("file", source);
    key.text("source", digests.of(source));
    return key;
}

hearth::Result<Inputs> inputs_of(hearth::Cache& cache, const Toolchain& toolchain, const std::string& source,
                                 FileDigests& digests)
{
    const hearth::Request request = key_of("demo inputs", toolchain, source, digests).build();
    const auto list = [&]() -> hearth::Result<hearth::Artifact> {
        hearth::Result<Inputs> listed = Inputs::list(toolchain, source, digests);
        if (!listed)
            return listed.error();
        hearth::Artifact artifact(listed->text());
        artifact.metadata.label = "headers of " + fs::path(source).filename().string();
        return artifact;
    };
    hearth::Result<hearth::Lookup> found = cache.get_or_compile(request, list);
    if (!found)
        return found.error();
    if (Inputs inputs{std::string((*found)->text())}; inputs.unchanged(digests))
        return inputs;

    // A header was edited, or a new one stands in front of an old one.
    hearth::Result<hearth::Artifact> fresh = list();
    if (!fresh)
        return fresh.error();
    Inputs inputs{std::string(fresh->text())};
    // A list that could not be stored is made again the next time; the compile goes on.
    (void)cache.insert(request, std::move(*fresh));
    return inputs;
}

hearth::Result<hearth::Lookup> compile(hearth::Cache& cache, const Toolchain& toolchain, const std::string& source,
                                       FileDigests& digests)
{
    const hearth::Result<Inputs> inputs = inputs_of(cache, toolchain, source, digests);
    if (!inputs)
        return inputs.error();
    hearth::KeyBuilder key = key_of("demo output", toolchain, source, digests);
    key.text("inputs", inputs->text());
    return cache.get_or_compile(key.build(), [&]() -> hearth::Result<hearth::Artifact> {
        hearth::Result<hearth::Artifact> made = toolchain.compile(source);
        // What was compiled may not be what the key says: better no entry than a wrong one.
        if (made && !inputs->unchanged(digests))
            return hearth::Error{hearth::Code::unavailable,
                                 "A file that " + source + " reads changed while it was compiled. Run it again.",
                                 {}};
        return made;
    });
}

struct Row {
    double ms = 0;
    std::string tier;
};

std::map<std::string, Row> read_times(const fs::path& folder)
{
    std::map<std::string, Row> rows;
    std::ifstream file(folder / "times");
    std::string name;
    for (Row row; file >> name >> row.ms >> row.tier;)
        rows[name] = row;
    return rows;
}

int fail(const hearth::Error& error)
{
    std::fprintf(stderr, "compile_demo: %s\n%s", error.message.c_str(), error.log.c_str());
    return 3;
}

void print_comparison(const std::map<std::string, Row>& before, const std::map<std::string, Row>& now)
{
    Row sum_before;
    Row sum_now;
    std::printf("%-18s %10s %10s %14s   %s\n", "file", "cold ms", "warm ms", "times faster", "tier");
    const auto line = [](const std::string& name, double cold, double warm, const std::string& tier) {
        std::printf("%-18s %10.1f %10.2f %13.0fx%s%s\n", name.c_str(), cold, warm, cold / warm,
                    tier.empty() ? "" : "   ", tier.c_str());
    };
    for (const auto& [name, row] : now) {
        const auto cold = before.find(name);
        if (cold == before.end())
            continue;
        line(name, cold->second.ms, row.ms, row.tier);
        sum_before.ms += cold->second.ms;
        sum_now.ms += row.ms;
    }
    line("in all", sum_before.ms, sum_now.ms, "");
}

struct Arguments {
    fs::path cache;
    fs::path output;
    fs::path earlier;  // empty: nothing to compare with
    std::vector<std::string> files;
};

bool parse(int argc, char** argv, Arguments& arguments)
{
    if (argc < 4)
        return false;
    arguments.cache = argv[1];
    arguments.output = argv[2];
    int next = 3;
    if (std::strcmp(argv[3], "--against") == 0) {
        if (argc < 6)
            return false;
        arguments.earlier = argv[4];
        next = 5;
    }
    for (; next < argc; ++next)
        arguments.files.push_back(fs::absolute(argv[next]).lexically_normal().string());
    return true;
}

}  // namespace

int main(int argc, char** argv)
{
    Arguments arguments;
    if (!parse(argc, argv, arguments)) {
        std::fprintf(stderr, "Usage: compile_demo CACHE OUTPUT [--against EARLIER] FILE...\n");
        return 2;
    }
    const bool comparing = !arguments.earlier.empty();

    const hearth::Result<Toolchain> toolchain = Toolchain::find();
    if (!toolchain)
        return fail(toolchain.error());
    hearth::Result<hearth::Cache> cache = hearth::Cache::open({.directory = arguments.cache.string()});
    if (!cache)
        return fail(cache.error());

    fs::create_directories(arguments.output);
    FileDigests digests;
    std::map<std::string, Row> rows;
    for (const std::string& source : arguments.files) {
        const std::string name = fs::path(source).filename().string();
        const auto start = std::chrono::steady_clock::now();
        const hearth::Result<hearth::Lookup> result = compile(*cache, *toolchain, source, digests);
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        if (!result)
            return fail(result.error());

        const std::string_view output = (*result)->text("output");
        const fs::path file = name + toolchain->suffix;
        std::ofstream(arguments.output / file, std::ios::binary) << output;
        if (comparing && demo::read_file(arguments.earlier / file) != output)
            return fail({hearth::Code::corrupt,
                         "The result for " + name + " differs from the one in " + arguments.earlier.string() + ".",
                         {}});
        rows[name] = {took.count(), std::string(result->tier())};
        if (!comparing)
            std::printf("  %-18s %8.1f ms   %zu bytes, %s\n", name.c_str(), took.count(), output.size(),
                        rows[name].tier.c_str());
        std::fflush(stdout);
    }

    std::ofstream times(arguments.output / "times");
    for (const auto& [name, row] : rows)
        times << name << ' ' << row.ms << ' ' << row.tier << '\n';
    if (comparing)
        print_comparison(read_times(arguments.earlier), rows);
}
