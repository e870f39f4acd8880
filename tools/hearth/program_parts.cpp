#include "program_parts.hpp"

#include "hearth/libraries.hpp"

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>

#include <unistd.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;
using Kind = ProgramFacts::Kind;

constexpr std::size_t k_most_scripts = 4;  // that read one another; the kernel follows no more
constexpr std::size_t k_most_libraries = 1024;

std::vector<std::string> directories_of(const char* variable)
{
    const char* const list = std::getenv(variable);
    std::vector<std::string> found;
    std::istringstream parts(list != nullptr ? list : "");
    for (std::string part; std::getline(parts, part, ':');)
        found.push_back(part.empty() ? "." : part);
    return found;
}

// As a shell does: a name with a slash is a path, any other is looked for on PATH. Empty: it is not there.
std::string find_program(const std::string& name)
{
    if (name.find('/') != std::string::npos)
        return ::access(name.c_str(), F_OK) == 0 ? name : "";
    for (const std::string& directory : directories_of("PATH")) {
        std::string candidate = directory + "/" + name;
        std::error_code error;
        if (!name.empty() && ::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, error))
            return candidate;
    }
    return {};
}

// The program that reads a script, from the words behind its #!. `env` starts another one, behind its options and
// settings.
std::string interpreter_of(const std::vector<std::string>& words)
{
    if (fs::path(words.front()).filename() != "env")
        return words.front();
    for (std::size_t i = 1; i < words.size(); ++i)
        if (!words[i].starts_with('-') && words[i].find('=') == std::string::npos)
            return words[i];
    return words.front();
}

std::string with_origin(std::string directory, const std::string& file)
{
    std::error_code error;
    const std::string origin = fs::canonical(file, error).parent_path().string();
    for (const std::string word : {"${ORIGIN}", "$ORIGIN"})
        for (std::size_t at = 0; (at = directory.find(word, at)) != std::string::npos; at += origin.size())
            directory.replace(at, word.size(), origin);
    return directory;
}

// The libraries of a program, found in the loader's order: RPATH, LD_LIBRARY_PATH, RUNPATH, the system's folders.
class Closure {
public:
    explicit Closure(ProgramParts& parts)
        : m_parts(parts), m_environment(directories_of("LD_LIBRARY_PATH")), m_system(loader_directories())
    {
    }

    void find_all()
    {
        add_needs_of(m_parts.path, m_parts.facts, {});
        while (!m_open.empty()) {
            const Need need = std::move(m_open.front());
            m_open.pop_front();
            if (!m_known.insert(need.name).second)
                continue;
            if (m_parts.libraries.size() >= k_most_libraries) {
                m_parts.all_libraries = false;
                return;
            }
            ProgramLibrary library = find(need);
            add_needs_of(library.path, library.facts, need.inherited);
            m_parts.libraries.push_back(std::move(library));
        }
    }

private:
    struct Need {
        std::string name;
        std::string by;
        std::vector<std::string> before;     // LD_LIBRARY_PATH
        std::vector<std::string> behind;     // LD_LIBRARY_PATH
        std::vector<std::string> inherited;  // RPATH holds for the libraries of libraries too
    };

    void add_needs_of(const std::string& file, const ProgramFacts& facts, const std::vector<std::string>& inherited)
    {
        Need need{.name = {}, .by = file, .before = {}, .behind = {}, .inherited = {}};
        for (const std::string& directory : facts.rpath)
            need.inherited.push_back(with_origin(directory, file));
        need.inherited.insert(need.inherited.end(), inherited.begin(), inherited.end());
        for (const std::string& directory : facts.runpath)
            need.behind.push_back(with_origin(directory, file));
        // A RUNPATH turns every RPATH off.
        if (facts.runpath.empty())
            need.before = need.inherited;
        for (const std::string& name : facts.needed) {
            need.name = name;
            m_open.push_back(need);
        }
    }

    ProgramLibrary find(const Need& need) const
    {
        ProgramLibrary library{.name = need.name, .path = {}, .needed_by = need.by, .facts = {}};
        if (need.name.find('/') != std::string::npos) {
            (void)take(with_origin(need.name, need.by), library);
            return library;
        }
        for (const auto* directories : {&need.before, &m_environment, &need.behind, &m_system})
            for (const std::string& directory : *directories)
                if (take(directory + "/" + need.name, library))
                    return library;
        return library;
    }

    // The loader passes libraries for other processors by.
    static bool take(const std::string& path, ProgramLibrary& library)
    {
        if (::access(path.c_str(), R_OK) != 0)
            return false;
        if (!compiler_of(library.name)) {
            library.facts = look_at_program(path);
            if (library.facts.kind != Kind::library && library.facts.kind != Kind::program)
                return false;
        }
        library.path = path;
        return true;
    }

    ProgramParts& m_parts;
    std::vector<std::string> m_environment;
    std::vector<std::string> m_system;
    std::deque<Need> m_open;
    std::set<std::string> m_known;
};

}  // namespace

ProgramParts take_apart(const std::string& program)
{
    ProgramParts parts;
    parts.asked = program;
    std::string name = program;
    for (;;) {
        const std::string path = find_program(name);
        parts.found = !path.empty();
        parts.path = parts.found ? path : name;
        if (!parts.found)
            return parts;
        parts.facts = look_at_program(path);
        if (parts.facts.kind != Kind::script || parts.scripts.size() >= k_most_scripts)
            break;
        parts.scripts.push_back(path);
        name = interpreter_of(parts.facts.interpreter);
    }
    if (parts.facts.kind == Kind::program || parts.facts.kind == Kind::library)
        Closure(parts).find_all();
    return parts;
}

}  // namespace hearth::cli
