#include "terminal/output.hpp"

#include "terminal/exit.hpp"
#include "terminal/system_error.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <cerrno>
#include <cstdio>
#include <functional>
#include <set>
#include <utility>

#include <unistd.h>

namespace hearth::cli {

namespace {

[[noreturn]] void write_failed(int error)
{
    if (error == EPIPE)
        throw ReaderLeft{};
    fail(fmt::format("Standard output could not be written: {}. Free some space or send it somewhere else.",
                     system_error(error)));
}

// If standard error cannot be written, nobody can be told.
void write_error(const std::string& line)
{
    std::fputs(line.c_str(), stderr);
}

std::set<std::string, std::less<>>& warned_of()
{
    static std::set<std::string, std::less<>> said;
    return said;
}

}  // namespace

void write_out(std::string_view bytes)
{
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size())
        write_failed(errno);
}

void print_json(const Json& value)
{
    write_out(value.text() + "\n");
}

void finish_output()
{
    if (std::fflush(stdout) != 0)
        write_failed(errno);
}

void take_as_told(std::string sentence)
{
    warned_of().insert(std::move(sentence));
}

void warn(std::string_view sentence)
{
    if (!warned_of().emplace(sentence).second)
        return;
    write_error(fmt::format("hearth: {} {}\n", Paint(STDERR_FILENO).yellow("warning:"), printable(sentence)));
}

void complain(std::string_view sentence)
{
    write_error(fmt::format("hearth: {}\n", printable(sentence)));
}

std::string count_of(std::uint64_t count, std::string_view one, std::string_view many)
{
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace hearth::cli
