// An incremental build of a program of many modules, its IR kept in device memory and found by content. k_help in
// arguments.cpp says what it can be asked for.

#include "arguments.hpp"
#include "build.hpp"
#include "files.hpp"
#include "generator.hpp"
#include "process.hpp"
#include "sources.hpp"
#include "table.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;
using namespace hearth::literals;

// Both end the program with a sentence; main() prints it.
struct WrongArgument : std::runtime_error {
    using std::runtime_error::runtime_error;
};
[[noreturn]] void fail(const std::string& message)
{
    throw std::runtime_error(message);
}

template <class T>
T checked(hearth::Result<T> result)
{
    if (!result)
        fail(result.error().message);
    return std::move(*result);
}

void checked(const hearth::Status& status)
{
    if (!status.ok())
        fail(status.error().message);
}

// Where a run has its sources and its cache.
class Workspace {
public:
    explicit Workspace(const demo::Arguments& arguments)
        : m_temporary(arguments.directory.empty()), m_path(arguments.directory)
    {
        if (m_temporary) {
            m_path = (fs::temp_directory_path() / "incremental_build-XXXXXX").string();
            if (!::mkdtemp(m_path.data()))
                fail(fmt::format("No temporary directory like {} can be made.", m_path));
        } else if (!arguments.again) {
            std::error_code error;
            fs::create_directories(m_path, error);
            if (error)
                throw WrongArgument(fmt::format("The directory {} cannot be made: {}.", m_path, error.message()));
            if (!fs::is_empty(m_path))
                throw WrongArgument(fmt::format(
                    "The directory {} is not empty. Give one that is, or --again to build what lies there.", m_path));
        }
    }
    ~Workspace()
    {
        std::error_code ignored;
        if (m_temporary)
            fs::remove_all(m_path, ignored);
    }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    const std::string& path() const { return m_path; }
    std::string sources() const { return m_path + "/sources"; }
    std::string source(const std::string& file) const { return sources() + "/" + file; }
    std::string cache() const { return m_path + "/cache"; }

private:
    bool m_temporary;
    std::string m_path;
};

// Builds with a cache, and shows it once it has been compared with a build from scratch.
class Builder {
public:
    Builder(const Workspace& workspace, const demo::Arguments& arguments, demo::Table& table)
        : m_sources(workspace.sources()), m_table(table),
          m_cache(
              512_MiB, workspace.cache(), [this](std::string_view file) { return m_sources.request(file); },
              arguments.backend),
          m_memory(demo::describe_memory(m_cache))
    {
        checked(m_sources.read());
        m_table.remark("IR is held in " + m_memory + " and in " + workspace.cache());
    }

    demo::Sources& sources() { return m_sources; }

    // The second of two: the first also pays for pages and heap that every later build finds ready.
    void without_cache()
    {
        checked(demo::build(m_sources, nullptr));
        m_table.show(demo::row_of("no cache", checked(demo::build(m_sources, nullptr)), ""));
    }

    demo::BuildReport build(const std::string& name)
    {
        demo::BuildReport report = checked(demo::build(m_sources, &m_cache));
        const demo::BuildReport scratch = checked(demo::build(m_sources, nullptr));
        if (const std::string differs = demo::difference(report, scratch); !differs.empty())
            fail(fmt::format("The build \"{}\" is not what a build from scratch gives. {}", name, differs));
        m_table.show(demo::row_of(name, report, m_memory));
        return report;
    }

    void say_statistics() const
    {
        const demo::IrStatistics all = m_cache.statistics();
        m_table.remark(fmt::format("{} lookups, {} hits ({:.1f} %), {:.1f} us each", all.lookups(), all.hits(),
                                   100 * all.hit_rate(), all.mean_latency_us()));
    }

private:
    demo::Sources m_sources;
    demo::Table& m_table;
    demo::IrCache m_cache;
    std::string m_memory;
};

void expect(const std::string& build, std::size_t wanted, std::size_t compiled)
{
    if (compiled != wanted)
        fail(fmt::format("The build \"{}\" compiled {} modules, where {} had changed.", build, compiled, wanted));
}

// The module in the middle, or the next one that has importers and a signature that can be edited.
std::string module_to_edit(const demo::Sources& sources, const Workspace& workspace)
{
    const std::vector<std::string> files = sources.files();
    for (std::size_t i = 0; i < files.size(); ++i) {
        const std::string& file = files[(files.size() / 2 + i) % files.size()];
        if (!sources.importers_of(file).empty() &&
            demo::with_edited_signature(checked(demo::read_file(workspace.source(file)))))
            return file;
    }
    fail("None of the modules has importers.");
}

void run_all(const Workspace& workspace, const demo::Arguments& arguments, demo::Table& table)
{
    fs::create_directories(workspace.sources());
    for (const auto& [file, text] : demo::generate({arguments.modules, arguments.seed}))
        checked(demo::write_file(workspace.source(file), text));

    Builder builder(workspace, arguments, table);
    builder.without_cache();
    expect("cold", arguments.modules, builder.build("cold").compiled.size());

    const std::string edited = module_to_edit(builder.sources(), workspace);
    const std::size_t importers = builder.sources().importers_of(edited).size();
    std::string text = demo::with_edited_body(checked(demo::read_file(workspace.source(edited))));
    checked(demo::write_file(workspace.source(edited), text));
    expect("a body edited", 1, builder.build("a body edited").compiled.size());

    text = demo::with_edited_signature(text).value();
    checked(demo::write_file(workspace.source(edited), text));
    expect("a signature edited", 1 + importers, builder.build("a signature edited").compiled.size());

    const std::string backend(arguments.backend == hearth::device::Backend::automatic
                                  ? "auto"
                                  : hearth::device::to_string(arguments.backend));
    const std::optional<demo::Row> fresh = demo::row_from_json(
        checked(demo::run_self({"--again", "--json", "--directory", workspace.path(), "--backend", backend})));
    if (!fresh)
        fail("The fresh process did not say how its build went.");
    table.show(*fresh);
    expect(fresh->build, 0, fresh->compiled);
    table.remark(
        fmt::format("Edited was {}, which {} {}. Every build was compared, byte for byte, with one from scratch.\n"
                    "FASTER is against the build without a cache.",
                    edited, importers, importers == 1 ? "module imports" : "modules import"));
    builder.say_statistics();
}

}  // namespace

int main(int count, char** words)
{
    const hearth::Result<demo::Arguments> arguments =
        demo::parse_arguments({words + std::min(count, 1), words + count});
    if (!arguments) {
        fmt::print(stderr, "incremental_build: {} See --help.\n", arguments.error().message);
        return 2;
    }
    if (arguments->help) {
        fmt::print("{}", demo::k_help);
        return 0;
    }
    try {
        const Workspace workspace(*arguments);
        demo::Table table(arguments->json);
        if (arguments->again)
            Builder(workspace, *arguments, table).build("fresh process");
        else
            run_all(workspace, *arguments, table);
    } catch (const WrongArgument& problem) {
        fmt::print(stderr, "incremental_build: {}\n", problem.what());
        return 2;
    } catch (const std::exception& problem) {
        fmt::print(stderr, "incremental_build: {}\n", problem.what());
        return 1;
    }
    return 0;
}
