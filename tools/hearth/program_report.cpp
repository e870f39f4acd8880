#include "program_report.hpp"

#include "dropin.hpp"
#include "exit.hpp"
#include "hearth/api.hpp"
#include "output.hpp"
#include "program_parts.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include <unistd.h>

namespace hearth::cli {

namespace {

using Kind = ProgramFacts::Kind;

// How a file comes to a compiler.
enum class Way : std::uint8_t { linked, opened, inside };

struct Trace {
    Compiler compiler = Compiler::nvrtc;
    Way way = Way::linked;
    std::string file;
    std::vector<std::string> names;  // of the library; none where the compiler is inside
    bool served = false;
};

enum class Verdict : std::uint8_t {
    served,   // linked with a library that Hearth stands in for
    likely,   // names one, and most likely opens it
    unknown,  // nothing was found, and nothing speaks against it
    partly,   // some of what it compiles
    no,
};

struct Report {
    ProgramParts parts;
    Verdict verdict = Verdict::unknown;
    std::vector<Trace> traces;
    std::vector<std::string> problems;  // what keeps it, or a part of it, from being served
    std::vector<std::string> advice;
    std::string dropin;
};

std::string_view to_string(Way way)
{
    return way == Way::linked ? "linked" : way == Way::opened ? "opened" : "inside";
}

std::string_view to_string(Verdict verdict)
{
    constexpr std::array<std::string_view, 5> k_words{"served", "likely", "unknown", "partly", "no"};
    return k_words.at(static_cast<std::size_t>(verdict));
}

// A name without a version may be either.
bool is_answered(const std::string& name)
{
    const auto known = compiler_of(name);
    return known && (known->major == 0 || known->major == 12 || known->major == 13);
}

void add_traces(const std::string& file, const ProgramFacts& facts, std::vector<Trace>& traces)
{
    for (const Compiler compiler : k_compilers) {
        const CompilerTraces& found = facts.of(compiler);
        const auto add = [&](Way way, const std::vector<std::string>& names) {
            const bool served = std::any_of(names.begin(), names.end(), is_answered);
            traces.push_back({compiler, way, file, names, served});
        };
        if (!found.linked.empty())
            add(Way::linked, found.linked);
        if (found.inside())
            add(Way::inside, {});
        // A compiler's own text names its library.
        else if (!found.named.empty())
            add(Way::opened, found.named);
    }
}

// Where it is a compiler's own library that was asked for, whose.
std::optional<Compiler> own_library(const ProgramParts& parts)
{
    const auto known = compiler_of(std::filesystem::path(parts.path).filename().string());
    return known && parts.facts.kind == Kind::library ? std::optional(known->compiler) : std::nullopt;
}

// Why a file is no program that could be served, whatever it compiles; empty where it may be one.
std::string obstacle(const ProgramParts& parts)
{
    const ProgramFacts& facts = parts.facts;
    const std::string file = in_quotes(parts.path);
    if (const auto own = own_library(parts))
        return fmt::format("{} is the library of {} itself, in whose place Hearth puts its own. Ask for a program that "
                           "uses it.",
                           file, to_string(*own));
    switch (facts.kind) {
    case Kind::unknown:
        return fmt::format(
            "{} is neither an ELF file nor a script that begins with #!. Ask for the program that reads it.", file);
    case Kind::script:
        return fmt::format("{} is a script read by a script, {} deep. Ask for the program that reads the last one.",
                           file, parts.scripts.size());
    case Kind::damaged:
        return fmt::format("{} begins as an ELF file but is cut short or damaged. Build or copy it again.", file);
    case Kind::foreign:
        if (facts.bits != 64)
            return fmt::format("{} is for {} bits ({}); Hearth serves 64-bit programs. Build it for 64 bits.", file,
                               facts.bits, facts.machine);
        return fmt::format("{} is for {}, this Hearth for {}. Use a Hearth that was built for {}.", file, facts.machine,
                           this_machine(), facts.machine);
    case Kind::object:
        return fmt::format(
            "{} is an ELF file but neither a program nor a shared library. Ask for what is linked of it.", file);
    case Kind::static_program:
        return fmt::format("{} is linked statically as a whole: it starts without the dynamic loader, which is what "
                           "Hearth is asked by. Link it without -static.",
                           file);
    default:
        return {};
    }
}

void find_obstacles(const ProgramParts& parts, std::vector<std::string>& problems)
{
    const ProgramFacts& facts = parts.facts;
    const std::string file = in_quotes(parts.path);
    if (std::string sentence = obstacle(parts); !sentence.empty())
        problems.push_back(std::move(sentence));
    if (facts.loader.find("ld-musl") != std::string::npos)
        problems.push_back(fmt::format("{} is started by musl's loader ({}), which does not know LD_AUDIT. Use a build "
                                       "for glibc.",
                                       file, printable(facts.loader)));
    if (facts.set_user_id || facts.set_group_id)
        problems.push_back(fmt::format("{} is {}: for another user than its owner, the loader ignores LD_AUDIT. Take "
                                       "the bit off (chmod {} FILE), or run a copy without it.",
                                       file, facts.set_user_id ? "set-user-id" : "set-group-id",
                                       facts.set_user_id ? "u-s" : "g-s"));
    if (facts.capabilities)
        problems.push_back(
            fmt::format("{} has file capabilities: for anybody but root, the loader ignores LD_AUDIT. Take them off "
                        "(setcap -r FILE) and give them to its service instead.",
                        file));
}

std::string why_not(const Trace& trace)
{
    const std::string file = in_quotes(trace.file);
    const bool nvrtc = trace.compiler == Compiler::nvrtc;
    if (trace.way == Way::inside)
        return fmt::format("{} is inside {} ({}): its calls never reach the loader. Link it with the shared library "
                           "(-l{}), or call Hearth's own {}.",
                           to_string(trace.compiler), file, nvrtc ? "libnvrtc_static" : "libnvJitLink_static",
                           nvrtc ? "nvrtc" : "nvJitLink", nvrtc ? "hearth::nvrtc::compile" : "hearth::ptx::compile");
    return fmt::format("{} {} {}; Hearth answers for versions 12 and 13. Use a build for one of these.", file,
                       trace.way == Way::linked ? "links" : "names", fmt::join(trace.names, ", "));
}

void advise(Report& report)
{
    const ProgramParts& parts = report.parts;
    for (const ProgramLibrary& library : parts.libraries)
        if (library.path.empty())
            report.advice.push_back(fmt::format("{} needs {}, which was not found. Say where it is with "
                                                "LD_LIBRARY_PATH, here as when it runs.",
                                                in_quotes(library.needed_by), printable(library.name)));
    if (!parts.facts.whole)
        report.advice.push_back(
            fmt::format("Only the first 8 GiB of {} were searched for text.", in_quotes(parts.path)));
    if (!parts.all_libraries)
        report.advice.push_back(
            fmt::format("It links more than {} libraries; the others were not looked at.", parts.libraries.size()));
    if (parts.facts.kind == Kind::library)
        report.advice.push_back(fmt::format("{} is a shared library: what is said here holds in every program that "
                                            "loads it and can itself be served.",
                                            in_quotes(parts.path)));
    if (!parts.scripts.empty())
        report.advice.push_back(fmt::format("{} reads the script and is what was looked at. Programs that the script "
                                            "starts are served as well, each if it can be: ask for them too.",
                                            in_quotes(parts.path)));
    if (report.verdict == Verdict::unknown)
        report.advice.emplace_back("Nothing of NVRTC or nvJitLink was found. It is served where a library that it "
                                   "loads later uses them, as in Python programs; 'hearth run --summary' tells.");
}

Report examine(const std::string& program)
{
    Report report;
    report.parts = take_apart(program);
    const ProgramParts& parts = report.parts;
    find_obstacles(parts, report.problems);
    // What `hearth run` does first, and what it would say. It changes this process's environment, which starts nothing.
    report.dropin = dropin_folder();
    if (std::string sentence = serve_children(); !sentence.empty())
        report.problems.push_back(std::move(sentence));
    const bool hopeless = !report.problems.empty();

    if (!own_library(parts))
        add_traces(parts.path, parts.facts, report.traces);
    for (const ProgramLibrary& library : parts.libraries)
        add_traces(library.path, library.facts, report.traces);
    std::size_t served = 0;
    bool linked = false;
    for (const Trace& trace : report.traces) {
        served += trace.served ? 1 : 0;
        linked |= trace.served && trace.way == Way::linked;
        if (!trace.served)
            report.problems.push_back(why_not(trace));
    }
    if (hopeless || (served == 0 && !report.traces.empty()))
        report.verdict = Verdict::no;
    else if (served < report.traces.size())
        report.verdict = Verdict::partly;
    else
        report.verdict = linked ? Verdict::served : served > 0 ? Verdict::likely : Verdict::unknown;
    advise(report);
    return report;
}

void print_as_json(const Report& report)
{
    using Json = nlohmann::ordered_json;
    const ProgramParts& parts = report.parts;
    const ProgramFacts& facts = parts.facts;
    Json object{{"version", HEARTH_VERSION},
                {"program", parts.asked},
                {"path", parts.path},
                {"found", parts.found},
                {"scripts", parts.scripts},
                {"verdict", to_string(report.verdict)},
                {"servable", report.verdict != Verdict::no},
                {"kind", to_string(facts.kind)},
                {"machine", facts.machine},
                {"bits", facts.bits},
                {"loader", facts.loader},
                {"set_user_id", facts.set_user_id},
                {"set_group_id", facts.set_group_id},
                {"capabilities", facts.capabilities},
                {"compilers", Json::array()},
                {"libraries", Json::array()},
                {"dropin", report.dropin},
                {"problems", report.problems},
                {"advice", report.advice}};
    for (const Trace& trace : report.traces)
        object["compilers"].push_back({{"kind", to_string(trace.compiler)},
                                       {"how", to_string(trace.way)},
                                       {"file", trace.file},
                                       {"names", trace.names},
                                       {"served", trace.served}});
    for (const ProgramLibrary& library : parts.libraries)
        object["libraries"].push_back(
            {{"name", library.name}, {"path", library.path}, {"needed_by", library.needed_by}});
    print_json(object);
}

// Which file the loader finds under that name.
std::string place_of(const std::string& name, const ProgramParts& parts)
{
    for (const ProgramLibrary& library : parts.libraries)
        if (library.name == name)
            return library.path.empty() ? " (not found)" : fmt::format(" ({})", printable(library.path));
    return {};
}

std::string describe(const Trace& trace, const ProgramParts& parts)
{
    const std::string by = trace.file == parts.path ? "" : fmt::format(" by {}", printable(trace.file));
    const std::string names = fmt::format("{}", fmt::join(trace.names, ", "));
    switch (trace.way) {
    case Way::linked:
        return fmt::format("{}, linked{}{}", names, by, place_of(trace.names.front(), parts));
    case Way::opened:
        return fmt::format("{}, most likely opened at run time{}", names, by);
    default:
        return fmt::format("inside {}", printable(trace.file));
    }
}

std::string closing(const Report& report, const Paint& paint)
{
    const bool library = report.parts.facts.kind == Kind::library;
    const std::string command = "hearth run -- " + (library ? "PROGRAM" : printable(report.parts.asked));
    switch (report.verdict) {
    case Verdict::served:
        return paint.green("It will be served: " + command);
    case Verdict::likely:
        return paint.green("It will most likely be served: " + command);
    case Verdict::unknown:
        return "Nothing speaks against it: " + command;
    case Verdict::partly:
        return paint.yellow("It will be served in part: " + command);
    default:
        return paint.red("It cannot be served.");
    }
}

void print_for_people(const Report& report)
{
    const ProgramParts& parts = report.parts;
    const Paint paint(STDOUT_FILENO);
    FactList facts;
    for (const std::string& script : parts.scripts)
        facts.add("script", printable(script));
    facts.add(parts.scripts.empty() ? "program" : "interpreter",
              fmt::format("{}{}", printable(parts.path), parts.scripts.empty() ? "" : " (this is what was looked at)"));
    if (!parts.facts.loader.empty())
        facts.add("loader", printable(parts.facts.loader));
    if (!parts.libraries.empty())
        facts.add("libraries", fmt::format("{}, linked directly or by one another", parts.libraries.size()));
    for (const Trace& trace : report.traces)
        facts.add(std::string(to_string(trace.compiler)), describe(trace, parts));
    facts.add("drop-in", report.dropin.empty() ? "none" : printable(report.dropin));
    facts.print();

    print_out("\n");
    for (const std::string& problem : report.problems)
        print_out("{} {}\n", paint.red("problem:"), printable(problem));
    for (const std::string& sentence : report.advice)
        print_out("{} {}\n", paint.yellow("advice:"), printable(sentence));
    print_out("{}\n", closing(report, paint));
}

// Why the question cannot be answered; empty where it can.
std::string no_answer(const ProgramParts& parts)
{
    const std::string file = in_quotes(parts.path);
    if (!parts.found && !parts.scripts.empty())
        return fmt::format("{} is to be read by {}, which is not there. Install it, or mend the script's first line.",
                           in_quotes(parts.scripts.back()), file);
    if (!parts.found && parts.path.find('/') == std::string::npos)
        return fmt::format("There is no program {} on PATH{}.", file,
                           ::access(parts.path.c_str(), F_OK) == 0
                               ? fmt::format(". For the file in this directory, write {}", in_quotes("./" + parts.path))
                               : ". Check the name, or give its path");
    if (!parts.found)
        return fmt::format("There is no file {}. Check the path.", file);
    if (parts.facts.kind == Kind::unreadable)
        return fmt::format("{} cannot be read: {}. Ask as a user who may read it.", file,
                           std::strerror(parts.facts.error));
    if (parts.facts.kind == Kind::irregular)
        return fmt::format("{} is not a file but a directory, a device or a pipe. Name the program itself.", file);
    return {};
}

}  // namespace

int report_program(const std::string& program, ReportForm form)
{
    Report report = examine(program);
    const std::string unanswered = no_answer(report.parts);
    if (!unanswered.empty()) {
        report.verdict = Verdict::no;
        report.problems.assign(1, unanswered);
        report.advice.clear();
    }
    if (form == ReportForm::json)
        print_as_json(report);
    else if (unanswered.empty())
        print_for_people(report);
    if (unanswered.empty())
        return report.verdict == Verdict::no ? k_nothing : k_done;
    finish_output();
    fail(unanswered);
}

}  // namespace hearth::cli
