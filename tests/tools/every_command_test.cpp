// What holds for every command, every part of one and every option: they are found by walking through the helps.
#include "recorded.hpp"

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

namespace hearth::test {

namespace {

// Each command and part that looks at settings, with what it takes to get there.
const std::map<std::string, Words> k_settings_users{{"build", {"r.recipes"}},
                                                    {"bundle create", {"made.bundle"}},
                                                    {"carry capture", {"./tree"}},
                                                    {"carry diff", {"./tree"}},
                                                    {"carry pull", {"./tree"}},
                                                    {"carry push", {"./tree"}},
                                                    {"carry restore", {"./tree"}},
                                                    {"clear", {"--yes"}},
                                                    {"compile", {"k.cu", "--target", "sm_90"}},
                                                    {"config", {}},
                                                    {"doctor", {}},
                                                    {"exec", {"--verbose", "--", "/usr/bin/true"}},
                                                    {"export", {"file"}},
                                                    {"gc", {}},
                                                    {"get", {"k"}},
                                                    {"import", {"file"}},
                                                    {"ls", {}},
                                                    {"metrics", {}},
                                                    {"prewarm", {"--top", "1"}},
                                                    {"pull", {}},
                                                    {"push", {}},
                                                    {"put", {"k", "k.cu"}},
                                                    {"remote check", {}},
                                                    {"report", {"-o", "page.html"}},
                                                    {"rm", {"k"}},
                                                    {"run", {"--", "/usr/bin/true"}},
                                                    {"serve", {"--port", "0"}},
                                                    {"show", {"k"}},
                                                    {"stats", {}},
                                                    {"top", {}},
                                                    {"tune", {}},
                                                    {"verify", {}},
                                                    {"why", {"k.cu", "--target", "sm_90"}}};
// Those that work on the files which they are given, and on processes.
const std::set<std::string> k_others{"bundle diff",   "bundle from-oci", "bundle ls", "bundle merge", "bundle oci",
                                     "bundle verify", "keygen",          "ready",     "recipes ls",   "recipes merge"};

Words words_of(const std::string& text)
{
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

// The lines below "Options:" or "Commands:".
std::string section_of(const std::string& help, const std::string& title)
{
    const std::size_t at = help.find("\n" + title + ":\n");
    return at == std::string::npos ? "" : help.substr(at, help.find("\n\n", at) - at) + "\n";
}

// An option that takes a value, as a help shows it: "--jobs N Needs: --recipes".
struct Valued {
    std::string name;
    std::string kind;
    std::string needs;

    std::string value() const
    {
        static const std::map<std::string, std::string> k_values{
            {"N", "1"}, {"SIZE", "10M"}, {"DURATION", "1d"}, {"TARGET", "sm_90"}, {"[SECONDS]=otherwise", "1"}};
        if (const auto value = k_values.find(kind); value != k_values.end())
            return value->second;
        const std::string words = kind.substr(kind.find('{') + 1);  // FIELD:{cost,size}, cubin|ptx
        return words == kind && kind.find('|') == std::string::npos ? "value"
                                                                    : words.substr(0, words.find_first_of(",|}"));
    }
};

std::vector<Valued> valued_options(const std::string& help)
{
    static const std::regex k_option(R"(\n  (\S+) (\S+)([^\n]* Needs: (\S+))?)");
    const std::string options = section_of(help, "Options");
    std::vector<Valued> all;
    for (std::sregex_iterator at(options.begin(), options.end(), k_option), end; at != end; ++at)
        if (const std::string kind = (*at)[2]; !kind.ends_with(':'))
            all.push_back({(*at)[1].str().substr((*at)[1].str().rfind(',') + 1), kind, (*at)[4]});
    return all;
}

class EveryCommand : public Recorded {
protected:
    // The helps of all commands and their parts, by their words: "bundle create".
    const std::map<std::string, std::string>& helps()
    {
        if (m_helps.empty())
            walk("");
        return m_helps;
    }

    static bool has_parts(const std::string& help) { return !section_of(help, "Commands").empty(); }

    // HEARTH_CONFIG names a file with this text. What each command says of it.
    void expect_each_names(const std::string& what, const std::set<std::string>& left_out = {})
    {
        for (const auto& [path, more] : k_settings_users) {
            if (left_out.contains(path))
                continue;
            Words words = words_of(path);
            words.insert(words.end(), more.begin(), more.end());
            ProcessOptions options = with({{"HEARTH_CONFIG", (scratch / "config.json").string()}});
            if (path == "top")
                options.output = Output::terminal;
            const ProcessResult result = hearth(words, options);
            const std::string& said = path == "top" ? result.out : result.err;
            EXPECT_NE(said.find(what), std::string::npos) << path << ": " << said;
            EXPECT_EQ(said.find(what), said.rfind(what)) << path << " says it twice: " << said;
        }
    }

private:
    void walk(const std::string& path)
    {
        Words words = words_of(path);
        words.emplace_back("--help");
        const std::string help = hearth(words).out;
        m_helps[path] = help;
        static const std::regex k_command("\n  (\\S+) ");
        const std::string parts = section_of(help, "Commands");
        for (std::sregex_iterator at(parts.begin(), parts.end(), k_command), end; at != end; ++at)
            walk(path + (path.empty() ? "" : " ") + (*at)[1].str());
    }

    std::map<std::string, std::string> m_helps;
};

}  // namespace

TEST_F(EveryCommand, is_known_here)
{
    for (const auto& [path, help] : helps())
        EXPECT_TRUE(has_parts(help) || k_settings_users.contains(path) || k_others.contains(path)) << path;
    EXPECT_GT(helps().size(), k_settings_users.size() + k_others.size());
}

TEST_F(EveryCommand, takes_one_value_behind_an_option_and_leaves_the_next_word_alone)
{
    int tried = 0;
    for (const auto& [path, help] : helps()) {
        if (has_parts(help))
            continue;
        // "Usage: hearth bundle create [options] FILE [PATTERN]"; one word more, so that nothing is done.
        const std::size_t usage = help.find("[options]") + 9;
        const Words arguments = words_of(help.substr(usage, help.find('\n', usage) - usage));
        Words behind(arguments.size(), "word");
        behind.insert(behind.begin(), "first");
        const std::vector<Valued> options = valued_options(help);
        for (const Valued& option : options) {
            Words words = words_of(path);
            for (const Valued& other : options)
                if (other.name == option.needs || (path == "report" && other.name != option.name))
                    words.insert(words.end(), {other.name, other.value()});
            Words with_option = words;
            with_option.insert(with_option.end(), {option.name, option.value()});
            with_option.insert(with_option.end(), behind.begin(), behind.end());
            words.insert(words.end(), behind.begin(), behind.end());
            words.insert(words.end(), {option.name, option.value()});
            const ProcessResult before = hearth(with_option, with());
            const ProcessResult after = hearth(words, with());
            EXPECT_NE(after.exit_code, 0) << path << " " << option.name;
            EXPECT_EQ(before.err, after.err) << path << " " << option.name << " takes the word behind its value";
            EXPECT_EQ(before.exit_code, after.exit_code) << path << " " << option.name;
            ++tried;
        }
    }
    EXPECT_GT(tried, 100);
}

TEST_F(EveryCommand, takes_the_directory_before_and_behind_its_name)
{
    for (const auto& [path, help] : helps())
        for (const bool before : {true, false}) {
            Words words = words_of(path);
            words.insert(before ? words.begin() : words.end(), {"--dir", ""});
            const ProcessResult result = hearth(words);
            EXPECT_EQ(result.exit_code, 2) << path;
            EXPECT_NE(result.err.find("--dir: needs the name of a directory"), std::string::npos)
                << path << (before ? " behind" : " before") << " --dir: " << result.err;
        }
}

TEST_F(EveryCommand, uses_the_directory_that_its_part_was_given)
{
    put("k", "bytes", {"--dir", "here"});
    EXPECT_EQ(hearth({"bundle", "create", "--dir", "here", "k.bundle"}).exit_code, 0);
    EXPECT_EQ(hearth({"--dir", "nowhere", "bundle", "create", "--dir", "here", "k.bundle"}).exit_code, 0)
        << "the last one counts";
    EXPECT_EQ(hearth({"bundle", "create", "k.bundle"}).exit_code, 1);
}

TEST_F(EveryCommand, takes_the_directory_before_a_compiler_that_stands_for_exec)
{
    if (HEARTH_HAS_RECORDER == 0)
        GTEST_SKIP() << "The recorder is not built: a sanitizer's library cannot be loaded into other programs.";
    write("a.cpp", "int a;");
    EXPECT_EQ(hearth({"--dir", "here", "g++", "-c", "a.cpp", "-o", "a.o"}).exit_code, 0);
    EXPECT_EQ(hearth({"--dir", "here", "why", "g++", "-c", "a.cpp", "-o", "a.o"}).exit_code, 0);
    EXPECT_EQ(hearth({"--dir", "elsewhere", "why", "g++", "-c", "a.cpp", "-o", "a.o"}).exit_code, 1);
}

TEST_F(EveryCommand, refuses_a_size_without_a_unit_and_says_what_to_write)
{
    int tried = 0;
    put("k", "bytes");
    for (const auto& [path, help] : helps())
        for (const Valued& option : has_parts(help) ? std::vector<Valued>{} : valued_options(help)) {
            if (option.kind != "SIZE")
                continue;
            Words words = words_of(path);
            words.insert(words.end(), {option.name, "10"});
            const ProcessResult result = hearth(words);
            EXPECT_EQ(result.exit_code, 2) << path;
            EXPECT_NE(result.err.find(option.name + ": 10 has no unit: write 10M, 10G or 10B."), std::string::npos)
                << path << ": " << result.err;
            ++tried;
        }
    EXPECT_GT(tried, 5);
    EXPECT_EQ(hearth({"get", "k"}).out, "bytes") << "gc --max-bytes 10 emptied the cache";
    EXPECT_EQ(hearth({"gc", "--max-bytes", "10B"}).exit_code, 0);
    EXPECT_EQ(hearth({"get", "k"}).exit_code, 1) << "with a unit it counts, whatever it costs";
}

TEST_F(EveryCommand, names_the_configuration_file_and_the_line_where_it_is_to_blame)
{
    record("k.cu", "__global__ void k() {}");
    write("file", "");
    std::filesystem::create_directory(scratch / "tree");
    write("tree/file", "");
    const std::string file = (scratch / "config.json").string();
    write("config.json", "{\n  \"max_bytes\": \"1G\",\n}\n");
    expect_each_names(file + " is not a JSON object such as {\"max_bytes\": \"10G\"} (line 3, column 1)");
    write("config.json", "\n\n[\"max_bytes\"]\n");
    expect_each_names(file + " is not a JSON object such as {\"max_bytes\": \"10G\"} (line 3, column 1)");
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    expect_each_names("Cannot read the configuration file " + file);
    std::filesystem::remove(file);
    expect_each_names("Cannot read the configuration file " + file);
    // With these the cache opens, and two would then run until they are stopped.
    const std::set<std::string> last{"serve", "top"};
    write("config.json", "{\n  // all of it\n  \"max_bytes\": \"lots\"\n}\n");
    expect_each_names("file " + file + ", line 3: max_bytes takes a size with a unit", last);
    write("config.json", "{\n\n  \"max_bites\": \"1G\"\n}\n");
    expect_each_names("file " + file + ", line 3: Hearth has no setting \"max_bites\"", last);
}

TEST_F(EveryCommand, a_compiler_that_is_served_says_what_it_says_without_a_cache)
{
    write("config.json", "{,}");
    const ProcessResult result = hearth({"exec", "--", "/bin/sh", "-c", "echo mine >&2"},
                                        with({{"HEARTH_CONFIG", (scratch / "config.json").string()}}));
    EXPECT_EQ(result.err, "mine\n");
}

}  // namespace hearth::test
