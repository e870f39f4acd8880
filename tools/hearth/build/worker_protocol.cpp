#include "build/worker_protocol.hpp"

#include "json/json.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>

namespace hearth::cli {

std::string ready_line()
{
    return Json{{"ready", true}}.text();
}

std::string refusal_line(const std::string& why)
{
    return Json{{"error", why}}.text();
}

std::string refusal_in(const std::string& line)
{
    return JsonValue::parse(line).text_of("error");
}

std::string line_of(const WorkerJob& job)
{
    const auto byte = [](char c) { return Json(static_cast<unsigned char>(c)); };
    return Json{{"recipe", job.recipe}, {"target", Json::array_of(job.target, byte)}}.text();
}

std::optional<WorkerJob> job_in(const std::string& line)
{
    const JsonValue object = JsonValue::parse(line);
    if (!object.is_object())
        return std::nullopt;
    WorkerJob job{static_cast<std::size_t>(object.number_of("recipe")), {}};
    if (const JsonValue* target = object.find("target"))
        for (const JsonValue& byte : target->elements)
            job.target += static_cast<char>(std::atoi(byte.text.c_str()));
    return job;
}

std::string line_of(const recipes::BuildResult& result)
{
    return Json{{"outcome", static_cast<int>(result.outcome)},
                {"key", result.key.hex()},
                {"reason", result.reason},
                {"log", result.log},
                {"ms", std::chrono::duration<double, std::milli>(result.took).count()}}
        .text();
}

recipes::BuildResult result_in(const std::string& line)
{
    const JsonValue object = JsonValue::parse(line);
    recipes::BuildResult result;
    result.reason = "The process that compiled it gave an answer that makes no sense.";
    const JsonValue* const outcome = object.find("outcome");
    if (outcome == nullptr || outcome->kind != JsonValue::Kind::number)
        return result;
    result.outcome = static_cast<recipes::Outcome>(static_cast<int>(object.number_of("outcome")));
    result.key = Key::parse(object.text_of("key")).value_or(Key{});
    result.reason = object.text_of("reason");
    result.log = object.text_of("log");
    result.took = std::chrono::nanoseconds(static_cast<std::int64_t>(object.number_of("ms") * 1e6));
    return result;
}

}  // namespace hearth::cli
