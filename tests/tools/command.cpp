#include "command.hpp"

#include "modules/variants/record.hpp"
#include "support/damage.hpp"
#include "support/open_cache.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::test {

namespace fs = std::filesystem;

Command::Command()
{
    std::string pattern = (fs::temp_directory_path() / "hearth-cli-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("no scratch directory");
    scratch = pattern;
    cache = scratch / "cache";
}

Command::~Command()
{
    std::error_code error;
    fs::remove_all(scratch, error);
}

ProcessResult Command::hearth(const Words& words, ProcessOptions options)
{
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string name = std::string(*variable).substr(0, std::string(*variable).find('='));
        if (name.rfind("HEARTH_", 0) == 0)
            options.environment.try_emplace(name, std::nullopt);
    }
    for (const auto& [name, value] : given)
        options.environment.insert_or_assign(name, value);
    options.environment.try_emplace("HEARTH_DIR", cache.string());
    options.environment.try_emplace("HOME", (scratch / "home").string());
    for (const char* name : {"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NO_COLOR"})
        options.environment.try_emplace(name, std::nullopt);
    options.environment.try_emplace("TERM", "xterm");
    if (options.directory.empty())
        options.directory = scratch.string();

    ProcessResult result = run_process(joined({HEARTH_COMMAND}, words), options);
    EXPECT_FALSE(result.timed_out) << "hearth " << (words.empty() ? "" : words.front()) << " hangs";
    EXPECT_TRUE(result.timed_out || result.signal == 0) << "ended by signal " << result.signal;
    return result;
}

namespace {

// A command that was started to be stopped.
pid_t start_hearth(const Words& words, const std::filesystem::path& folder,
                   const std::map<std::string, std::string>& environment)
{
    std::vector<const char*> command{"hearth"};
    for (const std::string& word : words)
        command.push_back(word.c_str());
    command.push_back(nullptr);
    const pid_t child = ::fork();
    if (child != 0)
        return child;
    for (const auto& [name, value] : environment)
        ::setenv(name.c_str(), value.c_str(), 1);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        ::signal(signal, SIG_DFL);  // a shell starts what is in its background ignoring some
    ::alarm(60);                    // one that hangs is ended
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    static_cast<void>(::chdir(folder.c_str()));
    ::execv(HEARTH_COMMAND, const_cast<char* const*>(command.data()));
    ::_exit(127);
}

// Whether a process has a handler for the signal.
bool handles(pid_t process, int signal)
{
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("SigCgt:"))
            return ((std::stoull(line.substr(7), nullptr, 16) >> (signal - 1)) & 1U) != 0;
    return false;
}

}  // namespace

std::optional<int> Command::stopped(const Words& words, int signal, const std::function<bool()>& begun,
                                    std::map<std::string, std::string> environment)
{
    environment.try_emplace("HEARTH_DIR", cache.string());
    started = start_hearth(words, scratch, environment);
    int status = 0;
    while (!begun()) {
        if (::waitpid(started, &status, WNOHANG) != 0)
            return std::nullopt;
        std::this_thread::yield();
    }
    EXPECT_EQ(::kill(started, signal), 0);
    EXPECT_EQ(::waitpid(started, &status, 0), started);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::optional<int> Command::stopped_at_work(const Words& words, int signal, const std::function<void()>& prepare,
                                            const std::map<std::string, std::string>& environment)
{
    std::optional<int> code;
    // After its work a command is ended by a signal as any other is: then this came too late.
    for (int attempt = 0; attempt < 200 && code.value_or(0) <= 0; ++attempt) {
        prepare();
        code = stopped(
            words, signal, [&] { return handles(started, signal); }, environment);
    }
    return code;
}

nlohmann::json Command::json_of(const Words& words, const ProcessOptions& options)
{
    const ProcessResult result = hearth(words, options);
    EXPECT_EQ(result.err, "");
    return object_of(result);
}

std::vector<nlohmann::json> Command::json_lines_of(const Words& words)
{
    std::vector<nlohmann::json> values;
    for (const std::string& line : words_of(hearth(words).out, '\n')) {
        values.push_back(nlohmann::json::parse(line, nullptr, false));
        EXPECT_TRUE(values.back().is_object()) << line;
    }
    return values;
}

std::string Command::put(const std::string& key, const std::string& bytes, const Words& more)
{
    const Words words = joined(joined({"put", "--json"}, more), {"--", key, "-"});
    ProcessOptions options;
    options.input = bytes;
    const ProcessResult result = hearth(words, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto answer = nlohmann::json::parse(result.out, nullptr, false);
    return answer.is_object() ? answer.value("key", "") : "";
}

std::string Command::measure(const std::string& kernel, const std::string& winner, const std::string& entry)
{
    Cache opened = open_cache(cache.string());
    const auto measured = [&](const std::string& name, double microseconds) {
        cuda::MeasuredVariant variant{.name = name};
        variant.state = name == winner ? cuda::VariantState::winner : cuda::VariantState::measured;
        variant.launches = 20;
        variant.median = std::chrono::nanoseconds(static_cast<std::int64_t>(microseconds * 1e3));
        variant.ratio = microseconds / 100;
        variant.lowest = variant.ratio - 0.01;
        variant.highest = variant.ratio + 0.01;
        return variant;
    };
    const cuda::VariantRecord record{
        .kernel = kernel,
        .entry = Key::parse(entry).value_or(Key::of("entry", kernel)),
        .shape = "threads<=1024 N=64",
        .device = "NVIDIA H200",
        .driver = "580.159.04",
        .winner = winner,
        .launches = 160,
        .variants = {measured("first", 100),
                     measured("tile 64", 75),
                     {.name = "tile 512", .state = cuda::VariantState::dropped, .why = "too much shared memory"}}};
    const Request question = cuda::question_of(record, {});
    EXPECT_TRUE(
        opened.insert(question, cuda::to_artifact(record, std::chrono::milliseconds(4)), {.kind = EntryKind::manifest})
            .ok());
    opened.flush();
    return question.key().hex();
}

fs::path Command::write(const std::string& name, const std::string& bytes)
{
    const fs::path path = scratch / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

std::string Command::read(const fs::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void Command::flip(const fs::path& file, std::size_t at)
{
    const std::string bytes = read(file);
    ASSERT_LT(at, bytes.size());
    fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
    std::ofstream(file, std::ios::binary) << with_flipped_bit(bytes, at * 8);
}

fs::path Command::largest_file() const
{
    const auto files = snapshot(cache);
    return std::max_element(files.begin(), files.end(),
                            [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); })
        ->first;
}

testing::AssertionResult ends_with(const ProcessResult& result, int exit_code, const std::string& said,
                                   const Words& texts)
{
    for (const std::string& text : texts)
        if (said.find(text) == std::string::npos)
            return testing::AssertionFailure() << "It did not tell \"" << text << "\":\n" << result.out << result.err;
    if (result.exit_code == exit_code)
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << "It ended with " << result.exit_code << " instead of " << exit_code << ":\n"
                                       << result.out << result.err;
}

nlohmann::json object_of(const ProcessResult& result)
{
    auto value = nlohmann::json::parse(result.out, nullptr, false);
    EXPECT_TRUE(value.is_object()) << result.out << result.err;
    if (value.is_object())
        value["exit"] = result.exit_code;
    return value;
}

testing::AssertionResult holds(const nlohmann::json& object, const nlohmann::json& members)
{
    for (const auto& [path, value] : members.items())
        if (const nlohmann::json::json_pointer at("/" + path); !object.contains(at) || object.at(at) != value)
            return testing::AssertionFailure() << path << " is not " << value << " in " << object;
    return testing::AssertionSuccess();
}

Words joined(Words words, const Words& more)
{
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

Words words_of(std::string_view text, char separator)
{
    Words words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        if (end != 0)
            words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

nlohmann::json summary_of(const ProcessResult& result)
{
    const Words lines = words_of(result.err, '\n');
    return nlohmann::json::parse(lines.empty() ? "" : lines.back(), nullptr, false);
}

std::string noise(std::size_t size)
{
    std::mt19937 random(20261115);
    std::string bytes(size, '\0');
    for (char& byte : bytes)
        byte = static_cast<char>(random() & 0xFFU);
    return bytes;
}

}  // namespace hearth::test
