#pragma once

#include <string>
#include <string_view>

namespace hearth::test {

// The programs of this machine that tests start, all found here: along PATH, where servers are (/usr/sbin), and CUDA's
// ($CUDA_HOME/bin, or that of the usual places). Empty: there is none.
std::string tool(std::string_view name);

// Debian's Python, a program. What "python3" is along PATH may be a script that looks for one.
inline constexpr const char* k_system_python = "/usr/bin/python3";

// Why a test is skipped that needs it: if (tool("nvcc").empty()) GTEST_SKIP() << not_installed("nvcc");
std::string not_installed(std::string_view name);

}  // namespace hearth::test
