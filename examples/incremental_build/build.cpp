#include "build.hpp"

#include "ir.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace eph {

namespace {

template <class T>
T checked(hearth::Result<T> result)
{
    if (!result)
        throw Problem(result.error().message);
    return std::move(*result);
}

}  // namespace

hearth::Cache open_cache(const std::string& directory, hearth::device::Backend backend)
{
    using namespace hearth::literals;
    hearth::Cache cache = checked(hearth::Cache::open({
        .tiers = {hearth::vram({.backend = backend, .max_bytes = 512_MiB}), hearth::disk(directory)},
        .promote_after = 1,  // what one build needs the next one needs too
    }));
    // The first store opens the device, and the first gather loads a kernel. No build should have to wait for that.
    const hearth::Key probe = hearth::Key::of("eph-probe");
    if (cache.vram().insert(probe, hearth::Artifact("probe")) && cache.vram().read_many(std::array{probe, probe}))
        cache.remove(probe);
    return cache;
}

std::map<std::string, Unit> read_units(const std::string& folder)
{
    std::map<std::string, Unit> units;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".eph")
            continue;
        std::ifstream file(entry.path(), std::ios::binary);
        units[entry.path().stem()].source =
            parse(entry.path().filename(), std::string(std::istreambuf_iterator<char>(file), {}));
    }
    for (auto& [name, unit] : units)
        for (const std::string& module : unit.source.imports)
            if (const auto imported = units.find(module); imported != units.end())
                for (const Function& function : imported->second.source.functions)
                    if (function.exported)
                        unit.imports[module + "." + function.name] = function.interface();
    return units;
}

Build build(const std::string& folder, hearth::Cache* cache)
{
    const auto started = std::chrono::steady_clock::now();
    const std::map<std::string, Unit> units = read_units(folder);
    hearth::device::HostCopy in_vram;
    if (cache) {
        std::vector<hearth::Key> keys;
        keys.reserve(units.size());
        for (const auto& [module, unit] : units)
            keys.push_back(unit.request());
        // All that device memory has, with one gather and one wait.
        if (auto copied = cache->vram().read_many(keys))
            in_vram = std::move(*copied);
    }

    Build build;
    for (const auto& [module, unit] : units) {
        hearth::Bytes& ir = build.ir[module];
        const std::size_t number = build.ir.size() - 1;
        const auto compiled = [&, &module = module, &unit = unit] {
            build.compiled.push_back(module);
            return compile(unit);
        };
        if (in_vram.has(number)) {
            ir = hearth::Bytes::copy_of(in_vram.bytes(number));
            ++build.from_vram;
        } else if (cache) {
            // The label is only what `hearth ls` shows.
            const hearth::GetOptions options{.metadata = {.label = module + ".eph", .compiler = "eph"}};
            ir = checked(cache->get_or_compile(unit.request(), compiled, options))->sections.front().data;
        } else {
            ir = checked(compiled());
        }
    }
    build.from_disk = units.size() - build.from_vram - build.compiled.size();
    build.result = run(link(build.ir));
    build.time = std::chrono::steady_clock::now() - started;
    return build;
}

}  // namespace eph
