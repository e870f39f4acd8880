#include "build.hpp"

#include "eph/encoding.hpp"
#include "eph/program.hpp"

#include <optional>

namespace demo {

namespace {

using Steady = std::chrono::steady_clock;

// One module's IR, as bytes and ready to be linked.
struct Compiled {
    Ir ir;
    eph::Module module;
};

hearth::Result<Compiled> compile(const Sources& sources, const std::string& file, IrCache* cache)
{
    const Steady::time_point started = Steady::now();
    const hearth::Result<hearth::Bytes> bytes = eph::compile(sources.input(file));
    if (!bytes)
        return bytes.error();
    if (cache)
        cache->insert(file, *bytes, Steady::now() - started);
    hearth::Result<eph::Module> module = eph::decode(*bytes);
    if (!module)
        return module.error();
    const auto owner = std::make_shared<const hearth::Bytes>(*bytes);
    return Compiled{{owner->view(), "", owner}, std::move(*module)};
}

}  // namespace

hearth::Result<BuildReport> build(Sources& sources, IrCache* cache)
{
    const Steady::time_point started = Steady::now();
    if (const hearth::Status read = sources.read(); !read.ok())
        return read.error();
    BuildReport report{.files = sources.files(), .ir = {}, .compiled = {}};
    std::vector<std::optional<Ir>> found(report.files.size());
    if (cache)
        found = cache->get_many(report.files);

    std::vector<eph::LinkedModule> modules;
    for (std::size_t i = 0; i < report.files.size(); ++i) {
        const std::string& file = report.files[i];
        const std::string name = file.substr(0, file.rfind('.'));
        if (found[i]) {
            // Bytes that are no IR are as good as none.
            if (hearth::Result<eph::Module> module = eph::decode(found[i]->bytes)) {
                ++(found[i]->tier == "vram" ? report.from_vram : report.from_disk);
                report.ir.push_back(std::move(*found[i]));
                modules.push_back({name, std::move(*module)});
                continue;
            }
        }
        hearth::Result<Compiled> made = compile(sources, file, cache);
        if (!made)
            return made.error();
        report.compiled.push_back(file);
        report.ir.push_back(std::move(made->ir));
        modules.push_back({name, std::move(made->module)});
    }

    const hearth::Result<eph::Program> program = eph::Program::link(std::move(modules));
    if (!program)
        return program.error();
    const hearth::Result<std::int64_t> result = program->run();
    if (!result)
        return result.error();
    report.result = *result;
    report.time = Steady::now() - started;
    return report;
}

std::string difference(const BuildReport& one, const BuildReport& other)
{
    if (one.files != other.files)
        return "They are not of the same files.";
    for (std::size_t i = 0; i < one.files.size(); ++i)
        if (hearth::as_text(one.ir[i].bytes) != hearth::as_text(other.ir[i].bytes))
            return "The IR of " + one.files[i] + " differs.";
    if (one.result != other.result)
        return "One program gives " + std::to_string(one.result) + ", the other " + std::to_string(other.result) + ".";
    return {};
}

}  // namespace demo
