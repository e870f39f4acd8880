#include "watch/tree_log.hpp"

#include "watch/program_search.hpp"
#include "watch/tree_record.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sys/stat.h>

namespace hearth::watch {

struct TreeLog::Record {
    TreeRecord head;
    std::string_view name;
    std::string_view answer;
};

namespace {

using Record = TreeLog::Record;

// None at the end, or where a record is cut short.
std::optional<Record> next_record(ByteView bytes, std::size_t& at)
{
    Record record;
    if (bytes.size() - at < sizeof record.head)
        return std::nullopt;
    std::memcpy(&record.head, bytes.data() + at, sizeof record.head);
    const std::size_t size = sizeof record.head + record.head.name_size + record.head.answer_size;
    if (record.head.size != size || bytes.size() - at < size)
        return std::nullopt;
    const char* const texts = reinterpret_cast<const char*>(bytes.data()) + at + sizeof record.head;
    record.name = {texts, record.head.name_size};
    record.answer = {texts + record.head.name_size, record.head.answer_size};
    at += size;
    return record;
}

std::string whole(std::string_view path, const std::string& start)
{
    // Of thousands of paths most are whole already.
    if (path.starts_with('/') && path.find("/.") == std::string_view::npos &&
        path.find("//") == std::string_view::npos && !path.ends_with('/'))
        return std::string(path);
    std::string normal = (std::filesystem::path(start) / path).lexically_normal().string();
    if (normal.size() > 1 && normal.ends_with('/'))
        normal.pop_back();
    return normal;
}

std::vector<std::string> words_of(std::string_view text)
{
    std::vector<std::string> words;
    for (std::size_t end = 0; (end = text.find('\0')) != std::string_view::npos; text.remove_prefix(end + 1))
        words.emplace_back(text.substr(0, end));
    return words;
}

// Programs in whose questions a source may have a say.
bool reads_sources(std::string_view program)
{
    program.remove_prefix(program.find_last_of('/') + 1);
    return std::ranges::any_of(std::array{"cc1", "clang", "cudafe++", "cicc"},
                               [&](const char* name) { return program.starts_with(name); });
}

// Those that call what has no name by the number of their process.
bool reads_cuda(std::string_view program)
{
    return program.ends_with("/cudafe++") || program.ends_with("/cicc");
}

bool is_clang(std::string_view program)
{
    return program.substr(program.find_last_of('/') + 1).starts_with("clang");
}

// Whether a source may have asked this of a file that its compiler writes. clang looks at its output first, and opens
// what a source names.
bool may_be_of_source(std::string_view program, Asked asked)
{
    return reads_sources(program) && (asked == Asked::file || (asked == Asked::status && !is_clang(program)));
}

// What an open file is called without its links, as the system tells it.
bool is_name_of_open_file(Asked asked, int error, std::string_view name)
{
    return asked == Asked::link && error == 0 && name.starts_with("/proc/self/fd/");
}

bool is_on(std::string_view path, std::string_view directory)
{
    return (":" + std::string(path) + ":").find(":" + std::string(directory) + ":") != std::string::npos;
}

// Pipes, terminals and /dev/null keep nothing.
bool is_kept(const TreeRecord& record)
{
    return record.mode == 0 || S_ISREG(record.mode) || S_ISDIR(record.mode);
}

}  // namespace

std::optional<std::string> without_link(std::string_view path, const Links& links)
{
    for (const auto& [name, directory] : links) {
        if (!path.starts_with(name) || (path.size() > name.size() && path[name.size()] != '/'))
            continue;
        path.remove_prefix(name.size());
        if (!directory.empty())
            return directory + std::string(path);
        return path.empty() ? "." : std::string(path.substr(1));
    }
    return std::nullopt;
}

// The tree's own files: what it made, and when it made it first.
class TreeLog::OwnFiles {
public:
    void take(const Record& record, const std::string& start, std::size_t at)
    {
        const auto& [head, name, answer] = record;
        const bool writes = head.did == Did::wrote || head.did == Did::changes || head.did == Did::appends;
        if (writes && head.error == 0 && is_kept(head))
            opened(head, whole(name, start), at);
        else if (head.did == Did::made)
            made(whole(name, start), at);
        else if (head.did == Did::renamed)
            renamed(whole(name, start), whole(answer, start), at);
        else if (head.did == Did::removed)
            removed(whole(name, start));
    }

    void opened(const TreeRecord& head, const std::string& path, std::size_t at)
    {
        const bool is_empty = S_ISREG(head.mode) && head.file.size == 0;
        if (!has(path) && head.was_there != 0)
            m_was_there.insert(path);
        if (!has(path) && head.did == Did::appends)
            m_appended.insert(path);
        if (!has(path) && head.did == Did::changes && head.was_there != 0 && !is_empty)
            m_changed.insert(path);
        wrote(path, at);
    }
    void wrote(const std::string& path, std::size_t at)
    {
        m_first.try_emplace(path, at);
        m_there.insert(path);
    }
    void made(const std::string& path, std::size_t at)
    {
        wrote(path, at);
        m_made.insert(path);
    }
    void renamed(const std::string& from, const std::string& to, std::size_t at)
    {
        removed(from);
        wrote(to, at);
    }
    void removed(const std::string& path)
    {
        if (!has(path) || m_was_there.contains(path))
            m_taken.insert(path);
        m_there.erase(path);
    }

    bool has(const std::string& path) const
    {
        if (m_first.contains(path))
            return true;
        for (std::string above = path; above.size() > 1;) {
            above.erase(above.find_last_of('/'));
            if (m_made.contains(above))
                return true;
        }
        return false;
    }
    bool has_before(const std::string& path, std::size_t at) const
    {
        const auto found = m_first.find(path);
        return found == m_first.end() || found->second < at;
    }
    const std::set<std::string>& there() const { return m_there; }
    // What was there before, and holds something else now. (What was written anew is left behind.)
    const std::set<std::string>& changed() const { return m_changed; }
    // What it added to, where that was not a file of its own that is gone again. Null: nothing.
    const std::string* appended() const
    {
        for (const std::string& path : m_appended)
            if (m_there.contains(path) || m_was_there.contains(path))
                return &path;
        return nullptr;
    }
    // What was there before, and is gone now.
    const std::string* taken() const
    {
        for (const std::string& path : m_taken)
            if (!m_there.contains(path))
                return &path;
        return nullptr;
    }

private:
    std::map<std::string, std::size_t> m_first;
    std::set<std::string> m_made;  // directories
    std::set<std::string> m_there;
    std::set<std::string> m_taken;
    std::set<std::string> m_changed;
    std::set<std::string> m_appended;
    std::set<std::string> m_was_there;
};

TreeLog::TreeLog(ByteView bytes, const TreeStart& start)
{
    std::vector<Record> records;
    std::size_t at = 0;
    while (std::optional<Record> record = next_record(bytes, at))
        records.push_back(*record);
    if (at != bytes.size())
        not_known("what was written down about it is incomplete");
    remove_links(records, start);
    take_programs(records, start.recorder);

    OwnFiles own;
    for (std::size_t i = 0; i < records.size(); ++i)
        own.take(records[i], start.directory, i);
    // Such a file holds what was there before too: another call's result would take that away.
    if (const std::string* const appended = own.appended())
        not_known(fmt::format("it appends to {}", *appended));
    if (const std::string* const taken = own.taken())
        not_known(fmt::format("it removes {}", *taken));
    if (!own.changed().empty())
        not_known(fmt::format("it changes {}", *own.changed().begin()));
    take_questions(records, own, start);
    for (const std::string& path : own.there()) {
        struct stat status {};
        if (::lstat(path.c_str(), &status) != 0)
            continue;
        if (S_ISREG(status.st_mode))
            m_left_behind.push_back(path);
        else
            not_known(fmt::format("it leaves {} behind, which is no file", path));
    }
}

void TreeLog::remove_links(std::vector<Record>& records, const TreeStart& start)
{
    for (Record& record : records)
        if (std::optional<std::string> path = without_link(record.name, start.links))
            record.name = m_without_links.emplace_back(*std::move(path));
}

void TreeLog::take_programs(const std::vector<Record>& records, std::string_view recorder)
{
    std::size_t starts = 1;  // the first program
    std::string last_started;
    for (const auto& [head, name, answer] : records) {
        starts += head.did == Did::starts ? 1 : 0;
        starts -= head.did == Did::failed ? 1 : 0;
        if (head.did == Did::starts)
            last_started = name;
        if (head.did == Did::answered)
            m_answered.emplace_back(answer);
        if (head.did == Did::starts && name.starts_with('/'))
            m_started.emplace(name);
        if (head.did == Did::searches)
            m_library_paths.emplace(answer);
        if (head.did == Did::overflow)
            not_known("it asked for something too long to be written down");
        if (head.did == Did::entered)
            m_programs.push_back({std::string(name), words_of(answer)});
        if ((head.did == Did::entered || head.did == Did::loaded) && name != recorder)
            m_parts.emplace(name);
    }
    if (m_programs.empty())
        not_known("it cannot be watched: it is linked statically, or has the rights of another user");
    else if (m_programs.size() < starts)
        not_known(fmt::format("one of the programs that it started (such as {}) cannot be watched", last_started));
}

// The programs that were started by a name, or by what a shell made of it, which is a path below a directory of PATH.
// False: PATH has been used for more than can be told by them.
bool TreeLog::take_searches(const std::vector<Record>& records, const std::string& path)
{
    std::set<std::string> started;
    std::map<std::uint32_t, std::string> last;  // of each process; it has started unless it says otherwise
    for (const auto& [head, name, answer] : records) {
        if (head.did == Did::failed)
            last.erase(head.process);
        if (head.did != Did::starts)
            continue;
        if (const auto before = last.find(head.process); before != last.end())
            started.insert(before->second);
        last[head.process] = name;
    }
    for (const auto& [process, name] : last)
        started.insert(name);
    for (const std::string& each : started) {
        const std::filesystem::path file(each);
        if (file.has_parent_path() && !is_on(path, file.parent_path().string()))
            continue;
        char found[PATH_MAX];
        const bool is_found = find_program(path.c_str(), file.filename().c_str(), found);
        if (file.has_parent_path() && (!is_found || each != found))
            continue;  // it was named by its path, or found in a directory that stands before PATH
        if (!is_found || found[0] != '/')
            return false;
        m_found.emplace(file.filename(), found);
    }
    return true;
}

void TreeLog::take_questions(const std::vector<Record>& records, const OwnFiles& own, const TreeStart& start)
{
    std::map<std::string, std::string, std::less<>> variables;
    for (const std::string& each : start.environment)
        variables.emplace(each.substr(0, each.find('=')), each.substr(std::min(each.size(), each.find('=') + 1)));
    const std::string path_list = variables.contains("PATH") ? variables["PATH"] : std::string{};
    const bool knows_searches = take_searches(records, path_list);
    if (!knows_searches)
        m_asked.add({.asked = Asked::variable,
                     .error = variables.contains("PATH") ? 0 : ENOENT,
                     .name = "PATH",
                     .answer = path_list});
    // What a program's name means is told as a whole, whatever there was before on the path.
    const auto is_search = [&](const std::string& path) {
        const std::filesystem::path file(path);
        return knows_searches && m_found.contains(file.filename()) && is_on(path_list, file.parent_path().string());
    };
    std::set<std::string> known;
    for (const std::string& each : start.known)
        known.insert(whole(each, start.directory));
    std::map<std::uint32_t, std::string_view> programs;  // that the processes are just then
    std::map<std::uint32_t, std::string_view> called;    // by which name
    std::map<std::uint32_t, std::string_view> opened;    // which file they opened last
    const auto searches_only = [&](std::uint32_t process) {
        const std::string name(called[process]);
        return start.only_searches != nullptr && start.only_searches(programs[process]) &&
               (name.find('/') != std::string::npos || m_found.contains(name));
    };
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto& [head, name, answer] = records[i];
        if (head.did == Did::entered) {
            programs[head.process] = name;
            called[head.process] = answer.substr(0, answer.find('\0'));
        }
        m_is_numbered |= head.did == Did::numbered && reads_cuda(programs[head.process]);
        if (head.did != Did::asked)
            continue;
        Event event{head.asked, head.error, head.mode, name, answer, head.file, head.at_ns};
        if (head.asked == Asked::variable) {
            if (std::ranges::find(start.passing, name) != start.passing.end())
                continue;
            if (name == "PATH" && knows_searches && searches_only(head.process))
                continue;
            // A program may have set it for those that it started. What it was at the start decided that.
            const auto found = variables.find(name);
            event.error = found == variables.end() ? ENOENT : 0;
            event.answer = found == variables.end() ? std::string_view{} : std::string_view(found->second);
        } else if (head.asked != Asked::where && head.asked != Asked::unanswered && head.asked != Asked::library) {
            if (name.empty() || name == "/proc/self/exe")
                continue;  // the programs are known
            if (is_name_of_open_file(head.asked, head.error, name)) {
                event.asked = Asked::real_path;
                event.name = opened[head.process];
                std::error_code problem;
                if (std::filesystem::canonical(whole(event.name, start.directory), problem) != answer) {
                    not_known(fmt::format("it asks what {} is, an open file", name));
                    continue;
                }
            }
            if (head.asked == Asked::file && head.error == 0)
                opened[head.process] = name;
            if (!is_kept(head)) {
                // Names of temporary files are random.
                if (head.asked == Asked::file && head.error == 0 && name != "/dev/null" && name != "/dev/urandom")
                    not_known(fmt::format("it reads {}, which is no file", name));
                continue;
            }
            const std::string path = whole(event.name, start.directory);
            if (known.contains(path) || (head.error != 0 && is_search(path)))
                continue;
            if (own.has(path)) {
                // Drivers and assemblers look at their outputs, and go on as they would anyway.
                const bool by_source = may_be_of_source(programs[head.process], head.asked);
                if (!own.has_before(path, i) && (by_source || (head.asked == Asked::file && head.error == 0)))
                    not_known(fmt::format("it looks for {} and writes it too", path));
                continue;
            }
            if (head.asked == Asked::directory && head.error == 0) {
                m_listed.push_back(path);
                if (path == start.temporaries)
                    continue;
            }
        }
        m_asked.add(event);
    }
}

void TreeLog::not_known(std::string why)
{
    if (m_why_not_known.empty())
        m_why_not_known = std::move(why);
}

}  // namespace hearth::watch
