#pragma once

#include "process/descriptor.hpp"

#include <functional>
#include <string>

namespace hearth::cli {

// Keeps other processes of this user from working in a folder, or on a file in it, as long as it lives. The lock is a
// file in that folder that only its user can open, and is removed afterwards: the folder itself could be locked for
// ever by whoever may read it. Waits for its turn as long as `goes_on` says so. Fails with a sentence if it does not,
// if others could hold the lock, or if this process is asked to stop meanwhile. Where no file can be made, and on a
// file system without locks, it does nothing.
class FolderLock {
public:
    // `path`: of the folder or file, for sentences.
    FolderLock(Descriptor folder, std::string name, const std::string& path, const std::function<bool()>& goes_on = {});
    // That of a file, so that the file does not change between the look at it and its replacement.
    explicit FolderLock(const std::string& file);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    bool try_to_hold(const std::string& path, const std::function<bool()>& goes_on) const;

    const Descriptor m_folder;
    const std::string m_name;
    Descriptor m_file{-1};
};

}  // namespace hearth::cli
