#pragma once

#include "compilers/command/fixed_paths.hpp"
#include "compilers/command/profile.hpp"
#include "compilers/common/answer.hpp"
#include "hearth/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hearth::command {

// Everything that decides how one command is run and answered.
struct Plan {
    Command command;
    std::vector<std::string> shown;  // the words that its entry shows
    RunOptions options;
    std::string streams_as;  // not empty: what it says is kept, and not passed on, as if its streams were these
    const Profile* profile = nullptr;
    Call call;
    std::vector<std::string> texts;  // of the sources, one each
    std::vector<std::string> environment;
    std::vector<FixedPath> fixed;  // empty: what is written holds paths as they are
    std::string build;             // of the program
    compilers::Question question;
};

// Reads the command line and the sources. Where they cannot be answered from the cache, the question says why.
// `streams_as`: the last place of another plan, which this one is to repeat with nobody listening.
Plan make_plan(Cache& cache, const Command& command, const RunOptions& options, const std::string& streams_as = {});

// A compiler that reads this next opens the files that it names, so a store must not have chosen it. It is a fact of
// this machine, which only its own results answer.
bool is_for_this_machine(const Plan& plan);

// Whether a standard stream is a terminal, by what the last of a plan's places says of them.
bool is_terminal(std::string_view streams, int stream);

// Of a path. Empty: it has none.
std::string directory_of(const std::string& path);

// Of a source. An Error: it cannot be read, or is no file.
Result<std::string> text_of(const std::string& path);

}  // namespace hearth::command
