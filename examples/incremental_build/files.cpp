#include "files.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace demo {

namespace {

class Descriptor {
public:
    Descriptor(const std::string& path, int flags) : m_number(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
    ~Descriptor()
    {
        if (m_number >= 0)
            close(m_number);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return m_number; }

private:
    int m_number;
};

hearth::Error failed(const std::string& path, const char* what)
{
    return {hearth::Code::io, path + " cannot be " + what + ": " + std::strerror(errno) + ".", {}};
}

}  // namespace

hearth::Result<std::string> read_file(const std::string& path)
{
    const Descriptor file(path, O_RDONLY);
    struct stat found = {};
    if (file.number() < 0 || fstat(file.number(), &found) != 0)
        return failed(path, "read");
    // One more than it holds now, so that its end is seen; it may have grown in the meantime.
    std::string text(static_cast<std::size_t>(found.st_size) + 1, '\0');
    for (std::size_t size = 0;;) {
        const ssize_t got = read(file.number(), text.data() + size, text.size() - size);
        if (got < 0 && errno != EINTR)
            return failed(path, "read");
        if (got == 0) {
            text.resize(size);
            return text;
        }
        size += got > 0 ? static_cast<std::size_t>(got) : 0;
        if (size == text.size())
            text.resize(size * 2);
    }
}

hearth::Status write_file(const std::string& path, std::string_view text)
{
    const Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (file.number() < 0)
        return failed(path, "written");
    while (!text.empty()) {
        const ssize_t put = write(file.number(), text.data(), text.size());
        if (put < 0 && errno != EINTR)
            return failed(path, "written");
        text.remove_prefix(put > 0 ? static_cast<std::size_t>(put) : 0);
    }
    return {};
}

}  // namespace demo
