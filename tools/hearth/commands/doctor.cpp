#include "cache/directory_facts.hpp"
#include "cache/open_cache.hpp"
#include "doctor/machine.hpp"
#include "doctor/program_report.hpp"
#include "doctor/python_packages.hpp"
#include "hearth/admin.hpp"
#include "hearth/device_tier.hpp"
#include "hearth/units.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/table.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace hearth::cli {

namespace {

struct DoctorArguments {
    std::string program;
    bool json = false;
};

struct Findings {
    DirectoryFacts directory;
    std::string source;                 // which setting chose the directory
    std::vector<TierStatus> tiers;      // as they opened; none if there is no directory yet
    std::vector<std::string> problems;  // what keeps the cache from working
    std::vector<std::string> settings_problems;
    bool disabled = false;
    std::uint64_t disk_bytes = 0;  // as configured; 0: no limit
    std::uint64_t memory_bytes = 0;
    std::vector<FoundCompiler> compilers;
    std::vector<FoundOpenCl> opencl;
    std::vector<FoundGpu> gpus;
    FoundDriver driver;
    std::vector<device::BackendReport> device_memory;
    std::vector<std::string> advice;
};

// Opens the cache as a program would, but read-only, to find the tiers and the problems it reports.
void try_cache(const Globals& globals, Findings& findings)
{
    try {
        Cache cache = open_cache(globals, Use::look);
        findings.tiers = admin::tiers(cache);
    } catch (const Failure& failure) {
        findings.problems.push_back(failure.sentence);
    }
}

void look_for_problems(Findings& findings)
{
    const DirectoryFacts& directory = findings.directory;
    if (directory.exists && !directory.is_directory && findings.problems.empty())
        findings.problems.push_back(fmt::format(
            "{} is not a directory. Remove it or choose another with --dir or HEARTH_DIR.", in_quotes(directory.path)));
    if (!directory.exists && !directory.writable)
        findings.problems.push_back(fmt::format(
            "{} does not exist and this user cannot create it. Create it, or choose another with --dir or HEARTH_DIR.",
            in_quotes(directory.path)));
}

// What is demanded of the disk and cannot be met. A directory that exists was opened, which has told of missing keys.
void look_at_signatures(const CacheOptions& options, Findings& findings)
{
    const auto demands = [&](const char* word) {
        const std::vector<std::string>& all = *options.demand_signatures;
        return std::find(all.begin(), all.end(), word) != all.end();
    };
    if (!demands("disk") && !demands("all"))
        return;
    if (options.trusted_keys->empty() && options.sign_with->empty() && !findings.directory.exists)
        findings.problems.emplace_back("The disk is to hold signed entries only, and no key is trusted, so that none "
                                       "could ever be used. Set HEARTH_TRUSTED_KEYS.");
    if (options.sign_with->empty() && options.access == Access::read_write)
        findings.advice.emplace_back("The disk is to hold signed entries only, and nothing is signed here, so what is "
                                     "compiled is not kept. Set HEARTH_SIGN_WITH, or leave disk out of "
                                     "HEARTH_DEMAND_SIGNATURES.");
}

void advise(Findings& findings)
{
    const DirectoryFacts& directory = findings.directory;
    auto& advice = findings.advice;
    if (findings.disabled)
        advice.emplace_back(
            "Programs are told not to use the cache (HEARTH_DISABLE or \"disabled\" in the configuration).");
    if (directory.is_directory && !directory.writable && findings.problems.empty())
        advice.emplace_back("This user cannot write the directory: entries are found, but none are stored.");
    if (directory.kind == DirectoryFacts::Kind::network)
        advice.push_back(fmt::format("The directory is on {}, a network file system: each hit costs a round trip and "
                                     "locks may not hold between machines. Put HEARTH_DIR on a local disk.",
                                     directory.file_system));
    if (directory.kind == DirectoryFacts::Kind::memory)
        advice.push_back(fmt::format("The directory is on {}: its entries take memory and are lost at a restart. Put "
                                     "HEARTH_DIR on a disk to keep them.",
                                     directory.file_system));
    if (findings.disk_bytes > directory.free_bytes && directory.total_bytes != 0)
        advice.push_back(fmt::format("The disk limit of {} is more than the free space of {}. Set HEARTH_MAX_BYTES to "
                                     "{} or less.",
                                     format_size(findings.disk_bytes), format_size(directory.free_bytes),
                                     format_size(recommended_disk_bytes(directory.free_bytes))));
    const bool nvrtc = std::any_of(findings.compilers.begin(), findings.compilers.end(),
                                   [](const FoundCompiler& compiler) { return compiler.kind == "NVRTC"; });
    if (!nvrtc)
        advice.emplace_back("No NVRTC library was found. If it is installed, set CUDA_HOME to its CUDA toolkit.");
    for (const FoundCompiler& compiler : findings.compilers)
        if (!compiler.named_by.empty() && ::access(compiler.path.c_str(), R_OK) != 0)
            findings.problems.push_back(fmt::format("{} names {}, which this user cannot read. Mend the path, or unset "
                                                    "the variable to take what is found.",
                                                    compiler.named_by, in_quotes(compiler.path)));
        else if (!compiler.why_not_watched.empty())
            advice.push_back(fmt::format("What {} compiles is not kept: {}. Use another build of it, and report this.",
                                         compiler.path, compiler.why_not_watched));
    if (findings.gpus.empty())
        advice.emplace_back("No NVIDIA GPU was found: compiling and caching work, launching kernels does not.");
    else if (findings.driver.library.empty())
        advice.emplace_back("A GPU is there but libcuda.so.1 is not. Install the driver's user-space libraries.");
    for (std::string& sentence : strangers_called_hearth())
        advice.push_back(std::move(sentence));
}

Findings examine(const Globals& globals)
{
    Findings findings;
    const Settings settings = settings_of(globals);
    findings.directory = look_at_directory(settings.options.directory.value_or(""));
    if (const Setting* setting = settings.find("directory"))
        findings.source = setting->source;
    findings.settings_problems = settings.problems;
    findings.disabled = settings.options.caching == Switch::off;
    findings.disk_bytes = settings.options.disk_bytes.value_or(0);
    findings.memory_bytes = settings.options.memory_bytes.value_or(0);
    // Only if it exists: this command changes nothing.
    if (findings.directory.exists)
        try_cache(globals, findings);
    findings.compilers = find_compilers();
    findings.opencl = find_opencl();
    findings.gpus = find_gpus();
    findings.driver = find_driver();
    // Otherwise Mesa's Vulkan prints messages about a display, which is of no interest here.
    ::setenv("NODEVICE_SELECT", "1", 0);
    findings.device_memory = device::backends();
    look_for_problems(findings);
    look_at_signatures(settings.options, findings);
    advise(findings);
    return findings;
}

Json as_json(const device::BackendReport& backend)
{
    return {{"backend", to_string(backend.backend)},
            {"missing", backend.missing},
            {"devices", Json::array_of(backend.devices, [](const device::Device& device) -> Json {
                 return {{"index", device.index},
                         {"name", device.name},
                         {"gpu", device.gpu},
                         {"total_bytes", device.total_bytes},
                         {"recommended_bytes", device::recommended_bytes(device.total_bytes)}};
             })}};
}

Json as_json(const TierStatus& tier)
{
    return {{"name", tier.name},
            {"persistent", tier.traits.persistent},
            {"capacity_bytes", tier.limits.max_bytes},
            {"used_bytes", tier.usage.bytes},
            {"entries", tier.usage.entries},
            {"aside_bytes", tier.usage.aside_bytes}};
}

void print_as_json(const Findings& findings)
{
    const DirectoryFacts& directory = findings.directory;
    print_json(
        {{"version", HEARTH_VERSION},
         {"usable", findings.problems.empty()},
         {"directory",
          {{"path", directory.path},
           {"source", findings.source},
           {"exists", directory.exists},
           {"writable", directory.writable},
           {"owner", directory.owner},
           {"file_system", directory.file_system},
           {"file_system_kind", to_string(directory.kind)},
           {"free_bytes", directory.free_bytes},
           {"total_bytes", directory.total_bytes}}},
         {"limits", {{"disk_bytes", findings.disk_bytes}, {"memory_bytes", findings.memory_bytes}}},
         {"recommended",
          {{"disk_bytes", recommended_disk_bytes(directory.free_bytes)}, {"memory_bytes", recommended_memory_bytes()}}},
         {"tiers", Json::array_of(findings.tiers, [](const TierStatus& tier) { return as_json(tier); })},
         {"compilers", Json::array_of(findings.compilers,
                                      [](const FoundCompiler& compiler) -> Json {
                                          return {{"kind", compiler.kind},
                                                  {"path", compiler.path},
                                                  {"why_not_watched", compiler.why_not_watched}};
                                      })},
         {"opencl", Json::array_of(findings.opencl,
                                   [](const FoundOpenCl& icd) -> Json {
                                       return {{"file", icd.file}, {"library", icd.library}};
                                   })},
         {"gpus", Json::array_of(findings.gpus,
                                 [](const FoundGpu& gpu) -> Json {
                                     return {{"name", gpu.name}, {"where", gpu.where}};
                                 })},
         {"driver", {{"version", findings.driver.version}, {"library", findings.driver.library}}},
         {"device_memory", Json::array_of(findings.device_memory,
                                          [](const device::BackendReport& backend) { return as_json(backend); })},
         {"problems", findings.problems},
         {"settings_problems", findings.settings_problems},
         {"advice", findings.advice}});
}

std::string state(const DirectoryFacts& directory)
{
    if (!directory.exists)
        return directory.writable ? "does not exist yet; it is created when first needed" : "does not exist";
    if (!directory.is_directory)
        return "not a directory";
    return fmt::format("exists, {}, owned by {}", directory.writable ? "writable" : "not writable",
                       directory.ours ? "you" : printable(directory.owner));
}

void print_machine(const Findings& findings, FactList& facts)
{
    for (const FoundCompiler& compiler : findings.compilers)
        facts.add(compiler.kind, printable(compiler.path) +
                                     (compiler.why_not_watched.empty()
                                          ? ""
                                          : " (cannot be watched: " + printable(compiler.why_not_watched) + ")"));
    for (const FoundOpenCl& icd : findings.opencl)
        facts.add("OpenCL", fmt::format("{} ({})", printable(icd.library), printable(icd.file)));
    if (findings.opencl.empty())
        facts.add("OpenCL", "none");
    for (const FoundGpu& gpu : findings.gpus)
        facts.add("GPU", fmt::format("{} ({})", printable(gpu.name), printable(gpu.where)));
    if (findings.gpus.empty())
        facts.add("GPU", "none");
    facts.add("driver", findings.driver.version.empty() ? "none" : printable(findings.driver.version));
    for (const device::BackendReport& backend : findings.device_memory) {
        const std::string name = fmt::format("memory, {}", to_string(backend.backend));
        for (const device::Device& device : backend.devices)
            facts.add(name, device.total_bytes == 0
                                ? printable(device.name)
                                : fmt::format("{}, {} (recommended for a cache: {})", printable(device.name),
                                              format_size(device.total_bytes),
                                              format_size(device::recommended_bytes(device.total_bytes))));
        if (backend.devices.empty())
            facts.add(name, fmt::format("none: {}", printable(backend.missing)));
    }
    facts.add("libcuda.so.1", findings.driver.library.empty() ? "none" : printable(findings.driver.library));
}

void print_for_people(const Findings& findings)
{
    const DirectoryFacts& directory = findings.directory;
    const Paint paint(STDOUT_FILENO);
    FactList facts;
    facts.add("directory", fmt::format("{} (from {})", printable(directory.path), printable(findings.source)));
    facts.add("", state(directory));
    facts.add("file system", fmt::format("{} ({}), {} free of {}", directory.file_system, to_string(directory.kind),
                                         format_size(directory.free_bytes), format_size(directory.total_bytes)));
    facts.add("disk limit", fmt::format("{} (recommended here: {})",
                                        findings.disk_bytes == 0 ? "none" : format_size(findings.disk_bytes),
                                        format_size(recommended_disk_bytes(directory.free_bytes))));
    facts.add("memory limit", fmt::format("{} (recommended here: {})", format_size(findings.memory_bytes),
                                          format_size(recommended_memory_bytes())));
    for (const TierStatus& tier : findings.tiers)
        if (tier.traits.persistent)
            facts.add(tier.traits.fixed ? tier.name : "in use",
                      fmt::format("{} in {}", format_size(tier.usage.bytes),
                                  count_of(tier.usage.entries, "entry", "entries")));
    for (const TierStatus& tier : findings.tiers)
        if (tier.usage.aside_bytes != 0)
            facts.add("set aside", fmt::format("{} in quarantine and in folders of older formats",
                                               format_size(tier.usage.aside_bytes)));
    print_machine(findings, facts);
    facts.print();

    print_out("\n");
    for (const std::string& problem : findings.settings_problems)
        print_out("{} {}\n", paint.yellow("setting:"), printable(problem));
    for (const std::string& problem : findings.problems)
        print_out("{} {}\n", paint.red("problem:"), printable(problem));
    for (const std::string& sentence : findings.advice)
        print_out("{} {}\n", paint.yellow("advice:"), printable(sentence));
    if (findings.problems.empty())
        print_out("{}\n", paint.green("The cache can be used."));
}

int run_doctor(const Globals& globals, const DoctorArguments& arguments)
{
    if (!arguments.program.empty()) {
#if defined(HEARTH_HAVE_LIBELF)
        return report_program(arguments.program, arguments.json ? ReportForm::json : ReportForm::text);
#else
        fail("This hearth was built without libelf, and cannot look into programs. Build it again with libelf "
             "(Debian: libelf-dev).");
#endif
    }
    const Findings findings = examine(globals);
    if (arguments.json)
        print_as_json(findings);
    else
        print_for_people(findings);
    if (findings.problems.empty())
        return k_done;
    finish_output();
    fail(findings.problems.front());
}

}  // namespace

void add_doctor(Command& command)
{
    command.describe(
        "Shows what Hearth finds on this machine (disk, limits, compilers, GPUs) and what to improve.",
        "  hearth doctor\n"
        "  hearth --dir /scratch/cache doctor\n"
        "  hearth doctor --json | jq -r '.advice[]'\n"
        "  hearth doctor --program ./simulation          whether 'hearth run' can serve it",
        "Exit code 3: the cache cannot be used. With --program the exit code is 1 if the program cannot be "
        "served, and otherwise 0.");
    auto& arguments = command.runs(run_doctor);
    command
        .text("--program", arguments.program, "Show instead whether 'hearth run -- FILE' can serve that program",
              "FILE")
        .checked_by(
            [](const std::string& text) { return std::string(text.empty() ? "needs the name of a program" : ""); });
    command.json(arguments.json);
}

}  // namespace hearth::cli
