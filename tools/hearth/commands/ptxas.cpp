// A stand-in for ptxas: same arguments, outputs and messages, for programs that start it for every kernel, as Triton
// does (TRITON_PTXAS_PATH).

#include "base/error.hpp"
#include "build/ptxas_arguments.hpp"
#include "build/ptxas_messages.hpp"
#include "cache/open_cache.hpp"
#include "hearth/libraries.hpp"
#include "process/child.hpp"
#include "process/file_io.hpp"
#include "process/scratch_folder.hpp"
#include "run_log/run_log.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t k_request_version = 2;
constexpr const char* k_real = "HEARTH_PTXAS";

struct PtxasArguments {
    std::vector<std::string> words;
};

// PATH may find the stand-in itself, a script beside the drop-in libraries; the size tells it from the real one.
bool is_ptxas(const fs::path& path)
{
    std::error_code error;
    return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error) &&
           fs::file_size(path, error) > 1'000'000;
}

std::string find_ptxas()
{
    if (const char* configured = std::getenv(k_real); configured != nullptr && *configured != '\0') {
        if (!is_ptxas(configured))
            fail(fmt::format(
                "{}={} is not a ptxas that can be run. Name the ptxas of a CUDA toolkit, or leave it unset.", k_real,
                configured));
        return configured;
    }
    std::vector<std::string> places;
    for (const char* home : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* folder = std::getenv(home); folder != nullptr && *folder != '\0')
            places.push_back(std::string(folder) + "/bin/ptxas");
    const char* const path = std::getenv("PATH");
    std::string_view folders = path != nullptr ? path : "";
    while (!folders.empty()) {
        const std::string_view folder = folders.substr(0, folders.find(':'));
        folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
        if (!folder.empty())
            places.push_back(std::string(folder) + "/ptxas");
    }
    for (const char* pattern : {"/usr/local/cuda/bin/ptxas", "/usr/local/cuda-*/bin/ptxas"})
        for (const std::string& found : expand(pattern))
            places.push_back(found);
    for (const std::string& place : places)
        if (is_ptxas(place))
            return place;
    fail(fmt::format("No ptxas was found. Install the CUDA toolkit, or say where it is with {}.", k_real));
}

[[noreturn]] void relay(const std::string& real, std::vector<std::string> words)
{
    words.insert(words.begin(), real);
    replace_this_process(words);
}

double since(std::chrono::steady_clock::time_point start)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

run_log::Event event_named(const std::string& name, const char* outcome, const std::string& reason)
{
    return {.what = "ptxas", .name = name, .outcome = outcome, .reason = reason};
}

// The name for the summary: that of the first word that is a file.
std::string name_of(const std::vector<std::string>& words)
{
    std::error_code error;
    for (const std::string& word : words)
        if (fs::exists(word, error))
            return fs::path(word).filename().string();
    return "ptxas";
}

// The real ptxas compiles what the cache cannot keep.
[[noreturn]] void compile_past_the_cache(const std::string& real, std::vector<std::string> words, Compiling compiling,
                                         const std::string& reason)
{
    const std::string name = name_of(words);
    if (compiling == Compiling::forbidden) {
        run_log::note(event_named(name, "forbidden", reason));
        fail(fmt::format("This call of ptxas goes past the cache ({}), and compiling is forbidden. Allow "
                         "it (HEARTH_FORBID_COMPILE=0).",
                         reason));
    }
    if (!run_log::is_noting())
        relay(real, std::move(words));
    const auto start = std::chrono::steady_clock::now();
    words.insert(words.begin(), real);
    const ChildEnd end = run_in_foreground(words);
    run_log::Event event = event_named(name, "past_the_cache", reason);
    event.spent_ms = since(start);
    run_log::note(event);
    end_as(end);
}

struct Input {
    Bytes content;
    struct timespec changed {};
    ino_t file = 0;

    friend bool operator==(const Input& one, const Input& other)
    {
        return one.content == other.content && one.file == other.file && one.changed.tv_sec == other.changed.tv_sec &&
               one.changed.tv_nsec == other.changed.tv_nsec;
    }
};

// Empty if one of them cannot be read.
std::vector<Input> read_inputs(const PtxasCall& call)
{
    std::vector<Input> inputs;
    try {
        for (const std::string& path : call.inputs) {
            struct stat status {};
            if (::stat(path.c_str(), &status) != 0)
                return {};
            inputs.push_back({read_whole(path), status.st_ctim, status.st_ino});
        }
    } catch (const Failure&) {
        return {};
    }
    return inputs;
}

class Job {
public:
    Job(std::string real, PtxasCall call, std::vector<Input> inputs)
        : m_real(std::move(real)), m_program(fs::path(m_real).filename().string()), m_call(std::move(call)),
          m_inputs(std::move(inputs))
    {
        for (std::size_t i = 0; i < m_call.inputs.size(); ++i)
            m_places.push_back(fmt::format("\x01hearth input {}\x01", i));
    }

    Request request(const std::string& identity) const
    {
        KeyBuilder key("ptxas");
        key.number("request version", k_request_version)
            .text("compiler build", identity)
            .text("program", m_program)  // messages begin with it
            .list("options", m_call.options);
        for (std::size_t i = 0; i < m_inputs.size(); ++i)
            key.bytes(fmt::format("input {}", i), m_inputs[i].content);
        if (m_call.names_matter) {
            key.list("names", m_call.inputs);
            key.text("working directory", fs::current_path().string());
        }
        return key.build();
    }

    Result<Artifact> make() const
    {
        const ScratchFolder scratch;
        const std::string output = scratch / "out";
        std::vector<std::string> command{m_real};
        command.insert(command.end(), m_call.options.begin(), m_call.options.end());
        command.insert(command.end(), m_call.inputs.begin(), m_call.inputs.end());
        command.insert(command.end(), {"--output-file", output});
        HEARTH_TRY_SET(const Captured ran, run_captured(command));
        if (ran.end.signal != 0)
            return Error{Code::io, fmt::format("ptxas was ended by signal {}.", ran.end.signal), ran.err};
        // ptxas has read them again, by their names.
        if (read_inputs(m_call) != m_inputs)
            return hearth::error(Code::unavailable, "an input changed while it was compiled");
        Artifact artifact;
        artifact.status = ran.end.code;
        const auto keep = [&](const char* section, std::string_view text) {
            if (!text.empty())
                artifact.sections.push_back(
                    {section, Bytes::copy_of(with_other_names(text, m_program, m_call.inputs, m_places))});
        };
        std::error_code error;
        if (fs::exists(output, error))
            artifact.sections.push_back({"cubin", read_whole(output)});
        keep("out", ran.out);
        keep("log", ran.err);
        artifact.metadata.compiler = "ptxas";
        artifact.metadata.label = fs::path(m_call.inputs.front()).filename().string();
        artifact.metadata.target = m_call.target;
        artifact.metadata.options = m_call.options;
        return artifact;
    }

    // As ptxas would have written it for these names.
    int replay(const Artifact& artifact) const
    {
        const auto text = [&](const char* section) {
            return with_other_names(artifact.text(section), m_program, m_places, m_call.inputs);
        };
        if (artifact.find("cubin") != nullptr)
            write_into(m_call.output, artifact.bytes("cubin"));
        write_out(text("out"));
        const std::string err = text("log");
        std::fwrite(err.data(), 1, err.size(), stderr);
        return artifact.status;
    }

private:
    std::string m_real;
    std::string m_program;  // the file name of the real ptxas
    PtxasCall m_call;
    std::vector<Input> m_inputs;
    std::vector<std::string> m_places;  // what stands for the inputs' names in stored messages
};

int run_ptxas(const Globals& globals, const PtxasArguments& arguments)
{
    const std::string real = find_ptxas();
    const std::vector<std::string>& words = arguments.words;
    const Settings settings = settings_of(globals);
    if (settings.options.caching == Switch::off || only_tells(words))
        relay(real, words);
    const auto start = std::chrono::steady_clock::now();
    const auto past = [&, compiling = settings.options.compiling.value_or(Compiling::allowed)](
                          const std::string& reason) { compile_past_the_cache(real, words, compiling, reason); };
    const std::optional<PtxasCall> call = read_ptxas_call(words);
    if (!call)
        past("it does more than compile PTX files into one file, or has an unknown option");
    std::error_code error;
    for (const std::string& input : call->inputs) {
        if (!fs::exists(input, error))
            relay(real, words);  // the real ptxas says what is wrong
        if (!fs::is_regular_file(input, error))
            past("an input is not a regular file");
    }
    std::vector<Input> inputs = read_inputs(*call);
    if (inputs.empty())
        relay(real, words);
    Cache cache = open_cache(globals, Use::work);
    const std::string build = build_of_file(cache, real);
    if (build.empty())
        past("the real ptxas cannot be read");
    const Job job(real, *call, std::move(inputs));
    const std::string name = name_of(call->inputs);
    const Request request = job.request(build);
    const Result<Lookup> found =
        cache.get_or_compile(request, [&] { return job.make(); }, {.metadata = {.label = name}});
    if (!found) {
        if (found.error().code != Code::compile_forbidden)
            past(found.error().message);
        run_log::note(event_named(name, "forbidden", {}));
        fail(found.error().message);
    }
    run_log::Event event = run_log::event_of(*found, request.key());
    event.what = "ptxas";
    event.name = name;
    event.spent_ms = since(start);
    run_log::note(event);
    return job.replay(**found);
}

}  // namespace

void add_ptxas(Command& command)
{
    command.describe("Stands in for ptxas: the same arguments, outputs and messages, but from the cache.",
                     "  hearth ptxas -- --gpu-name=sm_90 kernel.ptx -o kernel.cubin\n"
                     "  HEARTH_PTXAS=/path/to/ptxas TRITON_PTXAS_PATH=/usr/lib/hearth/ptxas hearth run -- "
                     "python train.py",
                     "The real ptxas is HEARTH_PTXAS, or else the first one found. The script 'ptxas' beside the "
                     "drop-in\nlibraries passes its arguments to this command.");
    auto& arguments = command.runs(run_ptxas);
    command.hands_on(arguments.words, "-- ARGUMENTS", "arguments", "-- --gpu-name=sm_90 kernel.ptx");
}

}  // namespace hearth::cli
