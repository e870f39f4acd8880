#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace hearth::test {

// A fresh, empty directory that is removed with everything in it at the end.
class ScratchDirectory {
public:
    ScratchDirectory();
    ~ScratchDirectory();
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;

    const std::string& path() const { return m_path; }
    std::string operator/(std::string_view name) const { return m_path + "/" + std::string(name); }

private:
    std::string m_path;
};

// Whole files, for tests that damage or compare them. A failure throws: the test cannot go on.
std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view bytes);

// Every path below a folder and what lies there: a file's bytes, a link's target, "<directory>" or "<other>".
std::map<std::string, std::string> snapshot(const std::string& folder);

}  // namespace hearth::test
