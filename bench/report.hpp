#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hearth::bench {

// One measured figure beside the floor or rival it was measured with, in the same run. Names are stable: other programs
// read them from bench.json.
struct Row {
    std::string name;
    double value = 0;
    std::string unit;
    std::string beside;       // what it stands beside; empty when it stands alone
    double beside_value = 0;  // in the same unit
    double ratio = 0;         // value over beside_value
    std::string bar;          // the bar in words; empty when there is none
    std::optional<bool> met;
};

enum class Better : bool { lower, higher };

class Report {
public:
    // `bar` is on the ratio to what it stands beside.
    void add_beside(const std::string& name, double value, const std::string& unit, const std::string& beside,
                    double beside_value, std::optional<double> bar = {}, Better better = Better::lower);
    // `bar` is on the value itself.
    void add(const std::string& name, double value, const std::string& unit, std::optional<double> bar = {},
             Better better = Better::lower);
    void note(const std::string& text) { m_notes.push_back(text); }

    void print() const;
    bool write_json(const std::string& path) const;
    bool all_met() const;

private:
    void progress(const std::string& name) const;

    std::vector<Row> m_rows;
    std::vector<std::string> m_notes;
};

}  // namespace hearth::bench
