#pragma once

#include <string>

namespace demo {

// All of a file; empty when it cannot be read.
std::string read_file(const std::string& path);

// An empty file of its own, removed at the end of the scope.
class Scratch {
public:
    Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch();

    const std::string& path() const { return m_path; }

private:
    std::string m_path;
};

}  // namespace demo
