#include "run_log.hpp"

#include "base/signal_guard.hpp"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace hearth::proxy {

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
    event.outcome = lookup.waited() ? "coalesced" : "hit";
    event.tier = lookup.tier();
    event.saved_ms = std::chrono::duration<double, std::milli>(lookup->cost).count();
    return event;
}

void note(const Event& event)
{
    const char* const path = log_path();
    if (path == nullptr)
        return;
    nlohmann::json line{{"pid", ::getpid()},        {"what", event.what},         {"name", event.name},
                        {"outcome", event.outcome}, {"spent_ms", event.spent_ms}, {"saved_ms", event.saved_ms},
                        {"reason", event.reason},   {"tier", event.tier}};
    const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    // Opened each time: programs close descriptors that are not theirs, and what has our number then is another's.
    const int fd = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return;
    // One write: lines of several processes do not mix. One that does not fit on the disk is one less in the summary.
    const base::FileLimitGuard guard;
    static_cast<void>(!::write(fd, text.data(), text.size()));
    ::close(fd);
}

}  // namespace hearth::proxy
