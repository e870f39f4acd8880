#pragma once

#include "build.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace demo {

// One build, as it is shown.
struct Row {
    std::string build;
    std::size_t modules = 0;
    std::size_t compiled = 0;
    std::size_t from_vram = 0;
    std::size_t from_disk = 0;
    double ms = 0;
    std::int64_t result = 0;
    std::string memory;  // what held the IR; empty: no cache was asked
};

Row row_of(std::string build, const BuildReport& report, std::string memory);

// Which memory a cache uses, for people: "cuda (NVIDIA H200)", "host memory (why it is not a device's)".
std::string describe_memory(IrCache& cache);

std::string to_json(const Row& row);
// Of the first line. None when it is no row.
std::optional<Row> row_from_json(const std::string& text);

// Prints rows as they come: objects, or lines of a table with how many times faster than the first of them each was.
class Table {
public:
    explicit Table(bool json) : m_json(json) {}

    void show(const Row& row);
    // Between the rows; not among objects.
    void remark(const std::string& text) const;

private:
    bool m_json;
    double m_first_ms = 0;
};

}  // namespace demo
