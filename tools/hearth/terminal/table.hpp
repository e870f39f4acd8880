#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

enum class Align : unsigned char { left, right };

struct Column {
    std::string title;
    Align align = Align::left;
};

// Rows under titles, each column as wide as its widest cell. Cells are printable() before they come here.
// On a terminal the last column is cut to the width that is left; in a pipe nothing is.
class Table {
public:
    explicit Table(std::vector<Column> columns) : m_columns(std::move(columns)) {}

    void add(std::vector<std::string> cells) { m_rows.push_back(std::move(cells)); }
    void print(std::string_view indent = "") const;
    // The titles and the rows, each in one line. The last column is cut so that they fit into `width`; 0: it is not.
    std::vector<std::string> lines(std::size_t width) const;

private:
    std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                     std::size_t room) const;

    std::vector<Column> m_columns;
    std::vector<std::vector<std::string>> m_rows;
};

// Name and value pairs, the values aligned.
class FactList {
public:
    void add(std::string name, std::string value) { m_facts.emplace_back(std::move(name), std::move(value)); }
    void print(std::string_view indent = "") const;

private:
    std::vector<std::pair<std::string, std::string>> m_facts;
};

}  // namespace hearth::cli
