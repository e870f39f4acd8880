#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What watching a compiler cannot tell: which of its arguments name files that it writes, which do not change what it
// writes, and which ask for more than files.

namespace hearth::command {

// What an option means to the cache. Options that are not in a profile are part of the question as they are.
enum class Means : std::uint8_t {
    value,            // nothing, but the next word is its value and no file of its own
    output,           // its value names what is written
    input,            // its value names what is read, whatever it is called
    writes_input,     // that one is written, not read
    name,             // its value is the name of a file of somebody else's, which what is written may hold
    directory,        // its value is a directory that is searched
    ignored,          // does not change what is written
    compiles,         // asks for a file that can be kept
    compiles_apart,   // the same; it is linked with others, whose names it must not have
    compiles_device,  // the same; for GPUs alone, and linked with nothing
    tells,            // only says something: straight through
    unkept,           // writes more than its outputs, or something that no cache can know
    paths,            // what is written holds paths
    debug,            // what is written holds paths, which the compiler can be made to write otherwise
    host,             // its value is options of the host compiler, with commas between them
    target,           // its value is what a file of dependencies calls the output
    dependencies,     // a file of dependencies is written beside the output
    dependency_file,  // its value names that file
    more_arguments,   // its value is a file of further arguments
};

// How its value is given.
enum class Form : std::uint8_t {
    alone,   // there is none
    begins,  // any word that begins so
    next,    // the next word, or behind "="
    glued,   // behind the option, or the next word
};

struct OptionRow {
    std::string_view name;
    Means means;
    Form form = Form::alone;
    std::string_view makes{};  // as Profile::makes, where it asks for something else
};

// The file that linkers write where nobody names one.
inline constexpr std::string_view k_linked = "a.out";

struct Profile {
    std::string_view name;                       // in the cache and in messages
    std::span<const std::string_view> programs;  // file names of the program, without a version
    std::span<const OptionRow> options;
    std::span<const std::string_view> suffixes;  // of sources
    // What is written where no output is named: one file of this name, or, if it begins with a dot, one for each
    // source with this behind its name. Empty: it is not known.
    std::string_view makes{};
    bool compiles_always = false;                   // without an option that asks for it
    std::span<const std::string_view> variables{};  // that hold further arguments
    bool keeps_names = true;                        // what is written holds the names of sources
    bool writes_names = false;                      // what is written holds the names of outputs
    bool writes_source = false;                     // that a compiler reads next, and the files that it names
    bool lists_temporaries = false;                 // looks for its own files in the directory of temporary files
    bool takes_prefix_maps = false;                 // knows -ffile-prefix-map
    bool spells_long = false;                       // its options have long names too: --compile, --output=FILE
};

// By the program's file name, such as "x86_64-linux-gnu-g++-12". Null: none is known.
const Profile* profile_of(std::string_view program);

// The row with the longest name that says what a word means. Null: there is none.
const OptionRow* row_of(std::span<const OptionRow> rows, std::string_view word);

// Whether an option of a host compiler puts paths into what is written. `but_debug`: by other means than debug
// information.
bool keeps_paths(std::string_view word, bool but_debug);

// What nvcc hands on to them is read by these.
std::span<const OptionRow> options_of_host_compilers();

// A word of a command line that names one of its files.
struct Named {
    enum class What : std::uint8_t { source, output, directory };
    What what;
    std::size_t index;     // among the sources, outputs or directories of the call
    std::size_t argument;  // the word
    std::size_t at;        // where in it the name begins
};

// A command line as far as the cache has to understand it.
struct Call {
    std::vector<std::string> words;             // of the question: without what is named elsewhere here
    std::vector<std::string> sources;           // as they were given
    std::vector<std::string> outputs;           // as they were given, or as they are called if they were not
    std::vector<std::string> directories;       // as they were given
    std::vector<std::string> temporaries;       // names that are new each time, and that what is written may hold
    std::vector<Named> named;                   // but for those in files of arguments and in variables
    bool paths_matter = false;                  // what is written holds paths
    bool has_debug = false;                     // debug information, which holds paths unless they are fixed
    std::string_view makes{};                   // as Profile::makes
    bool is_linked = false;                     // by a linker, for the system to run or load
    bool is_for_device = false;                 // what is written is for GPUs alone, and linked with nothing
    std::optional<std::size_t> dependencies{};  // which of the outputs is a file of dependencies
    bool names_sources = true;                  // in its words
    bool names_output = false;                  // by an option, not by default
    std::vector<std::string> targets;           // what the dependency file calls the outputs, if it was told
    bool compiles = false;                      // a file is made from sources
    bool only_tells = false;
    std::string why_past_the_cache;
};

// Reads files that hold further arguments, and nothing else.
Call read_call(const Profile& profile, const std::vector<std::string>& arguments);

}  // namespace hearth::command
