#include "sources.hpp"

#include "files.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace demo {

hearth::Status Sources::read()
{
    std::map<std::string, Source, std::less<>> sources;
    std::error_code error;
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(m_folder, error)) {
        if (entry.path().extension() != ".eph")
            continue;
        const std::string file = entry.path().filename().string();
        hearth::Result<std::string> text = read_file(entry.path().string());
        if (!text)
            return text.error();
        Source& source = sources[file];
        source.text = std::move(*text);
        try {
            source.outline = eph::outline_of(source.text);
        } catch (const eph::CompileError& problem) {
            return hearth::Error{hearth::Code::compile_failed, eph::describe(problem, file, source.text), {}};
        }
        source.interface_digest = hearth::Key::of("eph-interface", source.outline.interface.text()).hex();
    }
    if (error)
        return hearth::Error{
            hearth::Code::io, "The folder " + m_folder + " cannot be read: " + error.message() + ".", {}};
    m_sources = std::move(sources);
    return {};
}

std::vector<std::string> Sources::files() const
{
    std::vector<std::string> files;
    files.reserve(m_sources.size());
    for (const auto& [file, source] : m_sources)
        files.push_back(file);
    return files;
}

std::vector<std::string> Sources::importers_of(std::string_view file) const
{
    const std::string_view module = file.substr(0, file.rfind('.'));
    std::vector<std::string> importers;
    for (const auto& [other, source] : m_sources) {
        const std::vector<std::string>& imports = source.outline.imports;
        if (std::find(imports.begin(), imports.end(), module) != imports.end())
            importers.push_back(other);
    }
    return importers;
}

const Sources::Source& Sources::at(std::string_view file) const
{
    const auto found = m_sources.find(file);
    if (found == m_sources.end())
        throw std::out_of_range("There is no file " + std::string(file) + " in " + m_folder + ".");
    return found->second;
}

const Sources::Source* Sources::find_module(const std::string& name) const
{
    const auto found = m_sources.find(name + ".eph");
    return found == m_sources.end() ? nullptr : &found->second;
}

eph::CompileInput Sources::input(std::string_view file) const
{
    const Source& source = at(file);
    eph::CompileInput input{file, source.text, {}};
    for (const std::string& name : source.outline.imports) {
        const Source* imported = find_module(name);
        input.imports.push_back({name, imported ? &imported->outline.interface : nullptr});
    }
    return input;
}

hearth::Request Sources::request(std::string_view file) const
{
    const Source& source = at(file);
    std::vector<std::string> interfaces;
    for (const std::string& name : source.outline.imports) {
        const Source* imported = find_module(name);
        interfaces.push_back(name + " " + (imported ? imported->interface_digest : "is not there"));
    }
    return hearth::KeyBuilder("eph-ir")
        .number("compiler version", eph::k_compiler_version)
        .text("source", source.text)
        .list("imported interfaces", interfaces)
        .build();
}

}  // namespace demo
