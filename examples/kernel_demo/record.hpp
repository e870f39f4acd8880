#pragma once

#include <map>
#include <string>
#include <vector>

namespace demo {

// One kernel of one run.
struct Row {
    std::string kernel;
    std::string target;
    double ms = 0;       // until its code was in hand
    std::string tier;    // that answered; empty: it was compiled
    std::string digest;  // of its code
    std::string launch;  // "right", "WRONG", or why it was not launched
    bool failed = false;
};

// What a cold run leaves for the warm one in another process: a line a kernel.
void write_record(const std::string& path, const std::vector<Row>& rows);

struct Cold {
    double ms = 0;
    std::string digest;
};
std::map<std::string, Cold> read_record(const std::string& path);

// The table of a run, beside the cold one where there was one. True when every row is as it should be.
bool show(const std::vector<Row>& rows, const std::map<std::string, Cold>& cold);

}  // namespace demo
