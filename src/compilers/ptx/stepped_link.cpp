#include "compilers/ptx/stepped_link.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "hearth/libraries.hpp"
#include "watch/manifest.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace hearth::ptx {

namespace {

constexpr std::uint64_t k_step_version = 3;
constexpr int k_any_type = 10;
constexpr std::string_view k_no_handle = "no handle";

std::string status_section(const char* section)
{
    return std::string(section) + " status";
}

// Options such as -time, whose output no cache can know.
bool tells_times(const std::vector<std::string>& options)
{
    for (const std::string& option : options)
        if (option == "-time" || option.starts_with("-time="))
            return true;
    return false;
}

std::string working_directory()
{
    std::error_code ignored;
    return std::filesystem::current_path(ignored).string();
}

}  // namespace

SteppedLink::~SteppedLink()
{
    if (m_handle != nullptr)
        m_linker->destroy(&m_handle);
}

void SteppedLink::add(Call call)
{
    const auto go_past = [this](const char* why) {
        if (m_why_past_the_cache.empty())
            m_why_past_the_cache = why;
    };
    if (tells_times(call.options))
        go_past("-time tells what no cache can know");
    if (call.kind == Kind::file && !call.data)
        go_past("a file cannot be read");
    if (call.kind == Kind::file && call.type == k_any_type)
        go_past("only nvJitLink knows what kind of input a file is whose kind is not told");
    m_calls.push_back(std::move(call));
}

Request SteppedLink::request_of(const Call& call, const std::string& build,
                                const std::vector<std::string>& environment) const
{
    // A member that is left out here does not compile.
    const auto& [kind, options, type, name, data] = call;
    KeyBuilder key("nvjitlink step");
    key.number("request version", k_step_version)
        .text("linker build", build)
        .list("environment", environment)
        .number("float mode", compilers::float_mode())
        .text("after", m_calls.size() == 1 ? "" : m_after.hex())
        .number("call", static_cast<std::uint64_t>(kind))
        .list("options", options)
        .number("type", static_cast<std::uint64_t>(type))
        .flag("has name", name.has_value())
        .text("name", name.value_or(""))
        .flag("has data", data.has_value())
        .text("data", data ? std::string_view(*data) : std::string_view{});
    return key.build();
}

int SteppedLink::apply(const Call& call, bool again)
{
    const char* const name = call.name ? call.name->c_str() : nullptr;
    switch (call.kind) {
    case Kind::create:
        return m_linker->create_with(&m_handle, call.options);
    case Kind::file:
        // The file may have changed since it was added.
        if (!again)
            return m_linker->add_file(m_handle, call.type, name);
        [[fallthrough]];
    case Kind::data:
        return m_linker->add(m_handle, call.type, call.data ? call.data->data() : nullptr,
                             call.data ? call.data->size() : 0, name);
    case Kind::complete:
        return m_linker->complete(m_handle);
    }
    return k_link_internal;
}

Artifact SteppedLink::seen(int status) const
{
    Artifact artifact;
    artifact.status = status;
    artifact.metadata.compiler = "nvjitlink";
    if (m_handle == nullptr) {
        artifact.sections.push_back({std::string(k_no_handle), Bytes::copy_of(std::string_view("1"))});
        return artifact;
    }
    for (std::size_t i = 0; i < k_link_sections.size(); ++i) {
        NvJitLink::Fetched fetched = m_linker->fetch(m_handle, static_cast<NvJitLink::What>(i));
        artifact.sections.push_back(
            {status_section(k_link_sections[i]), Bytes::copy_of(std::to_string(fetched.status))});
        if (!fetched.bytes.empty())
            artifact.sections.push_back({k_link_sections[i], std::move(fetched.bytes)});
    }
    return artifact;
}

Result<Artifact> SteppedLink::catch_up()
{
    if (!m_linker) {
        HEARTH_TRY_SET(m_linker, NvJitLink::load(m_library));
    }
    while (m_applied < m_calls.size()) {
        const std::size_t i = m_applied++;
        const bool again = i < m_statuses.size();
        const int status = apply(m_calls[i], again);
        m_last_seen.reset();
        if (again && status != m_statuses[i]) {
            m_last_seen =
                failure(fmt::format("nvJitLink has ended a call with {} that it ended with {} before. Try the "
                                    "link again.",
                                    status, m_statuses[i]));
            m_applied = m_calls.size();
        } else if (i + 1 == m_calls.size()) {
            m_last_seen = seen(status);
        }
    }
    return *m_last_seen;
}

// A file's result is kept if its bytes are those of the question, and can be given again in place of the file.
Status SteppedLink::check_file(const Artifact& made, const watch::Conditions& conditions,
                               const watch::Places& places) const
{
    const Call& call = m_calls.back();
    if (call.kind != Kind::file)
        return {};
    if (made.failed())
        return error(Code::unavailable, "nvJitLink refuses {}", *call.name);
    const base::Sha256 digest = base::sha256(as_bytes(*call.data));
    const std::string path = (std::filesystem::path(places.working_directory) / *call.name).string();
    for (const watch::Condition& condition : conditions.list)
        if (condition.kind == watch::Condition::Kind::content && condition.digest == digest &&
            condition.spot.path(places) == path)
            return {};
    return error(Code::unavailable, "{} changed while it was read", *call.name);
}

Result<compilers::Answer> SteppedLink::answer(Cache& cache)
{
    const std::string build = build_of_file(cache, m_library);
    if (build.empty())
        return error(Code::unavailable, "{} cannot be read", m_library);
    compilers::Question question;
    const Call& call = m_calls.back();
    question.request = request_of(call, build, compilers::environment_of(cache, m_library));
    question.label = call.name.value_or("");
    question.places.working_directory = working_directory();
    const compilers::AskedOf asked{build, compilers::float_mode(), cache.has_tiers()};
    HEARTH_TRY_SET(compilers::Answer answer, compilers::answer(cache, question, [&]() -> Result<compilers::Watched> {
                       if (m_applied == m_calls.size())
                           return error(Code::io, "A call can be made only once.");
                       HEARTH_TRY_SET(m_linker, NvJitLink::load(m_library));
                       return compilers::compile_watched(
                           *m_linker->compiler, asked,
                           [&]() -> Result<Artifact> {
                               HEARTH_TRY_SET(Artifact made, catch_up());
                               if (!is_deterministic(made.status))
                                   return error(Code::io, "nvJitLink failed by itself.");
                               return made;
                           },
                           [&](const watch::EventLog& log, const Artifact& made) -> Result<watch::Conditions> {
                               HEARTH_TRY_SET(watch::Conditions conditions,
                                              watch::conditions_of(log, question.places, k_libraries_of_linkers));
                               HEARTH_TRY(check_file(made, conditions, question.places));
                               return conditions;
                           });
                   }));
    m_statuses.push_back(answer.lookup->status);
    const auto conditions = compilers::conditions_of(*answer.lookup);
    m_why_past_the_cache = answer.why_past_the_cache;
    if (conditions)
        m_after = Key::of("after", question.request.key().hex(), watch::encode_conditions(*conditions).text());
    return answer;
}

Artifact SteppedLink::ask_the_library(const std::string& why)
{
    if (m_why_past_the_cache.empty())
        m_why_past_the_cache = why;
    Result<Artifact> made = catch_up();
    Artifact artifact = made ? *std::move(made) : failure(made.error().message);
    m_statuses.push_back(artifact.status);
    return artifact;
}

int SteppedLink::status_of(const Artifact& artifact, const char* section)
{
    const std::string_view text = artifact.text(status_section(section));
    return text.empty() ? k_link_internal : std::atoi(std::string(text).c_str());
}

bool SteppedLink::has_handle(const Artifact& artifact)
{
    return artifact.find(k_no_handle) == nullptr;
}

Artifact SteppedLink::failure(const std::string& error_log)
{
    Artifact artifact;
    artifact.status = k_link_internal;
    for (std::size_t i = 0; i < k_link_sections.size(); ++i) {
        const bool is_log = i == NvJitLink::k_error_log || i == NvJitLink::k_info_log;
        artifact.sections.push_back({status_section(k_link_sections[i]),
                                     Bytes::copy_of(std::to_string(is_log ? k_link_success : k_link_internal))});
        if (i == NvJitLink::k_error_log)
            artifact.sections.push_back(
                {k_link_sections[i], Bytes::copy_of("hearth: " + error_log + std::string("\n\0", 2))});
    }
    return artifact;
}

}  // namespace hearth::ptx
