#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace hearth {
class Json;
}

namespace hearth::cli {

// Facts go to standard output, everything else to standard error.
// A failed write throws: ReaderLeft for a closed pipe, Failure for the rest.
void write_out(std::string_view bytes);

template <class... Parts>
void print_out(fmt::format_string<Parts...> format, Parts&&... parts)
{
    write_out(fmt::format(format, std::forward<Parts>(parts)...));
}

// On a line of its own.
void print_json(const Json& value);

// Writes what is still buffered, so that a full disk is noticed before the exit code is chosen.
void finish_output();

// "hearth: warning: ..." on standard error, each sentence once. It may hold any bytes.
void warn(std::string_view sentence);
// Another process has warned of it.
void take_as_told(std::string sentence);
// "hearth: ..." on standard error.
void complain(std::string_view sentence);

// "1 entry", "2 entries".
std::string count_of(std::uint64_t count, std::string_view one, std::string_view many);

}  // namespace hearth::cli
