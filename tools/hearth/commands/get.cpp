#include "cache/open_cache.hpp"
#include "cache/selection.hpp"
#include "process/file_io.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <unistd.h>

namespace hearth::cli {

namespace {

struct GetArguments {
    Selection selection;
    std::string output;
    std::optional<std::string> section;
    bool json = false;
};

// Whether the text has bytes that a terminal would obey instead of showing.
bool is_binary(std::string_view text)
{
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7F;
    });
}

std::string section_names(const Artifact& artifact)
{
    std::vector<std::string> names;
    for (const Section& section : artifact.sections)
        names.push_back(in_quotes(section.name));
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

// What 'hearth compile -o' would have written: the output that the file's name ends in, or else the code.
const Section* usual_section(const Artifact& artifact, const std::string& output)
{
    for (const Section& section : artifact.sections)
        if (!section.name.empty() && output.ends_with("." + section.name))
            return &section;
    for (const char* code : {"cubin", "binary", "ptx"})
        for (const Section& section : artifact.sections)
            if (section.name == code)
                return &section;
    return artifact.sections.empty() ? nullptr : &artifact.sections.front();
}

void write_result(const GetArguments& arguments, ByteView bytes)
{
    if (!arguments.output.empty() && arguments.output != "-") {
        write_whole(arguments.output, bytes);
        return;
    }
    if (arguments.output.empty() && is_terminal(STDOUT_FILENO) && is_binary(as_text(bytes)))
        fail_usage(fmt::format("These {} bytes are binary and standard output is a terminal. "
                               "Name a file with -o FILE, or send them to the terminal all the same with -o -.",
                               bytes.size()));
    write_out(as_text(bytes));
}

int run_get(const Globals& globals, const GetArguments& arguments)
{
    if (arguments.json && (arguments.output.empty() || arguments.output == "-"))
        fail_usage("--json needs -o FILE: standard output cannot hold both the bytes and the facts about them.");

    Cache cache = open_cache(globals, Use::read, Remotes::yes);
    const std::optional<Key> key = find_one(cache, arguments.selection);
    const Lookup found = key ? cache.find(*key) : Lookup(Miss::absent);
    if (!found) {
        if (arguments.json)
            print_json({{"key", key ? Json(key->hex()) : nullptr}, {"hit", false}, {"reason", to_string(found.why())}});
        complain(key ? fmt::format("Miss ({}): there is no usable entry for {}.", to_string(found.why()),
                                   in_quotes(*arguments.selection.pattern))
                     : nothing_matches(arguments.selection) + ".");
        return k_nothing;
    }
    if (arguments.section && found->find(*arguments.section) == nullptr) {
        complain(fmt::format("The entry has no section {}. It has: {}.", in_quotes(*arguments.section),
                             section_names(*found)));
        return k_nothing;
    }
    if (found->failed())
        warn(fmt::format("This entry is a compile that failed with status {}; what follows is what the compiler wrote.",
                         found->status));

    const Section* usual = usual_section(*found, arguments.output);
    const ByteView bytes = arguments.section  ? found->bytes(*arguments.section)
                           : usual != nullptr ? usual->data.view()
                                              : ByteView{};
    write_result(arguments, bytes);
    if (arguments.json)
        print_json({{"key", key->hex()},
                    {"hit", true},
                    {"tier", found.tier()},
                    {"bytes", bytes.size()},
                    {"file", arguments.output}});
    return k_done;
}

}  // namespace

void add_get(Command& command)
{
    command.describe("Writes an entry's bytes to a file or to standard output.",
                     "  hearth get saxpy -o saxpy.cubin\n"
                     "  hearth get 1f3a9c04 --section ptx | less\n"
                     "  hearth get saxpy.cu --target sm_90 -o saxpy.cubin\n"
                     "  hearth get a.c > a.ll || clang -S -emit-llvm -o a.ll a.c");
    auto& arguments = command.runs(run_get);
    add_selection(command, arguments.selection, "KEY").required();
    command.text("-o,--output", arguments.output,
                 "The file to write; - is standard output. A file appears whole or not at all", "FILE");
    command.text(
        "--section", arguments.section,
        "Which of the entry's outputs (otherwise the one that FILE's name ends in, or the code: cubin before ptx; "
        "'hearth show' lists them)",
        "NAME");
    command.json(arguments.json, "Print JSON about the hit or miss; needs -o FILE");
}

}  // namespace hearth::cli
