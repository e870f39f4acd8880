#pragma once

#include <functional>
#include <string>

namespace hearth::cli {

// Locks a folder as long as it lives. Waits for its turn as long as `goes_on` says so; fails with a sentence if it does
// not, or if this process is told to stop meanwhile. On a file system without locks it does nothing.
class FolderLock {
public:
    // An open folder, which it closes; below 0: there is none to be locked. `path` is for sentences.
    FolderLock(int folder, const std::string& path, const std::function<bool()>& goes_on = {});
    // That of a file, so that the file does not change between the look at it and its replacement.
    explicit FolderLock(const std::string& file);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    int m_folder;
};

}  // namespace hearth::cli
