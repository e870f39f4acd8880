#include "compilers/nvrtc/plan.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "gpu/cuda/cuda_driver.hpp"
#include "headers/closure.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace hearth::nvrtc {

namespace {

constexpr std::uint64_t k_request_version = 1;

Status refuse(std::string message)
{
    return error(Code::invalid_argument, "{}", std::move(message));
}

// NVRTC takes zero-terminated strings: what follows a zero would silently be left out.
Status check_text(std::string_view what, std::string_view text)
{
    const std::size_t zero = text.find('\0');
    if (zero == std::string_view::npos)
        return {};
    return refuse(
        fmt::format("{} has a zero byte at offset {}, where NVRTC would stop reading. Remove it.", what, zero));
}

Status check(const Program& program)
{
    if (Status status = check_text("The source", program.source); !status.ok())
        return status;
    for (const Header& header : program.headers) {
        if (Status status = check_text(fmt::format("The header \"{}\"", header.name), header.content); !status.ok())
            return status;
        if (header.name.empty())
            return refuse("A header has no name. Give it the name it is included by.");
    }
    for (const std::string& option : program.options)
        if (Status status = check_text("An option", option); !status.ok())
            return status;
    return {};
}

// If the program names a target apart from its options, that becomes the last option.
Status settle_options(const Program& program, Plan& plan)
{
    plan.options = program.options;
    plan.facts = read_options(plan.options);
    if (program.target.empty())
        return {};
    if (!plan.facts.target.empty())
        return refuse(fmt::format("The target is given twice: as \"{}\" and with the option -arch={}. Leave one out.",
                                  program.target, plan.facts.target));
    std::string target = program.target;
    if (target == "device") {
        Result<std::string> device = gpu::target_of_device(0);
        HEARTH_TRY(device);
        target = *std::move(device);
    }
    plan.options.push_back("-arch=" + target);
    plan.facts.keyed.push_back(plan.options.back());
    plan.facts.target = std::move(target);
    return {};
}

std::string working_directory()
{
    std::error_code error;
    return std::filesystem::current_path(error).string();
}

std::string appended_flags()
{
    const char* flags = std::getenv(k_appended);
    return flags != nullptr ? flags : "";
}

std::string base_name(const std::string& path)
{
    return path.substr(path.find_last_of('/') + 1);
}

// Everything but the headers. Each member of Program enters here; paths do only if the output can hold them.
KeyBuilder describe(std::string_view domain, const Program& program, const Plan& plan)
{
    KeyBuilder key(domain);
    key.number("request version", k_request_version)
        .text("compiler build", plan.compiler.build_id)
        .text("compiler builtins", plan.compiler.builtins)
        .text("source", program.source)
        .text("program name", base_name(plan.program_name))
        .list("options", plan.facts.keyed)
        .text(k_appended, plan.appended_flags)
        .list("name expressions", program.name_expressions);
    for (const Header& header : program.headers)
        key.text("given header " + header.name, header.content);
    return key;
}

void describe_places(KeyBuilder& key, const Plan& plan, const std::string& program_path)
{
    key.text("program path", program_path)
        .text("working directory", plan.working_directory)
        .list("include directories", plan.facts.include_directories);
}

Request finish_request(const Program& program, const Plan& plan)
{
    KeyBuilder key = describe("nvrtc", program, plan);
    const bool all_paths = plan.facts.paths_matter || plan.manifest.all_paths_matter;
    if (all_paths)
        describe_places(key, plan, plan.program_name);
    else if (plan.manifest.program_path_matters)
        key.text("program path", plan.program_name);
    // One field for all headers: a request with thousands of them must stay small. The list beside the result tells
    // which header differs from another request's.
    std::string all;
    std::string paths;
    for (const format::ManifestFile& file : plan.manifest.files) {
        all.append(file.label).append("\n").append(as_text(std::as_bytes(std::span(file.digest))));
        if (all_paths || file.path_matters)
            paths.append(file.label).append("\n").append(file.path).append("\n");
    }
    key.bytes("headers", as_bytes(all)).text("paths of headers", paths);
    return key.build();
}

headers::Sources sources_of(const Program& program, const Plan& plan)
{
    headers::Sources sources;
    sources.program = program.source;
    sources.program_name = plan.program_name;
    for (const Header& header : program.headers)
        sources.memory_headers.emplace_back(header.name, header.content);
    sources.include_directories = plan.facts.include_directories;
    sources.pre_includes = plan.facts.pre_includes;
    sources.defines = plan.facts.defines;
    sources.search_beside_program = plan.facts.search_beside_program;
    return sources;
}

// The program's directory, if the same headers would be found with the program in another one: CuPy, for example, gives
// each program a new directory every time. Empty if something else may be found through that directory.
std::string movable_directory(const Program& program, const Plan& plan)
{
    std::string directory = plan.program_name.substr(0, plan.program_name.find_last_of('/') + 1);
    if (directory.empty() || directory.front() != '/' || program.source.find(directory) != std::string::npos)
        return {};
    for (const std::string& include : plan.facts.include_directories)
        if (directory.starts_with(include) || include.starts_with(directory))
            return {};
    for (const Header& header : program.headers)
        if (header.name.starts_with('/'))
            return {};
    return directory;
}

constexpr std::string_view k_anywhere = "\x01";  // no path that a compiler tries begins with it

// The manifest for a program in another directory: changes the paths of what was found, or searched for, beside it.
format::Manifest moved(format::Manifest manifest, std::string_view from, std::string_view to)
{
    const auto move = [&](std::string& path) {
        if (path.starts_with(from))
            path.replace(0, from.size(), to);
    };
    for (format::ManifestFile& file : manifest.files)
        if (file.label.starts_with("P:"))
            move(file.path);
    for (std::string& path : manifest.absent)
        move(path);
    return manifest;
}

Artifact artifact_of(const Plan& plan, const format::Manifest& manifest, const std::string& movable)
{
    Artifact artifact{encode_manifest(movable.empty() ? manifest : moved(manifest, movable, k_anywhere))};
    artifact.metadata.label = "headers of " + base_name(plan.program_name);
    return artifact;
}

format::Manifest find_manifest(Cache& cache, const Program& program, const Plan& plan)
{
    const headers::Sources sources = sources_of(program, plan);
    if (headers::is_plain(sources))
        return {};
    if (!headers::asks_for_headers(sources))
        return headers::find_headers(sources);
    KeyBuilder builder = describe("nvrtc headers", program, plan);
    const std::string movable = movable_directory(program, plan);
    describe_places(builder, plan, movable.empty() ? plan.program_name : std::string(k_anywhere));
    const Key key = builder.key();
    // Threads that ask at once wait for one search: for a thousand headers it takes a good part of a second.
    std::optional<format::Manifest> found;
    const Result<Lookup> known = cache.get_or_compile(key,
                                                      [&] {
                                                          found = headers::find_headers(sources);
                                                          return artifact_of(plan, *found, movable);
                                                      },
                                                      {.kind = EntryKind::derived});
    if (found)
        return *std::move(found);
    if (known)
        if (auto manifest = format::decode_manifest((*known)->bytes())) {
            if (!movable.empty())
                manifest = moved(*std::move(manifest), k_anywhere, movable);
            const headers::ManifestState state = headers::check(*manifest);
            if (state == headers::ManifestState::unchanged)
                return *std::move(manifest);
            if (state == headers::ManifestState::refreshed)
                found = std::move(manifest);
        }
    if (!found)
        found = headers::find_headers(sources);
    static_cast<void>(cache.insert(key, artifact_of(plan, *found, movable), {.kind = EntryKind::derived}));
    return *std::move(found);
}

}  // namespace

Result<Plan> begin_plan(Cache& cache, const Program& program, const CompileOptions& options)
{
    HEARTH_TRY(check(program));
    Plan plan;
    HEARTH_TRY(settle_options(program, plan));
    plan.program_name = program.name.empty() ? std::string(k_unnamed) : program.name;
    plan.appended_flags = appended_flags();
    plan.working_directory = working_directory();
    Result<Identity> compiler = identify(cache, options.library);
    HEARTH_TRY(compiler);
    plan.compiler = *std::move(compiler);
    plan.why_past_the_cache = plan.facts.why_past_the_cache;
    // How NVRTC parses these flags is not documented. So they are accepted only if they have nothing to do with files.
    if (plan.why_past_the_cache.empty())
        for (const char* word : {"-I", "include", "pch", "time", "lineinfo", "generate-line", "-G", "device-debug",
                                 "options-file", "optf"})
            if (plan.appended_flags.find(word) != std::string::npos)
                plan.why_past_the_cache = fmt::format("{} has \"{}\"", k_appended, word);
    return plan;
}

void finish_plan(const Program& program, format::Manifest manifest, Plan& plan)
{
    plan.manifest = std::move(manifest);
    plan.why_past_the_cache = plan.manifest.why_past_the_cache;
    plan.request = finish_request(program, plan);
}

format::Manifest search_headers(const Program& program, const Plan& plan)
{
    const headers::Sources sources = sources_of(program, plan);
    return headers::is_plain(sources) ? format::Manifest{} : headers::find_headers(sources);
}

Result<Plan> make_plan(Cache& cache, const Program& program, const CompileOptions& options)
{
    Result<Plan> plan = begin_plan(cache, program, options);
    if (plan && plan->why_past_the_cache.empty())
        finish_plan(program, find_manifest(cache, program, *plan), *plan);
    return plan;
}

}  // namespace hearth::nvrtc
