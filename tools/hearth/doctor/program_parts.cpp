#include "doctor/program_parts.hpp"

#include "process/child.hpp"
#include "process/dropin.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <link.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;
using Kind = ProgramFacts::Kind;

constexpr std::size_t k_most_scripts = 4;  // scripts that are each read by the next; the kernel follows no more

// Searches as a shell does: a name with a slash is a path, any other is searched for on PATH. Empty: not found.
std::string find_program(const std::string& name)
{
    if (name.find('/') != std::string::npos)
        return ::access(name.c_str(), F_OK) == 0 ? name : "";
    const char* const path = std::getenv("PATH");
    std::istringstream directories(path != nullptr ? path : "");
    for (std::string directory; std::getline(directories, directory, ':');) {
        std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
        std::error_code error;
        if (!name.empty() && ::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, error))
            return candidate;
    }
    return {};
}

// The program that reads a script, from the words after its #!. `env` starts another one, which follows its options
// and settings.
std::string interpreter_of(const std::vector<std::string>& words)
{
    if (fs::path(words.front()).filename() != "env")
        return words.front();
    for (std::size_t i = 1; i < words.size(); ++i)
        if (!words[i].starts_with('-') && words[i].find('=') == std::string::npos)
            return words[i];
    return words.front();
}

// The loader that started this command: the one that a file names may be any program.
std::string own_loader()
{
    std::string path;
    const auto look = [](dl_phdr_info* program, std::size_t /*size*/, void* result) {
        for (int i = 0; i < program->dlpi_phnum; ++i)
            if (program->dlpi_phdr[i].p_type == PT_INTERP)
                *static_cast<std::string*>(result) =
                    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader keeps addresses as numbers
                    reinterpret_cast<const char*>(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr);
        return 1;  // the first is the program itself
    };
    ::dl_iterate_phdr(look, &path);
    return path;
}

// The text between the two in a line; none if the line lacks them.
std::optional<std::string> between(const std::string& line, std::string_view before, std::string_view behind)
{
    const std::size_t start = line.find(before);
    const std::size_t end = start != std::string::npos ? line.rfind(behind) : std::string::npos;
    if (end == std::string::npos || end < start + before.size())
        return std::nullopt;
    return line.substr(start + before.size(), end - start - before.size());
}

// A line of the loader's list: "\tlibfoo.so.1 => /usr/lib/libfoo.so.1 (0x0000ffff8b780000)", "\tlibfoo.so.1 => not
// found" or, for what is asked for by its path, "\t/lib/ld-linux-aarch64.so.1 (0x0000ffff8b9c0000)". Other lines name
// no file.
void take_listed(const std::string& line, std::vector<ProgramLibrary>& libraries)
{
    ProgramLibrary library;
    if (const auto missing = between(line, "\t", " => not found")) {
        library.name = *missing;
    } else if (const auto name = between(line, "\t", " => ")) {
        library.name = *name;
        library.path = between(line, " => ", " (0x").value_or("");
    } else {
        library.path = between(line, "\t", " (0x").value_or("");
        library.name = fs::path(library.path).filename().string();
    }
    if (!library.name.empty() && (library.path.empty() || library.path.starts_with('/')))
        libraries.push_back(std::move(library));
}

// A line that tells more about one of the libraries: "  12689:\tfile=libfoo.so.1 [0];  needed by /usr/bin/foo [0]",
// from the loader, or "hearth: /usr/lib/libnvrtc.so.13 is used as it is: WHY.", from the auditor.
void take_told(const std::string& line, std::vector<ProgramLibrary>& libraries)
{
    for (ProgramLibrary& library : libraries) {
        if (const auto by = between(line, "\tfile=" + library.name + " [0];  needed by ", " [0]"))
            library.needed_by = *by;
        if (const auto why = between(line, "hearth: " + library.path + " is used as it is: ", "."))
            library.left_alone = *why;
    }
}

// Asks the loader what it would load. That runs nothing of these files: no constructor, no resolver of symbols. The
// loader does run auditing libraries, so it is not asked about a file that names some.
void ask_loader(ProgramParts& parts, const std::string& dropin)
{
    const std::string path = fs::absolute(parts.path).string();
    StartOptions options{
        .environment = {{"LD_TRACE_LOADED_OBJECTS", "1"}, {"LD_DEBUG", "files"}, {"HEARTH_EXPLAIN", "1"}}};
    // These would make the loader print more, print it elsewhere, or resolve symbols.
    for (const char* name : {"LD_DEBUG_OUTPUT", "LD_VERBOSE", "LD_WARN", "LD_PRELOAD", "LD_AUDIT"})
        options.environment.emplace_back(name, std::nullopt);
    if (!dropin.empty())
        options.environment.back().second = dropin + "/" + k_audit_library;
    const Result<Captured> answer = run_captured({own_loader(), path}, options);
    if (!answer) {
        parts.loader_problem = answer.error().message;
        return;
    }
    std::istringstream out(answer->out);
    for (std::string line; std::getline(out, line);)
        take_listed(line, parts.libraries);
    std::istringstream err(answer->err);
    std::string last;
    for (std::string line; std::getline(err, line); last = line)
        take_told(line, parts.libraries);
    if (answer->end.signal != 0 || answer->end.code != 0)
        parts.loader_problem = last;
    for (ProgramLibrary& library : parts.libraries)
        if (library.needed_by == path)
            library.needed_by = parts.path;
}

// A file that needs a compiler's library is linked with it. Its text then has the library's name too.
void note_linked(const ProgramLibrary& library, const std::string& file, ProgramFacts& facts)
{
    const auto known = compiler_of(library.name);
    if (!known || library.needed_by != file)
        return;
    CompilerTraces& traces = facts.traces.at(static_cast<std::size_t>(known->compiler));
    traces.linked.push_back(library.name);
    traces.named.erase(std::remove(traces.named.begin(), traces.named.end(), library.name), traces.named.end());
}

void look_at_libraries(ProgramParts& parts)
{
    for (ProgramLibrary& library : parts.libraries)
        if (!library.path.empty() && !compiler_of(library.name))
            library.facts = look_at_program(library.path);
    for (const ProgramLibrary& linked : parts.libraries) {
        note_linked(linked, parts.path, parts.facts);
        for (ProgramLibrary& library : parts.libraries)
            note_linked(linked, library.path, library.facts);
    }
}

}  // namespace

ProgramParts take_apart(const std::string& program, const std::string& dropin)
{
    ProgramParts parts;
    parts.asked = program;
    std::string name = program;
    for (;;) {
        const std::string path = find_program(name);
        parts.found = !path.empty();
        parts.path = parts.found ? path : name;
        if (!parts.found)
            return parts;
        parts.facts = look_at_program(path);
        if (!parts.facts.executable && parts.facts.kind != Kind::library && parts.not_executable.empty())
            parts.not_executable = path;
        if (parts.facts.kind != Kind::script || parts.scripts.size() >= k_most_scripts)
            break;
        parts.scripts.push_back(path);
        name = interpreter_of(parts.facts.interpreter);
    }
    const bool by_our_loader =
        parts.facts.kind == Kind::library || (parts.facts.kind == Kind::program && !parts.facts.is_for_musl());
    if (by_our_loader && !parts.facts.names_auditors)
        ask_loader(parts, dropin);
    look_at_libraries(parts);
    return parts;
}

}  // namespace hearth::cli
