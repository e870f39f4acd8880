#include "build/worker_protocol.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace hearth::cli {

namespace {

using nlohmann::json;

std::string text_of(const json& object)
{
    return object.dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace

std::string ready_line()
{
    return text_of({{"ready", true}});
}

std::string refusal_line(const std::string& why)
{
    return text_of({{"error", why}});
}

std::string refusal_in(const std::string& line)
{
    const json hello = json::parse(line, nullptr, false);
    return hello.is_object() && hello.contains("error") && hello["error"].is_string() ? hello["error"] : "";
}

std::string line_of(const WorkerJob& job)
{
    return text_of(
        {{"recipe", job.recipe}, {"target", std::vector<unsigned char>(job.target.begin(), job.target.end())}});
}

std::optional<WorkerJob> job_in(const std::string& line)
{
    const json object = json::parse(line, nullptr, false);
    if (!object.is_object())
        return std::nullopt;
    WorkerJob job{object.value("recipe", std::size_t{0}), {}};
    for (const json& byte : object.value("target", json::array()))
        job.target += static_cast<char>(byte.get<unsigned char>());
    return job;
}

std::string line_of(const recipes::BuildResult& result)
{
    return text_of({{"outcome", static_cast<int>(result.outcome)},
                    {"key", result.key.hex()},
                    {"reason", result.reason},
                    {"log", result.log},
                    {"ms", std::chrono::duration<double, std::milli>(result.took).count()}});
}

recipes::BuildResult result_in(const std::string& line)
{
    const json object = json::parse(line, nullptr, false);
    recipes::BuildResult result;
    result.reason = "The process that compiled it gave an answer that makes no sense.";
    if (!object.is_object() || !object.contains("outcome"))
        return result;
    result.outcome = static_cast<recipes::Outcome>(object.value("outcome", static_cast<int>(recipes::Outcome::failed)));
    result.key = Key::parse(object.value("key", "")).value_or(Key{});
    result.reason = object.value("reason", "");
    result.log = object.value("log", "");
    result.took = std::chrono::nanoseconds(static_cast<std::int64_t>(object.value("ms", 0.0) * 1e6));
    return result;
}

}  // namespace hearth::cli
