// Builds a program of 200 modules again and again, its IR kept in device memory, and shows what that saves.
//
//   incremental_build DIRECTORY [BACKEND]
//
// The first run generates the sources in DIRECTORY/sources, builds them with a cache in DIRECTORY/cache, and edits them
// in between. A later run builds what lies there: edit a source, and see what is compiled. BACKEND is whose memory
// holds the IR: auto, cuda, opencl, webgpu or host.
//
// Every build is compared, byte for byte, with one from scratch. Exit status: 0 when all were the same; 1 when one was
// not, or could not be done; 2 when the arguments are wrong.

#include "build.hpp"
#include "generator.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace {

std::string describe(const hearth::Result<hearth::device::Report>& memory)
{
    if (!memory)
        return memory.error().message;
    const std::string& why = memory->fallback;
    return fmt::format("{} ({})", to_string(memory->backend), why.empty() ? memory->devices.front().name : why);
}

void write(const std::string& path, const std::string& text)
{
    std::ofstream file(path, std::ios::binary);
    if (!(file << text).flush())
        throw eph::Problem("The file " + path + " cannot be written.");
}

// One row of the table.
void show_build(const std::string& name, const std::string& sources, hearth::Cache& cache)
{
    const eph::Build build = eph::build(sources, &cache);
    const eph::Build scratch = eph::build(sources, nullptr);
    if (build.ir != scratch.ir || build.result != scratch.result)
        throw eph::Problem("The build \"" + name + "\" is not what a build from scratch gives.");
    fmt::print("{:<20}{:>8}{:>10}{:>11}{:>11}{:>10.1f}{:>13.1f}{:>8.1f}x  {}\n", name, build.ir.size(),
               build.compiled.size(), build.from_vram, build.from_disk, build.time.count(), scratch.time.count(),
               scratch.time / build.time, build.result);
}

// Where the IR lies, for a stage of a compiler that runs on the device: no copy, and it stays there while it is leased.
void show_leases(const std::string& sources, hearth::Cache& cache)
{
    std::vector<hearth::device::Lease> leases;
    std::uint64_t bytes = 0;
    for (const auto& [module, unit] : eph::read_units(sources))
        if (auto lease = cache.vram().load(unit.request())) {
            bytes += lease->size();
            leases.push_back(std::move(*lease));
        }
    fmt::print("{} modules are under lease where they lie, {} bytes in all\n", leases.size(), bytes);
}

void show_all(const std::string& directory, hearth::device::Backend backend)
{
    const std::string sources = directory + "/sources";
    const bool first = std::filesystem::create_directories(sources);
    hearth::Cache cache = eph::open_cache(directory + "/cache", backend);
    fmt::print("IR is held in {} and in {}/cache\n", describe(cache.vram().report()), directory);
    fmt::print("{:<20}{:>8}{:>10}{:>11}{:>11}{:>10}{:>13}{:>9}  {}\n", "BUILD", "MODULES", "COMPILED", "FROM VRAM",
               "FROM DISK", "TIME ms", "NO CACHE ms", "FASTER", "RESULT");
    if (first) {
        const auto modules = eph::generate(200);
        for (const auto& [module, text] : modules)
            write(sources + "/" + module + ".eph", text);
        show_build("cold", sources, cache);
        const std::string path = sources + "/part_099.eph";
        const std::string body_edited = eph::edited(modules.at("part_099"), eph::k_body, 1000);
        write(path, body_edited);
        show_build("a body edited", sources, cache);
        write(path, eph::edited(body_edited, eph::k_interface, 1000));
        show_build("an interface edited", sources, cache);
    } else {
        show_build("fresh process", sources, cache);
    }
    fmt::print("Every build gave, byte for byte, what one without a cache gives\n");
    show_leases(sources, cache);
}

}  // namespace

int main(int count, char** words)
{
    const auto backend = hearth::device::backend_named(count > 2 ? words[2] : "auto");
    if (count < 2 || count > 3 || !backend) {
        fmt::print(stderr, "usage: incremental_build DIRECTORY [auto|cuda|opencl|webgpu|host]\n");
        return 2;
    }
    try {
        show_all(words[1], *backend);
    } catch (const std::exception& problem) {
        fmt::print(stderr, "incremental_build: {}\n", problem.what());
        return 1;
    }
}
