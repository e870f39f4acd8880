#pragma once

#include <string>

namespace hearth::cli {

// Until its end no other of these holds the folder of that file, so that what was seen of the file still holds when it
// is replaced. Waits for its turn; fails with a sentence when told to stop meanwhile. Where a file system knows no
// locks there is none.
class FolderLock {
public:
    explicit FolderLock(const std::string& file);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    int m_folder = -1;
};

}  // namespace hearth::cli
