// Random worlds around a compiler that is a program. After every random change, what `hearth exec` gives is what the
// compiler itself gives: object or assembly, messages, exit code and file of dependencies. And it is a hit where
// nothing that was asked has changed.

#include "tools/command.hpp"

#include "support/header_worlds.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <fmt/format.h>
#include <regex>

#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_changes = 5;

// What a call is made of, besides the headers.
struct Call {
    struct Folder {
        std::string option;  // -I, -isystem, ...
        std::string name;    // d0, or "link" to it
        bool whole;          // named by its whole path
    };

    std::vector<Folder> folders;
    std::map<std::string, std::optional<std::string>> variables;
    std::string directory;           // where it is called
    std::string source;              // as it is named there
    std::string form = "-c";         // or -S
    std::string output = "out";      // without its ending
    std::string dependencies;        // -MD, -MMD or none
    std::string include;             // what -include names
    std::vector<std::string> more;   // -DSWITCH, -g, ...
    bool arguments_in_file = false;  // some of them
};

// What a compiler left behind and said.
struct Outcome {
    int code = 0;
    std::string out;
    std::string err;
    std::string file;
    std::string dependencies;

    friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::ostream& operator<<(std::ostream& stream, const Outcome& outcome)
{
    return stream << "exit code " << outcome.code << ", said " << outcome.out << outcome.err << "; a file of "
                  << outcome.file.size() << " bytes; dependencies " << outcome.dependencies;
}

class CommandWorlds : public Command {
protected:
    void play(const std::string& compiler, const std::string& suffix, std::size_t worlds);

    // What another compiler is not asked.
    bool m_takes_gcc_options = true;
    std::vector<std::string> m_always;
    std::vector<std::string> m_forms{"-c", "-S"};
    bool m_fixes_paths = false;  // so that no compiler gives the same by itself

private:
    std::size_t any(std::size_t count) { return m_headers.any(count); }
    bool one_in(std::size_t count) { return any(count) == 0; }
    std::string any_of(const std::vector<std::string>& list) { return list[any(list.size())]; }

    void begin(const std::string& suffix)
    {
        static constexpr HeaderWorlds::Once k_kinds[] = {HeaderWorlds::Once::guards, HeaderWorlds::Once::pragmas};
        m_headers.begin(k_kinds[any(2)]);
        for (const char* name : {"src", "other"})
            fs::create_directories(scratch / name);
        change_link();
        // One source for all: what it reads is what differs.
        const std::string kernel = "__global__ void k(int* x) { *x = V0 + V1; }\n";
        const std::string text = "#include <h0.h>\n#include \"h1.h\"\n" + (m_takes_gcc_options ? "" : kernel) +
                                 "int value(void) { return V0 + V1; }\n";
        write("src/main" + suffix, text);
        m_call = {};
        for (int i = 0; i < HeaderWorlds::k_directories; ++i)
            m_call.folders.push_back({any_option(), fmt::format("d{}", i), one_in(2)});
        if (one_in(3))
            m_call.folders.insert(m_call.folders.begin(), {any_option(), "link", one_in(2)});
        std::shuffle(m_call.folders.begin(), m_call.folders.end(), m_shuffles);
        m_call.form = any_of(m_forms);
        change_place(suffix);
        change_dependencies();
    }

    std::string any_option()
    {
        return any_of(m_takes_gcc_options
                          ? std::vector<std::string>{"-I", "-I", "-I", "-isystem", "-isystem", "-iquote", "-idirafter"}
                          : std::vector<std::string>{"-I", "-I", "-isystem"});
    }
    std::string place(const std::string& name) const { return (scratch / name).string(); }

    void change_link()
    {
        fs::remove(scratch / "link");
        fs::create_directory_symlink(m_headers.any_directory(), scratch / "link");
    }
    // A relative name of it leads there from each of these.
    void change_place(const std::string& suffix)
    {
        m_call.directory = any_of({"src", "other", "d0", "d1"});
        m_call.source = one_in(2) ? place("src/main" + suffix) : "../src/main" + suffix;
        if (m_call.directory == "src" && one_in(2))
            m_call.source = "main" + suffix;
    }
    void change_dependencies() { m_call.dependencies = any_of({"", "", "-MD", "-MMD"}); }
    void change_variable()
    {
        const std::string name =
            any_of(m_takes_gcc_options ? std::vector<std::string>{"CPATH", "C_INCLUDE_PATH", "GCC_COLORS"}
                                       : std::vector<std::string>{"CPATH", "NVCC_APPEND_FLAGS"});
        std::optional<std::string> value;
        if (name == "NVCC_APPEND_FLAGS")
            value = any_of({"-DSWITCH", "-DOTHER"});
        else if (name != "GCC_COLORS")
            value = any_of({place(m_headers.any_directory()), "../" + m_headers.any_directory(), ""});
        m_call.variables[name] = one_in(3) ? std::nullopt : value;
    }
    void change_more()
    {
        m_call.more.clear();
        for (const char* option : {"-DSWITCH", "-DOTHER", "-O1"})
            if (one_in(3))
                m_call.more.emplace_back(option);
        if (m_takes_gcc_options && one_in(5))
            m_call.more.emplace_back("-g");
        if (m_takes_gcc_options && one_in(4))
            m_call.more.emplace_back("-Wundef");
        if (m_takes_gcc_options && one_in(8))
            m_call.more.emplace_back("-nostdinc");
    }

    // False: it is nothing that a compile asks.
    bool change(const std::string& suffix)
    {
        m_before.reset();
        const Call before = m_call;
        switch (any(16)) {
        case 0:
            change_variable();
            break;
        case 1:
            change_place(suffix);
            break;
        case 2:
            std::shuffle(m_call.folders.begin(), m_call.folders.end(), m_shuffles);
            break;
        case 3:
            m_call.folders[any(m_call.folders.size())].option = any_option();
            break;
        case 4:
            m_call.include = m_takes_gcc_options && one_in(2) ? fmt::format("h{}.h", any(HeaderWorlds::k_names)) : "";
            break;
        case 5:
            change_more();
            break;
        case 6:
            m_call.arguments_in_file = !m_call.arguments_in_file;
            break;
        case 7:
            change_dependencies();
            break;
        case 8:
            m_call.output = m_call.output == "out" ? "another" : "out";
            return false;
        case 9:
            m_call.variables["NOBODY_ASKS"] = std::to_string(any(100));
            return false;
        case 10:
            change_link();
            return true;
        default:
            return m_headers.change();
        }
        m_before = before;
        return true;
    }

    // The call's words; writes its file of arguments.
    std::vector<std::string> words(const std::string& compiler)
    {
        std::vector<std::string> first;
        for (const Call::Folder& folder : m_call.folders) {
            const std::string name = folder.whole ? place(folder.name) : "../" + folder.name;
            if (folder.option == "-I") {
                first.push_back("-I" + name);
            } else {
                first.push_back(folder.option);
                first.push_back(name);
            }
        }
        first.insert(first.end(), m_call.more.begin(), m_call.more.end());
        if (!m_call.include.empty())
            first.insert(first.end(), {"-include", m_call.include});
        std::vector<std::string> all{compiler};
        all.insert(all.end(), m_always.begin(), m_always.end());
        if (m_call.arguments_in_file) {
            std::string text;
            for (const std::string& word : first)
                text += word + "\n";
            write("arguments", text);
            if (m_takes_gcc_options)
                all.push_back("@../arguments");
            else
                all.insert(all.end(), {"-optf", "../arguments"});
        } else {
            all.insert(all.end(), first.begin(), first.end());
        }
        if (!m_call.dependencies.empty())
            all.insert(all.end(), {m_call.dependencies, "-MF", m_call.output + ".d"});
        all.insert(all.end(), {m_call.form, m_call.source, "-o", m_call.output + ".o"});
        return all;
    }

    ProcessOptions options() const
    {
        ProcessOptions options{.environment = m_call.variables, .directory = place(m_call.directory)};
        options.environment["HEARTH_DIR"] = cache.string();
        options.environment["LC_ALL"] = "C";
        if (m_fixes_paths)
            options.environment["HEARTH_STABLE_PATHS"] = "1";
        options.environment["PWD"] = options.directory;
        return options;
    }

    std::string taken(const std::string& name)
    {
        const fs::path path = scratch / m_call.directory / name;
        if (!fs::exists(path))
            return "nothing";
        std::string text = read(path);
        fs::remove(path);
        return text;
    }

    Outcome outcome_of(const ProcessResult& result)
    {
        Outcome outcome{result.exit_code, result.out, result.err, taken(m_call.output + ".o"), {}};
        // The number of nvcc's process. And lines of dependencies may be broken elsewhere.
        outcome.file = std::regex_replace(outcome.file, std::regex("tmpxft_[0-9a-f]{8}_"), "tmpxft_");
        outcome.dependencies = std::regex_replace(taken(m_call.output + ".d"), std::regex("[ \\\\\n]+"), " ");
        return outcome;
    }

    // What ran through the cache, what that was told to be ("hit", "miss" or "past_the_cache"), and the whole line.
    std::tuple<Outcome, std::string, std::string> through_the_cache(std::vector<std::string> command)
    {
        command.insert(command.begin(), {"exec", "--verbose", "--"});
        ProcessResult result = hearth(command, options());
        const std::size_t line = result.err.rfind("hearth: ");
        const std::string told = line == std::string::npos ? "" : result.err.substr(line);
        result.err.resize(std::min(line, result.err.size()));
        std::smatch match;
        const bool known = std::regex_search(told, match, std::regex("^hearth: [^:]*: ([a-z_]+)"));
        return {outcome_of(result), known ? match[1].str() : told, told};
    }

    // With nothing in the cache.
    Outcome anew(const std::vector<std::string>& command)
    {
        const fs::path kept = std::exchange(cache, scratch / "anew");
        fs::remove_all(cache);
        Outcome outcome = std::get<Outcome>(through_the_cache(command));
        cache = kept;
        return outcome;
    }

    HeaderWorlds m_headers{scratch.string(), seed()};
    std::mt19937_64 m_shuffles{m_headers.any(1U << 30U)};
    Call m_call;
    std::optional<Call> m_before;  // if the last change was one of the call alone
};

void CommandWorlds::play(const std::string& compiler, const std::string& suffix, std::size_t worlds)
{
    if (::access(compiler.c_str(), X_OK) != 0)
        GTEST_SKIP() << compiler << " is not installed.";
    std::size_t hits = 0;
    std::size_t good = 0;
    for (std::size_t world = 0; world < worlds; ++world) {
        begin(suffix);
        std::string before;   // what the step before was
        std::string earlier;  // and the one before that
        for (std::size_t step = 0; step < k_changes; ++step) {
            bool is_known = false;
            if (m_before && one_in(3)) {
                m_call = *m_before;
                m_before.reset();
                is_known = earlier != "past_the_cache";
            } else if (step > 0) {
                is_known = !change(suffix) && before != "past_the_cache";
            }
            const std::vector<std::string> command = words(compiler);
            std::string where = fmt::format("world {} step {} in {}: ", world, step, m_call.directory);
            for (const std::string& word : command)
                where += word + " ";
            const auto [ours, outcome, told] = through_the_cache(command);
            Outcome theirs = outcome_of(run_process(command, options()));
            if (m_fixes_paths)
                theirs.file = anew(command).file;
            ASSERT_EQ(ours, theirs) << where << told;
            if (is_known) {
                ASSERT_EQ(outcome, "hit") << where << ": nothing that was asked has changed; " << told;
            }
            hits += outcome == "hit" ? 1U : 0U;
            good += ours.code == 0 ? 1U : 0U;
            earlier = std::exchange(before, outcome);
        }
        m_before.reset();
    }
    std::cout << worlds << " worlds: " << hits << " hits, " << good << " of " << worlds * k_changes << " compiled\n";
    EXPECT_GT(hits, worlds / 2);
    EXPECT_GT(good, worlds / 2) << "hardly anything ever compiled";
}

TEST_F(CommandWorlds, are_answered_as_gcc_itself_answers)
{
    play("/usr/bin/gcc", ".c", scaled(30));
}

TEST_F(CommandWorlds, are_answered_as_clang_itself_answers)
{
    play("/usr/bin/clang", ".c", scaled(10));
}

class NvccWorlds : public CommandWorlds {
protected:
    void SetUp() override
    {
        if (soak_factor() == 1)
            GTEST_SKIP() << "Takes minutes: only in a soak.";
        m_takes_gcc_options = false;
    }
};

TEST_F(NvccWorlds, are_answered_as_nvcc_itself_answers)
{
    m_always = {"-arch=sm_80"};
    m_forms = {"-c", "-cubin", "-ptx"};
    play("/usr/local/cuda/bin/nvcc", ".cu", scaled(2));
}

TEST_F(NvccWorlds, are_answered_as_nvcc_answers_anew_where_paths_are_fixed)
{
    m_always = {"-arch=sm_80", "-lineinfo"};
    m_forms = {"-fatbin", "-cubin", "-ptx"};
    m_fixes_paths = true;
    play("/usr/local/cuda/bin/nvcc", ".cu", scaled(2));
}

// What these worlds found.
TEST_F(CommandWorlds, know_a_directory_that_is_reached_through_a_link_and_named_elsewhere)
{
    fs::create_directories(scratch / "real");
    fs::create_directory_symlink("real", scratch / "link");
    const std::string link = (scratch / "link").string();
    write("real/value.h", "#define VALUE 1\n");
    write("a.c", "#include <value.h>\n#if __has_include(\"" + link + "/absent.h\")\n#endif\nint value = VALUE;\n");
    for (const char* outcome : {": miss", ": hit"}) {
        const std::string told = hearth({"exec", "--verbose", "--", "gcc", "-isystem", link, "-c", "a.c"}).err;
        EXPECT_NE(told.find(outcome), std::string::npos) << told;
    }
}

}  // namespace

}  // namespace hearth::test
