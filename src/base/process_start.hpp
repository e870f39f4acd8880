#pragma once

#include <chrono>

namespace hearth::base {

// When this process began, as exactly as the system records it: in hundredths of a second.
class ProcessStart {
public:
    // Asks the system. If it does not tell, the process counts as begun now.
    static ProcessStart ask();

    std::chrono::nanoseconds age() const;
    // Since 1970.
    std::chrono::nanoseconds began() const { return m_began; }

private:
    std::chrono::nanoseconds m_since_boot{0};
    std::chrono::nanoseconds m_began{0};
};

}  // namespace hearth::base
