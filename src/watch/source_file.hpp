#pragma once

#include "base/digest.hpp"
#include "watch/absent_names.hpp"
#include "watch/file_identity.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unordered_map>
#include <utility>
#include <vector>

// The user's files that a compile reads. Links are followed, as a compiler does.

namespace hearth::watch {

FileIdentity identity_of(const struct stat& status);

// None if there is no regular file of that name.
std::optional<FileIdentity> identify(const std::string& path);

// stat() for many paths in few directories: the path of a directory that many are in is walked once. At most
// k_most_open descriptors are open meanwhile, since a program's other threads need theirs.
class StatMany {
public:
    static constexpr std::size_t k_most_open = 32;

    // `grain_ns`: how old the last change of a directory has to be for the next one to be told from it.
    explicit StatMany(std::int64_t grain_ns = 2'000'000'000) : m_grain_ns(grain_ns) {}
    ~StatMany();
    StatMany(const StatMany&) = delete;
    StatMany& operator=(const StatMany&) = delete;

    // 0, or errno.
    int operator()(const std::string& path, struct stat& status) { return look(path, status, 0); }
    // Whether stat() says that nothing is there. What was found so before needs one look at its directory.
    bool is_absent(const std::string& path);

private:
    struct Directory {
        int fd = -1;
        int error = 0;  // why nothing can be in it, or why there is no descriptor
        bool is_looked_at = false;
        bool on_network = false;
        unsigned asked = 0;  // how often
        // For is_absent().
        bool is_compared = false;
        bool is_learnt_of = false;             // what is absent there shall be known
        std::optional<FileIdentity> identity;  // of `fd`
        std::shared_ptr<const AbsentNames::Names> absent;
        std::vector<std::string> more_absent;
    };
    using Place = std::pair<const std::string, Directory>;
    int look(const std::string& path, struct stat& status, int flags);
    Place& directory_of(std::string_view path);
    void open(Place& place);
    static void let_go(Place& place);
    void compare(Place& place) const;
    void begin_to_learn(Place& place);

    const std::int64_t m_grain_ns;
    std::unordered_map<std::string, Directory, AbsentNames::Hash, std::equal_to<>> m_directories;
    std::array<Place*, k_most_open> m_open{};  // a ring: the oldest is closed
    std::size_t m_next_open = 0;
    Place* m_last = nullptr;  // paths come in the order of their directories
};

// Whether any change from now on will change the identity. A change within the clock's grain after the last one would
// not.
bool is_settled(const FileIdentity& identity);

// Whether this error says that nothing is at a path.
bool is_absence(int error);

// Of the names in a directory. `error`: why they cannot be told; 0: they can.
base::Sha256 digest_of_names(const std::string& directory, int& error, std::size_t* count = nullptr);

// Whether an open file is on a file system that a server keeps.
bool is_on_network(int fd);

struct SourceFile {
    std::string text;
    FileIdentity identity;
    bool settled = false;  // when the text was read: any change since, through a mapping too, has changed the identity
};

// None if it cannot be read, was being written all the time, or is longer than its size says.
std::optional<SourceFile> read_source(const std::string& path);

}  // namespace hearth::watch
