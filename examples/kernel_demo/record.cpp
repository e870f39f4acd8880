#include "record.hpp"

#include <fmt/format.h>
#include <fstream>

namespace demo {

void write_record(const std::string& path, const std::vector<Row>& rows)
{
    std::ofstream file(path, std::ios::trunc);
    for (const Row& row : rows)
        file << row.kernel << '\t' << row.ms << '\t' << row.digest << '\n';
}

std::map<std::string, Cold> read_record(const std::string& path)
{
    std::map<std::string, Cold> cold;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find('\t');
        const std::size_t second = line.find('\t', first + 1);
        if (second != std::string::npos)
            cold[line.substr(0, first)] = {std::stod(line.substr(first + 1)), line.substr(second + 1)};
    }
    return cold;
}

bool show(const std::vector<Row>& rows, const std::map<std::string, Cold>& cold)
{
    bool good = true;
    fmt::print("{:<14}{:<10}{:>11}{:>11}{:>9}  {:<8}{:<8}{}\n", "KERNEL", "TARGET", cold.empty() ? "" : "COLD ms",
               cold.empty() ? "COLD ms" : "WARM ms", cold.empty() ? "" : "FASTER", "TIER", "BYTES", "LAUNCH");
    for (const Row& row : rows) {
        const auto before = cold.find(row.kernel);
        const bool known = before != cold.end();
        const bool equal = known && before->second.digest == row.digest;
        fmt::print("{:<14}{:<10}{:>11}{:>11.2f}{:>9}  {:<8}{:<8}{}\n", row.kernel, row.target,
                   known ? fmt::format("{:.1f}", before->second.ms) : "", row.ms,
                   known ? fmt::format("{:.0f}x", before->second.ms / row.ms) : "", row.tier.empty() ? "-" : row.tier,
                   !known || row.digest.empty() ? "-"
                   : equal                      ? "equal"
                                                : "DIFFER",
                   row.launch);
        good &= !row.failed && row.launch != "WRONG" && (!known || equal);
    }
    return good;
}

}  // namespace demo
