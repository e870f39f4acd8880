#include "process/folder_lock.hpp"

#include "process/stop_signals.hpp"
#include "terminal/exit.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

std::string folder_of(const std::string& file)
{
    std::error_code error;
    return std::filesystem::weakly_canonical(file, error).parent_path().string();
}

}  // namespace

FolderLock::FolderLock(const std::string& file)
    : FolderLock(::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder_of(file))
{
}

FolderLock::FolderLock(int folder, const std::string& path, const std::function<bool()>& goes_on) : m_folder(folder)
{
    while (m_folder >= 0 && ::flock(m_folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (told_to_stop() != 0)
            ::close(m_folder);
        stop_if_told();
        if (goes_on && !goes_on()) {
            ::close(m_folder);
            fail(fmt::format("Another process holds {}, and did not let go of it in time.", in_quotes(path)));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

FolderLock::~FolderLock()
{
    if (m_folder >= 0)
        ::close(m_folder);
}

}  // namespace hearth::cli
