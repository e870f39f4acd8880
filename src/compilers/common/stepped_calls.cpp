#include "compilers/common/stepped_calls.hpp"

#include "base/error.hpp"
#include "format/request.hpp"
#include "hearth/libraries.hpp"
#include "watch/manifest.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace hearth::compilers {

namespace {

constexpr std::uint64_t k_step_version = 3;
constexpr std::string_view k_no_handle = "no handle";
constexpr std::string_view k_arch = "-arch=";

}  // namespace

SteppedOutput::Fetched SteppedOutput::fetch(void* handle, int absent) const
{
    std::size_t bytes_count = 0;
    if (size == nullptr || get == nullptr)
        return {absent};
    Fetched fetched{size(handle, &bytes_count)};
    if (fetched.status != 0 || bytes_count == 0)
        return fetched;
    // A little more than it says: versions differ in whether a log's size counts its terminating zero.
    Bytes bytes = Bytes::make(bytes_count + 8, [&](std::span<std::byte> target) {
        std::fill(target.begin(), target.end(), std::byte{0});
        fetched.status = get(handle, target.data());
    });
    if (fetched.status == 0)
        fetched.bytes = bytes.slice(0, bytes_count);
    return fetched;
}

std::string SteppedCalls::status_section(const char* section)
{
    return std::string(section) + " status";
}

void SteppedCalls::add(Call call)
{
    if (m_why_past_the_cache.empty())
        m_why_past_the_cache = why_not_cached(call);
    m_calls.push_back(std::move(call));
}

std::string SteppedCalls::name() const
{
    for (const Call& call : m_calls)
        if (call.name)
            return *call.name;
    return {};
}

Request SteppedCalls::request_of(const Call& call, const std::string& build,
                                 const std::vector<std::string>& environment) const
{
    // A member that is left out here does not compile.
    const auto& [kind, options, type, name, data] = call;
    KeyBuilder key(fmt::format("{} step", m_known.word));
    key.number("request version", k_step_version).text("linker build", build);
    format::add_variables(key, "environment", environment);
    key.number("float mode", float_mode())
        .text("after", m_calls.size() == 1 ? "" : m_after.hex())
        .number("call", static_cast<std::uint64_t>(kind));
    format::add_words(key, "options", options);
    key.number("type", static_cast<std::uint64_t>(type))
        .flag("has name", name.has_value())
        .text("name", name.value_or(""))
        .flag("has data", data.has_value())
        .text("data", data ? std::string_view(*data) : std::string_view{});
    return key.build();
}

void SteppedCalls::assume(int status)
{
    m_statuses.push_back(status);
    m_after = request_of(m_calls.back(), {}, {}).key();
}

Artifact SteppedCalls::seen(int status) const
{
    Artifact artifact;
    artifact.status = status;
    artifact.metadata.compiler = m_known.word;
    artifact.metadata.label = name();
    artifact.metadata.options = m_calls.back().options;
    for (const std::string& option : m_calls.back().options)
        if (option.starts_with(k_arch))
            artifact.metadata.target = option.substr(k_arch.size());
    if (m_handle == nullptr) {
        artifact.sections.push_back({std::string(k_no_handle), Bytes::copy_of(std::string_view("1"))});
        return artifact;
    }
    for (const SteppedOutput& output : outputs()) {
        SteppedOutput::Fetched fetched = output.fetch(m_handle, m_known.failure);
        artifact.sections.push_back({status_section(output.section), Bytes::copy_of(std::to_string(fetched.status))});
        if (!fetched.bytes.empty())
            artifact.sections.push_back({output.section, std::move(fetched.bytes)});
    }
    return artifact;
}

Result<Artifact> SteppedCalls::catch_up()
{
    HEARTH_TRY(load());
    while (m_applied < m_calls.size()) {
        const std::size_t i = m_applied++;
        const bool again = i < m_statuses.size();
        const int status = apply(m_calls[i], again);
        m_last_seen.reset();
        if (again && status != m_statuses[i]) {
            m_last_seen =
                failure(fmt::format("{} has ended a call with {} that it ended with {} before. Try it all again.",
                                    m_known.name, status, m_statuses[i]));
            m_applied = m_calls.size();
        } else if (i + 1 == m_calls.size()) {
            m_last_seen = seen(status);
        }
    }
    return *m_last_seen;
}

Result<Answer> SteppedCalls::answer(Cache& cache)
{
    const std::string build = build_of_file(cache, m_path);
    if (build.empty())
        return error(Code::unavailable, "{} cannot be read", m_path);
    Question question;
    const Call& call = m_calls.back();
    question.request = request_of(call, build, environment_of(cache, m_path));
    question.label = name();
    std::error_code ignored;
    question.places.working_directory = std::filesystem::current_path(ignored).string();
    const AskedOf asked{build, float_mode(), cache.has_tiers()};
    HEARTH_TRY_SET(Answer answer, compilers::answer(cache, question, [&]() -> Result<Watched> {
                       if (m_applied == m_calls.size())
                           return error(Code::io, "A call can be made only once.");
                       HEARTH_TRY_SET(LoadedCompiler* const compiler, load());
                       return compile_watched(
                           *compiler, asked,
                           [&]() -> Result<Artifact> {
                               HEARTH_TRY_SET(Artifact made, catch_up());
                               if (!is_deterministic(made.status))
                                   return error(Code::io, "{} failed by itself.", m_known.name);
                               return made;
                           },
                           [&](const watch::EventLog& log, const Artifact& made) -> Result<watch::Conditions> {
                               HEARTH_TRY_SET(watch::Conditions conditions,
                                              watch::conditions_of(log, question.places, k_libraries_of_linkers));
                               HEARTH_TRY(check(made, conditions, question.places));
                               return conditions;
                           });
                   }));
    m_statuses.push_back(answer.lookup->status);
    const auto conditions = conditions_of(*answer.lookup);
    m_why_past_the_cache = answer.why_past_the_cache;
    if (conditions)
        m_after = Key::of("after", question.request.key().hex(), watch::encode_conditions(*conditions).text());
    return answer;
}

Artifact SteppedCalls::ask_the_library(const std::string& why)
{
    if (m_why_past_the_cache.empty())
        m_why_past_the_cache = why;
    Result<Artifact> made = catch_up();
    Artifact artifact = made ? *std::move(made) : failure(made.error().message);
    m_statuses.push_back(artifact.status);
    return artifact;
}

int SteppedCalls::status_of(const Artifact& artifact, const char* section) const
{
    const std::string_view text = artifact.text(status_section(section));
    return text.empty() ? m_known.failure : std::atoi(std::string(text).c_str());
}

bool SteppedCalls::has_handle(const Artifact& artifact)
{
    return artifact.find(k_no_handle) == nullptr;
}

}  // namespace hearth::compilers
