// Every --json output beside docs/json.md: the same fields, no more and no less.
#include "base/ready_mark.hpp"
#include "recorded.hpp"
#include "support/redis_server.hpp"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

namespace hearth::test {

namespace {

using Fields = std::set<std::string>;

// The fields that the page lists for each command, by what stands between "hearth" and "--json" or "FILE".
std::map<std::string, Fields> documented()
{
    static const std::regex k_command("`hearth ([^`]*) (--json|FILE)`");
    static const std::regex k_row(R"(^\| `([^`]+)` \|)");
    std::map<std::string, Fields> pages;
    std::vector<std::string> commands;
    std::ifstream page(HEARTH_JSON_PAGE);
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("## ")) {
            commands.clear();
            for (std::sregex_iterator at(line.begin(), line.end(), k_command), end; at != end; ++at)
                commands.push_back((*at)[1]);
        }
        if (std::smatch row; std::regex_search(line, row, k_row))
            for (const std::string& command : commands)
                pages[command].insert(row[1]);
    }
    return pages;
}

// What a command printed, as the page would list it.
class Printed {
public:
    explicit Printed(const Fields& listed) : m_listed(listed) {}

    void add(const nlohmann::json& value, const std::string& at = "")
    {
        if (value.is_object() || value.is_array()) {
            if (value.empty())
                m_hollow.insert(at);
            const bool fixed = !m_listed.contains(at + ".*");
            for (const auto& [name, member] : value.items())
                add(member, value.is_array() ? at + "[]" : !fixed ? at + ".*" : at.empty() ? name : at + "." + name);
            return;
        }
        m_fields.insert(at);
        if (value.is_null())
            m_hollow.insert(at);
    }

    void expect_as_listed(const std::string& command) const
    {
        for (const std::string& field : m_fields)
            EXPECT_TRUE(m_listed.contains(field) || m_hollow.contains(field))
                << "hearth " << command << " prints " << field << ", which docs/json.md does not list";
        for (const std::string& field : m_listed)
            EXPECT_TRUE(m_fields.contains(field) || is_in_something_empty(field))
                << "docs/json.md lists " << field << ", which hearth " << command << " does not print";
    }

private:
    bool is_in_something_empty(const std::string& field) const
    {
        for (const std::string& empty : m_hollow)
            if (field.starts_with(empty + ".") || field.starts_with(empty + "[]"))
                return true;
        return false;
    }

    const Fields& m_listed;
    Fields m_fields;
    Fields m_hollow;  // empty or null: what would be in it is not known
};

class JsonPage : public Recorded {
protected:
    void add_lines(Printed& printed, const std::string& text)
    {
        for (const std::string& line : words_of(text, '\n'))
            if (const auto value = nlohmann::json::parse(line, nullptr, false); value.is_object())
                printed.add(value);
    }

    // `calls`: several forms of the command that print all its fields between them.
    void expect_fields(const std::string& command, const std::vector<Words>& calls, const Environment& environment = {})
    {
        ASSERT_TRUE(m_pages.contains(command)) << command;
        m_seen.insert(command);
        Printed printed(m_pages.at(command));
        for (Words words : calls) {
            const bool takes_a_command = words.front() == "run" || words.front() == "exec";
            words.insert(takes_a_command ? words.begin() + 1 : words.end(), "--json");
            const ProcessResult result = hearth(words, with(environment));
            add_lines(printed, command == "run" ? result.err : result.out);
        }
        printed.expect_as_listed(command);
    }

    // A compiler that is not there, or drop-in libraries that are not, leave the log empty.
    void expect_log_fields(const std::string& source)
    {
        ASSERT_TRUE(m_pages.contains("run --log"));
        hearth({"run", "--log", "log", "--", "g++", "-c", source, "-o", "k.o"}, with());
        Printed printed(m_pages.at("run --log"));
        add_lines(printed, read(scratch / "log"));
        if (!read(scratch / "log").empty())
            printed.expect_as_listed("run --log");
    }

    const std::map<std::string, Fields> m_pages = documented();
    std::set<std::string> m_seen;
};

}  // namespace

TEST_F(JsonPage, lists_the_fields_of_every_command)
{
    record("good.cu", "__global__ void good() {}");
    record("bad.cu", "__global__ void bad() { FAILS_LATER }");
    const std::string file = write("k.cu", "__global__ void k() {}").string();
    expect_fields("put", {{"put", "k", file}});
    expect_fields("get", {{"get", "k", "-o", "out"}, {"get", "absent", "-o", "out"}});
    expect_fields("why", {{"why", file, "--target", "sm_90"}});
    expect_fields("compile", {{"compile", file, "--target", "sm_90"}});
    expect_fields("exec --why", {{"exec", "--why", "--", "g++", "-c", file, "-o", "k.o"}});
    expect_fields("ls", {{"ls"}});
    expect_fields("show", {{"show", "k"}, {"show", "k.cu"}});
    measure("gemm", "tile 64");
    expect_fields("tune", {{"tune"}});
    expect_fields("tune --clear", {{"tune", "--clear", "gemm"}});
    expect_fields("verify", {{"verify"}});
    expect_fields("export", {{"export", "e"}});
    expect_fields("import", {{"import", "e"}});
    expect_fields("report", {{"report", "-o", "page.html"}});
    expect_fields("recipes ls", {{"recipes", "ls", m_recipes}});
    expect_fields("recipes merge", {{"recipes", "merge", "all.recipes", m_recipes}});
    expect_fields("build", {{"build", m_recipes, "-o", "built"}}, {{"HEARTH_NVRTC", HEARTH_NEXT_NVRTC}});
    expect_fields("prewarm --recipes", {{"prewarm", "--recipes", m_recipes}}, {{"HEARTH_NVRTC", HEARTH_NEXT_NVRTC}});
    expect_fields("bundle create", {{"bundle", "create", "a"}});
    expect_fields("bundle merge", {{"bundle", "merge", "b", "a", "built"}});
    expect_fields("bundle diff", {{"bundle", "diff", "c", "a", "b"}});
    expect_fields("bundle ls", {{"bundle", "ls", "a"}});
    expect_fields("bundle ls --facts", {{"bundle", "ls", "a", "--facts"}});
    expect_fields("bundle verify", {{"bundle", "verify", "a"}});
    expect_fields("bundle oci", {{"bundle", "oci", "image", "a"}});
    expect_fields("bundle from-oci", {{"bundle", "from-oci", "back", "image"}});
    expect_fields("prewarm --bundle", {{"prewarm", "--bundle", "a"}});
    expect_fields("prewarm --top", {{"prewarm", "--top", "3"}});
    expect_fields("keygen", {{"keygen", "key"}});
    expect_fields("config", {{"config"}});
    expect_fields("doctor", {{"doctor"}});
    expect_fields("doctor --program", {{"doctor", "--program", HEARTH_COMMAND}});
    expect_fields("gc", {{"gc", "--dry-run", "--max-entries", "1"}, {"gc", "--gone-compilers", "1ms"}});
    if (hearth({"run", "--json", "--", "true"}).err.starts_with("{"))
        expect_fields("run", {{"run", "--", "true"}});
    expect_fields("ready", {{"ready"}}, {{base::k_ready_variable, base::ReadyMark::make().value().text()}});
    expect_log_fields(write("k.cpp", "int k;\n").string());
    if (has_redis()) {
        const RedisServer server;
        const Environment remote{{"HEARTH_REMOTE", "redis://127.0.0.1:" + std::to_string(server.port())}};
        expect_fields("push", {{"push"}}, remote);
        expect_fields("pull", {{"pull"}}, remote);
        expect_fields("remote check", {{"remote", "check"}}, remote);
        expect_fields("stats", {{"stats"}}, remote);
        const std::string tree = (scratch / "tree").string();
        std::filesystem::create_directories(tree);
        std::ofstream(tree + "/gone") << "gone";
        std::ofstream(tree + "/changed") << "changed";
        std::filesystem::create_symlink("/", tree + "/left_out");
        expect_fields("carry capture", {{"carry", "capture", tree}}, remote);
        expect_fields("carry push", {{"carry", "push", tree}}, remote);
        expect_fields("carry pull", {{"carry", "pull", tree}}, remote);
        std::filesystem::remove(tree + "/gone");
        std::ofstream(tree + "/changed") << "now";
        std::ofstream(tree + "/added") << "added";
        expect_fields("carry diff", {{"carry", "diff", tree}, {"carry", "diff", tree, "--target", "sm_1"}}, remote);
        expect_fields("carry restore",
                      {{"carry", "restore", tree}, {"carry", "restore", tree, "--target", "sm_1", "--force"}}, remote);
    }
    expect_fields("rm", {{"rm", "k"}});
    expect_fields("clear", {{"clear", "--yes"}});
    for (const auto& [command, fields] : m_pages)
        if (has_redis() && !command.starts_with("run")) {
            EXPECT_TRUE(m_seen.contains(command)) << "docs/json.md lists " << command << ", which nobody ran";
        }
}

TEST_F(JsonPage, tells_a_command_that_compiles_nothing_from_a_miss)
{
    const nlohmann::json why = json_of({"exec", "--why", "--json", "--", "g++", "--version"});
    EXPECT_EQ(why["outcome"], "past_the_cache") << why;
    EXPECT_NE(why["reason"], "") << why;
}

TEST_F(JsonPage, has_every_command_that_prints_json)
{
    int found = 0;
    for (const auto& [path, help] : helps()) {
        const std::string& name = path;
        if (has_parts(help) || help.find("  --json ") == std::string::npos)
            continue;
        EXPECT_TRUE(
            std::any_of(m_pages.begin(), m_pages.end(),
                        [&](const auto& page) { return page.first == name || page.first.starts_with(name + " --"); }))
            << "docs/json.md has no section of hearth " << name << " --json";
        ++found;
    }
    EXPECT_GT(found, 20);
}

}  // namespace hearth::test
