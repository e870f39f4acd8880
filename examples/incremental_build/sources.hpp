#pragma once

#include "eph/compile.hpp"
#include "eph/interface.hpp"
#include "hearth/key.hpp"
#include "hearth/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace demo {

// The sources in a folder, read once a build: what a key is made from is what is compiled, even if somebody saves a
// file in between. A module has the name of its file: "main.eph" is imported as "main". Thread safety: any number of
// threads, except during read().
class Sources {
public:
    explicit Sources(std::string folder) : m_folder(std::move(folder)) {}

    // All of them anew.
    hearth::Status read();

    std::vector<std::string> files() const;
    std::vector<std::string> importers_of(std::string_view file) const;
    // Both for one of the files(); std::out_of_range for another.
    eph::CompileInput input(std::string_view file) const;
    // Everything that decides the IR: the compiler, the source and the interfaces it imports, by content. Neither the
    // file's name nor its place, and of an imported module nothing but its interface.
    hearth::Request request(std::string_view file) const;

private:
    struct Source {
        std::string text;
        eph::Outline outline;
        std::string interface_digest;
    };

    const Source& at(std::string_view file) const;
    const Source* find_module(const std::string& name) const;

    std::string m_folder;
    std::map<std::string, Source, std::less<>> m_sources;  // by file
};

}  // namespace demo
