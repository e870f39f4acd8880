#include "modules/compile_here.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace hearth::cuda {

namespace {

bool names_target(const std::vector<std::string>& options)
{
    return std::any_of(options.begin(), options.end(), [](const std::string& option) {
        return option.starts_with("-arch") || option.starts_with("--gpu-architecture");
    });
}

Result<CompiledHere> compile_past_tiers(const gpu::CudaDriver& driver, const nvrtc::Program& program,
                                        const nvrtc::CompileOptions& options)
{
    CacheOptions none;
    none.caching = Switch::off;
    none.maintenance = Maintenance::by_hand;
    Result<Cache> cache = Cache::open(none);
    HEARTH_TRY(cache);
    return compile_here(driver, *cache, program, options);
}

}  // namespace

Result<CompiledHere> compile_here(const gpu::CudaDriver& driver, Cache& cache, const nvrtc::Program& program,
                                  const nvrtc::CompileOptions& options)
{
    std::optional<nvrtc::Program> targeted;  // the program may be long, and need not be copied if it names a target
    if ((program.target.empty() || program.target == "device") && !names_target(program.options)) {
        int device = 0;
        if (const int error = driver.current_device(&device); error != gpu::cuda::k_success)
            return hearth::error(Code::unavailable, "The driver does not name the device of this context: {}.",
                                 describe(driver, error));
        Result<std::string> target = gpu::target_of_device(driver, device);
        HEARTH_TRY(target);
        targeted = program;
        targeted->target = *std::move(target);
    }
    Result<nvrtc::Compiled> compiled = nvrtc::compile(cache, targeted ? *targeted : program, options);
    HEARTH_TRY(compiled);
    if (compiled->failed())
        return Error{
            Code::compile_failed,
            fmt::format("The program does not compile (NVRTC gives {}); its log says why.", compiled->status()),
            compiled->log()};
    const ByteView image = !compiled->cubin().empty() ? compiled->cubin() : as_bytes(compiled->ptx());
    // A result that is not stored has no key of its own, so the key is computed from its bytes.
    const Key key =
        compiled->outcome() == nvrtc::Outcome::past_the_cache ? Key::of("cuda image", image) : compiled->key();
    if (image.empty() && !compiled->lto_ir().empty())
        return hearth::error(
            Code::invalid_argument,
            "The program was compiled to LTO-IR, which has to be linked before it is loaded. Leave -dlto out.");
    return CompiledHere{*std::move(compiled), key, image};
}

Result<ModuleLease> load_here(ModuleTable& table, const gpu::CudaDriver& driver, const gpu::CudaContext& context,
                              Cache& cache, const nvrtc::Program& program, const nvrtc::CompileOptions& options,
                              CompiledHere& compiled)
{
    const auto replace = [&](const Error& rejection) -> Result<Bytes> {
        if (compiled.compiled.outcome() != nvrtc::Outcome::hit)
            return rejection;  // it was compiled just now: it would be the same again
        // What one node's driver rejects may be good for the others.
        cache.remove(compiled.key, Reach::this_machine);
        Result<CompiledHere> made = compile_here(driver, cache, program, options);
        // A server, or a tier that cannot be written, still has the rejected image: then compile past all tiers.
        if (made && as_text(made->image) == as_text(compiled.image))
            made = compile_past_tiers(driver, program, options);
        HEARTH_TRY(made);
        compiled = *std::move(made);
        return Bytes::copy_of(compiled.image);
    };
    return table.get(driver, context, compiled.key, compiled.image, replace);
}

Result<std::shared_ptr<const LoadedFunction>>
load_program(const gpu::CudaDriver& driver, const gpu::CudaContext& context, Cache& cache,
             const nvrtc::Program& program, const nvrtc::CompileOptions& options, const std::string& name)
{
    Result<CompiledHere> compiled = compile_here(driver, cache, program, options);
    HEARTH_TRY(compiled);
    Result<ModuleLease> module =
        load_here(ModuleTable::of_process(), driver, context, cache, program, options, *compiled);
    HEARTH_TRY(module);
    std::string symbol = name;
    if (const auto& expressions = program.name_expressions;
        std::find(expressions.begin(), expressions.end(), name) != expressions.end()) {
        std::optional<std::string> lowered = compiled->compiled.lowered_name(name);
        if (!lowered) {
            // Another thread may have replaced the entry that we were given.
            compiled = compile_here(driver, cache, program, options);
            HEARTH_TRY(compiled);
            lowered = compiled->compiled.lowered_name(name);
        }
        if (!lowered)
            return Error{Code::not_found,
                         fmt::format("The compiler gave no lowered name for \"{}\". Name a kernel of the program, "
                                     "with its template arguments.",
                                     name),
                         compiled->compiled.log()};
        symbol = *std::move(lowered);
    }
    return LoadedFunction::find(driver, *std::move(module), name, symbol);
}

}  // namespace hearth::cuda
