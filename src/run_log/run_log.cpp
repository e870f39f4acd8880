#include "run_log/run_log.hpp"

#include "base/signal_guard.hpp"
#include "json/json.hpp"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

namespace hearth::run_log {

namespace {

// Null: nowhere.
const char* log_path()
{
    const char* const path = std::getenv("HEARTH_RUN_LOG");
    return path != nullptr && *path != '\0' ? path : nullptr;
}

}  // namespace

bool is_noting()
{
    return log_path() != nullptr;
}

Event event_of(const Lookup& lookup)
{
    Event event;
    if (lookup.compiled() && !lookup.waited()) {
        event.outcome = "miss";
        event.reason = to_string(lookup.why());
        return event;
    }
    event.outcome = lookup.waited() ? "waited" : "hit";
    event.tier = lookup.tier();
    event.saved_ms = std::chrono::duration<double, std::milli>(lookup->cost).count();
    return event;
}

void note(const Event& event)
{
    const char* const path = log_path();
    if (path == nullptr)
        return;
    const Json line{{"pid", ::getpid()},        {"what", event.what},         {"name", event.name},
                    {"outcome", event.outcome}, {"spent_ms", event.spent_ms}, {"saved_ms", event.saved_ms},
                    {"reason", event.reason},   {"tier", event.tier}};
    const std::string text = line.text() + "\n";
    // Opened each time: programs close descriptors that are not theirs, and then our number may belong to another file.
    const int fd = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return;
    // One write, so that lines of several processes do not mix. A line that does not fit on the disk is missing in the
    // summary.
    const base::FileLimitGuard guard;
    static_cast<void>(!::write(fd, text.data(), text.size()));
    ::close(fd);
}

std::vector<Event> read(const std::string& path)
{
    std::vector<Event> events;
    std::ifstream file(path);
    for (std::string text; std::getline(file, text);) {
        const JsonValue line = JsonValue::parse(text);
        if (!line.text_of("outcome").empty())
            events.push_back({.what = line.text_of("what"),
                              .name = line.text_of("name"),
                              .outcome = line.text_of("outcome"),
                              .tier = line.text_of("tier"),
                              .reason = line.text_of("reason"),
                              .spent_ms = line.number_of("spent_ms"),
                              .saved_ms = line.number_of("saved_ms"),
                              .pid = static_cast<std::int64_t>(line.number_of("pid"))});
    }
    return events;
}

}  // namespace hearth::run_log
