#include "inputs.hpp"

#include "files.hpp"
#include "process.hpp"
#include "toolchain.hpp"

#include "hearth/key.hpp"

#include <compare>
#include <filesystem>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace demo {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_absent = "absent";

std::uint64_t nanoseconds(const timespec& time)
{
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

// The files of a make rule, `target: a b \ c`, as -M prints it.
std::vector<std::string> files_of_rule(const std::string& rule, const fs::path& folder)
{
    std::vector<std::string> files;
    std::string name;
    const auto take = [&] {
        if (!name.empty())
            files.push_back((folder / name).string());
        name.clear();
    };
    for (std::size_t i = rule.find(": ") + 1; i < rule.size(); ++i) {
        if (rule[i] == '\\' && i + 1 < rule.size()) {
            if (rule[++i] != '\n')
                name += rule[i];
        } else if (rule[i] == ' ' || rule[i] == '\n') {
            take();
        } else {
            name += rule[i];
        }
    }
    take();
    return files;
}

struct SearchPath {
    std::vector<std::string> folders;
    std::vector<std::string> missing;  // folders that would be searched if they were there
};

// What `-v` says of where headers are looked for.
SearchPath search_path_of(const std::string& said)
{
    SearchPath path;
    bool inside = false;
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
        constexpr std::string_view k_ignoring = "ignoring nonexistent directory \"";
        if (line.starts_with(k_ignoring))
            path.missing.push_back(line.substr(k_ignoring.size(), line.size() - k_ignoring.size() - 1));
        else if (line.starts_with("#include <...>"))
            inside = true;
        else if (line.starts_with("End of search list"))
            inside = false;
        else if (inside)
            path.folders.push_back(line.substr(line.find_first_not_of(' ')));
    }
    return path;
}

// A header that some file may ask for: #include, #include_next or __has_include, in whatever branch or comment.
struct Wanted {
    std::string name;
    std::string beside;  // the folder of the asking file, where a name in quotes is looked for first; else empty
    bool next = false;   // the search goes on after the first that is found
    friend auto operator<=>(const Wanted&, const Wanted&) = default;
};

void add_wanted_by(const std::string& file, std::set<Wanted>& wanted)
{
    constexpr std::string_view k_word = "include";
    const std::string text = read_file(file);
    for (std::size_t at = text.find(k_word); at != std::string::npos; at = text.find(k_word, at)) {
        at += k_word.size();
        const bool next = text.compare(at, 5, "_next") == 0;
        const std::size_t open = text.find_first_not_of("( \t", next ? at + 5 : at);
        if (open == std::string::npos || (text[open] != '<' && text[open] != '"'))
            continue;
        const bool quoted = text[open] == '"';
        const std::size_t close = text.find_first_of(quoted ? "\"\n" : ">\n", open + 1);
        if (close != std::string::npos && text[close] != '\n')
            wanted.insert({text.substr(open + 1, close - open - 1),
                           quoted ? fs::path(file).parent_path().string() : std::string(), next});
    }
}

bool exists(const std::string& path)
{
    return access(path.c_str(), F_OK) == 0;
}

// Where the compiler looks, or may look, before it finds what it reads.
std::set<std::string> absent_places(const std::set<Wanted>& wanted, const SearchPath& search)
{
    std::set<std::string> absent(search.missing.begin(), search.missing.end());
    for (const Wanted& header : wanted) {
        std::vector<std::string> folders = search.folders;
        if (!header.beside.empty())
            folders.insert(folders.begin(), header.beside);
        for (const std::string& folder : folders) {
            std::string place = folder + '/' + header.name;
            if (!exists(place))
                absent.insert(std::move(place));
            else if (!header.next)
                break;
        }
    }
    return absent;
}

}  // namespace

const std::string& FileDigests::of(const std::string& path)
{
    struct stat found = {};
    Signature signature;
    if (stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode))
        signature = {found.st_dev, found.st_ino, static_cast<std::uint64_t>(found.st_size), nanoseconds(found.st_mtim),
                     nanoseconds(found.st_ctim)};
    Known& known = m_known[path];
    if (signature == known.signature)
        return known.digest;
    known.signature = signature;
    known.digest = signature == Signature{} ? "" : hearth::Key::of("file", read_file(path)).hex();
    return known.digest;
}

hearth::Result<Inputs> Inputs::list(const Toolchain& toolchain, const std::string& source, FileDigests& digests)
{
    const fs::path path(source);
    const Scratch rule;
    std::vector<std::string> command = toolchain.command();
    command.insert(command.end(), {"-v", "-M", "-MF", rule.path(), path.filename().string()});
    const hearth::Result<Finished> listed = run(command, path.parent_path().string());
    if (!listed)
        return listed.error();
    if (listed->status != 0)
        return hearth::Error{hearth::Code::compile_failed, "The headers of " + source + " could not be listed.",
                             listed->said};

    std::string text;
    std::set<Wanted> wanted;
    for (const std::string& file : files_of_rule(read_file(rule.path()), path.parent_path())) {
        text += digests.of(file) + ' ' + file + '\n';
        add_wanted_by(file, wanted);
    }
    for (const std::string& place : absent_places(wanted, search_path_of(listed->said)))
        text += std::string(k_absent) + ' ' + place + '\n';
    return Inputs(std::move(text));
}

bool Inputs::unchanged(FileDigests& digests) const
{
    std::istringstream lines(m_text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        if (space == std::string::npos)
            return false;
        const std::string path = line.substr(space + 1);
        const std::string_view expected(line.data(), space);
        if (expected == k_absent ? exists(path) : digests.of(path) != expected)
            return false;
    }
    return true;
}

}  // namespace demo
