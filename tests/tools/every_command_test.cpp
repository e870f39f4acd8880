// What holds for every command, every part of one and every option: they are found by walking through the helps.
#include "recorded.hpp"

#include <set>

namespace hearth::test {

namespace {

// Commands that take something before they get to their settings, with it.
const std::string k_lines =
    "; build r.recipes; bundle create made.bundle; carry capture ./tree; carry diff ./tree; carry pull ./tree; "
    "carry push ./tree; carry restore ./tree; clear --yes; compile k.cu --target sm_90; "
    "exec --verbose -- /usr/bin/true; export file; get k; import file; prewarm --top 1; put k k.cu; "
    "report -o page.html; rm k; run -- /usr/bin/true; serve --port 0; show k; why k.cu --target sm_90;";
// Those that look at none: they work on the files which they are given, and on processes.
const std::set<std::string> k_without_settings{"bundle diff", "bundle from-oci", "bundle ls", "bundle merge",
                                               "bundle oci",  "bundle verify",   "keygen",    "ready",
                                               "recipes ls",  "recipes merge"};

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

class EveryCommand : public Recorded {
protected:
    // Of a command; none, if it has parts.
    static std::vector<Valued> valued_options(const std::string& help)
    {
        static const std::regex k_option(R"(\n  (\S+) (\S+)([^\n]* Needs: (\S+))?)");
        const std::string options = has_parts(help) ? "" : section_of(help, "Options");
        std::vector<Valued> all;
        for (std::sregex_iterator at(options.begin(), options.end(), k_option), end; at != end; ++at)
            if (const std::string kind = (*at)[2]; !kind.ends_with(':'))
                all.push_back({(*at)[1].str().substr((*at)[1].str().rfind(',') + 1), kind, (*at)[4]});
        return all;
    }

    // HEARTH_CONFIG names a file with this text. What each command says of it.
    void expect_each_names(const std::string& what, const std::set<std::string>& left_out = {})
    {
        for (const auto& [path, help] : helps()) {
            if (has_parts(help) || k_without_settings.contains(path) || left_out.contains(path))
                continue;
            const std::size_t line = k_lines.find("; " + path + " ");
            const Words words = words_of(
                line == std::string::npos ? path : k_lines.substr(line + 2, k_lines.find(';', line + 2) - line - 2));
            ProcessOptions options = with({{"HEARTH_CONFIG", (scratch / "config.json").string()}});
            if (path == "top")
                options.output = Output::terminal;
            const ProcessResult result = hearth(words, options);
            const std::string& said = path == "top" ? result.out : result.err;
            EXPECT_NE(said.find(what), std::string::npos) << path << ": " << said;
            EXPECT_EQ(said.find(what), said.rfind(what)) << path << " says it twice: " << said;
        }
    }
};

}  // namespace

TEST_F(EveryCommand, has_a_usage_options_and_examples)
{
    const std::set<std::string> without_json{"metrics", "serve", "top"};
    // Variables are set only for programs that heed them.
    static const std::regex k_variables("\n  ([A-Z_]+=('[^']*'|\\S*) )+");
    int found = 0;
    for (const auto& [path, help] : helps()) {
        EXPECT_NE(help.find("Usage: hearth " + path), std::string::npos) << path;
        EXPECT_NE(help.find("--dir DIR"), std::string::npos) << path;
        EXPECT_TRUE(has_parts(help) || without_json.contains(path) || help.find("--json") != std::string::npos) << path;
        const std::string examples = help.substr(std::min(help.find("Examples:\n  "), help.size()));
        EXPECT_NE(examples.find("hearth"), std::string::npos) << path;
        for (std::sregex_iterator at(examples.begin(), examples.end(), k_variables), end; at != end; ++at, ++found)
            EXPECT_TRUE(at->suffix().str().starts_with("hearth ")) << "nothing happens by " << at->str();
    }
    EXPECT_GT(found, 5);
}

TEST_F(EveryCommand, takes_one_value_behind_an_option_and_leaves_the_next_word_alone)
{
    int tried = 0;
    for (const auto& [path, help] : helps()) {
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
            const Words valued{option.name, option.value()};
            const ProcessResult before = hearth(joined(joined(words, valued), behind), with());
            const ProcessResult after = hearth(joined(joined(words, behind), valued), with());
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
            const Words words = words_of(path);
            const Words directory{"--dir", ""};
            EXPECT_TRUE(ends_saying(hearth(before ? joined(directory, words) : joined(words, directory)), 2,
                                    "--dir: needs the name of a directory"))
                << path << (before ? " behind" : " before") << " --dir";
        }
}

TEST_F(EveryCommand, uses_the_directory_that_its_part_was_given)
{
    put("k", "bytes", {"--dir", "here"});
    EXPECT_EQ(hearth({"bundle", "create", "--dir", "here", "k.bundle"}).exit_code, 0);
    EXPECT_EQ(hearth({"--dir", "nowhere", "bundle", "create", "--dir", "here", "k.bundle"}).exit_code, 0)
        << "the last one counts";
    EXPECT_EQ(hearth({"bundle", "create", "k.bundle"}).exit_code, 1) << "HEARTH_DIR is another cache";
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
        for (const Valued& option : valued_options(help)) {
            if (option.kind != "SIZE")
                continue;
            const Words words = joined(words_of(path), {option.name, "10"});
            EXPECT_TRUE(ends_saying(hearth(words), 2, option.name + ": 10 has no unit: write 10M, 10G or 10B."))
                << path;
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
    for (const char* text : {"{\n  \"max_bytes\": \"1G\",\n}\n", "\n\n[\"max_bytes\"]\n"}) {
        write("config.json", text);
        expect_each_names(file + " is not a JSON object such as {\"max_bytes\": \"10G\"} (line 3, column 1)");
    }
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
