#include "run_log/run_log.hpp"

#include "base/files.hpp"
#include "base/hex.hpp"
#include "base/log_file.hpp"
#include "hearth/ready.hpp"
#include "json/json.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <unistd.h>

namespace hearth::run_log {

namespace {

// Null: nowhere.
const char* log_path()
{
    const char* const path = std::getenv("HEARTH_RUN_LOG");
    return path != nullptr && *path != '\0' ? path : nullptr;
}

// All zeros if there is none.
Key key_of(const JsonValue& line)
{
    Key key;
    return base::from_hex(line.text_of("key"), key.digest) ? key : Key{};
}

bool is_compile(const Event& event)
{
    return event.outcome == "miss" || event.outcome == "rebuilt" || event.outcome == "past_the_cache";
}

}  // namespace

bool is_noting()
{
    return log_path() != nullptr;
}

Event event_of(const Lookup& lookup, const Key& key)
{
    Event event;
    event.key = key;
    event.bytes = lookup->size();
    event.cost_ms = std::chrono::duration<double, std::milli>(lookup->cost).count();
    if (lookup.compiled() && !lookup.waited()) {
        event.outcome = "miss";
        event.reason = to_string(lookup.why());
        return event;
    }
    event.outcome = lookup.waited() ? "waited" : "hit";
    event.tier = lookup.tier();
    return event;
}

Event event_of(const CompileResult& result)
{
    Event event;
    event.outcome = to_string(result.outcome());
    event.tier = result.tier();
    event.reason = result.reason();
    if (result.outcome() != Outcome::past_the_cache)
        event.key = result.key();
    event.bytes = result.artifact().size();
    event.cost_ms = std::chrono::duration<double, std::milli>(result.artifact().cost).count();
    return event;
}

std::string what_of(const Metadata& metadata)
{
    return metadata.compiler.empty() ? "library" : metadata.compiler;
}

void note(const Event& event)
{
    const char* const path = log_path();
    if (path == nullptr)
        return;
    const Json line{
        {"pid", ::getpid()},
        {"what", event.what},
        {"name", event.name},
        {"outcome", event.outcome},
        {"key", event.key == Key{} ? std::string{} : base::to_hex(std::as_bytes(std::span(event.key.digest)))},
        {"bytes", event.bytes},
        {"spent_ms", event.spent_ms},
        {"cost_ms", event.cost_ms},
        {"reason", event.reason},
        {"tier", event.tier},
        {"after_ready", is_compile(event) && is_ready()}};
    // One write, so that lines of several processes do not mix. A line that does not fit on the disk is missing in the
    // summary.
    base::append_line(path, line.text() + "\n", base::IfNoFile::leave);
}

void note_warning(LogLevel level, std::string_view text)
{
    if (level == LogLevel::warning)
        note({.what = "cache", .outcome = "warning", .reason = std::string(text)});
}

std::vector<Event> read(const std::string& path)
{
    static constexpr std::uint64_t k_largest = std::uint64_t{1} << 30U;
    std::vector<Event> events;
    int error = 0;
    // Through the links that were followed to write it. Not from a pipe or a device, which may never end.
    const std::string place = base::place_of(path).value_or("");
    const Bytes log = base::read_file(base::system_files(), place.c_str(), k_largest, error);
    std::string_view left = log.text();
    while (!left.empty()) {
        const std::size_t end = std::min(left.find('\n'), left.size());
        const JsonValue line = JsonValue::parse(left.substr(0, end));
        left.remove_prefix(std::min(end + 1, left.size()));
        if (!line.text_of("outcome").empty())
            events.push_back(
                {.what = line.text_of("what"),
                 .name = line.text_of("name"),
                 .outcome = line.text_of("outcome"),
                 .tier = line.text_of("tier"),
                 .reason = line.text_of("reason"),
                 .key = key_of(line),
                 .bytes = static_cast<std::uint64_t>(line.number_of("bytes")),
                 .spent_ms = line.number_of("spent_ms"),
                 .cost_ms = line.number_of("cost_ms"),
                 .pid = static_cast<std::int64_t>(line.number_of("pid")),
                 .after_ready = line.find("after_ready") != nullptr && line.find("after_ready")->text == "true"});
    }
    return events;
}

}  // namespace hearth::run_log
