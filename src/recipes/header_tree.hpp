#pragma once

#include "base/digest.hpp"
#include "base/files.hpp"
#include "hearth/bytes.hpp"
#include "hearth/result.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace hearth::recipes {

// Files of another machine, by where they were there: a path from the root, without "." and "..".
class TreePlan {
public:
    // Adds a file by the path with which the compiler there opened it. A relative path starts at the working directory.
    // Returns an error if the path leads above the root, or if two contents would be at one place (there were links).
    Status add_file(const std::string& working_directory, const std::string& path, const base::Sha256& digest);
    Status add_directory(const std::string& working_directory, const std::string& path);

    const std::map<std::string, base::Sha256>& files() const { return m_files; }
    const std::set<std::string>& directories() const { return m_directories; }

private:
    // Follows a path, and notes every directory on the way, also those that ".." leaves again.
    Result<std::string> walk(const std::string& working_directory, const std::string& path, bool to_directory);

    std::map<std::string, base::Sha256> m_files;
    std::set<std::string> m_directories;
};

// A directory that holds exactly the files of a plan. From one plan to the next only what differs is changed: programs
// that are recorded together read mostly the same headers.
// Thread safety: none. It writes below its root only, and follows no link there.
class HeaderTree {
public:
    HeaderTree(base::Files& files, std::string root) : m_disk(files), m_root(std::move(root)) {}

    const std::string& root() const { return m_root; }
    Status become(const TreePlan& plan, const std::function<std::optional<Bytes>(const base::Sha256&)>& content);

private:
    int write(const std::string& path, ByteView bytes);
    Status change(const TreePlan& plan, const std::function<std::optional<Bytes>(const base::Sha256&)>& content);

    base::Files& m_disk;
    const std::string m_root;
    std::map<std::string, base::Sha256> m_files;
    std::set<std::string> m_directories;
};

}  // namespace hearth::recipes
