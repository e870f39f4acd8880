#include "command.hpp"

#include "hearth/cache.hpp"
#include "modules/variants/record.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
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

ProcessResult Command::hearth(const std::vector<std::string>& words, ProcessOptions options)
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

    std::vector<std::string> command{HEARTH_COMMAND};
    command.insert(command.end(), words.begin(), words.end());
    ProcessResult result = run_process(command, options);
    EXPECT_FALSE(result.timed_out) << "hearth " << (words.empty() ? "" : words.front()) << " hangs";
    EXPECT_TRUE(result.timed_out || result.signal == 0) << "ended by signal " << result.signal;
    return result;
}

namespace {

// A command that was started to be stopped.
pid_t start_hearth(const std::vector<std::string>& words, const std::filesystem::path& folder,
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
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    static_cast<void>(::chdir(folder.c_str()));
    ::execv(HEARTH_COMMAND, const_cast<char* const*>(command.data()));
    ::_exit(127);
}

// Its status, if it ended before `begun` said so; otherwise it is sent the signal, and `sent` says so.
int stop_once(pid_t child, int signal, const std::function<bool()>& begun, bool& sent)
{
    int status = 0;
    bool ended = false;
    while (!ended && !begun()) {
        ended = ::waitpid(child, &status, WNOHANG) != 0;
        std::this_thread::yield();
    }
    sent = !ended;
    if (sent) {
        EXPECT_EQ(::kill(child, signal), 0);
        EXPECT_EQ(::waitpid(child, &status, 0), child);
    }
    return status;
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

std::optional<int> Command::stopped(const std::vector<std::string>& words, int signal,
                                    const std::function<bool()>& begun,
                                    const std::map<std::string, std::string>& environment)
{
    std::map<std::string, std::string> all = environment;
    all.try_emplace("HEARTH_DIR", cache.string());
    bool sent = false;
    const int status = stop_once(start_hearth(words, scratch, all), signal, begun, sent);
    EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
    return !sent || !WIFEXITED(status) ? std::nullopt : std::optional(WEXITSTATUS(status));
}

std::optional<int> Command::stopped_at_work(const std::vector<std::string>& words, int signal,
                                            const std::function<void()>& prepare,
                                            const std::map<std::string, std::string>& environment)
{
    std::map<std::string, std::string> all = environment;
    all.try_emplace("HEARTH_DIR", cache.string());
    std::optional<int> code;
    for (int attempt = 0; attempt < 200 && code.value_or(0) == 0; ++attempt) {
        prepare();
        const pid_t child = start_hearth(words, scratch, all);
        bool sent = false;
        const int status = stop_once(
            child, signal, [child, signal] { return handles(child, signal); }, sent);
        // After its work a command is ended by a signal as any other is: then this came too late.
        code = sent && WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
    }
    return code;
}

nlohmann::json Command::json_of(const std::vector<std::string>& words)
{
    const ProcessResult result = hearth(words);
    EXPECT_EQ(result.err, "");
    const auto value = nlohmann::json::parse(result.out, nullptr, false);
    EXPECT_TRUE(value.is_object()) << result.out;
    return value;
}

std::vector<nlohmann::json> Command::json_lines_of(const std::vector<std::string>& words)
{
    std::vector<nlohmann::json> values;
    std::istringstream lines(hearth(words).out);
    for (std::string line; std::getline(lines, line);) {
        values.push_back(nlohmann::json::parse(line, nullptr, false));
        EXPECT_TRUE(values.back().is_object()) << line;
    }
    return values;
}

std::string Command::put(const std::string& key, const std::string& bytes, const std::vector<std::string>& more)
{
    std::vector<std::string> words{"put", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", key, "-"});
    ProcessOptions options;
    options.input = bytes;
    const ProcessResult result = hearth(words, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto answer = nlohmann::json::parse(result.out, nullptr, false);
    return answer.is_object() ? answer.value("key", "") : "";
}

std::string Command::measure(const std::string& kernel, const std::string& winner, const std::string& entry)
{
    CacheOptions options;
    options.directory = cache.string();
    options.maintenance = Maintenance::by_hand;
    Cache opened = Cache::open(options).value();
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
    std::string bytes = read(file);
    ASSERT_LT(at, bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
    std::ofstream(file, std::ios::binary) << bytes;
}

fs::path Command::largest_file() const
{
    fs::path largest;
    std::uintmax_t size = 0;
    for (const auto& entry : fs::recursive_directory_iterator(cache))
        if (entry.is_regular_file() && !entry.is_symlink() && entry.file_size() > size) {
            largest = entry.path();
            size = entry.file_size();
        }
    return largest;
}

std::map<std::string, std::string> Command::snapshot(const fs::path& directory)
{
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(directory))
        found[entry.path().string()] = entry.is_regular_file() ? read(entry.path()) : "";
    return found;
}

namespace {

testing::AssertionResult ends_with(const ProcessResult& result, int exit_code, const std::string& text,
                                   const std::string& in)
{
    if (result.exit_code == exit_code && in.find(text) != std::string::npos)
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << "It ended with " << result.exit_code << " instead of " << exit_code
                                       << ", or did not tell \"" << text << "\":\n"
                                       << result.out << result.err;
}

}  // namespace

testing::AssertionResult ends_saying(const ProcessResult& result, int exit_code, const std::string& text)
{
    return ends_with(result, exit_code, text, result.err);
}

testing::AssertionResult ends_printing(const ProcessResult& result, int exit_code, const std::string& text)
{
    return ends_with(result, exit_code, text, result.out);
}

nlohmann::json summary_of(const ProcessResult& result)
{
    std::istringstream lines(result.err);
    std::string last;
    for (std::string line; std::getline(lines, line);)
        last = line;
    return nlohmann::json::parse(last, nullptr, false);
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
