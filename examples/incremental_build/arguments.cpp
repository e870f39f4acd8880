#include "arguments.hpp"

#include <charconv>
#include <optional>
#include <string_view>

namespace demo {

const char* const k_help =
    R"(Builds a program of many modules again and again, its IR kept in device memory, and shows what that saves.

Usage: incremental_build [--modules N] [--seed S] [--directory DIR] [--backend NAME] [--json]
       incremental_build --again --directory DIR [--backend NAME] [--json]

  --modules N      how many modules the program has, 2 to 10000; 200 when not given
  --seed S         which program it is: the same seed gives the same sources
  --directory DIR  where its sources and its cache go; it must be empty or not there yet, and is kept.
                   When not given, a temporary directory, which is removed at the end
  --backend NAME   whose memory holds the IR: auto, cuda, opencl, webgpu or host; auto when not given.
                   Without that device host memory is used, and the output says so
  --json           one object a line for each build, in place of a table
  --again          builds what lies in DIR once more, in this process
  --help           this text

Exit status: 0 when every build gave what a build from scratch gives; 1 when one did not, or could not be done;
2 when the arguments are wrong.

Examples:
  incremental_build
  incremental_build --modules 1000 --backend host --json
  incremental_build --directory /tmp/eph
  sed -i 's/salt = [0-9]*/salt = 7/' /tmp/eph/sources/part_042.eph
  incremental_build --directory /tmp/eph --again
  hearth --dir /tmp/eph/cache ls
)";

namespace {

hearth::Error wrong(std::string message)
{
    return {hearth::Code::invalid_argument, std::move(message), {}};
}

template <class Number>
std::optional<Number> number_in(std::string_view text)
{
    Number number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<hearth::device::Backend> backend_named(std::string_view name)
{
    using hearth::device::Backend;
    if (name == "auto")
        return Backend::automatic;
    for (const Backend backend : {Backend::cuda, Backend::opencl, Backend::webgpu, Backend::host})
        if (hearth::device::to_string(backend) == name)
            return backend;
    return std::nullopt;
}

hearth::Status take_value(Arguments& arguments, std::string_view option, std::string_view value)
{
    const std::string shown = "\"" + std::string(value) + "\"";
    if (option == "--modules") {
        const std::optional<std::uint32_t> number = number_in<std::uint32_t>(value);
        if (!number || *number < 2 || *number > 10000)
            return wrong("--modules takes a number from 2 to 10000, not " + shown + ".");
        arguments.modules = *number;
    } else if (option == "--seed") {
        const std::optional<std::uint64_t> number = number_in<std::uint64_t>(value);
        if (!number)
            return wrong("--seed takes a number, not " + shown + ".");
        arguments.seed = *number;
    } else if (option == "--directory") {
        if (value.empty())
            return wrong("--directory takes the path of a directory, not nothing.");
        arguments.directory = value;
    } else {
        const std::optional<hearth::device::Backend> backend = backend_named(value);
        if (!backend)
            return wrong("--backend takes auto, cuda, opencl, webgpu or host, not " + shown + ".");
        arguments.backend = *backend;
    }
    return {};
}

}  // namespace

hearth::Result<Arguments> parse_arguments(std::span<const char* const> words)
{
    Arguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == "--json") {
            arguments.json = true;
        } else if (word == "--again") {
            arguments.again = true;
        } else if (word == "--help" || word == "-h") {
            arguments.help = true;
        } else if (word == "--modules" || word == "--seed" || word == "--directory" || word == "--backend") {
            if (++i == words.size())
                return wrong(std::string(word) + " needs a value behind it.");
            if (const hearth::Status taken = take_value(arguments, word, words[i]); !taken.ok())
                return taken.error();
        } else {
            return wrong("\"" + std::string(word) + "\" is no option of this program.");
        }
    }
    if (arguments.again && arguments.directory.empty())
        return wrong("--again needs --directory: it builds what lies there.");
    return arguments;
}

}  // namespace demo
