#include "config/log_sink.hpp"

#include "base/signal_guard.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace hearth::config {

LogSink log_sink(const std::string& where)
{
    if (where == "off")
        return {};
    // Opened for each line, because lines are rare: no descriptor is held in the host program.
    return [where](LogLevel level, std::string_view message) {
        const std::string line = fmt::format("hearth: {}{}\n", level == LogLevel::warning ? "warning: " : "", message);
        const int fd =
            where == "stderr" ? STDERR_FILENO : ::open(where.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0)
            return;
        const base::FileLimitGuard guard;
        [[maybe_unused]] const ssize_t written = ::write(fd, line.data(), line.size());
        if (fd != STDERR_FILENO)
            ::close(fd);
    };
}

LogSink contained(LogSink sink)
{
    if (!sink)
        return {};
    return [sink = std::move(sink)](LogLevel level, std::string_view message) {
        try {
            sink(level, message);
        } catch (...) {
            return;  // there is nobody else to tell
        }
    };
}

}  // namespace hearth::config
