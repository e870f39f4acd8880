#pragma once

#include "hearth/bytes.hpp"
#include "watch/event_log.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::watch {

// A program that took part.
struct TreeProgram {
    std::string path;
    std::vector<std::string> words;  // its name and its arguments; the last may be missing if they are long
};

// What a tree of processes did, as the recorders in them wrote it down (watch/tree_record.hpp).
class TreeLog {
public:
    // `start`: the directory in which the tree was started. `environment`: what it was started with, as "NAME=value".
    // `recorder`: the path of the recorder, which is no part of the tree.
    TreeLog(ByteView bytes, const std::string& start, const std::vector<std::string>& environment,
            std::string_view recorder);
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
    // Why what it did is not known. Empty: it is.
    const std::string& why_not_known() const { return m_why_not_known; }

private:
    class OwnFiles;

    void take_programs(const std::vector<Record>& records, std::string_view recorder);
    void take_questions(const std::vector<Record>& records, const OwnFiles& own, const std::string& start,
                        const std::vector<std::string>& environment);
    void not_known(std::string why);

    EventLog m_asked;
    std::vector<TreeProgram> m_programs;
    std::set<std::string> m_parts;
    std::vector<std::string> m_left_behind;
    std::vector<std::string> m_listed;
    std::string m_why_not_known;
};

}  // namespace hearth::watch
