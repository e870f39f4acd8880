#pragma once

#include "base/fork.hpp"
#include "watch/file_identity.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace hearth::watch {

// Names that this process found absent in directories. A compiler looks for each header in every include directory, so
// that most of what is checked before a hit are names that are not there, and for the next kernel they are the same.
//
// Whatever is put into a directory changes its identity, if some time has passed since the last change. So while the
// identity is the same, so are the names that are not there: one look at the directory stands for all of them. Who adds
// names says that this is so of the directory's file system, and that nothing of that name was there: no link either,
// behind which a file could appear without changing the directory.
// Thread safety: all of it. Cost: nothing is kept of a directory that is asked about only once.
class AbsentNames {
public:
    struct Hash {
        using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    using Names = std::unordered_set<std::string, Hash, std::equal_to<>>;

    static AbsentNames& of_process();

    // Whether somebody has asked about this directory before. From the second time on it is worth knowing.
    bool is_known(const std::string& directory);
    // Those of the directory with this identity; null if there are none.
    std::shared_ptr<const Names> find(const std::string& directory, const FileIdentity& identity) const;
    // `identity` was read before the names were looked for.
    void add(const std::string& directory, const FileIdentity& identity, const std::vector<std::string>& names);

private:
    struct Directory {
        FileIdentity identity;
        std::shared_ptr<const Names> names;
    };
    void forget_too_many();  // with m_mutex held

    static constexpr std::size_t k_most = 65536;  // directories and names together

    mutable base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::unordered_map<std::string, Directory> m_directories;
    std::size_t m_count = 0;
};

}  // namespace hearth::watch
