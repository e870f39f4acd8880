#include "recipes/header_tree.hpp"

#include "base/error.hpp"

#include <climits>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>

namespace hearth::recipes {

Result<std::string> TreePlan::walk(const std::string& working_directory, const std::string& path, bool to_directory)
{
    const std::string whole = path.starts_with('/') ? path : working_directory + "/" + path;
    if (whole.size() >= PATH_MAX)
        return error(Code::invalid_argument, "a path has {} bytes, and the system takes {} at most", whole.size(),
                     PATH_MAX - 1);
    if (whole.find('\0') != std::string::npos)
        return error(Code::invalid_argument, "a path has a zero byte: \"{}\"", whole.c_str());
    std::string reached;
    std::size_t from = 0;
    while (from < whole.size()) {
        const std::size_t end = std::min(whole.find('/', from), whole.size());
        const std::string name = whole.substr(from, end - from);
        from = end + 1;
        if (name.empty() || name == ".")
            continue;
        if (name == "..") {
            if (reached.empty())
                return error(Code::invalid_argument, "{} leads above the root directory", whole);
            reached.erase(reached.rfind('/'));
            continue;
        }
        reached += "/" + name;
        if (to_directory || end < whole.size())
            m_directories.insert(reached);
    }
    return reached;
}

Status TreePlan::add_file(const std::string& working_directory, const std::string& path, const base::Sha256& digest)
{
    const Result<std::string> reached = walk(working_directory, path, false);
    HEARTH_TRY(reached);
    if (reached->empty())
        return error(Code::invalid_argument, "{} is the root directory", path);
    const auto [place, first] = m_files.try_emplace(*reached, digest);
    if (!first && place->second != digest)
        return error(Code::invalid_argument, "{} led to two files, by way of a link", *reached);
    return {};
}

Status TreePlan::add_directory(const std::string& working_directory, const std::string& path)
{
    HEARTH_TRY(walk(working_directory, path, true));
    return {};
}

int HeaderTree::write(const std::string& path, ByteView bytes)
{
    base::FileHandle file(m_disk, m_disk.open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
    if (!file.open())
        return file.fd();
    const int error = base::write_all(m_disk, file.fd(), bytes, 0);
    return error != 0 ? error : file.close();
}

Status HeaderTree::change(const TreePlan& plan, const std::function<std::optional<Bytes>(const base::Sha256&)>& content)
{
    const auto failed = [](const char* action, const std::string& path, int error) {
        return hearth::error(Code::io, "{}", base::describe(action, path, error));
    };
    for (auto file = m_files.begin(); file != m_files.end();) {
        if (const auto wanted = plan.files().find(file->first);
            wanted != plan.files().end() && wanted->second == file->second) {
            ++file;
            continue;
        }
        if (const int error = m_disk.unlink((m_root + file->first).c_str()); error != 0)
            return failed("Cannot remove", m_root + file->first, error);
        file = m_files.erase(file);
    }
    // Backwards: what is inside a directory sorts after it, and must be removed first.
    for (auto directory = m_directories.end(); directory != m_directories.begin();) {
        --directory;
        if (plan.directories().contains(*directory))
            continue;
        if (const int error = m_disk.rmdir((m_root + *directory).c_str()); error != 0)
            return failed("Cannot remove", m_root + *directory, error);
        directory = m_directories.erase(directory);
    }
    for (const std::string& directory : plan.directories()) {
        if (m_directories.contains(directory))
            continue;
        if (const int error = base::make_directories(m_disk, m_root + directory, 0700); error != 0)
            return failed("Cannot make", m_root + directory, error);
        m_directories.insert(directory);
    }
    for (const auto& [path, digest] : plan.files()) {
        if (m_files.contains(path))
            continue;
        const std::optional<Bytes> bytes = content(digest);
        if (!bytes)
            return hearth::error(Code::corrupt, "the content of {} is not in the recipe file, or is damaged", path);
        if (const int error = write(m_root + path, *bytes); error != 0)
            return failed("Cannot write", m_root + path, error);
        m_files.emplace(path, digest);
    }
    return {};
}

Status HeaderTree::become(const TreePlan& plan, const std::function<std::optional<Bytes>(const base::Sha256&)>& content)
{
    for (const auto& [path, digest] : plan.files())
        if (plan.directories().contains(path))
            return error(Code::invalid_argument, "{} was a file and a directory, by way of a link", path);
    if (const int error = base::make_directories(m_disk, m_root, 0700); error != 0)
        return hearth::error(Code::io, "{}", base::describe("Cannot make", m_root, error));
    Status changed = change(plan, content);
    if (!changed.ok()) {
        // It is not known what is there now, so start again with an empty tree.
        std::error_code ignored;
        std::filesystem::remove_all(m_root, ignored);
        m_files.clear();
        m_directories.clear();
    }
    return changed;
}

}  // namespace hearth::recipes
