#include "table.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace demo {

Row row_of(std::string build, const BuildReport& report, std::string memory)
{
    return {.build = std::move(build),
            .modules = report.files.size(),
            .compiled = report.compiled.size(),
            .from_vram = report.from_vram,
            .from_disk = report.from_disk,
            .ms = std::chrono::duration<double, std::milli>(report.time).count(),
            .result = report.result,
            .memory = std::move(memory)};
}

std::string describe_memory(IrCache& cache)
{
    const hearth::Result<hearth::device::Report> report = cache.memory();
    if (!report)
        return "none (" + report.error().message + ")";
    if (report->backend == hearth::device::Backend::host)
        return report->fallback.empty() ? "host memory" : "host memory (" + report->fallback + ")";
    std::string text(hearth::device::to_string(report->backend));
    for (const hearth::device::Device& device : report->devices)
        text += " (" + device.name + ")";
    return text;
}

std::string to_json(const Row& row)
{
    nlohmann::ordered_json object;
    object["build"] = row.build;
    object["modules"] = row.modules;
    object["compiled"] = row.compiled;
    object["from_vram"] = row.from_vram;
    object["from_disk"] = row.from_disk;
    object["ms"] = row.ms;
    object["result"] = row.result;
    object["memory"] = row.memory;
    return object.dump();
}

std::optional<Row> row_from_json(const std::string& text)
{
    const nlohmann::json object = nlohmann::json::parse(text.substr(0, text.find('\n')), nullptr, false);
    if (!object.is_object())
        return std::nullopt;
    try {
        return Row{.build = object.at("build"),
                   .modules = object.at("modules"),
                   .compiled = object.at("compiled"),
                   .from_vram = object.at("from_vram"),
                   .from_disk = object.at("from_disk"),
                   .ms = object.at("ms"),
                   .result = object.at("result"),
                   .memory = object.at("memory")};
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

void Table::show(const Row& row)
{
    if (m_json) {
        fmt::print("{}\n", to_json(row));
    } else {
        if (m_first_ms == 0) {
            m_first_ms = row.ms;
            fmt::print("{:<24}{:>8}{:>10}{:>10}{:>10}{:>11}{:>9}  {}\n", "BUILD", "MODULES", "COMPILED", "FROM VRAM",
                       "FROM DISK", "TIME ms", "FASTER", "RESULT");
        }
        const auto found = [&](std::size_t count) { return row.memory.empty() ? "-" : std::to_string(count); };
        fmt::print("{:<24}{:>8}{:>10}{:>10}{:>10}{:>11.1f}{:>8.1f}x  {}\n", row.build, row.modules, row.compiled,
                   found(row.from_vram), found(row.from_disk), row.ms, m_first_ms / row.ms, row.result);
    }
    std::fflush(stdout);
}

void Table::remark(const std::string& text) const
{
    if (!m_json)
        fmt::print("{}\n", text);
}

}  // namespace demo
