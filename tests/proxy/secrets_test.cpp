// What a command was told in confidence: it decides the answer, and is written and shown nowhere.
#include "served.hpp"
#include "support/nginx_server.hpp"
#include "support/redis_server.hpp"

#include <fmt/format.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_secret = "hunter2-very-secret";
constexpr std::string_view k_public = "plain-as-day";

class Secrets : public ServedCompiler {
protected:
    void SetUp() override
    {
        Served::SetUp();
        need("/usr/bin/g++");
        if (IsSkipped())
            return;
        given["HEARTH_COMPRESSION"] = "0";
        given["HEARTH_RECORD"] = recipes.string();
        given["HEARTH_RUN_LOG"] = log.string();
        write("use.cpp", "#include <cstdlib>\n#include <fstream>\n"
                         "int main() { std::ofstream(\"made\") << std::getenv(\"API_TOKEN\")[0]"
                         " << std::getenv(\"CPATH\")[0]; }\n");
        ASSERT_EQ(run_process({"/usr/bin/g++", scratch / "use.cpp", "-o", scratch / "use"}).exit_code, 0);
        write("run.log", "");  // none is made that is not there
        write("k.cpp", "int value() { return 1; }\n");
        write("nvrtc.cu", "__global__ void k() {}\n");
    }

    // What becomes of a command: "miss", "hit", ...
    std::string outcome(const Words& words, const std::string& token, const std::string& directory = {})
    {
        said_by_compiler = exec_any(words, {{"API_TOKEN", token}, {"CPATH", std::string(k_public)}}, directory).err;
        return ServedCompiler::outcome();
    }

    // The public word shows that the secret would have been seen.
    static void expect_only_the_public_word(const std::string& bytes, const std::string& where)
    {
        EXPECT_EQ(bytes.find(k_secret), std::string::npos) << where << " holds the secret";
        EXPECT_NE(bytes.find(k_public), std::string::npos) << where << " does not hold the public word";
    }
    static std::string bytes_below(const fs::path& directory)
    {
        std::string all;
        for (const auto& [path, bytes] : snapshot(directory))
            all.append(path).append(bytes);
        return all;
    }
    std::string said(const Words& words)
    {
        const ProcessResult result = hearth(words);
        return result.out + result.err;
    }

    std::string said_by_compiler;
    const fs::path recipes = scratch / "r.recipes";
    const fs::path log = scratch / "run.log";
    const std::string secret{k_secret};
    const Words use{scratch / "use",
                    "-o",
                    "made",
                    "--token=" + secret,
                    "--password",
                    secret,
                    "https://ann:" + secret + "@localhost/?sig=" + secret + "&a=b",
                    "curl -H 'Authorization: Bearer " + secret + "'",
                    std::string(k_public)};
    const Words compile{"/usr/bin/g++", "-DAPI_KEY=" + secret, "-DPUBLIC=" + std::string(k_public), "-c", "k.cpp", "-o",
                        "k.o"};
};

}  // namespace

TEST_F(Secrets, are_in_no_file_that_is_kept_and_in_nothing_that_is_shown)
{
    for (const Words& words : {use, compile})
        EXPECT_EQ(outcome(words, secret), "miss");
    const std::string told_first = said_by_compiler + told;
    EXPECT_NE(told_first.find("k.cpp is not recorded: -DAPI_KEY=*** may be a secret"), std::string::npos) << told_first;
    EXPECT_EQ(outcome(compile, secret), "hit");
    EXPECT_FALSE(fs::exists(recipes));
    EXPECT_EQ(outcome(use, "another"), "miss") << "for the manifest";
    EXPECT_EQ(hearth({"compile", "nvrtc.cu", "--target", "sm_90", "-D", "API_KEY=" + secret, "-D",
                      "PUBLIC=" + std::string(k_public)})
                  .exit_code,
              0);
    expect_only_the_public_word(bytes_below(cache), "the disk");
    const std::string file = (scratch / "x").string();
    ASSERT_EQ(hearth({"export", file}).exit_code, 0);
    expect_only_the_public_word(read(file), "an export");
    ASSERT_EQ(hearth({"bundle", "create", file + ".bundle"}).exit_code, 0);
    expect_only_the_public_word(read(file + ".bundle"), "a bundle");
    for (const Words& form : {Words{}, Words{"--json"}}) {
        std::string all;
        for (const nlohmann::json& row : json_lines_of({"ls", "--json"})) {
            Words words{"show", row["key"].get<std::string>()};
            words.insert(words.end(), form.begin(), form.end());
            all += said(words);
        }
        expect_only_the_public_word(all, "show");
    }
    expect_only_the_public_word(said({"ls", "--json"}), "ls");
    ASSERT_EQ(hearth({"report", "-o", file}).exit_code, 0);
    EXPECT_EQ(read(file).find(k_secret), std::string::npos) << "report";
    EXPECT_EQ(said({"stats", "--json"}).find(k_secret), std::string::npos) << "stats";
    EXPECT_EQ(read(log).find(k_secret), std::string::npos) << "the log of a run";
    EXPECT_NE(read(log).find("k.cpp"), std::string::npos) << "nothing was noted: " << read(log);
    EXPECT_EQ(read(recipes).find(k_secret), std::string::npos) << "recipes";
    // Reasons for a compile, and errors of usage.
    for (const Words& words :
         {Words{"exec", "--verbose", "--", "/usr/bin/g++", "-Wp,-DTOKEN=" + secret, "-c", "k.cpp", "-o", "k.o"},
          Words{"remote", "check", "https://ann:" + secret + "@localhost/?token=" + secret}}) {
        const std::string all = said(words);
        EXPECT_NE(all.find("***"), std::string::npos) << all;
        EXPECT_EQ(all.find(k_secret), std::string::npos) << all;
    }
}

// A compiler repeats the word that it warns of.
TEST_F(Secrets, are_not_kept_in_what_a_compiler_says)
{
    write("said.cpp", "[[deprecated(TOKEN)]] void old();\nvoid use() { old(); }\n");
    const Words words{"/usr/bin/g++", "-DTOKEN=\"" + secret + "\"", "-c", "said.cpp", "-o", "said.o"};
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(outcome(words, secret), "past_the_cache");
    // Its options may be in a file, and other compilers speak too.
    const std::string name = "hunter2_as_a_name";
    write("options", "-Wall -DTOKEN=" + name);
    write("said.cpp", "void used() { int TOKEN; }\n");
    outcome({"/usr/bin/g++", "@options", "-c", "said.cpp", "-o", "said.o"}, secret);
    EXPECT_NE(said_by_compiler.find(name), std::string::npos) << said_by_compiler;
    for (const char* more : {"", "no type;"}) {
        write("said.cu", "__global__ void k() { int TOKEN; }\n" + std::string(more));
        const ProcessResult by_nvrtc = hearth({"compile", "said.cu", "--target", "sm_90", "-D", "TOKEN=" + name});
        EXPECT_NE(by_nvrtc.err.find(name), std::string::npos) << by_nvrtc.err;
    }
    EXPECT_EQ(bytes_below(cache).find(name), std::string::npos);
    EXPECT_EQ(bytes_below(cache).find(k_secret), std::string::npos);
}

TEST_F(Secrets, are_on_no_server)
{
    if (!has_redis())
        GTEST_SKIP() << "No redis-server is installed.";
    const auto nginx = NginxServer::start();
    if (!nginx)
        GTEST_SKIP() << "No nginx is installed.";
    RedisServer redis;
    for (const std::string& address :
         {fmt::format("redis://127.0.0.1:{}", redis.port()), fmt::format("http://{}", nginx->address())}) {
        given["HEARTH_REMOTE"] = address + "?timeout=10s&connect-timeout=5s";
        cache = scratch / address.substr(0, 5);
        for (const Words& words : {use, compile})
            EXPECT_EQ(outcome(words, secret), "miss");
        EXPECT_EQ(outcome(use, "another"), "miss");
        cache = scratch / (address.substr(0, 5) + "-of-another");
        EXPECT_EQ(outcome(use, secret), "hit") << "another machine can check the digest";
        EXPECT_EQ(outcome(use, "a third"), "miss");
    }
    expect_only_the_public_word(bytes_below(nginx->files()), "an HTTP server");
    const std::string values = redis_cli(
        redis.port(), {"--raw", "EVAL",
                       "local all = '' for _, k in ipairs(redis.call('KEYS', '*')) do "
                       "if redis.call('TYPE', k).ok == 'string' then all = all .. k .. redis.call('GET', k) end end "
                       "return all",
                       "0"});
    expect_only_the_public_word(values, "Redis");
}

TEST_F(Secrets, decide_the_answer_as_any_other_word_or_value)
{
    const Words by_variable{(scratch / "use").string(), "-o", "made"};
    EXPECT_EQ(outcome(by_variable, "one"), "miss");
    EXPECT_EQ(outcome(by_variable, "one"), "hit");
    EXPECT_EQ(outcome(by_variable, "two"), "miss");
    EXPECT_EQ(outcome(by_variable, "two"), "hit");
    EXPECT_EQ(outcome(by_variable, "one"), "hit");
    write("elsewhere/k.cpp", read(scratch / "k.cpp"));
    const auto with_key = [](const std::string& key) {
        return Words{"/usr/bin/g++", "-DAPI_KEY=" + key, "-c", "k.cpp", "-o", "k.o"};
    };
    EXPECT_EQ(outcome(with_key("first"), "one"), "miss");
    EXPECT_EQ(outcome(with_key("other"), "one"), "miss");
    EXPECT_EQ(outcome(with_key("first"), "one"), "hit");
    EXPECT_EQ(outcome(with_key("first"), "one", "elsewhere"), "hit");
}

TEST_F(Secrets, are_not_told_by_why)
{
    EXPECT_EQ(outcome({(scratch / "use").string(), "-o", "made"}, secret), "miss");
    std::string why = hearth({"exec", "--any", "--why", "--", (scratch / "use").string(), "-o", "made"},
                             {.environment = {{"API_TOKEN", "hunter3"}, {"CPATH", std::string(k_public)}}})
                          .out;
    EXPECT_NE(why.find("the variable API_TOKEN had another value"), std::string::npos) << why;
    EXPECT_EQ(why.find("hunter"), std::string::npos) << why;
    EXPECT_EQ(outcome(use, secret), "miss");
    for (Words words : {Words{"exec", "--any", "--why", "--"}, Words{"exec", "--any", "--why", "--json", "--"}}) {
        words.insert(words.end(), use.begin(), use.end());
        words.emplace_back("--secret=hunter3");
        why = said(words);
        EXPECT_NE(why.find("--secret=***"), std::string::npos) << why;
        EXPECT_EQ(why.find("hunter"), std::string::npos) << why;
    }
}

}  // namespace hearth::test
