#include "base/process_start.hpp"

#include <array>
#include <charconv>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace hearth::base {

namespace {

using std::chrono::nanoseconds;

nanoseconds now_of(clockid_t clock)
{
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

// The 22nd field of /proc/self/stat, in clock ticks. The second field is the program's name in parentheses, which may
// hold blanks and parentheses itself.
std::optional<nanoseconds> start_since_boot()
{
    std::array<char, 1024> buffer{};
    const int fd = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return std::nullopt;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    ::close(fd);
    std::string_view fields(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    const std::size_t name_end = fields.rfind(')');
    if (name_end == std::string_view::npos)
        return std::nullopt;
    fields.remove_prefix(name_end + 1);
    for (int field = 2; field < 22; ++field) {
        const std::size_t blank = fields.find(' ');
        if (blank == std::string_view::npos)
            return std::nullopt;
        fields.remove_prefix(blank + 1);
    }
    std::int64_t ticks = 0;
    const long ticks_a_second = ::sysconf(_SC_CLK_TCK);
    if (std::from_chars(fields.data(), fields.data() + fields.size(), ticks).ec != std::errc{} || ticks_a_second <= 0)
        return std::nullopt;
    return std::chrono::seconds(ticks / ticks_a_second) +
           nanoseconds(ticks % ticks_a_second * 1'000'000'000 / ticks_a_second);
}

}  // namespace

ProcessStart ProcessStart::ask()
{
    ProcessStart start;
    start.m_since_boot = start_since_boot().value_or(now_of(CLOCK_BOOTTIME));
    start.m_began = now_of(CLOCK_REALTIME) - start.age();
    return start;
}

nanoseconds ProcessStart::age() const
{
    const nanoseconds age = now_of(CLOCK_BOOTTIME) - m_since_boot;
    return age.count() > 0 ? age : nanoseconds(0);
}

}  // namespace hearth::base
