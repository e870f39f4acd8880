#include "config/log_sink.hpp"

#include "base/log_file.hpp"
#include "base/signal_guard.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace hearth::config {

LogSink log_sink(const std::string& where)
{
    if (where == "off")
        return {};
    return [where](LogLevel level, std::string_view message) {
        const std::string line = fmt::format("hearth: {}{}\n", level == LogLevel::warning ? "warning: " : "", message);
        if (where != "stderr")
            return base::append_line(where, line, base::IfNoFile::create);
        const base::FileLimitGuard guard;
        [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
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
