#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace hearth::test {

// A number that the system tells of a process ("self", or its number), such as VmHWM: in KiB. 0: it tells none.
inline std::uint64_t figure_of(const std::string& process, std::string_view field)
{
    std::ifstream status("/proc/" + process + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(field))
            return std::strtoull(line.c_str() + field.size(), nullptr, 10);
    return 0;
}

// The most memory that this process has taken at once since this was made, beyond what it had then.
// Resident memory is counted anew from here on. For addresses the kernel knows the peak of the whole process only, so
// an earlier test that took more hides what this one takes; it never shows more than there was.
class PeakMemory {
public:
    PeakMemory()
    {
        std::ofstream("/proc/self/clear_refs") << "5";
        m_resident = of_this_process("VmHWM:");
        m_addresses = of_this_process("VmPeak:");
    }

    std::uint64_t resident() const { return std::max(of_this_process("VmHWM:"), m_resident) - m_resident; }
    // Also what was allocated and never touched.
    std::uint64_t addresses() const { return std::max(of_this_process("VmPeak:"), m_addresses) - m_addresses; }

private:
    static std::uint64_t of_this_process(std::string_view field) { return figure_of("self", field) * 1024; }

    std::uint64_t m_resident = 0;
    std::uint64_t m_addresses = 0;
};

}  // namespace hearth::test
