#include "machine.hpp"

#include "scratch.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fstream>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace hearth::bench {

namespace {

std::string first_line(const std::string& command)
{
    const std::string text = output_of(command);
    return text.substr(0, text.find('\n'));
}

std::string or_unknown(std::string text)
{
    return text.empty() ? "unknown" : text;
}

// Asked now and not when this was built: what is measured may be newer than the build's configuration.
std::string commit()
{
    const std::string here = std::filesystem::path(own_path()).parent_path();
    return or_unknown(
        first_line(fmt::format("git -C '{}' describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null", here)));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> machine_facts()
{
    utsname system{};
    ::uname(&system);
    double load[1] = {0};
    ::getloadavg(load, 1);
    const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
    return {{"commit", commit()},
            {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::now()))},
            {"processor", or_unknown(first_line("LC_ALL=C lscpu 2>/dev/null | sed -n 's/^Model name: *//p'"))},
            {"machine", fmt::format("{} cores, {:.0f} GiB, {}, {} {}", std::thread::hardware_concurrency(),
                                    memory / (1U << 30U), system.machine, system.sysname, system.release)},
#ifdef __clang__
            {"compiler", __VERSION__},
#else
            {"compiler", "g++ " __VERSION__},
#endif
            {"load in the last minute", fmt::format("{:.1f}", load[0])}};
}

}  // namespace hearth::bench
