#pragma once

#include "timing.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hearth::bench {

// One measured figure beside the floor or rival it was measured with, in the same run. Names are stable: other programs
// read them from bench.json.
struct Row {
    std::string name;
    Measured value;
    std::string unit;
    std::string beside;     // what it stands beside; empty when it stands alone
    Measured beside_value;  // in the same unit
    double ratio = 0;       // value over beside_value
    std::string bar;        // its bars (bars.hpp) in words; empty when there is none
    std::optional<bool> met;
};

class Report {
public:
    void add_beside(const std::string& name, Measured value, const std::string& unit, const std::string& beside,
                    Measured beside_value);
    void add(const std::string& name, Measured value, const std::string& unit);
    // What a reader has to know of the rows, such as what was left out, and why.
    void note(const std::string& text) { m_notes.push_back(text); }

    // The table, the notes, then which bars were missed and which were not measured.
    void print() const;
    bool write_json(const std::string& path) const;
    bool all_met() const { return missed().empty(); }

private:
    void add_row(Row row);
    std::vector<const Row*> missed() const;
    std::vector<std::string> unmeasured() const;

    std::vector<Row> m_rows;
    std::vector<std::string> m_notes;
};

// The bars as docs/benchmarks.md shows them.
void print_bars();

}  // namespace hearth::bench
