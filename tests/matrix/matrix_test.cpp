// Every door with every store: from a copy that was installed and then moved, with real servers and the real compiler.
// HEARTH_MATRIX_PREFIX names another copy, such as what a package was unpacked to; it is moved too.
// The first process compiles; a second one, on what could be another machine, has it from the store. A new door or
// store is one row below. docs/matrix.md is what these tables say; HEARTH_WRITE_MATRIX=1 writes it anew.
#include "hearth/libraries.hpp"
#include "support/nvvm_text.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"
#include "support/scratch_directory.hpp"
#include "support/single_file.hpp"
#include "tiers/http/http_fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::optional<std::string>>;

std::string read(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The installed copy, what is compiled with it, and what the bare compilers make of that.
class World {
public:
    World()
    {
        install();
        nvrtc = find_library({"libnvrtc.so.13", "libnvrtc.so.12"});
        nvvm = find_library({"libnvvm.so.4"});
        ptxas = "/usr/local/cuda/bin/ptxas";
        nvcc = "/usr/local/cuda/bin/nvcc";
        write_file(source(), "extern \"C\" __global__ void k(int* o) { *o = 41; }\n");
        bare_ptx = made_by({door("every_call"), nvrtc, source()});
        write_file(ptx(), bare_ptx);
        write_file(ir(), nvvm_text());
        if (const char* home = std::getenv("HOME"); home != nullptr)
            python = std::string(home) + "/.cache/hearth-tests/python/bin/python3";  // by scripts/install-deps
        bare_jax = made_by(jax_door());
        bare_nvvm = made_by(nvvm_door());
        if (fs::exists(ptxas)) {
            run_process({ptxas, "-arch=sm_80", "-m64", ptx(), "-o", m_scratch / "bare.cubin"});
            bare_cubin = read(m_scratch / "bare.cubin");
        }
        public_key = run_process({hearth(), "keygen", signing_key()}).out;
        public_key.erase(public_key.find_last_not_of('\n') + 1);
    }

    std::string prefix() const { return m_scratch / "moved"; }
    std::string hearth() const { return prefix() + "/" HEARTH_BINDIR "/hearth"; }
    std::string libraries;
    std::string beside_nvrtc() const { return fs::path(nvrtc).parent_path().string(); }
    std::string source() const { return m_scratch / "k.cu"; }
    std::string ptx() const { return m_scratch / "k.ptx"; }
    std::string ir() const { return m_scratch / "k.ll"; }
    // Where they write, and how often they compile, comes behind.
    Words nvvm_door() const { return {"/usr/bin/python3", HEARTH_SCRIPTS "/ctypes_door.py", "nvvm", nvvm, ir()}; }
    Words jax_door() const { return {"/usr/bin/env", "JAX_PLATFORMS=cpu", python, HEARTH_SCRIPTS "/jax_door.py"}; }
    std::string carried() const { return m_scratch / "carried"; }
    std::string signing_key() const { return m_scratch / "build.key"; }
    static std::string door(const std::string& name) { return std::string(HEARTH_DOORS) + "/" + name; }
    // A path that nobody has used.
    std::string fresh() const { return m_scratch / fmt::format("fresh{}", ++m_number); }

    std::string nvrtc;
    std::string nvvm;
    std::string ptxas;
    std::string nvcc;
    std::string bare_ptx;
    std::string python;  // with JAX
    std::string bare_nvvm;
    std::string bare_jax;
    std::string bare_cubin;
    std::string made = "made\n";  // by the program whose directory is carried
    std::string public_key;

private:
    std::string made_by(Words words) const
    {
        const std::string out = fresh();
        words.insert(words.end(), {out, "1"});
        // NVRTC opens a library of its own.
        run_process(words, {.environment = {{"LD_LIBRARY_PATH", beside_nvrtc()}}});
        return read(out);
    }

    void install()
    {
        if (const char* given = std::getenv("HEARTH_MATRIX_PREFIX"); given != nullptr) {
            fs::copy(given, prefix(), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
        } else {
            const Words command{HEARTH_CMAKE, "--install", HEARTH_BUILD, "--prefix", m_scratch / "installed"};
            if (const ProcessResult result = run_process(command); result.exit_code != 0)
                throw std::runtime_error(result.err);
            fs::rename(m_scratch / "installed", prefix());
        }
        // In a package the folder may be named for the machine.
        for (const fs::directory_entry& file : fs::recursive_directory_iterator(prefix()))
            if (file.path().filename().string().starts_with("libhearth.so"))
                libraries = file.path().parent_path();
    }

    ScratchDirectory m_scratch;
    mutable int m_number = 0;
};

World& world()
{
    static World all;
    return all;
}

// What one process did.
struct Seen {
    int compiled = 0;
    int hits = 0;
    std::string tier;  // of the hits
    int refused = 0;   // compiles that were forbidden
    std::string bytes;
    std::string said;
};

// A variable of a process that has to say that it is ready before it compiles anything.
constexpr const char* k_is_ready = "DOOR_IS_READY";

// Under `hearth run`, whose summary says what was done: by compilers, or by their steps.
enum class Counts : bool { compilers, steps };
Seen under_run(const Words& command, const Variables& variables, const std::string& out,
               Counts counts = Counts::compilers)
{
    Words words{world().hearth(), "run", "--json", "--"};
    if (variables.contains(k_is_ready))
        words.insert(words.end(), {"/bin/sh", "-c", "\"$0\" ready >/dev/null && exec \"$@\"", world().hearth()});
    words.insert(words.end(), command.begin(), command.end());
    ProcessOptions options;
    options.environment = variables;
    options.environment["LD_LIBRARY_PATH"] = world().beside_nvrtc();
    const ProcessResult result = run_process(words, options);
    Seen seen;
    seen.said = fmt::format("exit code {}\n{}{}", result.exit_code, result.out, result.err);
    // The last line; what comes before is the program's.
    const std::size_t line = result.err.rfind('\n', std::max<std::size_t>(result.err.size(), 2) - 2);
    const nlohmann::json summary = nlohmann::json::parse(result.err.substr(line + 1), nullptr, false);
    if (!summary.is_object())
        return seen;
    const nlohmann::json& counted = counts == Counts::steps ? summary["steps"] : summary;
    seen.compiled = counted.value("compiled", -1);
    seen.hits = counted.value("hits", -1);
    seen.refused = summary.value("forbidden", -1);
    for (const auto& [tier, hits] : counted["by_tier"].items())
        seen.tier += tier;
    EXPECT_EQ(summary.value("past_the_cache", -1), 0) << seen.said;
    EXPECT_EQ(summary["warnings"].size(), 0U) << seen.said;
    seen.bytes = read(out);
    return seen;
}

// A library that was built with a sanitizer cannot be loaded into a program that was built without.
constexpr bool k_is_sanitized = HEARTH_IS_SANITIZED;
constexpr const char* k_no_dropins = "there are no drop-in libraries with a sanitizer";

using Runs = std::function<Seen(const Variables&, int times, const std::string& out)>;

struct Door {
    const char* name;
    const char* what;
    Runs run;             // one process that compiles so many times, and writes the last result
    std::string why_not;  // it cannot be tried here
    const std::string World::*bare = &World::bare_ptx;
    bool compiles_twice = true;  // in one process
    bool is_recorded = true;     // as a recipe
    bool is_compiler = true;     // and no directory that is carried
    bool needs_dropins = true;
};

Door compiles_once(Door door)
{
    door.compiles_twice = false;
    return door;
}

Door not_recorded(Door door)
{
    door.is_recorded = false;
    return door;
}

Door without_dropins(Door door)
{
    door.needs_dropins = false;
    return door;
}

// A command under `hearth run`. Its last words are where it writes and, where it takes that, how often.
Runs served(const Words& before, bool takes_times = true)
{
    return [=](const Variables& variables, int times, const std::string& out) {
        Words command = before;
        command.push_back(out);
        if (takes_times)
            command.push_back(std::to_string(times));
        return under_run(command, variables, out);
    };
}

// Without `hearth run`: what was compiled and hit is in what it printed.
std::pair<Seen, std::string> alone(const Words& command, const ProcessOptions& options, const std::string& out)
{
    const ProcessResult result = run_process(command, options);
    Seen seen;
    seen.said = result.out + result.err;
    seen.refused = result.err.find("may not compile") != std::string::npos ? 1 : 0;
    seen.bytes = read(out);
    return {seen, result.out};
}

Seen by_library(const Variables& variables, int times, const std::string& out)
{
    ProcessOptions options{.environment = variables};
    options.environment["LD_LIBRARY_PATH"] = world().libraries + ":" + world().beside_nvrtc();
    auto [seen, printed] =
        alone({World::door("library_door"), world().source(), out, std::to_string(times)}, options, out);
    std::istringstream lines(printed);
    for (std::string line; std::getline(lines, line);) {
        (line.starts_with("hit ") ? seen.hits : seen.compiled) += 1;
        if (line.starts_with("hit "))
            seen.tier = line.substr(4);
    }
    return seen;
}

Seen by_compile(const Variables& variables, int /*times*/, const std::string& out)
{
    auto [seen, printed] = alone(
        {world().hearth(), "compile", world().source(), "--target", "compute_80", "--emit", "ptx", "--json", "-o", out},
        {.environment = variables}, out);
    const nlohmann::json line = nlohmann::json::parse(printed, nullptr, false);
    if (line.is_object()) {
        seen.hits = line.value("outcome", "") == "hit" ? 1 : 0;
        seen.compiled = line.value("outcome", "") == "miss" ? 1 : 0;
        seen.tier = line.value("tier", "");
    }
    return seen;
}

// nvcc is asked something new each time, and what its only step is asked stays the same.
Seen by_step(const Variables& variables, int /*times*/, const std::string& out)
{
    static int asked = 0;
    const Words nvcc{world().nvcc, "-cubin", "-arch=sm_80", fmt::format("-DASKED={}", asked++), world().ptx(),
                     "-o",         out};
    return under_run(nvcc, variables, out, Counts::steps);
}

// A program that keeps what it makes in a directory of its own.
Seen by_carry(const Variables& variables, int /*times*/, const std::string& out)
{
    const std::string directory = world().carried();
    // In one step: what still captures it reads either everything or nothing.
    if (fs::exists(directory))
        fs::rename(directory, world().fresh());
    ProcessOptions options;
    options.environment = variables;
    const Words program{"/bin/sh", "-c",
                        "if test -e \"$0/made\"; then echo hit; else echo compiled; mkdir -p \"$0\" && echo made "
                        ">\"$0/made\"; fi; cp \"$0/made\" \"$1\"",
                        directory, out};
    Words words{world().hearth(), "run", "--carry", directory, "--"};
    words.insert(words.end(), program.begin(), program.end());
    const ProcessResult run = run_process(words, options);
    // The run captures in the background.
    words = {world().hearth(), "carry", "capture", directory, "--program", "/bin/sh"};
    if (variables.at("HEARTH_REMOTE"))
        words.emplace_back("--push");
    const ProcessResult captured = run_process(words, options);
    Seen seen;
    seen.said = run.out + run.err + captured.out + captured.err;
    seen.hits = run.out == "hit\n" ? 1 : 0;
    seen.compiled = run.out == "compiled\n" ? 1 : 0;
    EXPECT_EQ(run.err, "") << seen.said;
    EXPECT_EQ(captured.exit_code, 0) << seen.said;
    seen.bytes = read(out);
    return seen;
}

std::vector<Door> doors()
{
    const World& in = world();
    const std::string soname = fs::path(in.nvrtc).filename();
    const std::string linked = World::door("every_call_enable_new_dtags");
    const std::string start = "exec \"$0\" -arch=sm_80 -m64 \"$1\" -o \"$2\"";
    const auto opens = [&](const std::string& library) {
        return served({World::door("every_call"), library, in.source()});
    };
    const auto unless = [](bool is_there, const std::string& why) { return is_there ? std::string{} : why; };
    const auto needs = [&](const std::string& file) { return unless(fs::exists(file), file + " is not installed"); };
    std::vector<Door> all{
        without_dropins({"library", "a C++ program that calls `hearth::nvrtc::compile`", by_library, {}}),
        without_dropins(compiles_once({"compile", "`hearth compile`", by_compile, {}})),
        {"linked", "`hearth run` of a program that is linked with libnvrtc and has a RUNPATH",
         served({linked, "-", in.source()}), needs(linked)},
        {"soname", "`hearth run` of a program that opens `libnvrtc.so.13`", opens(soname), {}},
        {"plain name", "`hearth run` of a program that opens `libnvrtc.so`", opens("libnvrtc.so"),
         unless(fs::exists(in.beside_nvrtc() + "/libnvrtc.so"), "only the toolkit has one without a version")},
        {"path", "`hearth run` of a program that opens it by its whole path", opens(in.nvrtc), {}},
        {"Python", "`hearth run` of Python that opens it with ctypes",
         served({"/usr/bin/python3", HEARTH_SCRIPTS "/ctypes_door.py", "nvrtc", soname, in.source()}),
         needs("/usr/bin/python3")},
        not_recorded({"NVVM", "`hearth run` of Python that opens libnvvm.so.4", served(in.nvvm_door()),
                      unless(!in.bare_nvvm.empty(), "there is no libnvvm or no Python"), &World::bare_nvvm}),
        {"framework", "`hearth run` of Python that uses JAX", served(in.jax_door()),
         unless(!in.bare_jax.empty(), "JAX is not installed"), &World::bare_jax},
        compiles_once({"started", "`hearth run` of a program that starts a compiler",
                       served({"/bin/sh", "-c", start, in.ptxas, in.ptx()}, false), needs(in.ptxas),
                       &World::bare_cubin}),
        compiles_once({"exec", "`hearth exec` of a compiler that is a program, under `hearth run`",
                       served({in.hearth(), "exec", "--", in.ptxas, "-arch=sm_80", "-m64", in.ptx(), "-o"}, false),
                       needs(in.ptxas), &World::bare_cubin}),
        compiles_once(not_recorded({"step", "a step of nvcc, which itself is asked something new", by_step,
                                    needs(in.nvcc), &World::bare_cubin})),
        // 'hearth run' without the drop-ins runs the program and nothing else.
        compiles_once(not_recorded({"carry",
                                    "`hearth run --carry` of a program that keeps a directory of its own",
                                    by_carry,
                                    {},
                                    &World::made})),
    };
    all.back().is_compiler = false;
    for (Door& door : all)
        if (k_is_sanitized && door.needs_dropins)
            door.why_not = k_no_dropins;
    return all;
}

// Where the second process may find what the first one compiled.
struct Store {
    const char* name;
    const char* what;
    const char* tier;
    // The address of a place that is empty, for HEARTH_REMOTE; empty: it is no server's.
    std::function<std::string()> address = [] { return std::string{}; };
    std::function<std::string()> why_not = [] { return std::string{}; };
};

void PrintTo(const Store& store, std::ostream* out)
{
    *out << store.name;
}

std::string without(bool is_there, const char* what)
{
    return is_there ? std::string{} : fmt::format("{} is not installed: scripts/install-deps test", what);
}

std::string fresh_prefix()
{
    return "?prefix=" + fresh_path() + ":";
}

std::vector<Store> stores()
{
    return {
        {"memory", "the process's own memory", "memory"},
        {"disk", "a directory of this machine", "disk"},
        {"bundle", "a file made by `hearth bundle create`", "bundle"},
        {"redis", "a Redis server", "redis",
         [] {
             static const RedisServer server;
             return fmt::format("redis://127.0.0.1:{}{}", server.port(), fresh_prefix());
         },
         [] { return without(has_redis(), "redis-server"); }},
        {"redis cluster", "a Redis cluster of three masters and three replicas", "redis",
         [] {
             static const RedisCluster cluster;
             return "redis+cluster://" + cluster.hosts() + fresh_prefix();
         },
         [] { return without(has_redis(), "redis-server"); }},
        {"http", "nginx with WebDAV", "http", [] { return "http://" + shared_nginx()->address() + "/" + fresh_path(); },
         [] { return without(shared_nginx() != nullptr, "nginx"); }},
        {"https", "the same over TLS, with a certificate of the client's", "http",
         [] {
             static const auto server =
                 NginxServer::start({.certificate = shared_ca()->good(), .clients_authority = shared_ca()->file()});
             static const TestCa::Certificate client = shared_ca()->client();
             return fmt::format("https://{}/{}?ca={}&cert={}&key={}", server->address(), fresh_path(),
                                shared_ca()->file(), client.file, client.key);
         },
         [] { return without(shared_ca() != nullptr && shared_tls_nginx() != nullptr, "nginx or openssl"); }},
        {"s3", "an S3 server", "s3", [] { return s3_url(k_bucket, fresh_path()); },
         [] { return without(shared_s3() != nullptr, "Swift"); }},
    };
}

const char* const k_modes[] = {"plain", "signed", "forbidden", "after ready", "recorded"};

// Why these cannot be together; empty: they can.
std::string why_never(const Door& door, const Store& store, const std::string& mode)
{
    const std::string in = store.name;
    if (in == "memory" && !door.compiles_twice)
        return "it compiles once in a process, and its memory ends with it";
    if (in == "memory" && mode == "signed")
        return "nothing in a process's own memory is signed";
    const bool is_refused = mode == "forbidden" || mode == "after ready";
    if (is_refused && !door.is_compiler)
        return "no compiler is asked";
    if (in == "memory" && is_refused)
        return "the first compile of a process is in no memory";
    if (is_refused && door.name == std::string("step"))
        return "the compiler whose step it is may not run";
    if (mode == "after ready" && door.name == std::string("compile"))
        return "it has no start-up to end";
    if (mode == "recorded" && !door.is_recorded)
        return "recipes are of NVRTC, of commands and of frameworks";
    return {};
}

class Matrix : public testing::TestWithParam<Store> {
protected:
    static Variables at(const std::string& directory)
    {
        return {{"HEARTH_DIR", directory},
                {"HEARTH_NVRTC", {}},
                {"HEARTH_REMOTE", {}},
                {"HEARTH_LOG", {}},
                {"XDG_CONFIG_HOME", directory}};
    }

    static void expect(const Seen& seen, int compiled, int hits, const std::string& tier, const Door& door)
    {
        EXPECT_EQ(seen.compiled, compiled) << seen.said;
        EXPECT_EQ(seen.hits, hits) << seen.said;
        EXPECT_EQ(seen.tier, door.is_compiler ? tier : "") << seen.said;
        EXPECT_EQ(seen.bytes, world().*door.bare) << seen.said;
        EXPECT_NE(seen.bytes, "");
    }

    // Those who run it are told the hit by the metrics of that directory.
    static void expect_told(const Variables& variables, const std::string& tier)
    {
        ProcessOptions options;
        options.environment = variables;
        const std::string metrics = run_process({world().hearth(), "metrics"}, options).out;
        // NVVM asks twice: for what a program is found to be, and for what is made of it.
        const std::string hits = fmt::format("\nhearth_hits_total{{tier=\"{}\"}} ", tier);
        const std::size_t told = metrics.find(hits);
        ASSERT_NE(told, std::string::npos) << metrics;
        EXPECT_NE(metrics[told + hits.size()], '0') << metrics;
    }

    static void try_out(const Door& door, const Store& store, const std::string& mode)
    {
        Variables first = at(world().fresh());
        Variables second = at(world().fresh());
        const std::string record = world().fresh();
        const std::string in = store.name;
        // A busy machine is no failure.
        if (const std::string address = store.address(); !address.empty())
            first["HEARTH_REMOTE"] = second["HEARTH_REMOTE"] =
                address + (address.find('?') == std::string::npos ? "?" : "&") + "timeout=10s&connect-timeout=5s";
        for (Variables* variables : {&first, &second}) {
            if (mode == "signed") {
                (*variables)["HEARTH_SIGN_WITH"] = world().signing_key();
                (*variables)["HEARTH_TRUSTED_KEYS"] = world().public_key;
                (*variables)["HEARTH_DEMAND_SIGNATURES"] = "all";
            }
            if (mode == "recorded")
                (*variables)["HEARTH_RECORD"] = record;
            if (mode == "after ready")
                (*variables)["HEARTH_FORBID_COMPILE"] = "after-ready";
        }
        if (in == "disk")
            second["HEARTH_DIR"] = first["HEARTH_DIR"];
        if (in == "memory") {
            expect(door.run(first, 2, world().fresh()), 1, 1, "memory", door);
        } else {
            expect(door.run(first, 1, world().fresh()), 1, 0, "", door);
            if (in == "bundle") {
                const std::string file = world().fresh();
                ProcessOptions options;
                options.environment = first;
                const ProcessResult made = run_process({world().hearth(), "bundle", "create", file}, options);
                ASSERT_EQ(made.exit_code, 0) << made.err;
                second["HEARTH_BUNDLES"] = file;
            }
            if (mode == "forbidden")
                second["HEARTH_FORBID_COMPILE"] = "1";
            if (mode == "after ready")
                second[k_is_ready] = "1";
            expect(door.run(second, 1, world().fresh()), 0, 1, store.tier, door);
            if (mode == "plain" && door.is_compiler)
                expect_told(second, store.tier);
        }
        if (mode == "recorded") {
            const std::string recipes = read(record);
            EXPECT_EQ(std::count(recipes.begin(), recipes.end(), '\n') > 0, true) << "nothing was recorded";
        }
        if (mode == "forbidden" || mode == "after ready") {
            Variables empty = at(world().fresh());
            for (const std::string name : {"HEARTH_FORBID_COMPILE", k_is_ready})
                if (second.contains(name))
                    empty[name] = second[name];
            const Seen refused = door.run(empty, 1, world().fresh());
            EXPECT_EQ(refused.compiled + refused.hits, 0) << refused.said;
            EXPECT_EQ(refused.refused, 1) << refused.said;
            EXPECT_EQ(refused.bytes, "");
        }
    }
};

TEST_P(Matrix, what_one_process_compiled_another_has_from_the_store)
{
    const Store& store = GetParam();
    if (world().nvrtc.empty())
        GTEST_SKIP() << "No libnvrtc is installed.";
    if (const std::string why = store.why_not(); !why.empty())
        GTEST_SKIP() << why;
    // Every mode with every door takes minutes. `make test` takes the doors that share the least code.
    const bool is_whole = std::getenv("HEARTH_WHOLE_MATRIX") != nullptr;
    for (const Door& door : doors()) {
        if (!door.why_not.empty()) {
            std::cout << "left out: " << door.name << ": " << door.why_not << '\n';
            continue;
        }
        for (const std::string mode : k_modes) {
            const bool is_chosen =
                mode == "plain" || door.name == std::string("compile") || door.name == std::string("soname");
            if ((!is_chosen && !is_whole) || !why_never(door, store, mode).empty())
                continue;
            SCOPED_TRACE(fmt::format("{}, {}, {}", door.name, store.name, mode));
            try_out(door, store, mode);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(stores, Matrix, testing::ValuesIn(stores()), [](const testing::TestParamInfo<Store>& store) {
    std::string name = store.param.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
});

std::string as_page()
{
    std::string page = "# What works together\n\nMade from the tables of tests/matrix/matrix_test.cpp, which tries "
                       "each of them from an installed copy that was moved, with\nreal servers: the first process "
                       "compiles, the second has it from the store, and the bytes are the bare compiler's.\n\n"
                       "The last column says which doors are tried with AddressSanitizer and "
                       "UndefinedBehaviorSanitizer too (`make sanitize`).\n\n"
                       "## Doors\n\n";
    for (const Door& door : doors())
        page += fmt::format("- **{}**: {}\n", door.name, door.what);
    page += "\n## Stores\n\n";
    for (const Store& store : stores())
        page += fmt::format("- **{}**: {}\n", store.name, store.what);
    page +=
        "\n## Modes\n\n"
        "- **plain**: settings as they are by default\n"
        "- **signed**: `HEARTH_SIGN_WITH`, and `HEARTH_DEMAND_SIGNATURES=all`\n"
        "- **forbidden**: the second process has `HEARTH_FORBID_COMPILE=1`; a third, without the store, is refused\n"
        "- **after ready**: all have `HEARTH_FORBID_COMPILE=after-ready`; the second one is ready before it asks, and "
        "so "
        "is a third,\n  which is without the store and is refused\n"
        "- **recorded**: `HEARTH_RECORD` writes recipes meanwhile\n\n"
        "## Together\n\nEach letter is a mode that works: **p**lain, **s**igned, **f**orbidden, **a**fter ready, "
        "**r**ecorded.\n\n|  |";
    for (const Store& store : stores())
        page += fmt::format(" {} |", store.name);
    page += " with ASan |\n|---|";
    for (std::size_t i = 0; i < stores().size() + 1; ++i)
        page += "---|";
    std::map<std::string, int> never;  // how many pairs of each reason
    for (const Door& door : doors()) {
        page += fmt::format("\n| {} |", door.name);
        for (const Store& store : stores()) {
            std::string modes;
            for (const std::string mode : k_modes) {
                const std::string why = why_never(door, store, mode);
                modes += why.empty() ? mode.substr(0, 1) : "";
                never[why] += 1;
            }
            page += fmt::format(" {} |", modes.empty() ? "-" : modes);
        }
        page += fmt::format(" {} |", door.needs_dropins ? "-" : "yes");
    }
    page += fmt::format("\n\n## What cannot be\n\n- with ASan: {}\n", k_no_dropins);
    never.erase("");
    for (const auto& [why, pairs] : never)
        page += fmt::format("- {} ({} of the pairs above)\n", why, pairs);
    return page;
}

TEST(MatrixPage, is_what_the_tables_say)
{
    const std::string path = HEARTH_DOCS "/matrix.md";
    if (std::getenv("HEARTH_WRITE_MATRIX") != nullptr)
        write_file(path, as_page());
    EXPECT_EQ(read(path), as_page()) << "HEARTH_WRITE_MATRIX=1 writes it anew";
}

}  // namespace

}  // namespace hearth::test
