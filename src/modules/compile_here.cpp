#include "modules/compile_here.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace hearth::cuda {

namespace {

bool names_target(const std::string& target, const std::vector<std::string>& options)
{
    return (!target.empty() && target != "device") ||
           std::any_of(options.begin(), options.end(), [](const std::string& option) {
               return option.starts_with("-arch") || option.starts_with("--gpu-architecture");
           });
}

Result<std::string> target_here(const gpu::CudaDriver& driver)
{
    int device = 0;
    if (const int error = driver.current_device(&device); error != gpu::cuda::k_success)
        return hearth::error(Code::unavailable, "The driver does not name the device of this context: {}.",
                             describe(driver, error));
    return gpu::target_of_device(driver, device);
}

// PTX of ".target sm_90a" is compiled for sm_90a alone, and what is compiled for that runs on sm_90 as well as any: so
// it does no harm where these words stand in a comment.
std::string target_of_ptx(std::string_view text, std::string target)
{
    constexpr std::string_view k_directive = ".target";
    std::string exact = target + "a";
    for (std::size_t place = 0; (place = text.find(k_directive, place)) != std::string_view::npos;) {
        place += k_directive.size();
        std::string_view rest = text.substr(place);
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
        if (rest.starts_with(exact))
            return exact;
    }
    return target;
}

// `refused`: what is said of a program that does not compile.
Result<CompiledHere> with_image(CompileResult&& compiled, std::string log, std::string refused)
{
    if (compiled.failed())
        return Error{Code::compile_failed, std::move(refused), std::move(log)};
    const Artifact& artifact = compiled.artifact();
    const ByteView image = !artifact.bytes("cubin").empty() ? artifact.bytes("cubin") : artifact.bytes("ptx");
    if (image.empty() && !artifact.bytes("ltoir").empty())
        return hearth::error(
            Code::invalid_argument,
            "The program was compiled to LTO-IR, which has to be linked before it is loaded. Leave -dlto out.");
    // A result that is not stored has no key of its own, so the key is computed from its bytes.
    const Key key =
        compiled.outcome() == hearth::Outcome::past_the_cache ? Key::of("cuda image", image) : compiled.key();
    return CompiledHere{std::move(compiled), std::move(log), key, image};
}

Result<CompiledHere> compile_past_tiers(const CompileThrough& compile)
{
    CacheOptions none;
    none.caching = Switch::off;
    none.maintenance = Maintenance::by_hand;
    Result<Cache> cache = Cache::open(none);
    HEARTH_TRY(cache);
    return compile(*cache);
}

// Takes the result; its log stays.
std::optional<std::string> lowered_name(CompiledHere& compiled, const std::string& name)
{
    return nvrtc::Compiled(std::move(compiled.compiled), compiled.log).lowered_name(name);
}

}  // namespace

Result<CompiledHere> compile_here(const gpu::CudaDriver& driver, Cache& cache, const nvrtc::Program& program,
                                  const nvrtc::CompileOptions& options)
{
    std::optional<nvrtc::Program> targeted;  // the program may be long, and need not be copied if it names a target
    if (!names_target(program.target, program.options)) {
        HEARTH_TRY_SET(std::string target, target_here(driver));
        targeted = program;
        targeted->target = std::move(target);
    }
    HEARTH_TRY_SET(nvrtc::Compiled compiled, nvrtc::compile(cache, targeted ? *targeted : program, options));
    std::string refused;
    if (compiled.failed())
        refused = fmt::format("The program does not compile (NVRTC gives {}); its log says why.", compiled.status());
    std::string log = compiled.log();
    return with_image(std::move(compiled), std::move(log), std::move(refused));
}

Result<CompiledHere> compile_here(const gpu::CudaDriver& driver, Cache& cache, ptx::Program program,
                                  const ptx::CompileOptions& options)
{
    if (!names_target(program.target, program.options)) {
        HEARTH_TRY_SET(std::string target, target_here(driver));
        program.target = target_of_ptx(program.text, std::move(target));
    }
    const gpu::AllowedInCapture allowed(driver);  // it may be the driver that compiles
    HEARTH_TRY_SET(ptx::Compiled compiled, ptx::compile(cache, program, options));
    if (compiled.failed() && options.linker == ptx::Linker::automatic) {
        ptx::CompileOptions by_driver = options;
        by_driver.linker = ptx::Linker::driver;
        if (Result<ptx::Compiled> other = ptx::compile(cache, program, by_driver); other && !other->failed())
            compiled = *std::move(other);
    }
    std::string refused = fmt::format("The PTX does not compile{}{} (the linker gives {}); its log says why.",
                                      program.target.empty() ? "" : " for ", program.target, compiled.status());
    std::string log(compiled.log());
    return with_image(std::move(compiled), std::move(log), std::move(refused));
}

Result<LoadedHere> load_here(ModuleTable& table, const Place& place, Cache& cache, const CompileThrough& compile)
{
    HEARTH_TRY_SET(CompiledHere compiled, compile(cache));
    const auto replace = [&](const Error& rejection) -> Result<Bytes> {
        if (compiled.compiled.outcome() != hearth::Outcome::hit)
            return rejection;  // it was compiled just now: it would be the same again
        // What one node's driver rejects may be good for the others.
        cache.remove(compiled.key, Reach::this_machine);
        Result<CompiledHere> made = compile(cache);
        // A server, or a tier that cannot be written, still has the rejected image: then compile past all tiers.
        if (made && as_text(made->image) == as_text(compiled.image))
            made = compile_past_tiers(compile);
        HEARTH_TRY(made);
        compiled = *std::move(made);
        return Bytes::copy_of(compiled.image);
    };
    HEARTH_TRY_SET(ModuleLease module, table.get(*place.driver, place.context, compiled.key, compiled.image, replace));
    return LoadedHere{std::move(compiled), std::move(module)};
}

Result<FunctionLease> load_program(const gpu::CudaDriver& driver, const gpu::CudaContext& context, Cache& cache,
                                   const nvrtc::Program& program, const nvrtc::CompileOptions& options,
                                   const std::string& name)
{
    const auto compile = [&](Cache& through) { return compile_here(driver, through, program, options); };
    HEARTH_TRY_SET(LoadedHere loaded, load_here(ModuleTable::of_process(), {&driver, context}, cache, compile));
    std::string symbol = name;
    if (const auto& expressions = program.name_expressions;
        std::find(expressions.begin(), expressions.end(), name) != expressions.end()) {
        std::optional<std::string> lowered = lowered_name(loaded.compiled, name);
        if (!lowered) {
            // Another thread may have replaced the entry that we were given.
            HEARTH_TRY_SET(loaded.compiled, compile(cache));
            lowered = lowered_name(loaded.compiled, name);
        }
        if (!lowered)
            return Error{Code::not_found,
                         fmt::format("The compiler gave no lowered name for \"{}\". Name a kernel of the program, "
                                     "with its template arguments.",
                                     name),
                         loaded.compiled.log};
        symbol = *std::move(lowered);
    }
    return LoadedFunction::find(driver, std::move(loaded.module), name, symbol);
}

}  // namespace hearth::cuda
