#include "compilers/command/kept_files.hpp"

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/placed_file.hpp"
#include "compilers/command/dependency_file.hpp"
#include "compilers/command/run_watched.hpp"
#include "compilers/command/temporary_names.hpp"
#include "watch/source_file.hpp"

#include <charconv>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;

// A file that was written, as a section of the entry: "file" or "program", then " output N", one of those that the call
// named, or " here NAME", in the working directory.
constexpr std::string_view k_file = "file ";
constexpr std::string_view k_program = "program ";
constexpr std::string_view k_output = "output ";
constexpr std::string_view k_here = "here ";

constexpr unsigned k_machine_of_cuda = 190;

// Null: it is no ELF file.
const Elf64_Ehdr* elf_head(ByteView content)
{
    const auto* const head = reinterpret_cast<const Elf64_Ehdr*>(content.data());
    return content.size() >= sizeof *head && std::memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 ? head : nullptr;
}

// What assemblers and linkers make: an ELF file, but not for a GPU.
bool is_for_hosts(ByteView content)
{
    const Elf64_Ehdr* const head = elf_head(content);
    return head != nullptr && head->e_machine != k_machine_of_cuda;
}

// What a linker makes for the system to run or load. Not by its mode, which a umask may have changed.
bool is_program(const std::string& path, ByteView content, const Plan& plan)
{
    if (plan.profile->suffixes.empty())
        return ::access(path.c_str(), X_OK) == 0;
    const Elf64_Ehdr* const head = elf_head(content);
    return is_for_hosts(content) && (head->e_type == ET_EXEC || head->e_type == ET_DYN);
}

// Empty: other calls would not know where to put it.
std::string section_of(const std::string& path, ByteView content, const Plan& plan)
{
    const fs::path working(plan.question.places.working_directory);
    const std::string_view kind = is_program(path, content, plan) ? k_program : k_file;
    for (std::size_t i = 0; i < plan.call.outputs.size(); ++i)
        if ((working / plan.call.outputs[i]).lexically_normal() == path)
            return fmt::format("{}{}{}", kind, k_output, i);
    const fs::path relative = fs::path(path).lexically_relative(working);
    const bool is_here = !relative.empty() && *relative.begin() != "..";
    // A compiler that is not told where writes here.
    if (is_here && (plan.profile->suffixes.empty() || (!relative.has_parent_path() && !plan.call.names_output)))
        return fmt::format("{}{}{}", kind, k_here, relative.string());
    return {};
}

// Where this call wants it. Empty: the section is no file.
std::string path_of(std::string_view section, const Plan& plan)
{
    if (!section.starts_with(k_file) && !section.starts_with(k_program))
        return {};
    std::string_view place = section.substr(section.find(' ') + 1);
    if (place.starts_with(k_here))
        return std::string(place.substr(k_here.size()));
    std::size_t index = 0;
    place.remove_prefix(std::min(place.size(), k_output.size()));
    const auto [end, error] = std::from_chars(place.data(), place.data() + place.size(), index);
    return error == std::errc{} && index < plan.call.outputs.size() ? plan.call.outputs[index] : std::string{};
}

// Outputs that a file of dependencies tells by the names that the call gives them.
std::vector<std::string> targets_of(const Call& call)
{
    return call.names_targets ? std::vector<std::string>{} : call.outputs;
}

// The section of one of the outputs.
const Section* file_of(const Artifact& artifact, std::size_t output)
{
    for (const std::string_view kind : {k_file, k_program})
        if (const Section* const section = artifact.find(fmt::format("{}{}{}", kind, k_output, output)))
            return section;
    return nullptr;
}

// Not by umask(), which changes it for a moment, for every thread.
unsigned umask_now()
{
    std::ifstream status("/proc/self/status");
    unsigned mask = 022;
    for (std::string word; status >> word;)
        if (word == "Umask:") {
            status >> std::oct >> mask;
            break;
        }
    return mask;
}

// As compilers leave it. An assembler or a linker replaces what was there before, or a link to it, but writes into an
// empty file; everybody else writes into whatever is there. Linkers then let it be executed.
Status put(const std::string& path, ByteView content, bool is_program)
{
    const unsigned may_run = is_program ? 0111 : 0;
    std::error_code none;
    const std::uintmax_t size = fs::file_size(path, none);
    const bool is_there = !none;
    if (is_there && (size == 0 || !is_for_hosts(content))) {
        std::ofstream file(path, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
        if (!file.flush())
            return error(Code::io, "{} cannot be written.", path);
        struct stat status {};
        if (is_program && ::stat(path.c_str(), &status) == 0)
            static_cast<void>(::chmod(path.c_str(), status.st_mode | (may_run & ~umask_now())));
        return {};
    }
    if (is_there)
        static_cast<void>(::unlink(path.c_str()));
    base::PlacedFile file(base::system_files(), path, 0666 | may_run);
    file.write(content, 0);
    return file.place(base::PlacedFile::Sync::no);
}

// Without names that the next call will not have.
Result<Bytes> lasting(const std::string& content, const std::string& path, const Plan& plan)
{
    if (!plan.profile->writes_names)
        return Bytes::copy_of(content);
    std::optional<Bytes> kept = without_names(content, plan.call.temporaries);
    if (!kept)
        return error(Code::unavailable, "{} holds the name of a temporary file that was not given", path);
    return *std::move(kept);
}

// With those of this call. An Error: the entry is damaged.
Result<Bytes> renewed(const Bytes& kept, const Plan& plan)
{
    if (!plan.profile->writes_names)
        return kept;
    const std::optional<std::string> text = with_names(kept.text(), plan.call.temporaries);
    if (!text)
        return error(Code::corrupt, "The entry of {} is damaged.", plan.question.label);
    return Bytes::copy_of(*text);
}

}  // namespace

bool is_of_dependencies(std::string_view section, const Plan& plan)
{
    return plan.call.dependencies && section.ends_with(fmt::format("{}{}", k_output, *plan.call.dependencies));
}

Status add_files(const watch::TreeLog& log, const Plan& plan, Artifact& artifact)
{
    for (const std::string& path : log.left_behind()) {
        std::optional<watch::SourceFile> file = watch::read_source(path);
        std::string section = file ? section_of(path, as_bytes(file->text), plan) : std::string{};
        if (section.empty())
            return error(Code::unavailable, "it writes {}, which it was not asked for", path);
        HEARTH_TRY_SET(Bytes content, lasting(file->text, path, plan));
        if (is_of_dependencies(section, plan)) {
            std::optional<Bytes> kept = without_places(file->text, plan.question.places, targets_of(plan.call));
            if (!kept)
                return error(Code::unavailable, "{} tells dependencies in a way that is not understood", path);
            content = *std::move(kept);
        }
        artifact.sections.push_back({std::move(section), std::move(content)});
    }
    for (std::size_t i = 0; i < plan.call.outputs.size(); ++i)
        if (file_of(artifact, i) == nullptr)
            return error(Code::unavailable, "it has not written {}", plan.call.outputs[i]);
    return {};
}

// Calls that name a source otherwise are the same question, unless its name is in what the compiler wrote or said.
Status add_streams(const Plan& plan, Bytes streams, Artifact& artifact)
{
    if (plan.profile->writes_names && !without_names(streams.text(), {}))
        return error(Code::unavailable, "what it says holds the name of a temporary file");
    artifact.sections.push_back({std::string(k_streams), std::move(streams)});
    for (std::size_t i = 0; i < plan.call.sources.size() && !plan.call.names_sources; ++i) {
        const std::string& source = plan.call.sources[i];
        HEARTH_TRY_SET(const std::string text, text_of(source));
        if (text != plan.texts[i])
            return error(Code::unavailable, "{} changed while it was compiled", source);
        for (const Section& section : artifact.sections)
            if (section.data.text().find(fs::path(source).filename().string()) != std::string_view::npos)
                return error(Code::unavailable, "what it writes or says holds the name of {}", source);
    }
    return {};
}

Status replay(const Artifact& artifact, const Plan& plan)
{
    for (std::size_t i = 0; i < plan.call.outputs.size(); ++i)
        if (file_of(artifact, i) == nullptr)
            return error(Code::corrupt, "The entry of {} lacks {}.", plan.question.label, plan.call.outputs[i]);
    for (const Section& section : artifact.sections) {
        const std::string path = path_of(section.name, plan);
        if (path.empty())
            continue;
        HEARTH_TRY_SET(Bytes content, renewed(section.data, plan));
        if (plan.call.dependencies && path == plan.call.outputs[*plan.call.dependencies]) {
            const std::optional<std::string> dependencies =
                with_places(section.data.text(), plan.question.places, targets_of(plan.call));
            if (!dependencies)
                return error(Code::corrupt, "The dependencies of {} are damaged.", plan.question.label);
            content = Bytes::copy_of(*dependencies);
        }
        HEARTH_TRY(put(path, content.view(), section.name.starts_with(k_program)));
    }
    write_streams(artifact.text(k_streams));
    return {};
}

}  // namespace hearth::command
