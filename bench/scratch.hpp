#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace hearth::bench {

// A directory of our own beside the program, on the file system that a cache would be on. It is removed when this ends,
// and when the program does, however that comes about.
class Scratch {
public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    std::string path(const std::string& name) const { return m_root + "/" + name; }

private:
    std::string m_root;
    std::FILE* m_remover = nullptr;  // a shell that waits for the end of its input
};

// The path of this program, to be started again as a fresh process, and of what was built beside it.
std::string own_path();
std::string beside(const std::string& name);
// Runs a command, or this program with these arguments, and returns what it printed.
std::string output_of(const std::string& command);
std::string run_self(const std::string& arguments);
// Runs a program, whose path is the first word, to its end, and returns its exit status; -1 if there was none.
int run_to_its_end(std::vector<std::string> words);

// What a child returns when it had to make what it asked for.
constexpr int k_child_made = 10;

struct ChildrenRun {
    double seconds = 0;
    std::vector<int> statuses;
};
// `count` processes of this program at once, each with --child and these arguments, until the last has ended.
ChildrenRun run_children(int count, std::vector<std::string> arguments);

}  // namespace hearth::bench
