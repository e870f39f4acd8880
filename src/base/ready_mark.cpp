#include "base/ready_mark.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <random>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace hearth::base {

namespace {

// Scripts have uses of their own for the low ones.
constexpr int k_first_descriptor = 200;
constexpr std::size_t k_name_digits = 16;
// glibc has it since 2.38. Some systems are set up to give no file without it.
constexpr unsigned k_not_executable = 0x0008;

// Whether it leads to the mark of that name, as no file of anybody's can pretend: "/memfd:hearth-0123... (deleted)".
bool leads_to(const std::string& path, const std::string& name)
{
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    return length > 0 && std::string_view(target.data(), static_cast<std::size_t>(length))
                             .starts_with(fmt::format("/memfd:hearth-{}", name));
}

}  // namespace

ReadyMark::ReadyMark(int process, int descriptor, std::string name)
    : m_process(process), m_descriptor(descriptor), m_name(std::move(name))
{
}

std::optional<ReadyMark> ReadyMark::make()
{
    std::random_device random;
    std::string name = fmt::format("{:08x}{:08x}", random(), random());
    const std::string full = "hearth-" + name;
    int file = ::memfd_create(full.c_str(), MFD_ALLOW_SEALING | k_not_executable);
    if (file < 0 && errno == EINVAL)
        file = ::memfd_create(full.c_str(), MFD_ALLOW_SEALING);
    if (file < 0)
        return std::nullopt;
    const int higher = ::fcntl(file, F_DUPFD, k_first_descriptor);
    ::close(file);
    if (higher < 0) {
        errno = EMFILE;  // a program that may have so few needs them itself
        return std::nullopt;
    }
    return ReadyMark(::getpid(), higher, std::move(name));
}

std::optional<ReadyMark> ReadyMark::parse(std::string_view text)
{
    const std::optional<int> process = parse_number<int>(take_until('/', text));
    const std::optional<int> descriptor = parse_number<int>(take_until('/', text));
    if (!process || *process <= 0 || !descriptor || *descriptor < 0 || text.size() != k_name_digits ||
        !std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; }))
        return std::nullopt;
    return ReadyMark(*process, *descriptor, std::string(text));
}

std::optional<ReadyMark> ReadyMark::of_this_run()
{
    const char* const text = std::getenv(k_ready_variable);
    return text != nullptr ? parse(text) : std::nullopt;
}

std::string ReadyMark::text() const
{
    return fmt::format("{}/{}/{}", m_process, m_descriptor, m_name);
}

std::string ReadyMark::path_in(const std::string& process) const
{
    for (std::string path : {fmt::format("{}/fd/{}", process, m_descriptor),
                             fmt::format("{}/root/proc/{}/fd/{}", process, m_process, m_descriptor)})
        if (leads_to(path, m_name))
            return path;
    return {};
}

int ReadyMark::open(const std::string& process) const
{
    errno = ENOENT;
    const std::string path = path_in(process);
    const int file = path.empty() ? -1 : ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0 || leads_to(fmt::format("/proc/self/fd/{}", file), m_name))
        return file;
    ::close(file);  // the process has put something else there meanwhile
    errno = ENOENT;
    return -1;
}

ReadyMark::State ReadyMark::state(const std::string& process) const
{
    const int file = open(process);
    if (file < 0)
        return State::lost;
    const int seals = ::fcntl(file, F_GET_SEALS);
    ::close(file);
    return seals < 0 ? State::lost : (seals & F_SEAL_SEAL) != 0 ? State::ready : State::starting;
}

bool ReadyMark::seal(const std::string& process) const
{
    const int file = open(process);
    if (file < 0)
        return false;
    const bool sealed = ::fcntl(file, F_ADD_SEALS, F_SEAL_SEAL) == 0 || (::fcntl(file, F_GET_SEALS) & F_SEAL_SEAL) != 0;
    const int why = errno;
    ::close(file);
    errno = why;
    return sealed;
}

}  // namespace hearth::base
