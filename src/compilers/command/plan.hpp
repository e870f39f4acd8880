#pragma once

#include "compilers/command/profile.hpp"
#include "compilers/common/answer.hpp"
#include "hearth/command.hpp"

#include <string>
#include <vector>

namespace hearth::command {

// Everything that decides how one command is run and answered.
struct Plan {
    Command command;
    RunOptions options;
    const Profile* profile = nullptr;
    Call call;
    std::vector<std::string> texts;  // of the sources, one each
    std::vector<std::string> environment;
    compilers::Question question;
};

// Reads the command line and the sources. Where they cannot be answered from the cache, the question says why.
Plan make_plan(Cache& cache, const Command& command, const RunOptions& options);

// Of a source. An Error: it cannot be read, or is no file.
Result<std::string> text_of(const std::string& path);

}  // namespace hearth::command
