#pragma once

#include <string>

namespace hearth::bench {

// A directory of our own beside the program, removed at the end: on the same file system that a cache would be on.
class Scratch {
public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    std::string path(const std::string& name) const { return m_root + "/" + name; }

private:
    std::string m_root;
};

// The path of this program, to be started again as a fresh process.
std::string own_path();
// Runs this program with these arguments and returns what it printed.
std::string run_self(const std::string& arguments);

}  // namespace hearth::bench
