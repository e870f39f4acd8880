#include "compilers/nvrtc/library.hpp"

#include "base/digest.hpp"
#include "base/elf.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/fork.hpp"
#include "base/hex.hpp"
#include "base/of_process.hpp"
#include "base/shared_library.hpp"
#include "base/text.hpp"
#include "base/wire.hpp"
#include "compilers/common/file_facts.hpp"
#include "gpu/library_memo.hpp"
#include "hearth/libraries.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>

namespace hearth::nvrtc {

namespace {

using NvrtcProgram = void*;
enum NvrtcResult : int {
    k_success = 0,
    k_invalid_input = 3,
    k_invalid_option = 5,
    k_compilation = 6,
    k_builtin_failure = 7,
    k_bad_name = 10
};

struct KnownLibraries : gpu::LibraryMemo<Identity> {};

// None, with the reason in `why`, if it is not a library that could be loaded. A known file is not opened again.
std::optional<Identity> identify_library(Cache& cache, const std::string& path, std::string& why)
{
    base::Files& files = base::system_files();
    const auto find_build_id = [&]() -> std::string {
        why = base::elf_mismatch(files, path);
        if (!why.empty())
            return {};
        std::string id = base::elf_build_id(files, path);
        return id.empty() ? compilers::digest_of_file(cache, path) : id;
    };
    Identity identity{path, std::string(compilers::fact_of_file(cache, "build id", path, find_build_id).text()), {}};
    if (identity.build_id.empty()) {
        if (why.empty())
            why = "not there";
        return std::nullopt;
    }
    // NVRTC lets the loader find them, which looks here first.
    std::vector<std::string> directories;
    if (const char* const first = std::getenv("LD_LIBRARY_PATH"))
        for (std::string_view rest = first; !rest.empty();)
            directories.emplace_back(base::take_until(':', rest));
    directories.push_back(std::filesystem::path(path).parent_path().string());
    for (const std::string& builtins : files_matching(directories, "libnvrtc-builtins.so*"))
        identity.builtins += (identity.builtins.empty() ? "" : " ") + compilers::digest_of_file(cache, builtins);
    return identity;
}

// Newest first. Future versions are found by the link without a number.
std::vector<std::string> library_names()
{
    std::vector<std::string> names;
    for (int major = 16; major >= 12; --major)
        names.push_back(fmt::format("libnvrtc.so.{}", major));
    names.emplace_back("libnvrtc.so.11.2");
    names.emplace_back("libnvrtc.so");
    return names;
}

Error nothing_found(const std::vector<std::string>& passed_over)
{
    return error(Code::unavailable,
                 "No libnvrtc was found{}{}. Install the CUDA toolkit or the Python package nvidia-cuda-nvrtc, "
                 "or say where it is with HEARTH_NVRTC. `hearth doctor` shows where it is looked for.",
                 passed_over.empty() ? "" : "; passed over: ", fmt::join(passed_over, ", "));
}

}  // namespace

Result<Identity> identify(Cache& cache, const std::string& configured_by_caller)
{
    std::string configured = configured_by_caller;
    if (const char* path = std::getenv("HEARTH_NVRTC"); configured.empty() && path != nullptr)
        configured = path;
    base::FileStat now;
    if (std::optional<Identity> known = base::of_process<KnownLibraries>().find(configured, &now)) {
        if (now.type == base::FileType::file)  // and no link, whose file may be another by now
            known->file = {now.device, now.inode, now.size, now.modified.time_since_epoch().count(),
                           now.changed.time_since_epoch().count()};
        return *std::move(known);
    }

    std::vector<std::string> passed_over;
    const auto take = [&](const std::string& path) -> std::optional<Identity> {
        std::string why;
        std::optional<Identity> identity = identify_library(cache, path, why);
        if (!identity)
            passed_over.push_back(fmt::format("{} ({})", path, why));
        else
            base::of_process<KnownLibraries>().remember(configured, *identity);
        return identity;
    };
    std::error_code ignored;
    const std::string first = configured.empty() ? find_library(library_names())
                                                 : std::filesystem::weakly_canonical(configured, ignored).string();
    if (!first.empty())
        if (std::optional<Identity> identity = take(first))
            return *std::move(identity);
    // Nothing is configured, and the first library that was found cannot be used. There may be another.
    if (configured.empty())
        for (const std::string& path : files_matching(library_directories(), "libnvrtc.so*"))
            if (path != first)
                if (std::optional<Identity> identity = take(path))
                    return *std::move(identity);
    return nothing_found(passed_over);
}

struct Library::Functions {
    using Size = int(NvrtcProgram, std::size_t*);
    using Get = int(NvrtcProgram, char*);

    int (*version)(int*, int*);
    int (*architecture_count)(int*);
    int (*architectures)(int*);
    const char* (*error_string)(int);
    int (*create)(NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*);
    int (*destroy)(NvrtcProgram*);
    int (*add_name)(NvrtcProgram, const char*);
    int (*compile)(NvrtcProgram, int, const char* const*);
    int (*lowered_name)(NvrtcProgram, const char*, const char**);
    Size* log_size;
    Get* log;
    // The outputs that a program may have; older and newer versions lack some.
    struct Output {
        const char* section;
        Size* size;
        Get* get;
    };
    std::vector<Output> outputs;
};

std::vector<std::string> environment_of(Cache& cache, const Identity& compiler)
{
    std::vector<std::string> asked = compilers::environment_of(cache, compiler.path, compiler.file);
    // Is asked for in every compile, and so is a condition of each: a program may set it at any time.
    std::erase_if(asked, [](const std::string& variable) { return variable.starts_with(k_appended_flags); });
    return asked;
}

Result<Library> Library::load(const std::string& path)
{
    HEARTH_TRY_SET(compilers::LoadedCompiler* const compiler, compilers::LoadedCompiler::load(path));
    const base::SharedLibrary* const loaded = &compiler->library();
    auto functions = std::make_shared<Functions>();
    base::FunctionFinder library(*loaded);
    library.need(functions->version, "nvrtcVersion");
    library.need(functions->error_string, "nvrtcGetErrorString");
    library.need(functions->create, "nvrtcCreateProgram");
    library.need(functions->destroy, "nvrtcDestroyProgram");
    library.need(functions->add_name, "nvrtcAddNameExpression");
    library.need(functions->compile, "nvrtcCompileProgram");
    library.need(functions->lowered_name, "nvrtcGetLoweredName");
    library.need(functions->log_size, "nvrtcGetProgramLogSize");
    library.need(functions->log, "nvrtcGetProgramLog");
    if (!library.missing().empty())
        return error(Code::unavailable, "{} is no libnvrtc that Hearth knows: it lacks {}.", path, library.missing());
    // Since 11.2.
    functions->architecture_count = loaded->find<int(int*)>("nvrtcGetNumSupportedArchs");
    functions->architectures = loaded->find<int(int*)>("nvrtcGetSupportedArchs");
    struct Names {
        const char* section;
        const char* size;
        const char* get;
    };
    for (const Names& names :
         {Names{"ptx", "nvrtcGetPTXSize", "nvrtcGetPTX"}, Names{"cubin", "nvrtcGetCUBINSize", "nvrtcGetCUBIN"},
          Names{"ltoir", "nvrtcGetLTOIRSize", "nvrtcGetLTOIR"}, Names{"nvvm", "nvrtcGetNVVMSize", "nvrtcGetNVVM"},
          Names{"optixir", "nvrtcGetOptiXIRSize", "nvrtcGetOptiXIR"},
          Names{"tileir", "nvrtcGetTileIRSize", "nvrtcGetTileIR"}}) {
        auto* size = loaded->find<Functions::Size>(names.size);
        auto* get = loaded->find<Functions::Get>(names.get);
        if (size != nullptr && get != nullptr)
            functions->outputs.push_back({names.section, size, get});
    }
    Library made;
    made.m_functions = std::move(functions);
    made.m_compiler = compiler;
    return made;
}

std::string Library::version() const
{
    const LibraryFacts known = facts();
    return fmt::format("{}.{}", known.major, known.minor);
}

LibraryFacts Library::facts() const
{
    LibraryFacts known;
    m_functions->version(&known.major, &known.minor);
    int count = 0;
    if (m_functions->architecture_count != nullptr && m_functions->architectures != nullptr &&
        m_functions->architecture_count(&count) == k_success && count > 0) {
        known.architectures.resize(static_cast<std::size_t>(count));
        if (m_functions->architectures(known.architectures.data()) != k_success)
            known.architectures.clear();
    }
    return known;
}

Result<LibraryFacts> library_facts(Cache& cache, const std::string& configured)
{
    const Result<Identity> compiler = identify(cache, configured);
    HEARTH_TRY(compiler);
    Error problem{Code::unavailable, fmt::format("{} does not tell its version.", compiler->path), {}};
    // "13 0 75 80 86 ..."
    const Bytes text = compilers::fact_of_file(cache, "version", compiler->path, [&]() -> std::string {
        const Result<Library> library = Library::load(compiler->path);
        if (!library) {
            problem = library.error();
            return {};
        }
        const LibraryFacts told = library->facts();
        return fmt::format("{} {} {}", told.major, told.minor, fmt::join(told.architectures, " "));
    });
    LibraryFacts known;
    std::istringstream words{std::string(text.text())};
    if (!(words >> known.major >> known.minor))
        return problem;
    for (int architecture = 0; words >> architecture;)
        known.architectures.push_back(architecture);
    return known;
}

namespace {

// A string that NVRTC counts with its terminating zero, or bytes that it counts as they are.
Bytes fetch(NvrtcProgram program, int (*size)(NvrtcProgram, std::size_t*), int (*get)(NvrtcProgram, char*), bool text)
{
    std::size_t count = 0;
    if (size(program, &count) != k_success || count <= (text ? 1U : 0U))
        return {};
    bool got = false;
    Bytes bytes = Bytes::make(count, [&](std::span<std::byte> target) {
        got = get(program, reinterpret_cast<char*>(target.data())) == k_success;
    });
    return got ? bytes.slice(0, count - (text ? 1 : 0)) : Bytes{};
}

bool is_deterministic(int result)
{
    return result == k_success || result == k_invalid_input || result == k_invalid_option || result == k_compilation ||
           result == k_bad_name;
}

}  // namespace

// NVRTC asks the loader for its built-in headers, by name, and fails where the loader does not look into NVRTC's own
// folder: that of a toolkit which was only unpacked. Whether they are loaded now, from there.
bool Library::load_builtins() const
{
    const LibraryFacts known = facts();
    const std::string name = fmt::format("libnvrtc-builtins.so.{}.{}", known.major, known.minor);
    const std::string beside = std::filesystem::path(m_compiler->path()).parent_path() / name;
    return base::SharedLibrary::load(beside).ok();
}

Result<Artifact> Library::compile(const Program& program, const std::vector<std::string>& options) const
{
    HEARTH_TRY_SET(std::optional<Artifact> made, try_compile(program, options));
    if (!made && load_builtins()) {
        HEARTH_TRY_SET(made, try_compile(program, options));
    }
    if (!made)
        return error(
            Code::io,
            "NVRTC does not find its library of built-in headers, libnvrtc-builtins. It belongs into the folder "
            "of {}, or into one that LD_LIBRARY_PATH names.",
            m_compiler->path());
    return *std::move(made);
}

// None: the built-in headers were not found.
Result<std::optional<Artifact>> Library::try_compile(const Program& program,
                                                     const std::vector<std::string>& options) const
{
    const Functions& nvrtc = *m_functions;
    std::vector<const char*> contents;
    std::vector<const char*> names;
    for (const Header& header : program.headers) {
        contents.push_back(header.content.c_str());
        names.push_back(header.name.c_str());
    }
    std::vector<const char*> arguments;
    arguments.reserve(options.size());
    for (const std::string& option : options)
        arguments.push_back(option.c_str());

    NvrtcProgram handle = nullptr;
    const int created =
        nvrtc.create(&handle, program.source.c_str(), program.name.empty() ? nullptr : program.name.c_str(),
                     static_cast<int>(contents.size()), contents.data(), names.data());
    if (created != k_success)
        return error(Code::io, "NVRTC could not take the program: {}.", nvrtc.error_string(created));
    const auto destroy = [&nvrtc](NvrtcProgram* doomed) { nvrtc.destroy(doomed); };
    const std::unique_ptr<NvrtcProgram, decltype(destroy)> owner(&handle, destroy);

    for (const std::string& expression : program.name_expressions)
        if (const int added = nvrtc.add_name(handle, expression.c_str()); added != k_success)
            return error(Code::invalid_argument, "NVRTC does not take the name expression \"{}\": {}.", expression,
                         nvrtc.error_string(added));

    Artifact artifact;
    artifact.status = nvrtc.compile(handle, static_cast<int>(arguments.size()), arguments.data());
    if (artifact.status == k_builtin_failure)
        return std::optional<Artifact>{};
    Bytes log = fetch(handle, nvrtc.log_size, nvrtc.log, true);
    if (!is_deterministic(artifact.status))
        return Error{Code::io, fmt::format("NVRTC failed: {}.", nvrtc.error_string(artifact.status)),
                     std::string(log.text())};
    if (!artifact.failed()) {
        for (const Functions::Output& output : nvrtc.outputs)
            if (Bytes bytes = fetch(handle, output.size, output.get, std::string_view(output.section) == "ptx");
                !bytes.empty())
                artifact.sections.push_back({output.section, std::move(bytes)});
        std::vector<std::pair<std::string, std::string>> lowered;
        for (const std::string& expression : program.name_expressions) {
            const char* name = nullptr;
            if (nvrtc.lowered_name(handle, expression.c_str(), &name) == k_success && name != nullptr)
                lowered.emplace_back(expression, name);
        }
        if (!lowered.empty())
            artifact.sections.push_back({"names", Bytes::copy_of(encode_names(lowered))});
    }
    if (!log.empty())
        artifact.sections.push_back({"log", std::move(log)});
    artifact.metadata.compiler = "nvrtc " + version();
    return std::optional(std::move(artifact));
}

std::string encode_names(const std::vector<std::pair<std::string, std::string>>& names)
{
    base::WireWriter out;
    for (const auto& [expression, name] : names) {
        out.prefixed<std::uint32_t>(expression);
        out.prefixed<std::uint32_t>(name);
    }
    return std::move(out.out());
}

std::optional<std::string> lowered_name(std::string_view section, std::string_view expression)
{
    base::WireReader in(as_bytes(section));
    while (!in.at_end() && !in.failed()) {
        const std::string_view known = in.prefixed<std::uint32_t>();
        const std::string_view name = in.prefixed<std::uint32_t>();
        if (!in.failed() && known == expression)
            return std::string(name);
    }
    return std::nullopt;
}

}  // namespace hearth::nvrtc
