#include "compilers/command/kept_files.hpp"

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/placed_file.hpp"
#include "base/secrets.hpp"
#include "compilers/command/dependency_file.hpp"
#include "compilers/command/output_kinds.hpp"
#include "compilers/command/run_watched.hpp"
#include "compilers/command/temporary_names.hpp"
#include "watch/source_file.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <new>
#include <numeric>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;

std::string name_of_output(std::size_t index)
{
    return fmt::format("output {}", index);
}

// None: other calls would not know where to put it.
std::optional<std::size_t> output_at(const std::string& path, const Plan& plan)
{
    const fs::path working(plan.question.places.working_directory);
    for (std::size_t i = 0; i < plan.call.outputs.size(); ++i)
        if ((working / plan.call.outputs[i]).lexically_normal() == path)
            return i;
    return std::nullopt;
}

// Outputs that a file of dependencies tells by the names that the call gives them.
std::vector<std::string> targets_of(const Call& call)
{
    return call.targets.empty() ? call.outputs : std::vector<std::string>{};
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

Error damaged(const Plan& plan)
{
    return error(Code::corrupt, "The entry of {} is damaged.", plan.question.label);
}

// An output as this call has to have it.
Result<Bytes> content_of(std::size_t output, const Artifact& artifact, const Plan& plan)
{
    const Section* const section = artifact.find(name_of_output(output));
    if (section == nullptr)
        return damaged(plan);
    std::optional<std::string> text;
    if (plan.call.dependencies == output)
        text = with_places(section->data.text(), plan.question.places, targets_of(plan.call));
    else if (!is_for_this_machine(plan) && !is_what_it_makes(plan.call, section->data.view()))
        return damaged(plan);
    else if (plan.profile->writes_names)
        text = with_names(section->data.text(), plan.call.temporaries);
    else
        return section->data;
    if (!text)
        return damaged(plan);
    return Bytes::copy_of(*text);
}

using FileNumber = std::pair<dev_t, ino_t>;

std::optional<FileNumber> number_of(const std::string& path)
{
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    return FileNumber{status.st_dev, status.st_ino};
}

}  // namespace

bool has_true_dependencies(const Artifact& artifact, const std::vector<watch::Condition>& conditions, const Plan& plan)
{
    if (!plan.call.dependencies)
        return true;
    const Result<Bytes> text = content_of(*plan.call.dependencies, artifact, plan);
    if (!text)
        return false;
    // Compilers spell a file's name in ways of their own, so files are told by their numbers.
    std::set<FileNumber> inputs;
    const auto add = [&](const std::string& path) {
        if (const auto number = number_of(path))
            inputs.insert(*number);
    };
    for (const watch::Condition& condition : conditions)
        if (condition.kind == watch::Condition::Kind::content)
            add(condition.spot.path(plan.question.places));
    for (const std::string& source : plan.call.sources)
        add(source);
    std::unordered_map<std::string, bool> seen;  // a small entry can name one file millions of times
    const auto is_input = [&](const std::string& path) {
        const auto [at, is_new] = seen.try_emplace(path, false);
        if (is_new) {
            const auto number = number_of(path);
            at->second = number && inputs.contains(*number);
        }
        return at->second;
    };
    return is_only_dependencies(std::string(text->text()),
                                plan.call.targets.empty() ? plan.call.outputs : plan.call.targets, is_input);
}

std::vector<std::string> sections_of(const Call& call)
{
    std::vector<std::string> names{std::string(k_streams)};
    for (std::size_t i = 0; i < call.outputs.size(); ++i)
        names.push_back(name_of_output(i));
    return names;
}

bool is_of_dependencies(std::string_view section, const Plan& plan)
{
    return plan.call.dependencies && section == name_of_output(*plan.call.dependencies);
}

Status add_files(const watch::TreeLog& log, const Plan& plan, Artifact& artifact)
{
    for (const std::string& path : log.left_behind()) {
        const std::optional<std::size_t> output = output_at(path, plan);
        std::optional<watch::SourceFile> file = watch::read_source(path);
        if (!file || !output)
            return error(Code::unavailable, "it writes {}, which it was not asked for", path);
        if (plan.profile->suffixes.empty() && ::access(path.c_str(), X_OK) == 0)
            return error(Code::unavailable, "it writes {}, which may be executed", path);
        HEARTH_TRY_SET(Bytes content, lasting(file->text, path, plan));
        if (plan.call.dependencies == output) {
            std::optional<Bytes> kept = without_places(file->text, plan.question.places, targets_of(plan.call));
            if (!kept)
                return error(Code::unavailable, "{} tells dependencies in a way that is not understood", path);
            content = *std::move(kept);
        } else if (!is_for_this_machine(plan) && !is_what_it_makes(plan.call, content.view()))
            return error(Code::unavailable, "{} is not an object, program or GPU code", path);
        artifact.sections.push_back({name_of_output(*output), std::move(content)});
    }
    for (std::size_t i = 0; i < plan.call.outputs.size(); ++i)
        if (artifact.find(name_of_output(i)) == nullptr)
            return error(Code::unavailable, "it has not written {}", plan.call.outputs[i]);
    return {};
}

// Calls that name a source otherwise are the same question, unless its name is in what the compiler wrote or said.
Status add_streams(const Plan& plan, Bytes streams, Artifact& artifact)
{
    if (plan.profile->writes_names && !without_names(streams.text(), {}))
        return error(Code::unavailable, "what it says holds the name of a temporary file");
    // A warning repeats the word that it is about, which may have come from a file or a variable of options.
    const auto holds_secret = [](const std::vector<std::string>& words) {
        return base::without_secrets(words) != words;
    };
    if (!streams.empty() && (holds_secret(plan.command.words) || holds_secret(plan.call.words)))
        return error(Code::unavailable, "what it says may hold a secret of its command line");
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
try {
    // The dependency file goes first: a build that is killed in between makes the outputs again.
    std::vector<std::size_t> order(plan.call.outputs.size());
    std::iota(order.begin(), order.end(), 0);
    if (plan.call.dependencies)
        std::swap(order.front(), order[*plan.call.dependencies]);
    std::vector<Bytes> contents;
    for (const std::size_t output : order) {
        HEARTH_TRY_SET(Bytes content, content_of(output, artifact, plan));
        contents.push_back(std::move(content));
    }
    if (plan.call.dependencies) {
        const auto conditions = compilers::conditions_of(artifact);
        if (!conditions || !has_true_dependencies(artifact, *conditions, plan))
            return damaged(plan);
    }
    for (std::size_t i = 0; i < order.size(); ++i)
        HEARTH_TRY(put(plan.call.outputs[order[i]], contents[i].view(),
                       plan.call.is_linked && is_program(contents[i].view())));
    write_streams(artifact.text(k_streams));
    return {};
} catch (const std::bad_alloc&) {
    return error(Code::no_memory, "there is not enough memory for what is kept of it");
}

}  // namespace hearth::command
