#pragma once

#include <functional>
#include <string>

namespace hearth::cli {

// Locks the folder of that file as long as it lives, so that the file does not change between the look at it and its
// replacement. Waits for its turn as long as `goes_on` says so; fails with a sentence if it does not, or if this
// process is told to stop meanwhile. On a file system without locks it does nothing.
class FolderLock {
public:
    explicit FolderLock(const std::string& file, const std::function<bool()>& goes_on = {});
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    int m_folder = -1;
};

}  // namespace hearth::cli
