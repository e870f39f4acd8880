#pragma once

#include <cstdint>
#include <string>

namespace hearth::cli {

enum class ReportForm : std::uint8_t { text, json };

// `hearth doctor --program`: says whether `hearth run` can serve a program, and what to do if it cannot. Returns the
// exit code, 1 if it cannot. Fails with a sentence if there is no such program.
int report_program(const std::string& program, ReportForm form);

}  // namespace hearth::cli
