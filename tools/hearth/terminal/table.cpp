#include "terminal/table.hpp"

#include "terminal/output.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <algorithm>
#include <cstddef>

#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr std::size_t k_gap = 2;
constexpr std::size_t k_narrowest = 12;  // a last column that is cut shorter is useless

std::string padded(std::string_view text, std::size_t width, Align align)
{
    const std::size_t taken = columns(text);
    const std::string fill(width > taken ? width - taken : 0, ' ');
    return align == Align::right ? fill + std::string(text) : std::string(text) + fill;
}

}  // namespace

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                        std::size_t room) const
{
    std::string text;
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        const bool last = i + 1 == m_columns.size();
        if (last && m_columns[i].align == Align::left)
            text += room != 0 ? shortened(cells[i], room) : cells[i];
        else
            text += padded(cells[i], widths[i], m_columns[i].align);
        if (!last)
            text.append(k_gap, ' ');
    }
    return text;
}

std::vector<std::string> Table::lines(std::size_t width) const
{
    std::vector<std::string> titles;
    std::vector<std::size_t> widths;
    for (const Column& column : m_columns) {
        titles.push_back(column.title);
        widths.push_back(columns(column.title));
    }
    for (const auto& row : m_rows)
        for (std::size_t i = 0; i < widths.size(); ++i)
            widths[i] = std::max(widths[i], columns(row[i]));

    std::size_t room = 0;
    if (width != 0) {
        std::size_t before = 0;
        for (std::size_t i = 0; i + 1 < widths.size(); ++i)
            before += widths[i] + k_gap;
        room = width > before + k_narrowest ? width - before : k_narrowest;
    }
    std::vector<std::string> all{line(titles, widths, room)};
    for (const auto& row : m_rows)
        all.push_back(line(row, widths, room));
    return all;
}

void Table::print(std::string_view indent) const
{
    const std::size_t terminal = terminal_columns(STDOUT_FILENO);
    const std::vector<std::string> all =
        lines(terminal != 0 ? std::max(terminal, indent.size() + 1) - indent.size() : 0);
    print_out("{}{}\n", indent, Paint(STDOUT_FILENO).bold(all.front()));
    for (std::size_t i = 1; i < all.size(); ++i)
        print_out("{}{}\n", indent, all[i]);
}

void FactList::print(std::string_view indent) const
{
    std::size_t width = 0;
    for (const auto& [name, value] : m_facts)
        width = std::max(width, columns(name));
    const Paint paint(STDOUT_FILENO);
    for (const auto& [name, value] : m_facts)
        print_out("{}{}  {}\n", indent, paint.dim(padded(name, width, Align::left)), value);
}

}  // namespace hearth::cli
