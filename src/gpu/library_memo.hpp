#pragma once

#include "base/files.hpp"
#include "base/fork.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace hearth::gpu {

// What this process knows about a library, by the path that was configured for it ("" for none), as long as the
// library's file does not change. Searching for a library takes a hundred file operations.
// `Identity` has the library's path as `path`. Thread safety: all of it.
// Define it at namespace scope: if it were constructed on first use, a child forked meanwhile would wait for a thread
// that it does not have.
template <class Identity>
class LibraryMemo {
public:
    // `now`: the library's file, or the link that leads to it, as it was found to be unchanged.
    std::optional<Identity> find(const std::string& configured, base::FileStat* now = nullptr)
    {
        std::optional<Known> known;
        {
            const std::lock_guard lock(m_mutex);
            if (const auto found = m_known.find(configured); found != m_known.end())
                known = found->second;
        }
        // Not under the lock, so that no hit waits while another thread looks at the file.
        if (!known || !unchanged(*known))
            return std::nullopt;
        if (now != nullptr)
            *now = known->file;
        return std::move(known->identity);
    }

    void remember(const std::string& configured, const Identity& identity)
    {
        Known known{identity, {}};
        if (base::system_files().stat(identity.path.c_str(), known.file) != 0)
            return;
        const std::lock_guard lock(m_mutex);
        m_known.insert_or_assign(configured, std::move(known));
    }

private:
    struct Known {
        Identity identity;
        base::FileStat file;
    };

    static bool unchanged(const Known& known)
    {
        base::FileStat now;
        return base::system_files().stat(known.identity.path.c_str(), now) == 0 && now.device == known.file.device &&
               now.inode == known.file.inode && now.size == known.file.size && now.modified == known.file.modified &&
               now.changed == known.file.changed;
    }

    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::map<std::string, Known> m_known;
};

}  // namespace hearth::gpu
