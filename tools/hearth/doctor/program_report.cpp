#include "doctor/program_report.hpp"

#include "doctor/program_parts.hpp"
#include "hearth/api.hpp"
#include "process/dropin.hpp"
#include "process/frameworks.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/system_error.hpp"
#include "terminal/table.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include <unistd.h>

namespace hearth::cli {

namespace {

using Kind = ProgramFacts::Kind;

// How a file comes to a compiler.
enum class Way : std::uint8_t { linked, opened, inside };
constexpr std::array<std::string_view, 3> k_ways{"linked", "opened", "inside"};

struct Trace {
    Compiler compiler = Compiler::nvrtc;
    Way way = Way::linked;
    std::string file;
    std::vector<std::string> names;  // of the library; none if the compiler is inside
    std::string problem;             // why it is not served; empty: it is
};

enum class Verdict : std::uint8_t {
    served,   // linked with a library that Hearth stands in for
    likely,   // names one, and most likely opens it
    unknown,  // nothing was found, and nothing speaks against it
    partly,   // some of what it compiles
    no,
};
constexpr std::array<std::string_view, 5> k_verdicts{"served", "likely", "unknown", "partly", "no"};

struct Report {
    ProgramParts parts;
    Verdict verdict = Verdict::unknown;
    std::vector<Trace> traces;
    std::vector<std::string> problems;  // what keeps it, or a part of it, from being served
    std::vector<std::string> advice;
    std::string dropin;
};

const ProgramLibrary* library_named(const std::string& name, const ProgramParts& parts)
{
    for (const ProgramLibrary& library : parts.libraries)
        if (library.name == name)
            return &library;
    return nullptr;
}

std::string why_not_inside(Compiler compiler, const std::string& file)
{
    const bool nvrtc = compiler == Compiler::nvrtc;
    return fmt::format("{} is inside {} ({}): its calls never reach the loader. Link with the shared library (-l{}), "
                       "or call Hearth's own {}.",
                       to_string(compiler), in_quotes(file), nvrtc ? "libnvrtc_static" : "libnvJitLink_static",
                       nvrtc ? "nvrtc" : "nvJitLink", nvrtc ? "hearth::nvrtc::compile" : "hearth::ptx::compile");
}

// Why Hearth does not replace a library that is asked for by one of these names. Empty: it does.
std::string why_not_asked(Way way, const std::string& file, const std::vector<std::string>& names,
                          const ProgramParts& parts)
{
    const ProgramLibrary* const library = way == Way::linked ? library_named(names.front(), parts) : nullptr;
    if (library != nullptr && !library->left_alone.empty())
        return fmt::format("{} links {}, which is used as it is: {}.", in_quotes(file), in_quotes(library->path),
                           library->left_alone);
    for (const std::string& name : names)
        if (is_served(*compiler_of(name)))
            return {};
    return fmt::format("{} {} {}; Hearth serves {}. Use a build for that.", in_quotes(file),
                       way == Way::linked ? "links" : "names", fmt::join(names, ", "),
                       served_versions(compiler_of(names.front())->compiler));
}

void add_traces(const std::string& file, const ProgramFacts& facts, Report& report)
{
    for (const Compiler compiler : k_compilers) {
        const CompilerTraces& found = facts.of(compiler);
        const auto add_asked = [&](Way way, const std::vector<std::string>& names) {
            report.traces.push_back({compiler, way, file, names, why_not_asked(way, file, names, report.parts)});
        };
        if (!found.linked.empty())
            add_asked(Way::linked, found.linked);
        if (found.inside())
            report.traces.push_back({compiler, Way::inside, file, {}, why_not_inside(compiler, file)});
        // If the compiler is inside, its own text names the library.
        else if (!found.named.empty())
            add_asked(Way::opened, found.named);
    }
}

// The compiler whose own library was asked about, if it was one.
std::optional<CompilerName> own_library(const ProgramParts& parts)
{
    const auto known = compiler_of(std::filesystem::path(parts.path).filename().string());
    return parts.facts.kind == Kind::library ? known : std::nullopt;
}

// Why a file can never be served, whatever it compiles; empty if it may be.
std::string obstacle(const ProgramParts& parts)
{
    const ProgramFacts& facts = parts.facts;
    const std::string file = in_quotes(parts.path);
    if (const auto own = own_library(parts))
        return fmt::format("{} is the library of {} itself, which Hearth replaces. Ask about a program that uses "
                           "it.",
                           file, to_string(own->compiler));
    switch (facts.kind) {
    case Kind::unknown:
        return fmt::format("{} is neither an ELF file nor a script. Ask about the program that reads it.", file);
    case Kind::script:
        return fmt::format("{} is a script read by a script, {} deep. Ask about the program that reads the last one.",
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
            "{} is an ELF file but neither a program nor a shared library. Ask about what is linked from it.", file);
    case Kind::static_program:
        return fmt::format("{} is a static program: it starts without the dynamic loader, and Hearth needs that to "
                           "serve it. Link it without -static.",
                           file);
    default:
        return {};
    }
}

std::vector<std::string> find_obstacles(const ProgramParts& parts)
{
    const ProgramFacts& facts = parts.facts;
    const std::string file = in_quotes(parts.path);
    std::vector<std::string> problems;
    if (std::string sentence = obstacle(parts); !sentence.empty())
        problems.push_back(std::move(sentence));
    if (!parts.not_executable.empty())
        problems.push_back(
            fmt::format("{} may not be executed by this user. Allow it (chmod +x FILE), or ask about the "
                        "program that reads it.",
                        in_quotes(parts.not_executable)));
    if (!parts.loader_problem.empty())
        problems.push_back(fmt::format("The dynamic loader cannot load it. It says: {}", parts.loader_problem));
    if (facts.is_for_musl())
        problems.push_back(fmt::format("{} is started by musl's loader ({}), which does not know LD_AUDIT. Use a build "
                                       "for glibc.",
                                       file, printable(facts.loader)));
    if (facts.set_user_id || facts.set_group_id)
        problems.push_back(fmt::format("{} is {}: for any user but its owner, the loader ignores LD_AUDIT. Take "
                                       "the bit off (chmod {} FILE), or run a copy without it.",
                                       file, facts.set_user_id ? "set-user-id" : "set-group-id",
                                       facts.set_user_id ? "u-s" : "g-s"));
    if (facts.capabilities)
        problems.push_back(
            fmt::format("{} has file capabilities: for anybody but root, the loader ignores LD_AUDIT. Take them off "
                        "(setcap -r FILE) and give them to its service instead.",
                        file));
    return problems;
}

std::vector<std::string> advise(const ProgramParts& parts, Verdict verdict)
{
    const std::string file = in_quotes(parts.path);
    std::vector<std::string> advice;
    for (const ProgramLibrary& library : parts.libraries)
        if (library.path.empty())
            advice.push_back(fmt::format("{} needs {}, which was not found. Say where it is with LD_LIBRARY_PATH, both "
                                         "here and when it runs.",
                                         in_quotes(library.needed_by), printable(library.name)));
    if (parts.facts.names_auditors)
        advice.push_back(
            fmt::format("{} names auditing libraries (DT_AUDIT), which the loader would run at once. So the loader "
                        "was not asked what else the program loads.",
                        file));
    if (!parts.facts.whole)
        advice.push_back(fmt::format("Only the first 8 GiB of {} were searched for text.", file));
    if (parts.facts.kind == Kind::library)
        advice.push_back(fmt::format("{} is a shared library: this holds for every program that loads it and can "
                                     "itself be served.",
                                     file));
    if (!parts.scripts.empty())
        advice.push_back(fmt::format("{} reads the script, and is the program that was examined. Programs that the "
                                     "script starts are served too if they can be: ask about them as well.",
                                     file));
    if (verdict == Verdict::unknown)
        advice.emplace_back(
            "No use of NVRTC, nvJitLink or libNVVM was found. The program is still served if a library that it "
            "loads later uses them, as in Python programs; 'hearth run --summary' tells.");
    return advice;
}

// Why the question cannot be answered; empty if it can.
std::string no_answer(const ProgramParts& parts)
{
    const std::string file = in_quotes(parts.path);
    if (!parts.found && !parts.scripts.empty())
        return fmt::format(
            "{} is to be read by {}, which was not found. Install it, or correct the script's first line.",
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
                           system_error(parts.facts.error));
    if (parts.facts.kind == Kind::irregular)
        return fmt::format("{} is not a file but a directory, a device or a pipe. Name the program itself.", file);
    return {};
}

Report examine(const std::string& program)
{
    Report report;
    report.dropin = dropin_folder();
    report.parts = take_apart(program, report.dropin);
    const ProgramParts& parts = report.parts;
    report.problems = find_obstacles(parts);
    // `hearth run` does this first, and would say this sentence. It changes the environment of this process, which
    // starts nothing afterwards.
    if (std::string sentence = serve_children(false); !sentence.empty())
        report.problems.push_back(std::move(sentence));
    const bool hopeless = !report.problems.empty();

    if (!own_library(parts))
        add_traces(parts.path, parts.facts, report);
    for (const ProgramLibrary& library : parts.libraries)
        add_traces(library.path, library.facts, report);
    std::size_t served = 0;
    bool linked = false;
    for (const Trace& trace : report.traces) {
        served += trace.problem.empty() ? 1 : 0;
        linked = linked || (trace.problem.empty() && trace.way == Way::linked);
        if (!trace.problem.empty())
            report.problems.push_back(trace.problem);
    }
    if (hopeless || (served == 0 && !report.traces.empty()))
        report.verdict = Verdict::no;
    else if (served < report.traces.size())
        report.verdict = Verdict::partly;
    else
        report.verdict = linked ? Verdict::served : served > 0 ? Verdict::likely : Verdict::unknown;
    report.advice = advise(parts, report.verdict);
    return report;
}

void print_as_json(const Report& report)
{
    const ProgramParts& parts = report.parts;
    const ProgramFacts& facts = parts.facts;
    Json compilers = Json::array();
    for (const Trace& trace : report.traces)
        compilers.add({{"kind", to_string(trace.compiler)},
                       {"how", k_ways.at(static_cast<std::size_t>(trace.way))},
                       {"file", trace.file},
                       {"names", trace.names},
                       {"served", trace.problem.empty()}});
    Json libraries = Json::array();
    for (const ProgramLibrary& library : parts.libraries)
        libraries.add({{"name", library.name}, {"path", library.path}, {"needed_by", library.needed_by}});
    print_json({{"version", HEARTH_VERSION},
                {"program", parts.asked},
                {"path", parts.path},
                {"found", parts.found},
                {"scripts", parts.scripts},
                {"verdict", k_verdicts.at(static_cast<std::size_t>(report.verdict))},
                {"servable", report.verdict != Verdict::no},
                {"kind", to_string(facts.kind)},
                {"machine", facts.machine},
                {"bits", facts.bits},
                {"loader", facts.loader},
                {"set_user_id", facts.set_user_id},
                {"set_group_id", facts.set_group_id},
                {"capabilities", facts.capabilities},
                {"compilers", compilers},
                {"libraries", libraries},
                {"dropin", report.dropin},
                {"frameworks", frameworks_folder()},
                {"problems", report.problems},
                {"advice", report.advice}});
}

bool is_python(const ProgramParts& parts)
{
    return std::filesystem::path(parts.path).filename().string().starts_with("python");
}

std::string describe(const Trace& trace, const ProgramParts& parts)
{
    if (trace.way == Way::inside)
        return fmt::format("inside {}", printable(trace.file));
    std::string text = fmt::format("{}, {}{}", fmt::join(trace.names, ", "),
                                   trace.way == Way::linked ? "linked" : "most likely opened at run time",
                                   trace.file == parts.path ? "" : fmt::format(" by {}", printable(trace.file)));
    // The file that the loader finds under that name.
    if (const ProgramLibrary* library = trace.way == Way::linked ? library_named(trace.names.front(), parts) : nullptr)
        text += fmt::format(" ({})", library->path.empty() ? "not found" : printable(library->path));
    return text;
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
    facts.add(
        parts.scripts.empty() ? "program" : "interpreter",
        fmt::format("{}{}", printable(parts.path), parts.scripts.empty() ? "" : " (the program that was examined)"));
    if (!parts.facts.loader.empty())
        facts.add("loader", printable(parts.facts.loader));
    if (!parts.libraries.empty())
        facts.add("libraries", fmt::format("{}, linked directly or by other libraries", parts.libraries.size()));
    for (const Trace& trace : report.traces)
        facts.add(std::string(to_string(trace.compiler)), describe(trace, parts));
    facts.add("drop-in", report.dropin.empty() ? "none" : printable(report.dropin));
    if (const std::string folder = frameworks_folder(); is_python(parts) && !folder.empty())
        facts.add("frameworks", fmt::format("Triton, torch.compile and JAX, by {}", printable(folder)));
    facts.print();

    print_out("\n");
    for (const std::string& problem : report.problems)
        print_out("{} {}\n", paint.red("problem:"), printable(problem));
    for (const std::string& sentence : report.advice)
        print_out("{} {}\n", paint.yellow("advice:"), printable(sentence));
    print_out("{}\n", closing(report, paint));
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
