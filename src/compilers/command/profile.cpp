#include "compilers/command/profile.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <utility>

namespace hearth::command {

namespace {

using enum Means;
using enum Form;

constexpr std::array<std::string_view, 9> k_sources_of_cxx{".c",   ".cc", ".cpp", ".cxx", ".C",
                                                           ".c++", ".ii", ".i",   ".s"};
constexpr std::array<std::string_view, 12> k_sources_of_nvcc{".cu", ".c",   ".cc",    ".cpp",    ".cxx", ".ptx",
                                                             ".ii", ".cup", ".cubin", ".fatbin", ".o",   ".gpu"};
constexpr std::array<std::string_view, 1> k_sources_of_ptxas{".ptx"};

// Options that gcc and clang share.
constexpr std::array k_cxx{
    OptionRow{"-c", compiles},
    OptionRow{"-S", compiles},
    OptionRow{"-o", output, glued},
    OptionRow{"-I", directory, glued},
    OptionRow{"-isystem", directory, glued},
    OptionRow{"-iquote", directory, glued},
    OptionRow{"-idirafter", directory, glued},
    OptionRow{"-D", value, glued},
    OptionRow{"-U", value, glued},
    OptionRow{"-x", value, glued},
    OptionRow{"-include", value, next},
    OptionRow{"-imacros", value, next},
    OptionRow{"-L", value, glued},
    OptionRow{"-l", value, glued},
    OptionRow{"-B", value, glued},
    OptionRow{"-Xpreprocessor", unkept, next},
    OptionRow{"-Xassembler", unkept, next},
    OptionRow{"-Xlinker", value, next},
    OptionRow{"-Xclang", unkept, next},
    OptionRow{"-mllvm", unkept, next},
    OptionRow{"-target", value, next},
    OptionRow{"-arch", value, next},
    OptionRow{"--param", value, next},
    OptionRow{"-aux-info", unkept, next},
    OptionRow{"-MD", dependencies},
    OptionRow{"-MMD", dependencies},
    OptionRow{"-MF", dependency_file, glued},
    OptionRow{"-MT", target, glued},
    OptionRow{"-MQ", target, glued},
    OptionRow{"-MP", value},
    OptionRow{"-M", tells},
    OptionRow{"-MM", tells},
    OptionRow{"-MG", unkept},
    OptionRow{"-MJ", unkept, glued},
    OptionRow{"-Wp,", unkept, begins},
    OptionRow{"-Wa,-", unkept, begins},
    OptionRow{"-E", tells},
    OptionRow{"-v", tells},
    OptionRow{"-###", tells},
    OptionRow{"-fsyntax-only", tells},
    OptionRow{"--version", tells},
    OptionRow{"--help", tells, begins},
    OptionRow{"-dump", tells, begins},
    OptionRow{"-print-", tells, begins},
    OptionRow{"--print-", tells, begins},
    OptionRow{"-Q", tells},
    OptionRow{"-ftime-", unkept, begins},
    OptionRow{"-time", unkept, begins},
    OptionRow{"-save-temps", unkept, begins},
    OptionRow{"--save-temps", unkept, begins},
    OptionRow{"-fdump-", unkept, begins},
    OptionRow{"-da", unkept, begins},
    OptionRow{"-fprofile-", unkept, begins},
    OptionRow{"-fauto-profile", unkept, begins},
    OptionRow{"--coverage", unkept},
    OptionRow{"-coverage", unkept},
    OptionRow{"-ftest-coverage", unkept},
    OptionRow{"-fstack-usage", unkept},
    OptionRow{"-fcallgraph-info", unkept, begins},
    OptionRow{"-fopt-info", unkept, begins},
    OptionRow{"-gsplit-dwarf", unkept, begins},
    OptionRow{"-specs", unkept, begins},
    OptionRow{"--specs", unkept, begins},
    OptionRow{"-wrapper", unkept, next},
    OptionRow{"-fplugin", unkept, begins},
    OptionRow{"-g0", value},
    OptionRow{"-g", paths, begins},
    OptionRow{"-pg", paths},
    OptionRow{"-frecord-gcc-switches", paths},
    OptionRow{"-grecord-gcc-switches", paths},
    // Nothing of these is known to put a path into the output. An option that is in no row may.
    OptionRow{"-O", value, begins},
    OptionRow{"-W", value, begins},
    OptionRow{"-std=", value, begins},
    OptionRow{"-m", value, begins},
    OptionRow{"-fno-", value, begins},
    OptionRow{"-fPIC", value},
    OptionRow{"-fpic", value},
    OptionRow{"-fPIE", value},
    OptionRow{"-fpie", value},
    OptionRow{"-fabi-", value, begins},
    OptionRow{"-fcf-protection", value, begins},
    OptionRow{"-fcommon", value},
    OptionRow{"-fconcepts", value, begins},
    OptionRow{"-fconstexpr-", value, begins},
    OptionRow{"-fcoroutines", value},
    OptionRow{"-fdata-sections", value},
    OptionRow{"-fdiagnostics-color", value, begins},
    OptionRow{"-fexceptions", value},
    OptionRow{"-ffast-math", value},
    OptionRow{"-ffunction-sections", value},
    OptionRow{"-finline-", value, begins},
    OptionRow{"-fmax-errors", value, begins},
    OptionRow{"-fomit-frame-pointer", value},
    OptionRow{"-fopenmp", value},
    OptionRow{"-fpermissive", value},
    OptionRow{"-frtti", value},
    OptionRow{"-fsigned-char", value},
    OptionRow{"-fstack-protector", value, begins},
    OptionRow{"-fstrict-", value, begins},
    OptionRow{"-ftemplate-", value, begins},
    OptionRow{"-funroll-", value, begins},
    OptionRow{"-funsigned-char", value},
    OptionRow{"-fvisibility", value, begins},
    OptionRow{"-fwrapv", value},
    OptionRow{"-ansi", value},
    OptionRow{"-nostdinc", value, begins},
    OptionRow{"-pedantic", value, begins},
    OptionRow{"-pipe", value},
    OptionRow{"-pthread", value},
    OptionRow{"-w", value},
};

constexpr std::array k_nvcc{
    OptionRow{"-c", compiles},
    OptionRow{"--compile", compiles},
    OptionRow{"-dc", compiles},
    OptionRow{"--device-c", compiles},
    OptionRow{"-dw", compiles},
    OptionRow{"--device-w", compiles},
    OptionRow{"-cubin", compiles},
    OptionRow{"--cubin", compiles},
    OptionRow{"-ptx", compiles},
    OptionRow{"--ptx", compiles},
    OptionRow{"-fatbin", compiles},
    OptionRow{"--fatbin", compiles},
    OptionRow{"-optix-ir", compiles},
    OptionRow{"--optix-ir", compiles},
    OptionRow{"-ltoir", compiles},
    OptionRow{"--ltoir", compiles},
    OptionRow{"-dlink", compiles},
    OptionRow{"--device-link", compiles},
    OptionRow{"-cuda", compiles},
    OptionRow{"--cuda", compiles},
    OptionRow{"-o", output, glued},
    OptionRow{"--output-file", output, next},
    OptionRow{"-odir", unkept, next},
    OptionRow{"--output-directory", unkept, next},
    OptionRow{"-I", directory, glued},
    OptionRow{"--include-path", directory, next},
    OptionRow{"-isystem", directory, next},
    OptionRow{"--system-include", directory, next},
    OptionRow{"-D", value, glued},
    OptionRow{"--define-macro", value, next},
    OptionRow{"-U", value, glued},
    OptionRow{"--undefine-macro", value, next},
    OptionRow{"-include", value, next},
    OptionRow{"--pre-include", value, next},
    OptionRow{"-x", value, glued},
    OptionRow{"--x", value, next},
    OptionRow{"-L", value, glued},
    OptionRow{"--library-path", value, next},
    OptionRow{"-l", value, glued},
    OptionRow{"--library", value, next},
    OptionRow{"-std", value, next},
    OptionRow{"--std", value, next},
    OptionRow{"-m", value, glued},
    OptionRow{"--machine", value, next},
    OptionRow{"-O", value, glued},
    OptionRow{"--optimize", value, next},
    OptionRow{"-arch", value, next},
    OptionRow{"--gpu-architecture", value, next},
    OptionRow{"-code", value, next},
    OptionRow{"--gpu-code", value, next},
    OptionRow{"-gencode", value, next},
    OptionRow{"--generate-code", value, next},
    OptionRow{"-ccbin", value, next},
    OptionRow{"--compiler-bindir", value, next},
    OptionRow{"-Xcompiler", host, next},
    OptionRow{"--compiler-options", host, next},
    OptionRow{"-Xptxas", value, next},
    OptionRow{"--ptxas-options", value, next},
    OptionRow{"-Xcudafe", value, next},
    OptionRow{"-W", value, begins},
    OptionRow{"-w", value},
    OptionRow{"--disable-warnings", value},
    OptionRow{"-use_fast_math", value},
    OptionRow{"--use_fast_math", value},
    OptionRow{"-ftz", value, next},
    OptionRow{"--ftz", value, next},
    OptionRow{"-fmad", value, next},
    OptionRow{"--fmad", value, next},
    OptionRow{"-prec-div", value, next},
    OptionRow{"--prec-div", value, next},
    OptionRow{"-prec-sqrt", value, next},
    OptionRow{"--prec-sqrt", value, next},
    OptionRow{"-extended-lambda", value},
    OptionRow{"--extended-lambda", value},
    OptionRow{"-expt-", value, begins},
    OptionRow{"--expt-", value, begins},
    OptionRow{"-forward-unknown-", value, begins},
    OptionRow{"--forward-unknown-", value, begins},
    OptionRow{"-allow-unsupported-compiler", value},
    OptionRow{"--allow-unsupported-compiler", value},
    OptionRow{"-extra-device-vectorization", value},
    OptionRow{"--extra-device-vectorization", value},
    OptionRow{"-static-global-template-stub", value, next},
    OptionRow{"--static-global-template-stub", value, next},
    OptionRow{"-Xlinker", value, next},
    OptionRow{"--linker-options", value, next},
    OptionRow{"-Xnvlink", value, next},
    OptionRow{"--nvlink-options", value, next},
    OptionRow{"-Xarchive", value, next},
    OptionRow{"-maxrregcount", value, next},
    OptionRow{"--maxrregcount", value, next},
    OptionRow{"-cudart", value, next},
    OptionRow{"--cudart", value, next},
    OptionRow{"-cudadevrt", value, next},
    OptionRow{"--cudadevrt", value, next},
    OptionRow{"-default-stream", value, next},
    OptionRow{"--default-stream", value, next},
    OptionRow{"-diag-suppress", value, next},
    OptionRow{"--diag-suppress", value, next},
    OptionRow{"-diag-error", value, next},
    OptionRow{"--diag-error", value, next},
    OptionRow{"-diag-warn", value, next},
    OptionRow{"--diag-warn", value, next},
    OptionRow{"-Werror", value, next},
    OptionRow{"--Werror", value, next},
    OptionRow{"-target-dir", value, next},
    OptionRow{"--target-directory", value, next},
    OptionRow{"-tdir", value, next},
    OptionRow{"-split-compile", value, next},
    OptionRow{"--split-compile", value, next},
    OptionRow{"-e", value, next},
    OptionRow{"--entries", value, next},
    OptionRow{"-ftemplate-depth", value, next},
    OptionRow{"-ftemplate-backtrace-limit", value, next},
    OptionRow{"-rdc", paths, next},
    OptionRow{"--relocatable-device-code", paths, next},
    OptionRow{"-t", ignored, glued},
    OptionRow{"--threads", ignored, next},
    OptionRow{"-MD", dependencies},
    OptionRow{"--generate-dependencies-with-compile", dependencies},
    OptionRow{"-MMD", dependencies},
    OptionRow{"--generate-nonsystem-dependencies-with-compile", dependencies},
    OptionRow{"-MF", dependency_file, next},
    OptionRow{"--dependency-output", dependency_file, next},
    OptionRow{"-MT", target, next},
    OptionRow{"--dependency-target-name", target, next},
    OptionRow{"-M", tells},
    OptionRow{"-MM", tells},
    OptionRow{"--generate-dependencies", tells},
    OptionRow{"--generate-nonsystem-dependencies", tells},
    OptionRow{"-E", tells},
    OptionRow{"--preprocess", tells},
    OptionRow{"-v", tells},
    OptionRow{"--verbose", tells},
    OptionRow{"-dryrun", tells},
    OptionRow{"--dryrun", tells},
    OptionRow{"-V", tells},
    OptionRow{"--version", tells},
    OptionRow{"-h", tells},
    OptionRow{"--help", tells},
    OptionRow{"-list-gpu", tells, begins},
    OptionRow{"--list-gpu", tells, begins},
    OptionRow{"-arch-ls", tells},
    OptionRow{"-code-ls", tells},
    OptionRow{"-run", tells},
    OptionRow{"--run", tells},
    OptionRow{"-clean", tells},
    OptionRow{"--clean-targets", tells},
    OptionRow{"-keep", unkept, begins},
    OptionRow{"--keep", unkept, begins},
    OptionRow{"-save-temps", unkept},
    OptionRow{"--save-temps", unkept},
    OptionRow{"-time", unkept, next},
    OptionRow{"--time", unkept, next},
    OptionRow{"-fdevice-time-trace", unkept, next},
    OptionRow{"--fdevice-time-trace", unkept, next},
    OptionRow{"-pch", unkept},
    OptionRow{"--pch", unkept},
    OptionRow{"--create-pch", unkept, next},
    OptionRow{"--pch-dir", unkept, next},
    OptionRow{"-optf", more_arguments, next},
    OptionRow{"--options-file", more_arguments, next},
    OptionRow{"-lineinfo", paths},
    OptionRow{"--generate-line-info", paths},
    OptionRow{"-G", paths},
    OptionRow{"--device-debug", paths},
    OptionRow{"-g", paths},
    OptionRow{"--debug", paths},
    OptionRow{"-pg", paths},
    OptionRow{"--profile", paths},
};

constexpr std::array k_ptxas{
    OptionRow{"-o", output, glued},
    OptionRow{"--output-file", output, next},
    OptionRow{"-arch", value, next},
    OptionRow{"--gpu-name", value, next},
    OptionRow{"-maxrregcount", value, next},
    OptionRow{"--maxrregcount", value, next},
    OptionRow{"-O", value, glued},
    OptionRow{"--opt-level", value, next},
    OptionRow{"-e", value, next},
    OptionRow{"--entry", value, next},
    OptionRow{"-m", value, glued},
    OptionRow{"--machine", value, next},
    OptionRow{"-optf", more_arguments, next},
    OptionRow{"--options-file", more_arguments, next},
    OptionRow{"--input-as-string", value, next},
    OptionRow{"-ias", value, next},
    OptionRow{"-g", paths},
    OptionRow{"--device-debug", paths},
    OptionRow{"-lineinfo", paths},
    OptionRow{"--generate-line-info", paths},
    OptionRow{"-V", tells},
    OptionRow{"--version", tells},
    OptionRow{"-h", tells},
    OptionRow{"--help", tells},
    OptionRow{"-time", unkept, begins},
};

constexpr std::array<std::string_view, 1> k_program_nvcc{"nvcc"};
constexpr std::array<std::string_view, 1> k_program_hipcc{"hipcc"};
constexpr std::array<std::string_view, 2> k_program_ptxas{"ptxas", "ptxas-blackwell"};
constexpr std::array<std::string_view, 6> k_program_cxx{"gcc", "g++", "cc", "c++", "clang", "clang++"};

constexpr std::array<std::string_view, 2> k_variables_of_nvcc{"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"};

constexpr std::array k_profiles{
    Profile{"nvcc", k_program_nvcc, k_nvcc, k_sources_of_nvcc, false, k_variables_of_nvcc, true},
    Profile{"ptxas", k_program_ptxas, k_ptxas, k_sources_of_ptxas, true},
    Profile{"c++", k_program_cxx, k_cxx, k_sources_of_cxx},
    Profile{"hipcc", k_program_hipcc, k_cxx, k_sources_of_nvcc},
};

struct Reader {
    const Profile& profile;
    const std::vector<std::string>* arguments;
    Call call{};
    bool tells_dependencies = false;
    int depth = 0;  // of files of arguments

    static const OptionRow* row_of(std::span<const OptionRow> rows, std::string_view word)
    {
        const OptionRow* best = nullptr;
        for (const OptionRow& row : rows) {
            const bool matches = word == row.name ||
                                 ((row.form == begins || row.form == glued) && word.starts_with(row.name)) ||
                                 (row.form == next && word.starts_with(row.name) && word.size() > row.name.size() &&
                                  word[row.name.size()] == '=');
            if (matches && (best == nullptr || row.name.size() > best->name.size()))
                best = &row;
        }
        return best;
    }

    void past(std::string why)
    {
        if (call.why_past_the_cache.empty())
            call.why_past_the_cache = std::move(why);
    }

    // Its arguments count as if they stood here; the file itself is seen to be read. Nothing in it is quoted but words
    // with blanks: what else a compiler might understand goes past the cache.
    void take_file(const std::string& path)
    {
        std::error_code error;
        if (!std::filesystem::is_regular_file(path, error))
            return past(fmt::format("its arguments are in {}, which is no file", path));
        std::ifstream file(path);
        std::string text{std::istreambuf_iterator<char>(file), {}};
        if (!file)
            return past(fmt::format("its arguments are in {}, which cannot be read", path));
        take_text(text, path);
    }

    void take_text(const std::string& text, const std::string& where)
    {
        static constexpr int k_deepest = 8;
        if (depth >= k_deepest || text.find_first_of("\\'") != std::string::npos)
            return past(fmt::format("its arguments are in {}, which cannot be understood", where));
        std::vector<std::string> words;
        for (std::size_t at = text.find_first_not_of(" \t\r\n"); at < text.size();
             at = text.find_first_not_of(" \t\r\n", at)) {
            const bool quoted = text[at] == '"';
            const std::size_t end = std::min(text.find_first_of(quoted ? "\"" : " \t\r\n", at + 1), text.size());
            words.push_back(text.substr(at + (quoted ? 1 : 0), end - at - (quoted ? 1 : 0)));
            if (words.back().find('"') != std::string::npos)
                return past(fmt::format("its arguments are in {}, which cannot be understood", where));
            at = std::min(end + (quoted ? 1 : 0), text.size());
        }
        const std::vector<std::string>* const outer = std::exchange(arguments, &words);
        ++depth;
        for (std::size_t i = 0; i < words.size(); ++i)
            take(i);
        --depth;
        arguments = outer;
    }

    // A device, a pipe or a directory.
    static bool is_no_file(const std::string& path)
    {
        std::error_code error;
        return std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
    }

    // One that nvcc hands on, or that nobody knows: what is written may hold a path.
    void take_unknown(const std::string& word)
    {
        const OptionRow* const row = row_of(k_cxx, word);
        if (word.ends_with("=native"))
            past(fmt::format("{} means another processor on every machine", word));
        else if (row == nullptr || row->means == paths)
            call.paths_matter = true;
        else if (row->means != value)
            past(fmt::format("{} asks the host compiler for more than its output", word));
    }

    void take_value(const OptionRow& row, const std::string& value, bool behind_equals)
    {
        const std::string name = std::string(row.name) + (behind_equals ? "=" : "");
        switch (row.means) {
        case output:
        case dependency_file:
            call.names_output |= row.means == output;
            if (value == "-" || is_no_file(value) || std::ranges::find(call.outputs, value) != call.outputs.end())
                past(fmt::format("its output {} is no file of its own", value));
            if (row.means == dependency_file)
                call.dependencies = call.outputs.size();
            call.words.push_back(fmt::format("{} output {}", name, call.outputs.size()));
            call.outputs.push_back(value);
            break;
        case directory:
            call.words.push_back(fmt::format("{} directory {}", name, call.directories.size()));
            call.directories.push_back(value);
            break;
        case ignored:
            break;
        case more_arguments:
            take_file(value);
            break;
        case host:
            for (std::string_view rest = value; !rest.empty();)
                take_unknown(std::string(base::take_until(',', rest)));
            call.words.push_back(name);
            call.words.push_back(value);
            break;
        case target:
            call.names_targets = true;
            [[fallthrough]];
        default:
            if (value == "native")
                past(fmt::format("{} {} means another processor on every machine", row.name, value));
            call.paths_matter |= row.means == paths && value != "false";
            call.words.push_back(name);
            call.words.push_back(value);
        }
    }

    void take(std::size_t& i)
    {
        const std::string word = (*arguments)[i];
        if (word.starts_with('@') && word.size() > 1)
            return take_file(word.substr(1));
        if (word == "-")
            return past("it reads its source from the standard input");
        const OptionRow* const row = word.starts_with('-') ? row_of(profile.options, word) : nullptr;
        if (row == nullptr) {
            const std::string suffix = std::filesystem::path(word).extension().string();
            if (!word.starts_with('-') && std::ranges::find(profile.suffixes, suffix) != profile.suffixes.end()) {
                call.words.push_back(
                    fmt::format("source {} {}", call.sources.size(), std::filesystem::path(word).filename().string()));
                call.sources.push_back(word);
            } else {
                if (word.starts_with('-'))
                    take_unknown(word);
                call.words.push_back(word);
            }
            return;
        }
        call.compiles |= row->means == compiles;
        call.only_tells |= row->means == tells;
        tells_dependencies |= row->means == dependencies;
        call.paths_matter |= row->means == paths && row->form != next;
        if (word.ends_with("=native"))
            past(fmt::format("{} means another processor on every machine", word));
        if (row->means == unkept)
            past(fmt::format("{} asks for more than its output", word));
        const bool has_value = row->form == next || row->form == glued;
        if (has_value && word.size() > row->name.size())
            take_value(*row, word.substr(row->name.size() + (row->form == next ? 1 : 0)), row->form == next);
        else if (has_value && i + 1 < arguments->size())
            take_value(*row, (*arguments)[++i], false);
        else
            call.words.push_back(word);
    }
};

}  // namespace

std::string_view plain_name(std::string_view program)
{
    program.remove_prefix(program.find_last_of('/') + 1);
    const std::size_t dash = program.find_last_of('-');
    if (dash != std::string_view::npos && dash + 1 < program.size() &&
        program.find_first_not_of("0123456789.", dash + 1) == std::string_view::npos)
        program = program.substr(0, dash);
    if (program == "as" || program.ends_with("-as"))
        return "as";
    if (program.ends_with("-ld.bfd"))
        return "ld.bfd";
    for (const std::string_view name : k_program_cxx)
        if (program.ends_with(name) && program.size() > name.size() && program[program.size() - name.size() - 1] == '-')
            return name;
    return program;
}

const Profile* profile_of(std::string_view program)
{
    const std::string_view name = plain_name(program);
    for (const Profile& profile : k_profiles)
        if (std::ranges::find(profile.programs, name) != profile.programs.end())
            return &profile;
    return nullptr;
}

Call read_call(const Profile& profile, const std::vector<std::string>& arguments)
{
    Reader reader{profile, &arguments};
    for (std::size_t i = 0; i < arguments.size(); ++i)
        reader.take(i);
    Call& call = reader.call;
    for (const std::string_view name : profile.variables)
        if (const char* const more = std::getenv(std::string(name).c_str()); more != nullptr && *more != '\0')
            reader.take_text(more, std::string(name));
    call.only_tells |= arguments.empty();
    call.compiles |= profile.compiles_always;
    if (!call.compiles)
        reader.past("it does more than compile (no -c or the like is given)");
    if (call.sources.empty() && !profile.suffixes.empty())
        reader.past("it names no source");
    // Without a name of its own it is called as the output is.
    if (reader.tells_dependencies && !call.dependencies) {
        const bool named = !call.outputs.empty();
        std::filesystem::path name(named ? call.outputs.front() : call.sources.empty() ? "" : call.sources.front());
        name.replace_extension(".d");
        call.dependencies = call.outputs.size();
        call.outputs.push_back(named ? name.string() : name.filename().string());
    }
    return std::move(call);
}

}  // namespace hearth::command
