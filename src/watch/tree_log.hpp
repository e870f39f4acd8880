#pragma once

#include "hearth/bytes.hpp"
#include "watch/event_log.hpp"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::watch {

// A program that took part.
struct TreeProgram {
    std::string path;
    std::vector<std::string> words;  // its name and its arguments; the last may be missing if they are long
};

// Names that lead to directories, and the paths of these. An empty one: where it was started.
using Links = std::vector<std::pair<std::string, std::string>>;

// A path below one of the names, by the path of the directory. None: it is below none.
std::optional<std::string> without_link(std::string_view path, const Links& links);

// How it was started.
struct TreeStart {
    std::string directory;
    std::vector<std::string> environment;     // as "NAME=value"
    std::string recorder;                     // its path; it is no part of the tree
    std::vector<std::string_view> passing{};  // variables that have no say in what is written
    std::vector<std::string> known{};         // files that count by their content alone, whatever they are called
    std::string temporaries{};                // the directory of temporary files: which names are in it is not held
    // Fixed names that it was given for directories.
    Links links{};
    // Whether a program asks for PATH only to find itself, and programs that it starts. Null: none does.
    bool (*only_searches)(std::string_view program) = nullptr;
};

// What a tree of processes did, as the recorders in them wrote it down (watch/tree_record.hpp).
class TreeLog {
public:
    TreeLog(ByteView bytes, const TreeStart& start);
    TreeLog(const TreeLog&) = delete;
    TreeLog& operator=(const TreeLog&) = delete;

    struct Record;

    // What it asked of the world outside: nothing about files of its own making.
    const EventLog& asked() const { return m_asked; }
    const std::vector<TreeProgram>& programs() const { return m_programs; }
    // The files of all programs, and of the libraries that they loaded.
    const std::set<std::string>& parts() const { return m_parts; }
    // Files that it wrote and left behind, by their whole paths.
    const std::vector<std::string>& left_behind() const { return m_left_behind; }
    // Directories that it listed, by their whole paths.
    const std::vector<std::string>& listed() const { return m_listed; }
    // Programs that it started by their paths, which may have been links.
    const std::set<std::string>& started() const { return m_started; }
    // Lists of directories in which libraries were looked for, before those that the programs name themselves.
    const std::set<std::string>& library_paths() const { return m_library_paths; }
    // A part that reads sources asked for the number of its process, so what it wrote may hold that.
    bool is_numbered() const { return m_is_numbered; }
    // What the names of programs that it started mean along PATH.
    const std::map<std::string, std::string>& found() const { return m_found; }
    // What programs depend on that did not run, since what they would have done is known: encoded conditions, with
    // paths that are whole, or relative to where the tree was started.
    const std::vector<std::string>& answered() const { return m_answered; }
    // Why what it did is not known. Empty: it is.
    const std::string& why_not_known() const { return m_why_not_known; }

private:
    class OwnFiles;

    void remove_links(std::vector<Record>& records, const TreeStart& start);
    void take_programs(const std::vector<Record>& records, std::string_view recorder);
    bool take_searches(const std::vector<Record>& records, const std::string& path);
    void take_questions(const std::vector<Record>& records, const OwnFiles& own, const TreeStart& start);
    void not_known(std::string why);

    std::deque<std::string> m_without_links;  // names of records
    EventLog m_asked;
    std::vector<TreeProgram> m_programs;
    std::set<std::string> m_parts;
    std::map<std::string, std::string> m_found;
    std::vector<std::string> m_left_behind;
    std::vector<std::string> m_listed;
    std::vector<std::string> m_answered;
    std::set<std::string> m_started;
    std::set<std::string> m_library_paths;
    bool m_is_numbered = false;
    std::string m_why_not_known;
};

}  // namespace hearth::watch
